// The time in which nobody knows yet whether a secret is right. Invariant: `undo` runs only while no derivation has
// ended, so that an attacker who ends a process to have it run has learned nothing.

internal import CPlatform
internal import Glibc

/// Holds back the signals that people end programs with, while a secret is stretched; one that comes then is answered by
/// `undo` before it ends the process.
///
/// Signals that are ignored, handled or held back already are left alone. SIGKILL cannot be held back.
package final class StretchingWindow: Sendable {
    private static let current = ForkSafeLock<StretchingWindow?>(nil)

    private struct State {
        var isOpen = true
        var worker: WorkerThread?
        var outer: StretchingWindow?
    }

    private let state = ForkSafeLock(State())
    private let signals: [Int32]
    private let previousMask: SignalMask
    private let owner = ThreadID()
    private let descriptor: Int32
    /// Closed when the window is over.
    private let over: Int32
    private let watched: Int32

    /// From here on the signals wait. Nothing is answered before `open`.
    package init() {
        let before = SignalMask.current
        let signals = SignalMask.ending.filter { !before.contains($0) && coffret_is_default_signal($0) == 1 }
        self.signals = signals
        previousMask = before
        SignalMask.block(signals)
        var ends: [Int32] = [-1, -1]
        if !signals.isEmpty, unsafe coffret_message_pair(&ends) == 0 {
            descriptor = unsafe coffret_signal_descriptor(signals, Int32(signals.count))
        } else {
            descriptor = -1
        }
        (over, watched) = (ends[0], ends[1])
    }

    deinit { for number in [descriptor, over, watched] where number >= 0 { Glibc.close(number) } }

    /// - Parameter undo: may run on another thread.
    package func open(undo: @escaping @Sendable () -> Void) {
        guard descriptor >= 0 else { return }
        let worker = WorkerThread.startIfPossible { [self] in answerSignals(undo) }
        let outer = Self.current.withLock { current in
            defer { current = self }
            return current
        }
        state.withLock { state in
            state.worker = worker
            state.outer = outer
        }
    }

    /// A derivation has ended: from here on the attempt counts, and signals act as ever.
    package static func close() {
        var window = current.withLock(\.self)
        while let next = window {
            next.close()
            window = next.state.withLock(\.outer)
        }
    }

    private func close() {
        let wasOpen = state.withLock { state in
            defer { state.isOpen = false }
            return state.isOpen
        }
        if wasOpen, owner == ThreadID() { previousMask.apply() }
    }

    /// The attempt is over.
    package func end() {
        close()
        if over >= 0 { shutdown(over, Int32(SHUT_RDWR)) }
        let (worker, outer) = state.withLock { state in
            defer { state.worker = nil }
            return (state.worker, state.outer)
        }
        worker?.join()
        if owner == ThreadID() { previousMask.apply() }
        Self.current.withLock { current in if current === self { current = outer } }
    }

    private func answerSignals(_ undo: () -> Void) {
        var polled = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: watched, events: Int16(POLLIN), revents: 0),
        ]
        while unsafe poll(&polled, 2, -1) < 0, errno == EINTR {}
        guard polled[0].revents != 0 else { return }
        state.withLock { state in
            // Else it is left to the thread that closed the window.
            guard state.isOpen, case let signal = coffret_next_signal(descriptor), signal > 0 else { return }
            undo()
            endProgram(by: signal)
        }
    }
}

/// Ends the program by `signal`, as if it had never been held back.
package func endProgram(by signal: Int32) -> Never {
    _ = Glibc.signal(signal, SIG_DFL)
    raise(signal)
    SignalMask.unblock(signal)
    exit(128 + signal)
}

/// The thread that made it.
private struct ThreadID: Equatable, Sendable {
    private let number = UInt(pthread_self())
}
