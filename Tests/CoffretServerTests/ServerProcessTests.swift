// The real server over real sockets: what a device does, what hostile clients do, and what a kill leaves.

import CoffretBase
import CoffretCrypto
import CoffretNet
import CoffretServer
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Foundation
import Testing

@Suite("Server process")
struct ServerProcessTests {
    /// A folder with an initialised server in it.
    static func folder() throws -> TemporaryDirectory {
        let folder = try TemporaryDirectory("server")
        let result = try ServerProcess.run("init", "--data", folder.file("data"))
        guard result.exitCode == 0 else { throw ClientFailure(text: result.errorText) }
        return folder
    }

    static func open(_ folder: TemporaryDirectory, _ more: String...) throws -> ServerProcess {
        try ServerProcess(
            [
                "--data", folder.file("data"), "--registration", "open", "--requests-per-second-per-address", "100000",
                "--requests-per-second-per-account", "100000",
            ] + more, in: folder)
    }

    static func client(_ server: ServerProcess, _ account: TestAccount? = nil) throws -> ServerClient {
        let client = ServerClient(port: server.port, account: try account ?? TestAccount())
        guard try client.register().status == 201, try client.login().status == 200 else {
            throw ClientFailure(text: "no account")
        }
        return client
    }

    static func zone(_ client: ServerClient) throws -> String {
        let vault = try client.account.vault()
        let answer = try client.send("POST", "/v1/links", LinkPost([vault.item]).encoded())
        guard answer.status == 200 else { throw ClientFailure(text: "no zone: \(answer.status) \(answer.code)") }
        return Hex.encode(vault.vaultID)
    }

    @Test("a device's day: account, zone, push, pull, attachment, acknowledgement, mail")
    func life() throws {
        let server = try Self.open(try Self.folder())
        let client = try Self.client(server)
        let zone = try Self.zone(client)
        let objects = (0..<20).map { _ in ZoneObject.random(byteCount: 100_000) }
        let head = objects[19].address
        #expect(try client.push(zone, from: nil, to: nil, objects).status == 200)
        let receipt = try PushReceipt(decoding: try client.push(zone, from: nil, to: head, []).body)
        let conflict = try client.push(zone, from: nil, to: objects[0].address, [])
        #expect(conflict.status == 412)
        let state = try LogHead(decoding: conflict.body)
        #expect(state.address == head && state.cursor == receipt.cursor && state.epoch == 1)
        #expect(state.word?.isWord(of: client.device, for: head, epoch: 1, in: try Hex.decode(zone)) == true)

        let answer = try client.send("GET", "/v1/zones/\(zone)/head")
        let tag = try #require(answer.head.single("etag"))
        let same = try client.send("GET", "/v1/zones/\(zone)/head", fields: [("If-None-Match", tag)])
        #expect(same.status == 304 && same.body.isEmpty)

        var frames = try ServerClient.frames(try client.send("GET", "/v1/zones/\(zone)/changes").body)
        #expect(frames.last == .mark(head: head, cursor: receipt.cursor, hasMore: false))
        let pulled = ServerClient.objects(frames)
        #expect(pulled == objects)
        frames = try ServerClient.frames(try client.send("GET", "/v1/zones/\(zone)/changes?limit=1").body)
        guard case .mark(_, let cursor, true)? = frames.last else {
            Issue.record("a limited stream ends with a mark that says so")
            return
        }
        let rest = try client.send("GET", "/v1/zones/\(zone)/changes?since=\(Hex.encode(cursor))").body
        #expect(try ServerClient.frames(rest).count + frames.count >= 22)
        let fetched = try client.send(
            "POST", "/v1/zones/\(zone)/fetch", ZoneFetch(addresses: [objects[3].address, head]).encoded())
        #expect(try ServerClient.frames(fetched.body).count == 3)

        let path = "/v1/zones/\(zone)/chunks/\(Hex.encode(objects[0].address))"
        let bytes = objects[0].ciphertext
        let part = try client.send(
            "PUT", path, Array(bytes[..<70_000]), fields: [("Content-Range", "bytes 0-69999/100000")])
        #expect(part.status == 202 && part.head.single("upload-offset") == "70000")
        let wrong = try client.send(
            "PUT", path, Array(bytes[80_000...]), fields: [("Content-Range", "bytes 80000-99999/100000")])
        #expect(wrong.status == 409 && wrong.head.single("upload-offset") == "70000")
        #expect(try client.send("GET", path).head.single("upload-offset") == "70000")
        let last = try client.send(
            "PUT", path, Array(bytes[70_000...]), fields: [("Content-Range", "bytes 70000-99999/100000")])
        #expect(last.status == 201)
        #expect(try client.send("GET", path).body == bytes)
        let range = try client.send("GET", path, fields: [("Range", "bytes=10-19")])
        #expect(range.status == 206 && range.body == Array(bytes[10..<20]))
        #expect(try client.send("GET", path, fields: [("Range", "bytes=100000-")]).status == 416)

        let device = client.device.id.hex
        #expect(try client.send("PUT", "/v1/zones/\(zone)/acks/\(device)", [1, 2]).status == 204)
        #expect(try client.send("PUT", "/v1/zones/\(zone)/acks/\(TestDevice().id.hex)", [1]).status == 403)
        let acks = try Acknowledgements(decoding: try client.send("GET", "/v1/zones/\(zone)/acks").body)
        #expect(acks.entries.map(\.bytes) == [[1, 2]])
        let mailbox = "/v1/mailboxes/\(Hex.encode(client.account.id))"
        let other = try Self.client(server)
        let post = MailboxPost(deviceID: nil, bytes: [7]).encoded()
        #expect(try other.send("POST", mailbox, post).status == 403)
        #expect(try client.send("POST", mailbox, post).status == 201)
        #expect(try other.send("GET", mailbox).status == 403)
        let mail = try MailboxEntries(decoding: try client.send("GET", mailbox).body)
        #expect(mail.entries.map(\.bytes) == [[7]])
        #expect(try client.send("DELETE", "\(mailbox)/\(mail.entries[0].id.hex)").status == 204)
        #expect(try client.send("POST", "/v1/logout").status == 204)
        #expect(try client.send("GET", "/v1/zones").status == 401)
        #expect(server.stop() == 0)
    }

