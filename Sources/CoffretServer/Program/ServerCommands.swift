// What the server's commands do. The one thing to keep true: a database is served by what owns it, and a backup is
// one consistent state.

internal import CPlatform
internal import CoffretBase
internal import CoffretCrypto
internal import CoffretTrust
internal import Glibc
internal import Synchronization

enum ServerCommands {
    static let databaseName = "server.sqlite"

    /// Opens the configured database; on SQLite, which has one server, under the directory's lock if asked.
    static func database(_ configuration: ServerConfiguration, serving: Bool = false) throws
        -> any SQLDatabase
    {
        if let connection = configuration.postgres { return try PostgresDatabase(connection: connection) }
        let folder = configuration.dataDirectory
        guard unsafe access(folder, R_OK | W_OK | X_OK) == 0 else {
            throw ServerFailure(.dataDirectory, "\(folder) is missing or cannot be written; run: coffret-server init")
        }
        if serving, !ServerFiles.lock(folder + "/lock") {
            throw ServerFailure(.dataDirectory, "\(folder) is being served by another process")
        }
        return try SQLiteDatabase(path: folder + "/" + databaseName)
    }

    static func store(_ configuration: ServerConfiguration, serving: Bool = false) throws -> ServerStore {
        try ServerStore(
            database: try database(configuration, serving: serving), random: SystemRandomSource(),
            clock: SystemWallClock(), quota: configuration.quota)
    }

    static func initialize(_ configuration: ServerConfiguration) throws {
        if configuration.postgres == nil {
            let folder = configuration.dataDirectory
            if unsafe mkdir(folder, 0o700) != 0, errno != EEXIST {
                throw ServerFailure(.dataDirectory, "\(folder) cannot be made (errno \(errno))")
            }
            if unsafe access(folder + "/" + databaseName, F_OK) == 0 {
                throw ServerFailure(.dataDirectory, "\(folder) holds a database already; nothing was changed")
            }
        }
        let database = try database(configuration)
        try ServerStore.initialize(database, random: SystemRandomSource())
        database.close()
    }

    /// An invitation: 32 digits that are shown once; the database keeps a hash.
    static func invite(_ configuration: ServerConfiguration, days: Int) throws -> String {
        let store = try store(configuration)
        let text = Hex.encode(SystemRandomSource().bytes(count: 16))
        try store.invite(Array(text.utf8), milliseconds: Int64(days) * 86_400_000)
        return text
    }

    // MARK: Serving

    /// Descriptors that the database, the log and the threads need.
    private static let otherDescriptorCount = 512

