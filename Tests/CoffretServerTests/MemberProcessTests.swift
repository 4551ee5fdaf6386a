// A vault of several people at the real server: over SQLite, and over PostgreSQL with two processes.

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
    func post(_ post: MemberPost, to vault: LogVault) throws -> ClientResponse {
        try send("POST", "/v1/zones/\(Hex.encode(vault.id))/members", post.encoded())
    }

    fileprivate func read<Message: ServerMessage>(_ path: String, as _: Message.Type) throws -> Message {
        let answer = try send("GET", path)
        guard answer.status == 200 else { throw ClientFailure(text: "\(path): \(answer.status) \(answer.code)") }
        return try Message(decoding: answer.body)
    }

    /// Lets another account write to this one.
    fileprivate func allow(_ other: ServerClient) throws {
        let list = ContactList([other.account.id]).encoded()
        #expect(try send("PUT", "/v1/contacts", list).status == 204)
    }
}

@Suite("Server: vaults of several people")
struct MemberProcessTests {
    /// A request, an addition, an acceptance, pushes of both, a removal: alice at one port, bob at another.
    private static func day(_ alice: ServerClient, _ bob: ServerClient, _ stranger: ServerClient) throws {
        let socket = try ClientWebSocket.events(port: bob.port, token: bob.token)
        try letters(alice, bob, stranger)
        try socket.hear(.letter)
        // R78: bob has not allowed alice yet.
        let vault = try alice.logVault()
        let path = "/v1/zones/\(Hex.encode(vault.id))"
        let add = vault.link(.add(bob.account.stated, .writer))
        let letter = alice.account.keyLetter(to: bob.account, of: vault)
        let post = MemberPost(link: add, letters: [letter])
        #expect(try alice.post(post, to: vault).code == "server.member.not-allowed")
        try bob.allow(alice)
        #expect(try bob.send("GET", path + "/head").code == "server.zone.unknown")
        let taken = try alice.post(post, to: vault)
        #expect(taken.status == 200)
        vault.take(add)
        #expect(
            try ChainHead(decoding: taken.body) == ChainHead(sequenceNumber: 2, linkHash: vault.hash(2)))
        try socket.hear(.membership(zone: vault.id))
        let waiting = try #require(try bob.read("/v1/memberships", as: Memberships.self).entries.first)
        #expect(waiting.zone == vault.id && waiting.role == 2 && waiting.state == 1 && waiting.number == 2)
        #expect(try bob.read(path + "/keys", as: ZoneKeys.self).letter == letter)
        for tail in ["", "?epoch=-1", "?epoch=4294967296"] {
            #expect(try bob.send("DELETE", path + "/letter" + tail).code == "server.request.malformed", "\(tail)")
        }
        #expect(try bob.send("DELETE", path + "/letter?epoch=2").status == 204)
        #expect(try bob.read(path + "/keys", as: ZoneKeys.self).letter == letter)
        #expect(try bob.send("DELETE", path + "/letter?epoch=1").status == 204)
        #expect(try bob.read(path + "/keys", as: ZoneKeys.self).letter.isEmpty)
        // R66: before he accepts he writes nothing.
        let early = ZoneObject.random()
        let push = vault.push([early], from: nil, to: early.address, by: bob.device)
        #expect(try bob.push(push, to: vault).code == "server.request.forbidden")
        let adding = try #require(Bytes32(vault.hash(2)))
        let acceptance = vault.link(.accept(addingLink: adding), by: bob.account)
        #expect(try bob.post(MemberPost(link: acceptance), to: vault).status == 200)
        vault.take(acceptance)
        #expect(try bob.push(push, to: vault).status == 200)
        let state = try alice.read(path + "/head", as: LogHead.self)
        #expect(try #require(state.word).isWord(of: bob.device, for: early.address, epoch: 1, in: vault.id))
        try refusals(alice, bob, stranger, vault, early)
        try removal(alice, bob, vault, early, socket)
    }

    private static func letters(_ alice: ServerClient, _ bob: ServerClient, _ stranger: ServerClient) throws {
        let token = SystemRandomSource().bytes(count: 32)
        let invitation = ContactToken(
            hash: BLAKE2b.hash(token), expiry: UInt64(Date().timeIntervalSince1970 * 1_000) + 3_600_000, useCount: 1)
        #expect(try bob.send("POST", "/v1/contact-tokens", invitation.encoded()).status == 204)
        let path = "/v1/letters/" + Hex.encode(bob.account.id)
        let request = alice.account.letter(to: bob.account, .contactRequest, scope: bob.account.id)
        #expect(
            try alice.send("POST", path, PersonalLetter(letter: request).encoded()).code == "server.member.not-allowed")
        #expect(try alice.send("POST", path, PersonalLetter(token: token, letter: request).encoded()).status == 201)
        let other = stranger.account.letter(to: bob.account, .contactRequest, scope: bob.account.id)
        let again = try stranger.send("POST", path, PersonalLetter(token: token, letter: other).encoded())
        let nobody = try TestAccount()
        let unknown = stranger.account.letter(to: nobody, .contactRequest, scope: nobody.id)
        let missing = try stranger.send(
            "POST", "/v1/letters/" + Hex.encode(nobody.id), PersonalLetter(letter: unknown).encoded())
        #expect(again.status == 403 && missing.status == 403 && again.body == missing.body)
        let waiting = try bob.read("/v1/letters", as: WaitingLetters.self).entries
        #expect(waiting.map(\.letter) == [request] && waiting.map(\.sender) == [alice.account.id])
        #expect(try bob.send("DELETE", "/v1/letters/" + Hex.encode(waiting[0].id)).status == 204)
        // The key of his list, put anew, is what counts: alice may not add him yet.
        #expect(try bob.send("PUT", "/v1/contacts", ContactList([]).encoded()).status == 204)
        // R52: an identity chain, which everybody reads who has the id.
        let identity = "/v1/chains/identity/" + Hex.encode(bob.account.id)
        let link = bob.account.identityLink()
        #expect(try bob.send("POST", identity, ChainAppend(link: link).encoded()).status == 200)
        let second = try bob.send("POST", identity, ChainAppend(link: bob.account.identityLink()).encoded())
        #expect(second.status == 409)
        #expect(try alice.read(identity, as: ChainLinks.self).links == [link])
        var short = Array(bob.account.id.prefix(17))
        short[16] &= 0xC0
        #expect(
            try alice.read("/v1/accounts?address=" + Hex.encode(short), as: AccountMatches.self).accounts
                == [bob.account.id])
        #expect(try alice.send("GET", "/v1/accounts?address=00").code == "server.request.malformed")
    }

    /// R57, R64, R75: what a writer and a stranger are refused.
    private static func refusals(
        _ alice: ServerClient, _ bob: ServerClient, _ stranger: ServerClient, _ vault: LogVault, _ object: ZoneObject
    ) throws {
        let path = "/v1/zones/\(Hex.encode(vault.id))"
        let proof = SweepProof(
            zoneID: vault.id, linkHash: vault.hash(1), objects: [object.address], chunks: [])
        let sweep = ZoneSweep(
            linkHash: vault.hash(1), objects: [object.address], chunks: [],
            signature: proof.sign(with: bob.device.signing))
        #expect(try bob.send("POST", path + "/sweep", sweep.encoded()).code == "server.request.forbidden")
        #expect(try bob.deleteZone(Hex.encode(vault.id)).code == "server.request.forbidden")
        let change = vault.link(
            .changeRoles([MemberOperation.RoleChange(alice.account.chain.accountID, .viewer)]), by: bob.account)
        #expect(try bob.post(MemberPost(link: change), to: vault).code == "trust.member.not-permitted")
        for (method, tail) in [
            ("GET", "/head"), ("GET", "/changes"), ("GET", "/keys"), ("GET", "/acks"), ("GET", "/objects"),
            ("GET", "/collections"), ("DELETE", "/letter?epoch=1"),
        ] {
            #expect(try stranger.send(method, path + tail).code == "server.zone.unknown", "\(tail)")
        }
        let letters = LetterPost([stranger.account.keyLetter(to: bob.account, of: vault)])
        #expect(try stranger.send("POST", path + "/letters", letters.encoded()).code == "server.zone.unknown")
    }

    /// R64: a removal in one request with an epoch, a history object and a letter less.
    private static func removal(
        _ alice: ServerClient, _ bob: ServerClient, _ vault: LogVault, _ object: ZoneObject, _ socket: ClientWebSocket
    ) throws {
        let path = "/v1/zones/\(Hex.encode(vault.id))"
        let history = SystemRandomSource().bytes(count: 100)
        let removal = vault.link(
            .changeRoles([MemberOperation.RoleChange(bob.account.chain.accountID, nil)]),
            opening: vault.opening(history: history))
        let late = try alice.post(MemberPost(link: removal, history: history, expectedHead: []), to: vault)
        #expect(try late.status == 412 && LogHead(decoding: late.body).address == object.address)
        #expect(try bob.send("GET", path + "/head").status == 200, "nothing of it was done")
        let post = MemberPost(link: removal, history: history, expectedHead: object.address)
        #expect(try alice.post(post, to: vault).status == 200)
        vault.take(removal, opens: true)
        #expect(try bob.send("GET", path + "/head").code == "server.zone.unknown")
        let more = ZoneObject.random()
        let push = vault.push([more], from: object.address, to: more.address, epoch: 2, by: bob.device)
        #expect(try bob.push(push, to: vault).code == "server.zone.unknown")
        try socket.hear(.membership(zone: vault.id))
        let keys = try alice.read(path + "/keys", as: ZoneKeys.self)
        #expect(keys.epoch == 2 && keys.history == history && keys.lacking.isEmpty)
        // R84: what bob stored is alice's now.
        let usage = try bob.read("/v1/usage", as: AccountUsage.self)
        let own = bob.account.firstLink.count + 256
        #expect(Int(usage.usedByteCount) < own + 1_000)
    }

    @Test("over SQLite: letters, an addition, pushes of both, a removal; a guest; and nothing is wrong afterwards")
    func sqlite() throws {
        let folder = try ServerProcessTests.folder()
        let server = try ServerProcessTests.open(folder)
        let clients = try (0..<3).map { _ in try ServerProcessTests.client(server) }
        try Self.day(clients[0], clients[1], clients[2])
        // A guest, whom the operator makes a full account.
        let answer = try clients[0].send("POST", "/v1/guest-invitations")
        #expect(answer.status == 201)
        let guest = ServerClient(port: server.port, account: try TestAccount())
        let invitation = try GuestInvitation(decoding: answer.body).invitation
        #expect(try guest.register(invitation: invitation).status == 201 && guest.login().status == 200)
        let vault = try LogVault(guest.account)
        #expect(try guest.post([vault.item(vault.links[0])]).code == "server.request.forbidden")
        let id = Hex.encode(guest.account.id)
        #expect(try ServerProcess.run("promote", "--data", folder.file("data"), "00").exitCode == 2)
        #expect(try ServerProcess.run("promote", "--data", folder.file("data"), id).exitCode == 0)
        #expect(try ServerProcess.run("promote", "--data", folder.file("data"), id).exitCode == 4)
        #expect(try guest.post([vault.item(vault.links[0])]).status == 200)
        var refused = try guest.send("GET", "/v1/accounts?short=0000000000")
        for _ in 0..<40 where refused.status == 200 {
            refused = try guest.send("GET", "/v1/accounts?short=0000000000")
        }
        #expect(refused.code == "server.rate.exceeded" && refused.head.single("retry-after") != nil)
        #expect(server.stop() == 0)
        let backup = folder.file("backup")
        #expect(try ServerProcess.run("backup", "--data", folder.file("data"), backup).exitCode == 0)
        let second = folder.file("second")
        #expect(try ServerProcess.run("init", "--data", second).exitCode == 0)
        #expect(try ServerProcess.run("restore", "--data", second, backup).exitCode == 0)
        for data in [folder.file("data"), second] {
            let report = try ServerProcess.run("doctor", "--data", data)
            #expect(report.exitCode == 0, "\(report.text)")
        }
    }

    @Test(
        "over PostgreSQL with two processes: the same, each person at one of them",
        .enabled(if: PostgresCluster.isAvailable, "needs PostgreSQL's programs"))
    func postgres() throws {
        let cluster = try PostgresCluster()
        defer { cluster.stop() }
        let database = try cluster.database()
        #expect(try ServerProcess.run("init", "--postgres", database).exitCode == 0)
        let servers = try (0..<2).map { _ in
            try ServerProcess([
                "--postgres", database, "--registration", "open", "--requests-per-second-per-address", "100000",
                "--requests-per-second-per-account", "100000",
            ])
        }
        let clients = try (0..<3).map { number in try ServerProcessTests.client(servers[number % 2]) }
        try Self.day(clients[0], clients[1], clients[2])
        for server in servers { #expect(server.stop() == 0) }
        let report = try ServerProcess.run("doctor", "--postgres", database)
        #expect(report.exitCode == 0, "\(report.text)")
    }
}
