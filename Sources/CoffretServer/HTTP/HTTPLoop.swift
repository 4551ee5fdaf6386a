// One thread and the connections that it serves. The one thing to keep true: no other thread calls into its daemon.

internal import CMicroHTTPD
internal import CPlatform
internal import CoffretBase
internal import Glibc
internal import Synchronization

/// A daemon of the HTTP library with the thread that runs it.
///
/// The library would make such threads itself. Then an upgraded connection is closed by another thread than the one
/// that serves it, and libmicrohttpd 0.9.75 frees it while it is still being closed (decision 0057).
@safe final class HTTPLoop: Sendable {
    /// How long the thread sleeps at most; it wakes up when the library or another thread needs it.
    private static let waitMilliseconds: Int32 = 250

    let server: HTTPServer
    // SAFETY: written by `start`, then used by the thread alone, and again by `stop`, which has waited for it.
    nonisolated(unsafe) private var daemon: OpaquePointer?
    private let returned = Mutex<[UpgradeHandle]>([])
    private let resumed = Mutex<[SuspendedConnection]>([])
    private let wake: Int32
    private let isRunning = Atomic(true)
    private let isRetiring = Atomic(false)
    private let hasEnded = Atomic(false)
    private let thread = Mutex<ServerThread?>(nil)

    init(_ server: HTTPServer) {
        self.server = server
        wake = coffret_wake_descriptor()
        precondition(wake >= 0, "an event descriptor cannot be made")
    }

    deinit { close(wake) }

    /// - Returns: false if the library refuses the options.
    func start(_ flags: UInt32, _ options: [MHD_OptionItem]) -> Bool {
        // SAFETY: the server holds its loops until `stop` has ended their daemons.
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe daemon = unsafe coffret_mhd_start(
            flags, handleRequest, context, requestCompleted, acceptsPeer, connectionChanged, options)
        guard unsafe daemon != nil else { return false }
        let made = ServerThread { [self] in
            var isQuiet = false
            while isRunning.load(ordering: .relaxed) {
                if isRetiring.load(ordering: .relaxed), !isQuiet {
                    isQuiet = true
                    let listening = unsafe MHD_quiesce_daemon(daemon)
                    if listening >= 0 { close(listening) }
                }
                if isQuiet, unsafe coffret_mhd_connection_count(daemon) == 0 { break }
                sleep()
                resumeConnections()
                if unsafe MHD_run(daemon) != .YES { usleep(10_000) }
                closeReturned()
            }
            hasEnded.store(true, ordering: .releasing)
        }
        thread.withLock { $0 = made }
        return true
    }

    /// Until there is something to do.
    private func sleep() {
        var timeout: UInt64 = 0
        let isShort = unsafe MHD_get_timeout(daemon, &timeout) == .YES
        let milliseconds = isShort ? min(Self.waitMilliseconds, Int32(clamping: timeout)) : Self.waitMilliseconds
        var polled = [
            pollfd(fd: unsafe coffret_mhd_epoll(daemon), events: Int16(POLLIN), revents: 0),
            pollfd(fd: wake, events: Int16(POLLIN), revents: 0),
        ]
        _ = unsafe poll(&polled, 2, milliseconds)
        var count: UInt64 = 0
        if polled[1].revents != 0 { _ = unsafe read(wake, &count, 8) }
    }

    private func wakeUp() {
        var one: UInt64 = 1
        _ = unsafe write(wake, &one, 8)
    }

    /// Lets a connection go on, from any thread.
    func resume(_ connection: SuspendedConnection) {
        resumed.withLock { $0.append(connection) }
        wakeUp()
    }

    private func resumeConnections() {
        let connections = resumed.withLock { resumed in
            defer { resumed = [] }
            return resumed
        }
        for connection in connections { connection.resume() }
    }

    /// Takes an upgraded connection back, from any thread, to close it.
    func giveBack(_ handle: UpgradeHandle) {
        returned.withLock { $0.append(handle) }
        wakeUp()
    }

    private func closeReturned() {
        let handles = returned.withLock { returned in
            defer { returned = [] }
            return returned
        }
        for handle in handles { unsafe coffret_mhd_close_upgraded(handle.pointer) }
    }

    /// Takes no more connections, and ends when those that there are have ended.
    func retire() { isRetiring.store(true, ordering: .relaxed) }

    /// Whether the thread has nothing more to do.
    var isOver: Bool { hasEnded.load(ordering: .acquiring) }

    /// Tells the thread to end.
    func end() { isRunning.store(false, ordering: .relaxed) }

    /// Ends all requests and waits for the thread. WebSockets must have been ended before.
    func stop() {
        end()
        thread.withLock { thread in
            thread?.join()
            thread = nil
        }
        resumeConnections()
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
