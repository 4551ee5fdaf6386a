// Zones of logs over real sockets: each refusal by its code, races, restarts, limits, and many clients at once.

import CoffretBase
import CoffretCrypto
import CoffretNet
import CoffretServer
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Foundation
import Testing

extension ServerClient {
    func post(_ items: [LinkPost.Item]) throws -> ClientResponse {
        try send("POST", "/v1/links", LinkPost(items).encoded())
    }

    func push(_ push: ZonePush, to vault: LogVault) throws -> ClientResponse {
        try send("POST", "/v1/zones/\(Hex.encode(vault.id))/push", push.encoded())
    }

    /// A vault of logs with one link behind the founding one.
    func logVault() throws -> LogVault {
        let vault = try LogVault(account)
        let link = vault.link()
        #expect(
            try LinkReceipt(decoding: try post([vault.item(vault.links[0]), vault.item(link)]).body).numbers == [0, 1])
        vault.take(link)
        return vault
    }
}

@Suite("Server: zones of logs")
struct ServerLogTests {
    @Test(
        "a vault's day: links, words, epochs, a revocation in one request, a collection; and a restart between (R28, R120)"
    )
    func day() throws {
        let folder = try ServerProcessTests.folder()
        var server = try ServerProcessTests.open(folder)
        let client = try ServerProcessTests.client(server)
        let account = client.account
        let vault = try client.logVault()
        let zone = "/v1/zones/\(Hex.encode(vault.id))"
        let phone = TestDevice()
        let other = try client.adding(phone)
        let (first, second) = (ZoneObject.random(), ZoneObject.random())
        let push = vault.push([first, second], from: nil, to: first.address, by: account.device)
        #expect(try client.push(push, to: vault).status == 200)
        var state = try LogHead(decoding: try client.send("GET", zone + "/head").body)
        #expect(state.address == first.address)
        #expect(try #require(state.word).isWord(of: account.device, for: first.address, epoch: 1, in: vault.id))
        let moved = try client.push(vault.push([], from: nil, to: second.address, by: account.device), to: vault)
        #expect(try moved.status == 412 && LogHead(decoding: moved.body) == state)
        for (push, code) in [
            (vault.push([], from: first.address, to: second.address, by: phone), "server.request.forbidden"),
            (vault.push([], from: first.address, to: vault.id, by: account.device), "server.zone.head-unknown"),
            (
                vault.push([], from: first.address, to: second.address, epoch: 2, by: account.device),
                "server.zone.epoch-unknown"
            ),
        ] {
            #expect(try client.push(push, to: vault).code == code)
        }

        // Another process reads the chain from what is stored.
        #expect(server.stop() == 0)
        server = try ServerProcessTests.open(folder)
        let again = ServerClient(port: server.port, account: account)
        let revoked = ServerClient(port: server.port, account: account, device: other.device)
        #expect(try again.login().status == 200 && revoked.login().status == 200)
        let revocation = account.revoking(phone)
        try account.follow(revocation)
        let closing = vault.link(heads: [account.stated], opening: vault.opening)
        let late = try again.post([account.item(revocation), vault.item(closing, on: second.address)])
        #expect(late.status == 412)
        state = try LinkHeadMoved(decoding: late.body).state
        #expect(try LinkHeadMoved(decoding: late.body).index == 1 && state.address == first.address)
        #expect(try revoked.send("GET", zone + "/head").status == 200, "nothing of it was done")
        let taken = try again.post([account.item(revocation), vault.item(closing, on: first.address)])
        #expect(try taken.status == 200 && LinkReceipt(decoding: taken.body).numbers == [2, 2])
        vault.take(closing, opens: true)
        #expect(try revoked.send("GET", zone + "/head").code == "server.session.unknown")
        #expect(try revoked.login().code == "server.login.refused")
        let old = vault.push([], from: first.address, to: second.address, epoch: 1, by: account.device)
        #expect(try again.push(old, to: vault).code == "server.zone.epoch-stale")
        let new = vault.push([], from: first.address, to: second.address, epoch: 2, by: account.device)
        #expect(try again.push(new, to: vault).status == 200)

        try refusals(again, vault)
        try collection(again, vault, of: first, keeping: second)
        #expect(server.stop() == 0)
        #expect(try ServerProcess.run("doctor", "--data", folder.file("data")).exitCode == 0)
    }

