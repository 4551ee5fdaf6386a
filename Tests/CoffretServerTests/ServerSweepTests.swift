// Sweeps at the real server: what is refused and how that is said, and what a backup keeps of them.

import CoffretBase
import CoffretCrypto
import CoffretServer
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Testing

@Suite("Sweeps at the server process")
struct ServerSweepTests {
    /// A sweep, signed by a device of an account.
    static func sweep(
        _ objects: [[UInt8]], chunks: [[UInt8]] = [], below link: [UInt8]? = nil, in zone: String, by device: TestDevice
    ) throws -> [UInt8] {
        let zoneID = try Hex.decode(zone)
        // A vault's id is the hash of the link that founds it.
        let link = link ?? zoneID
        let proof = SweepProof(zoneID: zoneID, linkHash: link, objects: objects, chunks: chunks)
        return ZoneSweep(
            linkHash: link, objects: objects, chunks: chunks, signature: proof.sign(with: device.signing)
        ).encoded()
    }

    static func used(_ client: ServerClient) throws -> UInt64 {
        try AccountUsage(decoding: try client.send("GET", "/v1/usage").body).usedByteCount
    }

    static func changes(_ client: ServerClient, _ zone: String) throws -> [ZoneObject] {
        ServerClient.objects(try ServerClient.frames(try client.send("GET", "/v1/zones/\(zone)/changes").body))
    }

