// A vault with as many people as it has room for, with the real programs and a real server.

import CoffretAccount
import CoffretApp
import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretHistory
import CoffretKeys
import CoffretLogs
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Foundation
import Testing

@Suite(
    "A full vault",
    .enabled(
        if: ServerRunner.isAvailable && FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3"),
        "needs coffret-server beside coffret, openssl and sqlite3"))
struct FullVaultTests {
    /// An owner in this process, with the keys of a store that nobody else uses meanwhile.
    private struct Owner: MemberKeys {
        let store: Store
        let account: Account
        let record: VaultRecord
        let random = SystemRandomSource()

        init(_ runner: CoffretRunner, vault: String) throws {
            let environment = StoreEnvironment(
                stateDirectory: runner.folder.file("home/.local/state/coffret"), fileSystem: PosixFileSystem(),
                random: SystemRandomSource(), clock: SystemWallClock())
            var typed = Array(CoffretRunner.passphrase.utf8)
            store = try Store.open(
                at: runner.storePath, with: .passphrase(Passphrase(typed: &typed)), environment: environment)
            account = try Account(store, random: SystemRandomSource(), clock: SystemWallClock())
            record = try store.vaultRecord(vault)
        }

        func vaultKey(ofEpoch epoch: UInt32) -> VaultKey? {
            try? store.keyring.vaultKey(of: record.vaultID, epoch: epoch)
        }

        /// A new account at the server, with one device.
        func newAccount() throws -> FollowedAccount {
            let key = SigningKey.generate(from: random)
            let keys = DeviceKeys(
                signing: key.verifyingKey, box: AgreementKey.generate(from: random).publicKey,
                noise: AgreementKey.generate(from: random).publicKey)
            let link = VerifiedDeviceChain.found(
                deviceID: .generate(from: random), keys: keys, details: [], with: key)
            try account.connection.send(
                "POST", "/v1/accounts", AccountRegistration(link: link.encoded).encoded(), accepted: [200, 201])
            return FollowedAccount(
                try VerifiedDeviceChain.verify([link]), replaced: [], watch: ChainWatch(confirmedAt: 0))
        }

        /// The link that adds an account, behind all links of the chains.
        func adding(_ person: FollowedAccount, _ role: MemberRole, to chains: FollowedChains) throws -> UnverifiedLink {
            let identity = try store.keyring.authorIdentity(for: record.vaultID)
            let operation = MemberOperation(
                .add(
                    StatedHead(
                        accountID: person.chain.accountID, device: try #require(Bytes32(person.chain.head.linkHash))),
                    role), by: identity.accountID,
                deviceHead: try #require(Bytes32(store.keyring.deviceChain().head.linkHash)))
            let id = ChainID(record.vaultID.bytes)
            return UnverifiedLink.sign(
                kind: .member, chainID: id, sequenceNumber: UInt64(chains.links.count), publicPart: operation.encoded,
                sealedPart: [],
                previousLinkHash: try #require(chains.links.last).hash(inChain: chains.links.count == 1 ? nil : id),
                with: identity.signingKey)
        }

        func post(_ links: some Sequence<UnverifiedLink>) throws {
            let items = links.map {
                LinkPost.Item(kind: ChainKind.member.rawValue, chainID: record.vaultID.bytes, link: $0.encoded)
            }
            try account.connection.send("POST", "/v1/links", LinkPost(items).encoded())
        }
    }

    @Test("a 257th person and a 17th owner are refused by name, by the program and by the server; who goes makes room")
    func full() throws {
        // So many accounts are made at once.
        let people = try SharingPeople(
            "--requests-per-second-per-address", "10000", "--requests-per-second-per-account", "10000")
        let (alice, bob) = (people.alice, people.bob)
        try alice.succeed("contact", "add", people.account(of: bob), "--name", "bob")
        try alice.succeed("vault", "new", "Club")
        try alice.makeNote("Rules\nof the club", "--vault", "Club")
        let last = try fill(people)
        try alice.succeed("vault", "sync", "Club")
        #expect(try alice.list("share", "ls").first?["members"] as? [Any] != nil)

        func expectFull(_ arguments: String...) throws {
            let refused = try alice.run(arguments, input: [], environment: [:])
            #expect(refused.exitCode == 80, "\(arguments): \(refused.errorText)")
            #expect(refused.errorText.contains("trust.member.too-many"), "\(refused.errorText)")
            #expect(refused.errorText.contains("room for 256 people, 16 of them owners"), "\(refused.errorText)")
        }
        try expectFull("share", "add", "Club", "bob", "--role", "viewer", "--yes")
        try expectFull("share", "role", "Club", String(last.prefix(8)), "owner")
        try alice.succeed("share", "rm", "Club", String(last.prefix(8)), "--yes")
        // An account adds sixty people a day, and is told so; here a day is over.
        let arguments = ["share", "add", "Club", "bob", "--role", "viewer", "--yes"]
        let tooMany = try alice.run(arguments, input: [], environment: [:])
        #expect(
            tooMany.exitCode == 75 && tooMany.errorText.contains("60 new people"),
            "\(tooMany.exitCode) \(tooMany.errorText)")
        try people.server.query("UPDATE steps SET time = time - 86400001")
        try alice.succeed("share", "add", "Club", "bob", "--role", "viewer", "--yes")
        #expect(try bob.json("share", "accept", "Club")["items"] as? Int == 1)
    }

    /// Puts the vault to the server with 256 people, who are accounts with one device each.
    ///
    /// - Returns: the one who came last.
    private func fill(_ people: SharingPeople) throws -> String {
        let owner = try Owner(people.alice, vault: "Club")
        var chains = try owner.store.followedChains(of: owner.record.vaultID)
        var accounts = try (0..<256).map { _ in try owner.newAccount() }
        let own = try people.account(of: people.alice)
        let expiry = Int64.max
        _ = try people.server.query(
            """
            INSERT OR IGNORE INTO contacts(account, contact, expiry)
            SELECT DISTINCT chain, x'\(own)', \(expiry) FROM links WHERE kind = 1
            """)
        let extra = accounts.removeLast()
        for (number, account) in accounts.enumerated() {
            chains.set(account)
            try chains.takeOwn(link: owner.adding(account, number < 15 ? .owner : .viewer, to: chains), keys: owner)
        }
        #expect(chains.members?.state.states.last?.members.count == 256)
        // All in the request that makes the place: nobody adds so many in a day.
        try owner.post(chains.links)
        try owner.store.keep(chains)
        // The server refuses one more, whoever signs it, and so does every reader.
        let link = try owner.adding(extra, .viewer, to: chains)
        let refusal = #expect(throws: AccountError.self) { try owner.post([link]) }
        #expect(refusal?.code == .refused && refusal?.place == "trust.member.too-many")
        chains.set(extra)
        #expect(throws: FollowFailure.members(MemberError(.tooMany, at: UInt64(chains.links.count)))) {
            try chains.takeOwn(link: link, keys: owner)
        }
        owner.account.connection.logOut()
        return try #require(accounts.last).chain.accountID.hex
    }
}