    private func refusals(_ client: ServerClient, _ vault: LogVault) throws {
        let newest = ChainHead(sequenceNumber: 2, linkHash: vault.hash(2))
        let behind = try client.post([vault.item(vault.links[0]), vault.item(LogVault(client.account).links[0])])
        #expect(behind.status == 409)
        #expect(try LinkConflict(decoding: behind.body) == LinkConflict(index: 1, head: newest))
        var link = vault.link()
        link[link.count - 1] ^= 1
        let forged = try client.post([vault.item(link)])
        #expect(forged.status == 422 && forged.code == "trust.link.signature-invalid")
        let stranger = ServerClient(port: client.port, account: try TestAccount())
        #expect(try stranger.register().status == 201 && stranger.login().status == 200)
        #expect(try stranger.post([vault.item(vault.link())]).code == "server.zone.unknown")
        let device = client.account.item(client.account.adding(TestDevice()))
        #expect(try stranger.post([device]).code == "server.request.forbidden")
        #expect(try stranger.send("GET", "/v1/zones/\(Hex.encode(vault.id))/collections").code == "server.zone.unknown")
        let asked = ChainUpdateRequest([
            .init(kind: 3, chainID: vault.id, linkCount: 1), .init(kind: 1, chainID: client.account.id, linkCount: 0),
        ])
        let news = try ChainUpdates(decoding: try client.send("POST", "/v1/chains/updates", asked.encoded()).body)
        #expect(news.chains.map(\.start) == [1, 0] && !news.hasMore)
        #expect(news.chains[0].links == Array(vault.links[1...]))
        #expect(news.chains[1].links == client.account.chain.links.map(\.link.encoded))
        let theirs = try ChainUpdates(decoding: try stranger.send("POST", "/v1/chains/updates", asked.encoded()).body)
        #expect(theirs.chains.map(\.chainID) == [client.account.id], "a vault's links are for its people")
        // C3, and when it is over.
        for _ in 0..<3 {
            let link = vault.link()
            #expect(try client.post([vault.item(link)]).status == 200)
            vault.take(link)
        }
        let many = try client.post([vault.item(vault.link())])
        #expect(many.code == "server.rate.exceeded")
        #expect((3_500...3_600).contains(Int(many.head.single("retry-after") ?? "") ?? 0))
    }

    private func collection(
        _ client: ServerClient, _ vault: LogVault, of object: ZoneObject, keeping head: ZoneObject
    ) throws {
        let zone = "/v1/zones/\(Hex.encode(vault.id))"
        let proof = SweepProof(zoneID: vault.id, linkHash: vault.hash(1), objects: [object.address], chunks: [])
        let sweep = ZoneSweep(
            linkHash: vault.hash(1), objects: [object.address], chunks: [],
            signature: proof.sign(with: client.device.signing))
        #expect(try client.send("POST", zone + "/sweep", sweep.encoded()).code == "server.zone.checkpoint-young")
        let tablet = try client.adding(TestDevice())
        #expect(try tablet.send("PUT", zone + "/acks/\(tablet.device.id.hex)", [1]).status == 204)
        let swept = try client.send("POST", zone + "/sweep", sweep.encoded())
        #expect(try swept.status == 200 && SweepReceipt(decoding: swept.body).count == 1)
        let told = try CollectionRecords(decoding: try tablet.send("GET", zone + "/collections").body)
        #expect(told.next.isEmpty && told.statements.map(\.objects) == [[object.address]])
        #expect(told.statements.map(\.signature) == [sweep.signature])
    }

    @Test("what is no post of links, or too long, is refused, and the server goes on (R14, R47)")
    func hostile() throws {
        let server = try ServerProcessTests.open(try ServerProcessTests.folder())
        let client = try ServerProcessTests.client(server)
        let vault = try client.logVault()
        let item = vault.item(vault.links[0])
        let limit = ServerLimits.linkCountMaxPerPost
        #expect(try client.post(Array(repeating: item, count: limit)).status == 200)
        #expect(try client.post(Array(repeating: item, count: limit + 1)).code == "server.request.malformed")
        #expect(try client.post([]).status == 200)
        let long = [UInt8](repeating: 0, count: ServerLimits.pushByteCountMax + 1)
        #expect(try client.send("POST", "/v1/links", long).code == "server.request.too-large")
        let wide = LinkPost.Item(kind: 3, chainID: vault.id, link: [UInt8](repeating: 0, count: 160 << 10))
        #expect(try client.post([wide]).code == "trust.link.malformed")
        let wider = LinkPost.Item(kind: 3, chainID: vault.id, link: [UInt8](repeating: 0, count: 160 << 10 + 1))
        #expect(try client.post([wider]).code == "server.request.malformed")
        for kind: UInt8 in [0, 4, 255] {
            let other = LinkPost.Item(kind: kind, chainID: vault.id, link: vault.links[0])
            #expect(try client.post([other]).code == "server.request.malformed")
            let news = ChainUpdateRequest([.init(kind: kind, chainID: vault.id, linkCount: 0)])
            #expect(try client.send("POST", "/v1/chains/updates", news.encoded()).code == "server.request.malformed")
        }
        let chain = ChainUpdateRequest.Item(
            kind: 1, chainID: client.account.id, linkCount: .max, branchCount: .max)
        let most = ServerLimits.chainCountMaxPerRequest
        for (count, status) in [(most, 200), (most + 1, 400)] {
            let news = ChainUpdateRequest(Array(repeating: chain, count: count))
            #expect(try client.send("POST", "/v1/chains/updates", news.encoded()).status == status)
        }
        // A list that says it is longer than it is, and mutated bodies: an answer below 500 to each.
        for head: [UInt8] in [
            [0x9B, 0x7F, 255, 255, 255, 255, 255, 255, 255], [0x9A, 255, 255, 255, 255], [0x81, 0x84],
        ] {
            #expect(try client.send("POST", "/v1/links", head).code == "server.request.malformed")
            #expect(try client.send("POST", "/v1/chains/updates", head).code == "server.request.malformed")
        }
        let good = LinkPost([vault.item(vault.link()), client.account.item(client.account.adding(TestDevice()))])
            .encoded()
        let generator = SeededGenerator.fromEnvironment()
        for _ in 0..<150 {
            var bytes = good
            for _ in 0...generator.int(in: 0...3) {
                bytes[generator.int(in: 0...bytes.count - 1)] = UInt8(generator.int(in: 0...255))
            }
            let answer = try client.send("POST", "/v1/links", bytes)
            #expect([200, 400, 403, 404, 409, 412, 422].contains(answer.status), "\(answer.status) \(answer.code)")
        }
        #expect(try client.send("GET", "/health").status == 200)
    }

