// Moves bytes between a command and the person: output through masks, keys unchanged. Invariant: it waits for either
// side that is ready and never for one side only, so that neither can block the other for ever.

internal import CoffretBase
package import CoffretTerminal
internal import Glibc

/// The streams of one running command.
package final class MaskedRelay {
    /// The end of a pipe that the command gets.
    package final class Sink {
        package let number: Int32
        private var isOpen = true

        package init(_ number: Int32) {
            self.number = number
        }

        deinit { close() }

        package func close() {
            if isOpen { Glibc.close(number) }
            isOpen = false
        }
    }

    private struct Stream {
        /// -1 once it has ended.
        var source: Int32
        let target: Int32
        var mask: OutputMask
        /// Whether the target still takes what comes.
        var isWanted = true
    }

    private static let readByteCountMax = 65_536

    private var streams: [Stream] = []
    private var terminal: PseudoTerminal?
    /// Keys that the command has not read yet.
    private var keys: [UInt8] = []
    private var isKeyboardOpen = true
    /// Whether the person's terminal is gone.
    package private(set) var isOutputLost = false

    deinit {
        for stream in streams where stream.source >= 0 && stream.source != terminal?.master { close(stream.source) }
    }

    /// Adds a pipe from the command to one of our own streams.
    package func addPipe(to target: Int32, _ mask: OutputMask) throws(SystemFailure) -> Sink {
        let (source, sink) = try ChildProcess.makePipe()
        streams.append(Stream(source: source, target: target, mask: mask))
        return Sink(sink)
    }

    /// Adds the command's terminal, to which keys go.
    package func addTerminal(_ terminal: PseudoTerminal, to target: Int32, _ mask: OutputMask) {
        self.terminal = terminal
        streams.append(Stream(source: terminal.master, target: target, mask: mask))
    }

    /// Waits for output, keys, a signal or the end of the time, and moves what has come.
    ///
    /// - Returns: whether anything came from the command.
    @discardableResult
    package func move(signals: Int32 = -1, keyboard: Int32 = -1, timeoutMilliseconds: Int32) -> Bool {
        let listens = isKeyboardOpen && keys.count < Self.readByteCountMax
        var polled = [
            pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
            pollfd(fd: listens ? keyboard : -1, events: Int16(POLLIN), revents: 0),
            pollfd(fd: keys.isEmpty ? -1 : terminal?.master ?? -1, events: Int16(POLLOUT), revents: 0),
        ]
        let fixedCount = polled.count
        polled += streams.map { pollfd(fd: $0.source, events: Int16(POLLIN), revents: 0) }
        guard unsafe poll(&polled, nfds_t(polled.count), timeoutMilliseconds) > 0 else { return false }
        if polled[1].revents != 0 { readKeys(keyboard) }
        if polled[2].revents != 0 { writeKeys() }
        var hasMoved = false
        for index in streams.indices where polled[fixedCount + index].revents != 0 {
            if moveOutput(index) { hasMoved = true }
        }
        return hasMoved
    }

    /// - Returns: whether anything came; otherwise the stream has ended.
    private func moveOutput(_ index: Int) -> Bool {
        var bytes: [UInt8] = []
        do throws(SystemFailure) {
            bytes = try DescriptorIO.read(from: streams[index].source, byteCountMax: Self.readByteCountMax)
        } catch {
            // A terminal without anyone on the other side ends with an error.
            if error.number == EAGAIN { return false }
        }
        defer { bytes.zero() }
        guard !bytes.isEmpty else {
            endSource(index)
            return false
        }
        show(streams[index].mask.add(bytes), index)
        return true
    }

    private func endSource(_ index: Int) {
        if streams[index].source != terminal?.master { close(streams[index].source) }
        streams[index].source = -1
    }

    private func show(_ bytes: [UInt8], _ index: Int) {
        guard !bytes.isEmpty, streams[index].isWanted else { return }
        do throws(SystemFailure) {
            try DescriptorIO.write(bytes, to: streams[index].target)
        } catch {
            streams[index].isWanted = false
            // The command learns of it as it would without us: its next write fails.
            if streams[index].source == terminal?.master { isOutputLost = true } else { endSource(index) }
        }
    }

    private func readKeys(_ keyboard: Int32) {
        let typed = (try? DescriptorIO.read(from: keyboard, byteCountMax: 4096)) ?? []
        if typed.isEmpty { isKeyboardOpen = false }
        keys += typed
        writeKeys()
    }

    /// Hands on as many keys as the command's terminal takes now.
    private func writeKeys() {
        guard let terminal, !keys.isEmpty else { return }
        let count = unsafe keys.withUnsafeBytes { unsafe write(terminal.master, $0.baseAddress!, $0.count) }
        if count > 0 {
            for index in 0..<count { keys[index] = 0 }
            keys.removeFirst(count)
        } else if errno != EAGAIN, errno != EINTR {
            keys.zero()
            keys.removeAll()
        }
    }

    /// Shows what the masks hold back, as nothing more will come.
    package func finish() {
        for index in streams.indices { show(streams[index].mask.finish(), index) }
        keys.zero()
    }
}