    static func serve(_ configuration: ServerConfiguration) throws {
        let signals = signalDescriptor()
        let log = ServerLog(level: configuration.log)
        let descriptorCount = raiseDescriptorLimit()
        var configuration = configuration
        let tls = try ServerCertificate.read(configuration)
        // A WebSocket over TLS has its own and a pair. Without a place a peer is refused; without a descriptor everybody is.
        let places = (descriptorCount - Self.otherDescriptorCount) / (tls == nil ? 1 : 3)
        configuration.connectionCountMax = min(configuration.connectionCountMax, max(places, 16))
        if let tls { configuration.fingerprint = tls.fingerprint }
        let store = try store(configuration, serving: true)
        let metrics = ServerMetrics()
        let rooms = RelayRooms(random: SystemRandomSource())
        let hub = LiveHub(rooms: rooms)
        let service = ServerService(store: store, configuration: configuration, rooms: rooms) { [hub] in
            metrics.text(gauges: [
                ("coffret_websockets", "Open WebSockets.", { hub.counts.connections.load(ordering: .relaxed) }),
                ("coffret_relay_rooms", "Relay ids that wait for a second client.", { hub.rooms.count }),
                (
                    "coffret_relayed_messages", "Messages passed through the relay.",
                    { hub.counts.relayed.load(ordering: .relaxed) }
                ),
                ("coffret_events_sent", "Events sent.", { hub.counts.eventsSent.load(ordering: .relaxed) }),
            ])
        }
        let listening = try ListeningSocket.open(configuration.listen)
        let lanes = WorkLanes(hasOneWriter: store.database.servesAlone)
        let server = HTTPServer(
            service: service, configuration: configuration, metrics: metrics, log: log, hub: hub, lanes: lanes)
        try store.database.listen { notice in
            if case .sessionsEnded = notice { store.sessionChanges.note() }
            if case .pairing(let accountID, let relayID) = notice { rooms.board.add(relayID, for: accountID) }
            if case .ask(let accountID, let deviceID, let relayID) = notice {
                rooms.asks.add(relayID, for: accountID + deviceID.bytes)
            }
            hub.post(.notice(notice))
        }
        hub.start()
        try server.start(socket: listening.descriptor, certificate: tls?.certificate, key: tls?.key)
        var operatorServer: HTTPServer?
        if let address = configuration.metricsListen {
            let socket = try ListeningSocket.open(address)
            let other = HTTPServer(
                service: service, configuration: configuration, metrics: metrics, log: log, hub: hub, lanes: lanes,
                isMetricsOnly: true)
            try other.start(socket: socket.descriptor)
            operatorServer = other
        }
        log.info(
            "listening",
            [
                "port": "\(listening.port)", "tls": tls == nil ? "no" : "yes",
                "fingerprint": CertificateFingerprint.words(configuration.fingerprint),
                "storage": configuration.postgres == nil ? "sqlite" : "postgres",
                "connections": "\(configuration.connectionCountMax)",
            ])
        waitForEnd(signals, store: store, log: log, metrics: metrics) {
            guard let next = try ServerCertificate.read(configuration) else { return }
            try server.renew(certificate: next.certificate, key: next.key)
            service.renew(fingerprint: next.fingerprint)
            log.info("certificate", ["fingerprint": CertificateFingerprint.words(next.fingerprint)])
        }
        log.info("stopping")
        hub.stop()
        lanes.stop()
        server.stop()
        operatorServer?.stop()
        store.database.close()
    }

    /// A descriptor for the signals that end the server or renew its certificate.
    ///
    /// They are blocked before the first thread is made, so that every thread blocks them and the descriptor has them.
    private static func signalDescriptor() -> Int32 {
        var watched = sigset_t()
        unsafe sigemptyset(&watched)
        for signal in [SIGTERM, SIGINT, SIGHUP] { unsafe sigaddset(&watched, signal) }
        unsafe pthread_sigmask(SIG_BLOCK, &watched, nil)
        return unsafe coffret_signal_descriptor([SIGTERM, SIGINT, SIGHUP], 3)
    }

    /// Every connection is a descriptor; the soft limit is often 1,024.
    ///
    /// - Returns: how many descriptors the process may have.
    private static func raiseDescriptorLimit() -> Int {
        var descriptors = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard unsafe getrlimit(resource, &descriptors) == 0 else { return .max }
        descriptors.rlim_cur = descriptors.rlim_max
        _ = unsafe setrlimit(resource, &descriptors)
        // A filter of system calls may have refused it.
        guard unsafe getrlimit(resource, &descriptors) == 0 else { return .max }
        return Int(clamping: descriptors.rlim_cur)
    }

    /// Cleans at once, and once a minute, and tells what was refused, until a signal comes that ends the server; SIGHUP reads
    /// the certificate anew.
    private static func waitForEnd(
        _ signals: Int32, store: ServerStore, log: ServerLog, metrics: ServerMetrics,
        renew: () throws -> Void
    ) {
        func ready(within milliseconds: Int32) -> Int32 {
            var poll = pollfd(fd: signals, events: Int16(POLLIN), revents: 0)
            return unsafe Glibc.poll(&poll, 1, milliseconds)
        }
        var pause: Int32 = 0
        var told = ServerMetrics.Refusals()
        func tellRefusals() {
            let refusals = metrics.refusals
            log.refusals(refusals - told)
            told = refusals
        }
        defer { tellRefusals() }
        while true {
            let count = ready(within: pause)
            if count > 0 {
                let signal = coffret_next_signal(signals)
                guard signal == SIGHUP else {
                    if signal > 0 { return }
                    continue
                }
                do { try renew() } catch { log.failure(ServerFailure(error)) }
            }
            guard count == 0 else { continue }
            pause = 60_000
            tellRefusals()
            do { try store.clean { ready(within: 0) == 0 } } catch { log.failure(ServerFailure(error)) }
        }
    }
}