    @Test("what may not be swept is refused by name, and nothing changes (R14, R28)")
    func refusals() throws {
        let server = try ServerProcessTests.open(try ServerProcessTests.folder())
        let client = try ServerProcessTests.client(server)
        let stranger = try ServerProcessTests.client(server)
        let zone = try ServerProcessTests.zone(client)
        let path = "/v1/zones/\(zone)/sweep"
        let (first, old, head) = (ZoneObject.random(), ZoneObject.random(), ZoneObject.random())
        #expect(try client.push(zone, from: nil, to: first.address, [old, first]).status == 200)
        #expect(try client.push(zone, from: first.address, to: head.address, [head]).status == 200)
        let second = TestDevice()
        let other = try client.adding(second)

        let young = try client.send("POST", path, Self.sweep([old.address], in: zone, by: client.device))
        #expect(young.status == 409 && young.code == "server.zone.checkpoint-young")
        for device in [client, other] { try device.acknowledge(zone) }
        let stale = try client.send(
            "POST", path, Self.sweep([old.address], below: head.address, in: zone, by: client.device))
        #expect(stale.status == 400 && stale.code == "server.request.malformed")
        var forged = try Self.sweep([old.address], in: zone, by: client.device)
        forged[forged.count - 1] ^= 1
        let unsigned = try client.send("POST", path, forged)
        #expect(unsigned.status == 403 && unsigned.code == "server.request.forbidden")
        let many = [[UInt8]](repeating: old.address, count: ServerLimits.sweepAddressCountMax + 1)
        let long = try client.send("POST", path, Self.sweep(many, in: zone, by: client.device))
        #expect(long.status == 400 && long.code == "server.request.malformed")
        let longer = try client.send("POST", path, [UInt8](repeating: 0, count: 400_000))
        #expect(longer.status == 413 && longer.code == "server.request.too-large")
        let foreign = try stranger.send(
            "POST", path, Self.sweep([old.address], in: zone, by: stranger.device))
        #expect(foreign.status == 404 && foreign.code == "server.zone.unknown")
        for list in ["objects", "chunks"] {
            #expect(try stranger.send("GET", "/v1/zones/\(zone)/\(list)").code == "server.zone.unknown")
        }
        let itself = try client.send(
            "POST", path, Self.sweep([head.address], in: zone, by: client.device))
        #expect(itself.status == 400 && itself.code == "server.request.malformed")

        // The second device's push in parts is in the way until its head comes; then it is revoked.
        let usedBefore = try Self.used(client)
        let part = ZoneObject.random()
        #expect(try other.push(zone, from: head.address, to: head.address, [part]).status == 200)
        let busy = try client.send(
            "POST", path, Self.sweep([old.address, part.address], in: zone, by: client.device))
        #expect(busy.status == 409 && busy.code == "server.zone.push-pending")
        #expect(try Self.changes(client, zone) == [old, first, head, part])
        #expect(try Self.used(client) == usedBefore + 356)

        let next = ZoneObject.random()
        #expect(try other.push(zone, from: head.address, to: next.address, [next]).status == 200)
        let swept = try other.send(
            "POST", path, Self.sweep([old.address, first.address], in: zone, by: second))
        #expect(try SweepReceipt(decoding: swept.body) == SweepReceipt(count: 2, byteCount: 200))
        #expect(try Self.changes(client, zone) == [head, part, next])
        // What was signed is kept: the addresses, who, below which link.
        #expect(try (200..<800).contains(Self.used(client) - usedBefore))
        let revocation = client.account.revoking(second)
        #expect(try client.append(revocation).status == 200)
        let late = try other.send(
            "POST", path, Self.sweep([part.address], in: zone, by: second))
        #expect(late.status == 401 && late.code == "server.session.unknown")
        // What it had swept is served, and is back when the server has cleaned.
        let fetch = ZoneFetch(addresses: [old.address, first.address]).encoded()
        let answer = try client.send("POST", "/v1/zones/\(zone)/fetch", fetch)
        #expect(
            Set(ServerClient.objects(try ServerClient.frames(answer.body)).map(\.address)) == [
                old.address, first.address,
            ])
    }

    @Test("a backup keeps what was swept, so that a restored server serves it still")
    func backups() throws {
        let folder = try ServerProcessTests.folder()
        var server = try ServerProcessTests.open(folder)
        let client = try ServerProcessTests.client(server)
        let zone = try ServerProcessTests.zone(client)
        let chunk = SystemRandomSource().bytes(count: 32)
        #expect(try client.send("PUT", "/v1/zones/\(zone)/chunks/\(Hex.encode(chunk))", [1, 2, 3]).status == 201)
        let (old, head) = (ZoneObject.random(), ZoneObject.random())
        #expect(try client.push(zone, from: nil, to: head.address, [old, head]).status == 200)
        try client.adding(TestDevice()).acknowledge(zone)
        let list = { (kind: String) in
            try AddressPage(decoding: try client.send("GET", "/v1/zones/\(zone)/\(kind)").body)
        }
        #expect(try list("objects") == AddressPage(next: [], addresses: [old.address, head.address]))
        #expect(try list("chunks") == AddressPage(next: [], addresses: [chunk]))
        let receipt = try client.send(
            "POST", "/v1/zones/\(zone)/sweep",
            Self.sweep([old.address], chunks: [chunk], in: zone, by: client.device))
        #expect(try SweepReceipt(decoding: receipt.body) == SweepReceipt(count: 2, byteCount: 103))
        #expect(try client.send("GET", "/v1/zones/\(zone)/objects?after=zz").code == "server.request.malformed")
        let (data, backup) = (folder.file("data"), folder.file("backup"))
        #expect(try ServerProcess.run("backup", "--data", data, backup).exitCode == 0)
        #expect(server.stop() == 0)

        let second = folder.file("second")
        #expect(try ServerProcess.run("init", "--data", second).exitCode == 0)
        #expect(try ServerProcess.run("restore", "--data", second, backup).exitCode == 0)
        let doctor = try ServerProcess.run("doctor", "--data", second)
        #expect(doctor.exitCode == 0 && doctor.text.contains("swept and kept: 2"), "\(doctor.text)")
        server = try ServerProcess(["--data", second])
        let again = ServerClient(port: server.port, account: client.account)
        #expect(try again.login().status == 200)
        #expect(try Self.changes(again, zone) == [head])
        let fetched = try again.send(
            "POST", "/v1/zones/\(zone)/fetch", ZoneFetch(addresses: [old.address, head.address]).encoded())
        #expect(ServerClient.objects(try ServerClient.frames(fetched.body)) == [old, head])
        #expect(try again.send("GET", "/v1/zones/\(zone)/chunks/\(Hex.encode(chunk))").body == [1, 2, 3])
        #expect(server.stop() == 0)

        // A fault that only the list of what was swept shows.
        let database = try SQLiteDatabase(path: second + "/server.sqlite")
        try database.write { session in try session.script("DELETE FROM swept WHERE kind = 1") }
        database.close()
        let fault = try ServerProcess.run("doctor", "--data", second)
        #expect(fault.exitCode != 0 && fault.text.contains("of chunks 1 are marked as swept, and 0 listed"))
    }

    @Test("what a sweep and a fetch cost depends on what they name, and not on what else the zone holds")
    func cost() throws {
        let folder = try TemporaryDirectory("server-sweep")
        let world = try StoreWorld(SQLiteDatabase(path: folder.file("d")))
        let account = try world.account()
        func costs(beside count: Int) throws -> (sweep: Double, fetch: Double) {
            let zone = try world.zone(account)
            let objects = (0..<count + 200).map { _ in ZoneObject.random(byteCount: 500) }
            try world.push(objects, on: nil, in: zone, by: account.owner)
            let named = objects.suffix(200).map(\.address)
            let (fetched, fetch) = try ProcessorTime.measure { try world.fetched(named, zone, account) }
            #expect(fetched == Array(objects.suffix(200)))
            let (outcome, sweep) = try ProcessorTime.measure { try world.sweep(named, in: zone, account) }
            #expect(outcome == SweepReceipt(count: 200, byteCount: 100_000))
            return (sweep, fetch)
        }
        let (small, large) = (try costs(beside: 10), try costs(beside: 20_000))
        // A hundred times as much if each address were looked for among all.
        #expect(large.sweep < 10 * small.sweep, "\(small.sweep) s, \(large.sweep) s")
        #expect(large.fetch < 10 * small.fetch, "\(small.fetch) s, \(large.fetch) s")
        world.store.database.close()
    }
}
