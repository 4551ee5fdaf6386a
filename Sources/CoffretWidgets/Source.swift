// The sources of GLib's loop, beside its windows. Invariant: nothing is called once it was removed.

internal import CGTK
internal import Glibc

/// A source of GLib's loop: a timer, a descriptor, or a signal.
package final class Source {
    private let number: guint
    private let isOver: () -> Bool

    private final class Call {
        let run: () -> Bool
        var isDone = false
        init(_ run: @escaping () -> Bool) { self.run = run }
    }

    private init(_ number: guint, _ call: Call) {
        self.number = number
        isOver = { call.isDone }
    }

    /// The closure in the hands of GLib, which releases it with the source.
    private static func held(_ call: Call) -> UnsafeMutableRawPointer { unsafe Unmanaged.passRetained(call).toOpaque() }

    private static func call(_ held: UnsafeMutableRawPointer?) -> gboolean {
        let call = unsafe Unmanaged<Call>.fromOpaque(held!).takeUnretainedValue()
        call.isDone = !call.run()
        return call.isDone ? 0 : 1
    }

    private static let release: GDestroyNotify = { held in unsafe Unmanaged<Call>.fromOpaque(held!).release() }

    /// - Parameter run: returns whether it wants to be called again.
    package static func timer(seconds: UInt32, _ run: @escaping () -> Bool) -> Source {
        let call = Call(run)
        let number = unsafe g_timeout_add_seconds_full(
            G_PRIORITY_DEFAULT, seconds, { unsafe Source.call($0) }, held(call), release)
        return Source(number, call)
    }

    /// - Parameter run: returns whether it wants to be called again.
    package static func readable(_ descriptor: Int32, _ run: @escaping () -> Bool) -> Source {
        let call = Call(run)
        let number = unsafe g_unix_fd_add_full(
            G_PRIORITY_DEFAULT, descriptor, GIOCondition(G_IO_IN.rawValue | G_IO_HUP.rawValue | G_IO_ERR.rawValue),
            { _, _, held in unsafe Source.call(held) }, held(call), release)
        return Source(number, call)
    }

    /// Calls `run` each time the signal comes.
    package static func signal(_ number: Int32, _ run: @escaping () -> Void) -> Source {
        let call = Call {
            run()
            return true
        }
        let source = unsafe g_unix_signal_add_full(
            G_PRIORITY_HIGH, number, { unsafe Source.call($0) }, held(call), release)
        return Source(source, call)
    }

    /// Calls `run` once, when GLib's loop has nothing else to do.
    package static func soon(_ run: @escaping () -> Void) {
        let call = Call {
            run()
            return false
        }
        _ = unsafe g_idle_add_full(G_PRIORITY_DEFAULT, { unsafe Source.call($0) }, held(call), release)
    }

    package func remove() { if !isOver() { g_source_remove(number) } }
}
