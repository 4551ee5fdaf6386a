// One thread and the connections that it serves. The one thing to keep true: no other thread calls into its daemon.

internal import CMicroHTTPD
internal import CoffretBase
internal import Glibc
internal import Synchronization

/// A daemon of the HTTP library with the thread that runs it.
///
/// The library would make such threads itself. Then an upgraded connection is closed by another thread than the one
/// that serves it, and libmicrohttpd 0.9.75 frees it while it is still being closed (decision 0057).
@safe final class HTTPLoop: Sendable {
    /// How long a connection that was given back may wait to be closed; otherwise a daemon wakes up when it is needed.
    private static let waitMilliseconds: Int32 = 250

    let server: HTTPServer
    // SAFETY: written by `start`, then used by the thread alone, and again by `stop`, which has waited for it.
    nonisolated(unsafe) private var daemon: OpaquePointer?
    private let returned = Mutex<[UpgradeHandle]>([])
    private let isRunning = Atomic(true)
    private let thread = Mutex<ServerThread?>(nil)

    init(_ server: HTTPServer) { self.server = server }

    /// - Returns: false if the library refuses the options.
    func start(_ flags: UInt32, _ options: [MHD_OptionItem]) -> Bool {
        // SAFETY: the server holds its loops until `stop` has ended their daemons.
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe daemon = unsafe coffret_mhd_start(
            flags, handleRequest, context, requestCompleted, acceptsPeer, connectionChanged, options)
        guard unsafe daemon != nil else { return false }
        let made = ServerThread { [self] in
            while isRunning.load(ordering: .relaxed) {
                if unsafe MHD_run_wait(daemon, Self.waitMilliseconds) != .YES { usleep(10_000) }
                closeReturned()
            }
        }
        thread.withLock { $0 = made }
        return true
    }

    /// Takes an upgraded connection back, from any thread, to close it.
    func giveBack(_ handle: UpgradeHandle) { returned.withLock { $0.append(handle) } }

    private func closeReturned() {
        let handles = returned.withLock { returned in
            defer { returned = [] }
            return returned
        }
        for handle in handles { unsafe coffret_mhd_close_upgraded(handle.pointer) }
    }

    /// Tells the thread to end.
    func end() { isRunning.store(false, ordering: .relaxed) }

    /// Ends all requests and waits for the thread. WebSockets must have been ended before.
    func stop() {
        end()
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
        closeReturned()
        unsafe MHD_stop_daemon(daemon)
        unsafe daemon = nil
    }
}

/// What the library wants back when an upgraded connection ends.
// SAFETY: it is passed on until the loop whose daemon made it closes it.
@safe struct UpgradeHandle: @unchecked Sendable {
    let pointer: OpaquePointer
}