    @Test("nine clients post links and push at once: all is taken, and nobody is kept waiting for ever (R47)")
    func nineClients() throws {
        let server = try ServerProcessTests.open(try ServerProcessTests.folder())
        let (done, port) = (WinCounter(), server.port)
        DispatchQueue.concurrentPerform(iterations: 9) { _ in
            do {
                let client = ServerClient(port: port, account: try TestAccount())
                guard try client.register().status == 201, try client.login().status == 200 else { return }
                let vault = try client.logVault()
                var head: [UInt8]?
                for number in 1...8 {
                    let link = vault.link(opening: vault.opening)
                    guard try client.post([vault.item(link, on: head ?? [])]).status == 200 else { return }
                    vault.take(link, opens: true)
                    let object = ZoneObject.random(byteCount: 20_000)
                    let push = vault.push(
                        [object], from: head, to: object.address, epoch: UInt32(number + 1), by: client.device)
                    guard try client.push(push, to: vault).status == 200 else { return }
                    head = object.address
                }
                done.add()
            } catch { Issue.record("\(error)") }
        }
        #expect(done.count == 9)
        #expect(server.stop() == 0)
    }

    @Test(
        "two servers on one PostgreSQL: of links at one place one is taken, and the other server reads on behind it (R121)",
        .enabled(if: PostgresCluster.isAvailable, "needs PostgreSQL's programs"))
    func twoServers() throws {
        let cluster = try PostgresCluster()
        defer { cluster.stop() }
        let connection = try cluster.database()
        #expect(try ServerProcess.run("init", "--postgres", connection).exitCode == 0)
        let options = [
            "--postgres", connection, "--registration", "open", "--requests-per-second-per-address", "100000",
            "--requests-per-second-per-account", "100000",
        ]
        let servers = (try ServerProcess(options), try ServerProcess(options))
        let one = try ServerProcessTests.client(servers.0)
        let two = ServerClient(port: servers.1.port, account: one.account)
        #expect(try two.login().status == 200)
        let vault = try one.logVault()
        let events = try ClientWebSocket.events(port: two.port, token: two.token)
        for number in 2...6 {
            // Links of which each opens an epoch: these are not counted as plain.
            let links = (0..<6).map { _ in vault.link(opening: vault.opening) }
            let items = links.map { vault.item($0) }
            let winners = WinnerBox()
            DispatchQueue.concurrentPerform(iterations: links.count) { index in
                let answer = try? (index.isMultiple(of: 2) ? one : two).post([items[index]])
                if answer?.status == 200 { winners.add(index) }
                let isTold = (try? LinkConflict(decoding: answer?.body ?? []))?.head.sequenceNumber == UInt64(number)
                #expect(answer?.status == 200 || answer?.status == 409 && isTold, "\(answer?.status ?? 0)")
            }
            let winner = try #require(winners.only)
            vault.take(links[winner], opens: true)
            try events.hear(.chain(kind: 3, id: vault.id, sequenceNumber: UInt64(number)))
        }
        let path = "/v1/chains/member/\(Hex.encode(vault.id))"
        for client in [one, two] {
            #expect(try ChainLinks(decoding: try client.send("GET", path).body).links == vault.links)
        }
        servers.0.killAtOnce()
        let link = vault.link()
        #expect(try two.post([vault.item(link)]).status == 200)
        #expect(servers.1.stop() == 0)
    }
}

/// Who won a race.
private final class WinnerBox: @unchecked Sendable {
    // SAFETY: guarded by the lock.
    private let lock = NSLock()
    private var winners: [Int] = []

    func add(_ winner: Int) { lock.withLock { winners.append(winner) } }
    /// nil: nobody won, or more than one.
    var only: Int? { lock.withLock { winners.count == 1 ? winners[0] : nil } }
}
