// Signals as events in a loop instead of handlers. Invariant: while a watch lives, a signal it names cannot end the
// program between changing the outside world and putting it right.

internal import CPlatform
internal import CoffretBase
internal import Glibc

/// Holds back signals and hands them out one by one.
package struct SignalWatch: ~Copyable {
    /// Becomes readable when a signal waits.
    package let descriptor: Int32
    private let previousMask: SignalMask

    /// The signals by which people and systems end programs.
    package static let ending = SignalMask.ending

    package init(_ signals: [Int32]) {
        previousMask = SignalMask.current
        SignalMask.block(signals)
        descriptor = unsafe coffret_signal_descriptor(signals, Int32(signals.count))
        precondition(descriptor >= 0, "a signal descriptor needs no more than a free descriptor")
    }

    deinit {
        close(descriptor)
        // A signal that arrived meanwhile takes effect here, after everything was put right.
        previousMask.apply()
    }

    /// The next waiting signal, if any.
    package func next() -> Int32? {
        let signal = coffret_next_signal(descriptor)
        return signal > 0 ? signal : nil
    }

    /// The next waiting signal, if any, and whether the kernel sent it, as for Ctrl-C at a terminal.
    package func nextWithOrigin() -> (signal: Int32, isFromKernel: Bool)? {
        var isFromKernel: Int32 = 0
        let signal = unsafe coffret_take_signal(descriptor, &isFromKernel)
        return signal > 0 ? (signal, isFromKernel != 0) : nil
    }

    /// Waits until `other` can be read, a signal waits, or time is up.
    ///
    /// - Parameter other: a descriptor, or -1 for none.
    /// - Returns: whether `other` can be read.
    package func wait(for other: Int32, timeoutMilliseconds: Int32 = -1) -> Bool {
        var polled = [
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: other, events: Int16(POLLIN), revents: 0),
        ]
        _ = unsafe poll(&polled, nfds_t(polled.count), timeoutMilliseconds)
        return polled[1].revents != 0
    }
}
