// Serves SSH clients at a socket. Invariant: it never waits for one client only, and one that does not keep to the
// protocol is cut off without harm to the others.

internal import CPlatform
internal import CoffretBase
internal import CoffretNet
package import CoffretSSH
internal import CoffretTerminal
internal import Glibc

/// One client's half-read messages.
package struct SSHClientBuffer {
    private var bytes: [UInt8] = []

    /// Adds what was received.
    package mutating func add(_ received: [UInt8]) { bytes += received }

    /// The next whole message; nil if there is none yet.
    ///
    /// - Throws: `SSHError.malformed` for a message that is empty or too long.
    package mutating func next() throws(SSHError) -> [UInt8]? {
        guard bytes.count >= 4 else { return nil }
        let count = bytes[..<4].reduce(0) { $0 << 8 | Int($1) }
        guard (1...SSHAgentRequest.byteCountMax).contains(count) else {
            throw SSHError(.malformed, at: "size of a message")
        }
        guard bytes.count >= 4 + count else { return nil }
        defer { bytes.removeFirst(4 + count) }
        return Array(bytes[4..<(4 + count)])
    }
}

/// A connection with its state.
package final class SSHClient {
    private let input: Int32
    private let output: Int32
    private var buffer = SSHClientBuffer()
    private var session = SSHAgentSession()
    private let keys: any SSHKeys

    package init(input: Int32, output: Int32, keys: any SSHKeys) {
        self.input = input
        self.output = output
        self.keys = keys
    }

    /// Reads what has come, once, and answers each whole message.
    ///
    /// - Returns: whether the connection goes on.
    package func serve() -> Bool {
        guard let received = try? DescriptorIO.read(from: input, byteCountMax: 65_536), !received.isEmpty else {
            return false
        }
        buffer.add(received)
        do {
            while let message = try buffer.next() {
                let answer = keys.answer(message, in: &session).encoded
                try DescriptorIO.write(UInt32(answer.count).bigEndianBytes + answer, to: output)
            }
            return true
        } catch {
            return false
        }
    }
}

/// The side that serves a connection.
package enum SSHConnectionService {
    /// This process, with the store that it has opened.
    case here(makeKeyring: () throws -> SSHKeyring)
    /// Another coffret for each connection, by these words; it finds the keys at the agent.
    case processes([String])
}

/// The socket and its clients.
package final class SSHAgentServer {
    private static let clientCountMax = 64

    private let listener: UnixListener
    private let service: SSHConnectionService
    private var clients: [(connection: UnixConnection, client: SSHClient)] = []
    /// Processes that serve connections.
    private var processIDs: Set<pid_t> = []

    package init(path: String, _ service: SSHConnectionService) throws {
        listener = try UnixListener(path: path, userID: geteuid())
        self.service = service
    }

    /// Waits for clients or a signal, and serves what has come.
    ///
    /// - Parameter signals: becomes readable when a signal waits; the caller looks for it.
    package func serve(signals: Int32) {
        let hasRoom = clients.count + processIDs.count < Self.clientCountMax
        var polled = [
            pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
            pollfd(fd: hasRoom ? listener.descriptor : -1, events: Int16(POLLIN), revents: 0),
        ]
        let fixedCount = polled.count
        polled += clients.map { pollfd(fd: $0.connection.descriptor, events: Int16(POLLIN), revents: 0) }
        guard unsafe poll(&polled, nfds_t(polled.count), -1) > 0 else { return }
        let isReady = polled[fixedCount...].map { $0.revents != 0 }
        var going: [(connection: UnixConnection, client: SSHClient)] = []
        for (index, entry) in clients.enumerated() where !isReady[index] || entry.client.serve() { going.append(entry) }
        clients = going
        if polled[1].revents != 0 { accept() }
    }

    /// Takes note of the processes that have ended; called after SIGCHLD.
    package func reap() {
        for processID in processIDs {
            var status: Int32 = 0
            if unsafe waitpid(processID, &status, WNOHANG) == processID { processIDs.remove(processID) }
        }
    }

    private func accept() {
        guard let connection = listener.accept(userID: geteuid()) else { return }
        let descriptor = connection.descriptor
        switch service {
        case .here(let makeKeyring):
            guard let keyring = try? makeKeyring() else { return }
            clients.append((connection, SSHClient(input: descriptor, output: descriptor, keys: keyring)))
        case .processes(let words):
            // Without a terminal of its own: it must not ask where somebody else is typing.
            let child = try? ChildProcess.start(
                words, input: .descriptor(descriptor), output: .descriptor(descriptor), isDetached: true)
            if let child { processIDs.insert(child.processID) }
        }
    }
}
