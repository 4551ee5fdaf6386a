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
    static func database(_ configuration: ServerConfiguration, serving: Bool = false) throws(ServerFailure)
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

    static func store(_ configuration: ServerConfiguration, serving: Bool = false) throws(ServerFailure) -> ServerStore
    {
        try ServerStore(
            database: try database(configuration, serving: serving), random: SystemRandomSource(),
            clock: SystemWallClock(), quota: configuration.quota)
    }

    static func initialize(_ configuration: ServerConfiguration) throws(ServerFailure) {
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
    static func invite(_ configuration: ServerConfiguration, days: Int) throws(ServerFailure) -> String {
        let store = try store(configuration)
        let text = Hex.encode(SystemRandomSource().bytes(count: 16))
        try store.invite(Array(text.utf8), milliseconds: Int64(days) * 86_400_000)
        return text
    }

    // MARK: Serving

    static func serve(_ configuration: ServerConfiguration) throws(ServerFailure) {
        // Held back before the first thread is made, so that every thread holds them back and the descriptor has them.
        var watched = sigset_t()
        unsafe sigemptyset(&watched)
        for signal in [SIGTERM, SIGINT] { unsafe sigaddset(&watched, signal) }
        unsafe pthread_sigmask(SIG_BLOCK, &watched, nil)
        let signals = unsafe coffret_signal_descriptor([SIGTERM, SIGINT], 2)
        let log = ServerLog(level: configuration.log)
        // Every connection is a descriptor; the soft limit is often 1,024.
        var descriptors = rlimit()
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        if unsafe getrlimit(resource, &descriptors) == 0 {
            descriptors.rlim_cur = descriptors.rlim_max
            _ = unsafe setrlimit(resource, &descriptors)
        }
        var configuration = configuration
        var tls: (certificate: String, key: String)?
        switch (configuration.certificateFile, configuration.keyFile) {
        case (nil, nil): break
        case (let certificate?, let key?):
            guard let certificateBytes = ServerFiles.read(certificate, byteCountMax: 1 << 20),
                let keyBytes = ServerFiles.read(key, byteCountMax: 1 << 20)
            else { throw ServerFailure(.configuration, "the certificate or its key cannot be read") }
            let text = String(decoding: certificateBytes, as: UTF8.self)
            guard let fingerprint = CertificateFingerprint.ofPEM(text) else {
                throw ServerFailure(.configuration, "\(certificate) holds no certificate")
            }
            configuration.fingerprint = fingerprint
            tls = (text, String(decoding: keyBytes, as: UTF8.self))
        default: throw ServerFailure(.configuration, "tls-certificate and tls-key go together")
        }
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
        let server = HTTPServer(service: service, configuration: configuration, metrics: metrics, log: log, hub: hub)
        try store.database.listen { notice in
            if case .sessionsEnded = notice { store.sessionChanges.note() }
            if case .pairing(let accountID, let relayID) = notice { rooms.board.add(relayID, for: accountID) }
            hub.post(.notice(notice))
        }
        hub.start()
        try server.start(socket: listening.descriptor, certificate: tls?.certificate, key: tls?.key)
        var operatorServer: HTTPServer?
        if let address = configuration.metricsListen {
            let socket = try ListeningSocket.open(address)
            let other = HTTPServer(
                service: service, configuration: configuration, metrics: metrics, log: log, hub: hub,
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
            ])
        waitForEnd(signals, store: store, log: log)
        log.info("stopping")
        hub.stop()
        server.stop()
        operatorServer?.stop()
        store.database.close()
    }

    /// Cleans at once, and once a minute, until a signal comes.
    private static func waitForEnd(_ signals: Int32, store: ServerStore, log: ServerLog) {
        func ready(within milliseconds: Int32) -> Int32 {
            var poll = pollfd(fd: signals, events: Int16(POLLIN), revents: 0)
            return unsafe Glibc.poll(&poll, 1, milliseconds)
        }
        var pause: Int32 = 0
        while true {
            let count = ready(within: pause)
            if count > 0, coffret_next_signal(signals) > 0 { return }
            guard count == 0 else { continue }
            pause = 60_000
            do throws(ServerFailure) { try store.clean { ready(within: 0) == 0 } } catch { log.failure(error) }
        }
    }
}

/// SHA-256 of the public key in a certificate, as devices see it.
enum CertificateFingerprint {
    /// In the groups in which a device asks a person to compare it at the first contact; `none` for one of zeros.
    static func words(_ fingerprint: [UInt8]) -> String {
        guard fingerprint.contains(where: { $0 != 0 }) else { return "none" }
        return stride(from: 0, to: fingerprint.count, by: 4).map { Hex.encode(fingerprint[$0...].prefix(4)) }
            .joined(separator: " ")
    }

    /// Of the first certificate in PEM text.
    static func ofPEM(_ text: String) -> [UInt8]? {
        guard let start = text.firstRange(of: "-----BEGIN CERTIFICATE-----"),
            let end = text[start.upperBound...].firstRange(of: "-----END CERTIFICATE-----"),
            let der = try? Base64.standard.decode(
                String(text[start.upperBound..<end.lowerBound].filter { !$0.isWhitespace }))
        else { return nil }
        return ofDER(der)
    }

    /// Certificate → TBSCertificate → [version], serial, algorithm, issuer, validity, subject, SubjectPublicKeyInfo.
    ///
    /// Source: RFC 5280, section 4.1.
    static func ofDER(_ der: [UInt8]) -> [UInt8]? {
        guard let certificate = element(der[...]), certificate.tag == 0x30, let body = element(certificate.content),
            body.tag == 0x30
        else { return nil }
        var rest = body.content
        guard var next = element(rest) else { return nil }
        if next.tag == 0xA0 {
            rest = rest[next.end...]
            guard let serial = element(rest) else { return nil }
            next = serial
        }
        for _ in 0..<5 {
            rest = rest[next.end...]
            guard let following = element(rest) else { return nil }
            next = following
        }
        guard next.tag == 0x30 else { return nil }
        let key = Array(rest[rest.startIndex..<next.end])
        return unsafe HashAlgorithm.sha256.hash(key.span.bytes)
    }

    private static func element(_ bytes: ArraySlice<UInt8>) -> (tag: UInt8, content: ArraySlice<UInt8>, end: Int)? {
        guard bytes.count >= 2 else { return nil }
        let (tag, first) = (bytes[bytes.startIndex], bytes[bytes.startIndex + 1])
        var start = bytes.startIndex + 2
        var length = Int(first)
        if first >= 0x80 {
            let count = Int(first & 0x7F)
            guard (1...4).contains(count), bytes.endIndex - start >= count else { return nil }
            length = bytes[start..<start + count].reduce(0) { $0 << 8 | Int($1) }
            start += count
        }
        guard bytes.endIndex - start >= length else { return nil }
        return (tag, bytes[start..<start + length], start + length)
    }
}