    @Test("events reach listening devices, and a revoked one is cut off at once (R28)")
    func revokedLyingServer() throws {
        let server = try Self.open(try Self.folder())
        let account = try TestAccount()
        let client = try Self.client(server, account)
        let zone = try Self.zone(client)
        let second = TestDevice()
        let phone = try client.adding(second)
        let events = try ClientWebSocket.events(port: server.port, token: phone.token)
        let object = ZoneObject.random()
        let receipt = try PushReceipt(decoding: try client.push(zone, from: nil, to: object.address, [object]).body)
        try events.hear(.zone(id: try Hex.decode(zone), head: object.address, cursor: receipt.cursor))
        let revocation = account.revoking(second)
        #expect(try client.append(revocation).status == 200)
        #expect(try phone.send("GET", "/v1/zones/\(zone)/changes").status == 401)
        #expect(try phone.login().code == "server.login.refused")
        var last = try events.next()
        while case .message = last { last = try events.next() }
        #expect(last == .closed(code: 4401, reason: "session ended"))
        #expect(throws: WebSocketRefusal.status(401)) {
            try ClientWebSocket(port: server.port, path: "/v1/events", token: phone.token)
        }
        #expect(try client.append(revocation).status == 200, "the same link again is the same answer")
        #expect(try client.append(revocation + [0]).code == "trust.link.malformed")
    }

    @Test("the relay joins two clients once and passes on what they say")
    func relay() throws {
        let server = try Self.open(try Self.folder())
        let first = try ClientWebSocket(port: server.port, path: "/v1/relay")
        guard case .message(.text(let id)) = try first.next() else {
            Issue.record("no relay id")
            return
        }
        #expect(id.count == 32)
        #expect(throws: WebSocketRefusal.status(404)) {
            try ClientWebSocket(port: server.port, path: "/v1/relay/" + String(repeating: "0", count: 32))
        }
        let second = try ClientWebSocket(port: server.port, path: "/v1/relay/\(id)")
        #expect(throws: WebSocketRefusal.status(404)) {
            try ClientWebSocket(port: server.port, path: "/v1/relay/\(id)")
        }
        for byteCount in [0, 1, 200, 65_536] {
            let bytes = SystemRandomSource().bytes(count: byteCount)
            try second.send(.binary(bytes))
            #expect(try first.next() == .message(.binary(bytes)))
            try first.send(.binary(bytes))
            #expect(try second.next() == .message(.binary(bytes)))
        }
        try first.close()
        #expect(try second.next() == .closed(code: 1001, reason: "the other side left"))
    }

    @Test("a new device that names an account is announced to it, boundedly, and learns nothing by it (R26, R47)")
    func announcedPairing() throws {
        let server = try Self.open(try Self.folder())
        let (client, other) = (try Self.client(server), try Self.client(server))
        let name = Hex.encode(client.account.id.prefix(8))
        let events = try ClientWebSocket.events(port: server.port, token: client.token)
        func requests(_ client: ServerClient) throws -> [PairingRequests.Request] {
            try PairingRequests(decoding: try client.send("GET", "/v1/pairings").body).requests
        }
        func relay(_ query: String) throws -> (socket: ClientWebSocket, id: String) {
            let socket = try ClientWebSocket(port: server.port, path: "/v1/relay" + query)
            guard case .message(.text(let id)) = try socket.next() else { throw WebSocketRefusal.status(0) }
            return (socket, id)
        }
        let waiting = try relay("?account=\(name)")
        try events.hear(.pairing(accountID: client.account.id))
        #expect(try requests(client).map(\.relayID.hex) == [waiting.id])
        #expect(try requests(other).isEmpty, "another account sees nothing of it")
        #expect(
            try ServerClient(port: server.port, account: try TestAccount()).send("GET", "/v1/pairings").status == 401)
        // The same answer for an account that is not there, and for one that was told often enough.
        let unknown = try relay("?account=\(String(repeating: "0", count: 16))")
        #expect(unknown.id.count == 32)
        var more: [ClientWebSocket] = []
        for _ in 1...6 { more.append(try relay("?account=\(name)").socket) }
        #expect(try requests(client).count == 4, "no more than four wait with the account's knowledge")
        for wrong in ["nonsense", "", String(name.dropLast()), name.uppercased() + "A"] {
            #expect(throws: WebSocketRefusal.status(400)) { try relay("?account=\(wrong)") }
        }
        // Joined, it is no longer waiting; a device that leaves is not, either.
        _ = try ClientWebSocket(port: server.port, path: "/v1/relay/\(waiting.id)")
        #expect(try requests(client).count == 3)
        for socket in more { try socket.close() }
        try Waiting.until("those that left are forgotten") { try requests(client).isEmpty }
        // Four were announced: the account's rate is used up, and the relay works all the same.
        let late = try relay("?account=\(name)")
        #expect(late.id.count == 32)
        #expect(try requests(client).isEmpty)
    }

    @Test("what is not a request is refused with its code, and the server goes on (R14, R47)")
    func hostileRequests() throws {
        let server = try Self.open(try Self.folder())
        let client = try Self.client(server)
        let zone = try Self.zone(client)
        #expect(try client.send("GET", "/v1/nothing").code == "server.request.unknown")
        #expect(try client.send("GET", "/v1/zones/\(zone.uppercased())/head").code == "server.request.malformed")
        #expect(try client.send("PATCH", "/v1/zones").code == "server.request.method")
        #expect(try client.send("POST", "/v1/zones/\(zone)/push", [0xFF]).code == "server.request.malformed")
        #expect(try client.send("GET", "/v1/zones/\(zone)/changes?since=zz").code == "server.request.malformed")
        #expect(try client.send("GET", "/v1/chains/device/\(zone)?from=-1").code == "server.request.malformed")
        #expect(
            try client.send("POST", "/v1/login", fields: [("Transfer-Encoding", "chunked")]).status >= 400, "no length")
        let large = try client.send(
            "POST", "/v1/zones/\(zone)/acks/\(client.device.id.hex)", [UInt8](repeating: 0, count: 5_000))
        #expect(large.code == "server.request.method")
        let tooLarge = try client.send(
            "PUT", "/v1/zones/\(zone)/acks/\(client.device.id.hex)", [UInt8](repeating: 0, count: 5_000))
        #expect(tooLarge.code == "server.request.too-large")
        let nobody = ServerClient(port: server.port, account: try TestAccount())
        #expect(try nobody.send("GET", "/v1/zones").code == "server.session.unknown")
        #expect(try nobody.login().code == "server.login.refused", "an account that is not there")
        // Mutated bodies: an answer below 500 to each.
        let good = ZonePush(expectedHead: nil, newHead: nil, epoch: 1, objects: [ZoneObject.random()])
            .signed(for: try Hex.decode(zone), by: client.device.signing).encoded()
        let generator = SeededGenerator.fromEnvironment()
        for _ in 0..<150 {
            var bytes = good
            for _ in 0...generator.int(in: 0...3) {
                bytes[generator.int(in: 0...bytes.count - 1)] = UInt8(generator.int(in: 0...255))
            }
            let answer = try client.send("POST", "/v1/zones/\(zone)/push", bytes)
            #expect([200, 400, 403, 409, 412].contains(answer.status), "\(answer.status) \(answer.code)")
        }
        #expect(try client.send("GET", "/health").status == 200)
    }

    @Test("half-open uploads and silent connections of one client do not stop another (R47)")
    func halfOpenLyingServer() throws {
        let server = try Self.open(try Self.folder())
        let client = try Self.client(server)
        let zone = try Self.zone(client)
        var open: [ClientSocket] = []
        for index in 0..<200 {
            let socket = try ClientSocket(port: server.port)
            // Some send half a head, some a head and half a body.
            let text =
                index % 2 == 0
                ? "POST /v1/login HTTP/1.1\r\nHost: a\r\nX: "
                : "POST /v1/zones/\(zone)/push HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(client.token)\r\nContent-Length: 100000\r\n\r\nabc"
            try socket.write(Array(text.utf8))
            open.append(socket)
        }
        let object = ZoneObject.random()
        #expect(try client.push(zone, from: nil, to: object.address, [object]).status == 200)
        #expect(open.last?.hasNews == false, "nothing had to wait for their end")
        // One account's uploads get a quarter of what is free of the memory for bodies; another account still has room.
        let large =
            "POST /v1/zones/\(zone)/push HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(client.token)\r\nConnection: close\r\nContent-Length: 16777216\r\n\r\n"
        let part = [UInt8](repeating: 0, count: 16_777_215)
        let uploads = try (0..<3).map { _ in
            let socket = try ClientSocket(port: server.port)
            try socket.write(Array(large.utf8) + part)
            return socket
        }
        for socket in uploads { try socket.write([0]) }
        let codes = try uploads.map { try ServerClient.response($0).code }
        #expect(codes.contains("server.busy") && codes.contains("server.request.malformed"), "\(codes)")
        let other = try Self.client(server)
        #expect(try other.push(try Self.zone(other), from: nil, to: nil, [ZoneObject.random()]).status == 200)
        // After ten seconds the silent ones are gone.
        #expect(try open[0].read() == [], "a head that does not come closes the connection")
    }

    @Test("a flood is answered with 429 and a time to wait (R29, R47)")
    func flood() throws {
        let folder = try Self.folder()
        // The slowest rate there is, and no limit to the flood: on a busy machine requests come slower, too.
        let server = try ServerProcess(["--data", folder.file("data"), "--requests-per-second-per-address", "1"])
        let client = ServerClient(port: server.port, account: try TestAccount())
        func refusal(_ send: () throws -> ClientResponse) throws -> ClientResponse {
            var answer = try send()
            try Waiting.until("a refusal", everyMilliseconds: 0) {
                answer = try send()
                return answer.status == 429
            }
            return answer
        }
        let refused = try refusal { try client.send("GET", "/health") }
        #expect(refused.code == "server.rate.exceeded")
        #expect(refused.head.single("retry-after") != nil)
        // Whatever is asked for.
        let registration = try refusal { try ServerClient(port: server.port, account: try TestAccount()).register() }
        #expect(registration.code == "server.rate.exceeded")
    }

    @Test("kill -9 in the middle of pushes loses no push that was acknowledged (R48)")
    func killedLyingServer() throws {
        let folder = try Self.folder()
        let account = try TestAccount()
        var server = try Self.open(folder)
        let client = try Self.client(server, account)
        let zone = try Self.zone(client)
        var acknowledged: [ZoneObject] = []
        var head: [UInt8]?
        for round in 0..<4 {
            if round > 0 { server = try Self.open(folder) }
            let pusher = ServerClient(port: server.port, account: account)
            try pusher.login()
            // Once some have gone well, a moment later, whatever it does then.
            let (hasPushed, isKilled) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            Thread.detachNewThread { [id = server.processID] in
                hasPushed.wait()
                usleep(UInt32(1_000 + 4_000 * round))
                kill(id, SIGKILL)
                isKilled.signal()
            }
            var count = 0
            while true {
                let objects = (0..<5).map { _ in ZoneObject.random(byteCount: 2_000) }
                guard let answer = try? pusher.push(zone, from: head, to: objects[4].address, objects) else { break }
                // A push whose answer was lost may be there: then it is the head, whole.
                if answer.status == 412 { head = try LogHead(decoding: answer.body).address }
                if answer.status == 200 {
                    acknowledged += objects
                    head = objects[4].address
                    count += 1
                    if count == 3 { hasPushed.signal() }
                }
            }
            try #require(count >= 3, "the server ended by itself")
            isKilled.wait()
            server.killAtOnce()
        }
        server = try Self.open(folder)
        let reader = ServerClient(port: server.port, account: account)
        try reader.login()
        let frames = try ServerClient.frames(try reader.send("GET", "/v1/zones/\(zone)/changes").body)
        let there = Set(ServerClient.objects(frames).map(\.address))
        #expect(acknowledged.allSatisfy { there.contains($0.address) })
        #expect(there.count % 5 == 0, "no push is there in part")
        _ = server.stop()
        let doctor = try ServerProcess.run("doctor", "--data", folder.file("data"))
        #expect(doctor.exitCode == 0, "\(doctor.text)")
    }

    @Test("commands: mistakes say what they are and change nothing; backup and restore keep everything")
    func commands() throws {
        let folder = try Self.folder()
        #expect(try ServerProcess.run().exitCode == 2)
        #expect(try ServerProcess.run("sing").exitCode == 2)
        #expect(try ServerProcess.run("serve", "--data", folder.file("none")).exitCode == 4)
        #expect(try ServerProcess.run("serve", "--datta", "x").exitCode == 3)
        #expect(try ServerProcess.run("serve", "--postgres", "password=x").exitCode == 3)
        #expect(try ServerProcess.run("init", "--data", folder.file("data")).exitCode == 4)
        let invitation = try ServerProcess.run("invite", "--data", folder.file("data")).text.trimmingCharacters(
            in: .newlines)
        var server = try ServerProcess(["--data", folder.file("data"), "--registration", "invitation"])
        #expect(try ServerProcess.run("serve", "--data", folder.file("data"), "--listen", "127.0.0.1:0").exitCode == 4)
        let client = ServerClient(port: server.port, account: try TestAccount())
        #expect(try client.register().code == "server.registration.invitation-invalid")
        #expect(try client.register(invitation: Array(invitation.utf8)).status == 201)
        try client.login()
        let zone = try Self.zone(client)
        let objects = (0..<100).map { _ in ZoneObject.random() }
        #expect(try client.push(zone, from: nil, to: objects[0].address, objects).status == 200)
        let backup = try ServerProcess.run("backup", "--data", folder.file("data"), folder.file("backup"))
        #expect(backup.exitCode == 0, "\(backup.errorText)")
        #expect(server.stop() == 0)
        let second = folder.file("second")
        #expect(try ServerProcess.run("init", "--data", second).exitCode == 0)
        let restored = try ServerProcess.run("restore", "--data", second, folder.file("backup"))
        #expect(restored.exitCode == 0, "\(restored.errorText)")
        #expect(try ServerProcess.run("restore", "--data", second, folder.file("backup")).exitCode == 4)
        #expect(try ServerProcess.run("doctor", "--data", second).exitCode == 0)
        server = try ServerProcess(["--data", second])
        let again = ServerClient(port: server.port, account: client.account)
        #expect(try again.login().status == 200)
        let frames = try ServerClient.frames(try again.send("GET", "/v1/zones/\(zone)/changes").body)
        #expect(frames.count == 101)
    }

    static let curlPath = "/usr/bin/curl"
    static let hasTLSPeers = [curlPath, "/usr/bin/openssl"].allSatisfy {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    @Test(
        "over TLS a login names the certificate's key, and another server's does not do",
        .enabled(if: hasTLSPeers, "needs curl and openssl"))
    func tls() throws {
        let folder = try Self.folder()
        let (certificate, key) = (folder.file("cert.pem"), folder.file("key.pem"))
        func made(_ program: String, _ arguments: String..., input: [UInt8] = []) throws -> [UInt8] {
            let result = try ProcessRunner.run(program, arguments, input: input, timeoutSeconds: 60)
            guard result.exitCode == 0 else { throw ClientFailure(text: "\(program): \(result.errorText)") }
            return result.standardOutput
        }
        _ = try made(
            "/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", key, "-out", certificate, "-days", "2", "-subj", "/CN=localhost", "-addext",
            "subjectAltName=IP:127.0.0.1")
        let publicKey = try made("/usr/bin/openssl", "x509", "-in", certificate, "-noout", "-pubkey")
        let spki = try made("/usr/bin/openssl", "pkey", "-pubin", "-outform", "der", input: publicKey)
        let fingerprint = unsafe HashAlgorithm.sha256.hash(spki.span.bytes)
        let server = try Self.open(folder, "--tls-certificate", certificate, "--tls-key", key)
        // Which a person holds against what a device shows.
        #expect(server.fingerprint.filter { $0 != " " } == Hex.encode(fingerprint))
        func post(_ path: String, _ body: [UInt8]) throws -> [UInt8] {
            try made(
                Self.curlPath, "-s", "--cacert", certificate, "--data-binary", "@-", "-H",
                "Content-Type: application/cbor", "https://127.0.0.1:\(server.port)\(path)", input: body)
        }
        let account = try TestAccount()
        _ = try ChainHead(
            decoding: try post("/v1/accounts", AccountRegistration(link: account.firstLink).encoded()))
        for (stated, isGood) in [(fingerprint, true), (LoginProof.noFingerprint, false)] {
            let request = LoginChallengeRequest(
                accountID: account.id, deviceID: account.device.id, clientNonce: [UInt8](repeating: 1, count: 32))
            let challenge = try LoginChallenge(decoding: try post("/v1/login/challenge", request.encoded()))
            let proof = LoginProof(
                serverName: challenge.serverName, fingerprint: stated, accountID: account.chain.accountID,
                deviceID: account.device.id, serverNonce: challenge.serverNonce, clientNonce: request.clientNonce,
                expiry: challenge.expiry)
            let login = LoginRequest(
                challenge: challenge, request: request, signature: proof.sign(with: account.device.signing))
            let answer = try post("/v1/login", login.encoded())
            if isGood {
                _ = try LoginSession(decoding: answer)
            } else {
                #expect(try ServerRefusal(decoding: answer).code == "server.login.refused")
            }
        }
        #expect(server.stop() == 0)
    }

    @Test(
        "curl reads health and metrics, which name nobody",
        .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/curl"), "needs curl"))
    func curl() throws {
        let server = try Self.open(try Self.folder())
        let client = try Self.client(server)
        let zone = try Self.zone(client)
        _ = try client.send("GET", "/v1/zones/\(zone)/head")
        let health = try ProcessRunner.run("/usr/bin/curl", ["-sf", "http://127.0.0.1:\(server.port)/health"])
        #expect(health.text == "ok\n")
        let metrics = try ProcessRunner.run("/usr/bin/curl", ["-sf", "http://127.0.0.1:\(server.port)/metrics"]).text
        #expect(metrics.contains("coffret_requests_total{route=\"zones.head\",status=\"200\"} 1"))
        #expect(!metrics.contains(zone) && !metrics.contains(Hex.encode(client.account.id)))
    }

    @Test(
        "two servers on one PostgreSQL: events cross, and either may die",
        .enabled(if: PostgresCluster.isAvailable, "needs PostgreSQL's programs"))
    func twoServers() throws {
        let cluster = try PostgresCluster()
        defer { cluster.stop() }
        let connection = try cluster.database()
        let made = try ServerProcess.run("init", "--postgres", connection)
        #expect(made.exitCode == 0, "\(made.errorText)")
        let options = [
            "--postgres", connection, "--registration", "open", "--requests-per-second-per-address", "100000",
        ]
        let (one, two) = (try ServerProcess(options), try ServerProcess(options))
        let client = try Self.client(one)
        let zone = try Self.zone(client)
        let other = ServerClient(port: two.port, account: client.account)
        #expect(try other.login().status == 200)
        let events = try ClientWebSocket.events(port: two.port, token: other.token)
        let object = ZoneObject.random()
        let receipt = try PushReceipt(decoding: try client.push(zone, from: nil, to: object.address, [object]).body)
        try events.hear(.zone(id: try Hex.decode(zone), head: object.address, cursor: receipt.cursor))
        // A new device at one server is known at the other.
        let name = Hex.encode(client.account.id.prefix(8))
        let waiting = try ClientWebSocket(port: one.port, path: "/v1/relay?account=\(name)")
        guard case .message(.text(let relayID)) = try waiting.next() else {
            Issue.record("no relay id")
            return
        }
        try events.hear(.pairing(accountID: client.account.id))
        let requests = try PairingRequests(decoding: try other.send("GET", "/v1/pairings").body)
        #expect(requests.requests.map(\.relayID.hex) == [relayID])
        one.killAtOnce()
        let frames = try ServerClient.frames(try other.send("GET", "/v1/zones/\(zone)/changes").body)
        #expect(frames.count == 2)
        #expect(two.stop() == 0)
    }
}
