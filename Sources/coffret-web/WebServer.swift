// The tab's server: libmicrohttpd and the sessions in one loop. Invariant: no answer leaves that the gate has not let in.

internal import CMicroHTTPD
internal import CoffretBase
internal import CoffretFront
internal import CoffretTerminal
internal import Glibc

/// One request, from its head to its answer.
final class Exchange {
    var verdict: Gate.Verdict
    var body: [UInt8] = []
    var answer: Answer?

    typealias Answer = (status: Int, mediaType: String?, content: [UInt8])

    init(_ verdict: Gate.Verdict) { self.verdict = verdict }
}

/// One whose answer is still to come; the library leaves its connection alone meanwhile.
@safe private final class SuspendedExchange {
    private let exchange: Exchange
    // SAFETY: the library keeps a suspended connection until it is resumed, which happens once.
    private let connection: OpaquePointer

    init(_ exchange: Exchange, _ connection: OpaquePointer) {
        self.exchange = exchange
        unsafe self.connection = unsafe connection
        unsafe MHD_suspend_connection(connection)
    }

    func resume(_ answer: Exchange.Answer) {
        exchange.answer = answer
        unsafe MHD_resume_connection(connection)
    }
}

/// - Concurrency: one thread.
@safe final class WebServer {
    /// Why the loop ended.
    enum End {
        case locked
        case idle
        case signal
    }

    private static let idleSeconds: Double = 600
    private static let goneSeconds: Double = 10

    let files: PageFiles
    let port: UInt16
    private(set) var gate: Gate
    private let desk: PageDesk
    private let clipboard: ClipboardCommand
    // SAFETY: made by `init`, stopped by `deinit`, used by one thread.
    private var daemon: OpaquePointer?
    private var suspended: [ObjectIdentifier: SuspendedExchange] = [:]
    private var lastUse = WebServer.now
    private var lastContact = WebServer.now

    static var now: Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// - Returns: nil if no port is to be had.
    init?(files: PageFiles, store: String, environment: ProcessEnvironment) {
        guard let (socket, port) = Self.listen() else { return nil }
        (self.files, self.port) = (files, port)
        let clipboard = ClipboardCommand(store: store)
        self.clipboard = clipboard
        desk = PageDesk(.tab, store: store, environment: environment) { clipboard.perform($0, reply: $1) }
        gate = Gate(
            port: port, files: Set(files.files.keys), bodyByteCountMax: PageRequest.byteCountMax,
            random: SystemRandomSource(), now: Self.now)
        // SAFETY: the daemon ends before this object does.
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        let options = unsafe [
            MHD_OptionItem(option: .LISTEN_SOCKET, value: Int(socket), ptr_value: nil),
            MHD_OptionItem(option: .CONNECTION_LIMIT, value: 64, ptr_value: nil),
            MHD_OptionItem(option: .CONNECTION_MEMORY_LIMIT, value: 32 << 10, ptr_value: nil),
            MHD_OptionItem(option: .CONNECTION_TIMEOUT, value: 120, ptr_value: nil),
            MHD_OptionItem(option: .END, value: 0, ptr_value: nil),
        ]
        unsafe daemon = unsafe coffret_mhd_start(
            MHD_USE_EPOLL.rawValue | MHD_ALLOW_SUSPEND_RESUME.rawValue, handleRequest, context, requestCompleted,
            acceptsPeer, connectionChanged, options)
        guard unsafe daemon != nil else {
            close(socket)
            return nil
        }
    }

    deinit {
        guard let daemon = unsafe daemon else { return }
        // The library ends the process if a connection is suspended when it stops.
        for waiting in suspended.values { waiting.resume((403, nil, [])) }
        _ = unsafe MHD_run(daemon)
        unsafe MHD_stop_daemon(daemon)
    }

    /// A socket at 127.0.0.1 with a port of the kernel's choice.
    private static func listen() -> (socket: Int32, port: UInt16)? {
        let socket = Glibc.socket(
            AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        guard socket >= 0 else { return nil }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isListening = unsafe withUnsafeMutablePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe bind(socket, address, length) == 0 && Glibc.listen(socket, 16) == 0
                    && getsockname(socket, address, &length) == 0
            }
        }
        guard isListening else {
            close(socket)
            return nil
        }
        return (socket, UInt16(bigEndian: address.sin_port))
    }

    /// Changes the code of the address for the token, once.
    func open(_ body: [UInt8]) -> [UInt8]? { gate.open(body, now: Self.now) }

    /// Serves until the store locks, nobody asks any more, or a signal comes.
    func run(_ signals: borrowing SignalWatch) -> End {
        var lockedSince: Double?
        while true {
            var polled = [
                pollfd(fd: unsafe coffret_mhd_epoll(daemon), events: Int16(POLLIN), revents: 0),
                pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            polled += desk.descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            _ = unsafe poll(&polled, nfds_t(polled.count), waitMilliseconds(isEnding: lockedSince != nil))
            if signals.next() != nil { return .signal }
            for polled in polled[2...] where polled.revents != 0 { desk.process(polled.fd) }
            clipboard.poll()
            _ = unsafe MHD_run(daemon)
            if Self.now - lastUse > Self.idleSeconds { return .idle }
            // A page that lives always waits for changes.
            if suspended.isEmpty, Self.now - lastContact > Self.goneSeconds { desk.pageIsGone() }
            // The page is told before its server goes.
            if desk.isLocked, lockedSince == nil { lockedSince = Self.now }
            if let lockedSince, Self.now - lockedSince > 0.5 { return .locked }
        }
    }

    private func waitMilliseconds(isEnding: Bool) -> Int32 {
        var timeout: UInt64 = 0
        let own: Int32 = isEnding || clipboard.isWaiting ? 50 : 10_000
        return unsafe MHD_get_timeout(daemon, &timeout) == .YES ? min(own, Int32(clamping: timeout)) : own
    }

    /// The request is whole.
    func finish(_ exchange: Exchange, _ connection: OpaquePointer) {
        guard case .wanted(let wanted, _) = exchange.verdict, exchange.answer == nil else { return }
        switch wanted {
        case .file(let name):
            guard let file = files.files[name] else { return }
            exchange.answer = (200, file.mediaType, file.content)
            lastUse = Self.now
        case .open:
            let token = open(exchange.body)
            exchange.answer = token.map { (200, "application/json", $0) } ?? (403, nil, [])
            lastUse = Self.now
        case .ask:
            let id = ObjectIdentifier(exchange)
            lastContact = Self.now
            let body = exchange.body
            exchange.body = []
            let request = desk.take(body) { [weak self] message in
                let answer: Exchange.Answer = (200, "application/json", message)
                guard let waiting = self?.suspended.removeValue(forKey: id) else { return exchange.answer = answer }
                waiting.resume(answer)
            }
            if request != .operation(name: "change.wait") { lastUse = Self.now }
            if exchange.answer == nil {
                suspended[id] = unsafe SuspendedExchange(exchange, connection)
            }
        }
    }
}
