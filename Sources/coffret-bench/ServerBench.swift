// What vaults of several people cost the server's store, on SQLite and without the network. Invariant: what is compared takes
// turns in one process.

import CoffretBase
import CoffretCrypto
import CoffretServer
import CoffretTrust
import CoffretWire

/// An account of one device.
private struct BenchPerson {
    let id = UniqueID.generate(from: SystemRandomSource())
    let signing = SigningKey.generate(from: SystemRandomSource())
    let chain: VerifiedDeviceChain

    init() throws {
        let random = SystemRandomSource()
        let keys = DeviceKeys(
            signing: signing.verifyingKey, box: AgreementKey.generate(from: random).publicKey,
            noise: AgreementKey.generate(from: random).publicKey)
        chain = try VerifiedDeviceChain.verify([
            VerifiedDeviceChain.found(deviceID: id, keys: keys, details: [], with: signing)
        ])
    }

    var owner: SessionOwner { SessionOwner(accountID: chain.accountID.bytes, deviceID: id.bytes) }
    var head: Bytes32 { Bytes32(chain.head.linkHash)! }
    var stated: StatedHead { StatedHead(accountID: chain.accountID, device: head) }
}

/// A vault's member chain, made link by link.
private final class BenchVault {
    let id: [UInt8]
    private(set) var count = 1
    private var newest: [UInt8]
    let foundation: [UInt8]
    var head: [UInt8]?

    init(_ founder: BenchPerson) throws {
        let random = SystemRandomSource()
        let foundation = VaultFoundation(
            random: random.bytes(count: 32), accountID: founder.chain.accountID,
            deviceChainHead: founder.chain.head.linkHash, keyCommitment: random.bytes(count: 32))
        let link = VerifiedMemberChain.found(foundation, details: [], with: founder.signing)
        self.foundation = link.encoded
        id = link.hash(inChain: nil)
        newest = id
    }

    func item(_ link: [UInt8]) -> LinkPost.Item {
        LinkPost.Item(kind: ChainKind.member.rawValue, chainID: id, link: link, expectedHead: nil)
    }

    /// The next link, which the vault takes.
    func link(_ kind: MemberOperation.Kind, by person: BenchPerson) -> LinkPost.Item {
        let operation = MemberOperation(
            kind, by: person.chain.accountID, deviceHead: person.head, heads: [], opening: nil)
        let link = UnverifiedLink.sign(
            kind: .member, chainID: ChainID(id), sequenceNumber: UInt64(count), publicPart: operation.encoded,
            sealedPart: SystemRandomSource().bytes(count: 20), previousLinkHash: newest, with: person.signing)
        newest = link.hash(inChain: ChainID(id))
        count += 1
        return item(link.encoded)
    }

    var newestHash: [UInt8] { newest }

    func push(_ objectCount: Int, by person: BenchPerson) -> ZonePush {
        let random = SystemRandomSource()
        let objects = (0..<objectCount).map { _ in
            ZoneObject(address: random.bytes(count: 32), ciphertext: random.bytes(count: 1_024))
        }
        var hasher = PushedObjectsHasher()
        for object in objects { hasher.add(address: object.address, ciphertext: object.ciphertext) }
        let proof = ZoneProof.push(
            expectedHead: head, newHead: objects[0].address, epoch: 1, hash: hasher.finish())
        return ZonePush(
            expectedHead: head, newHead: objects[0].address, epoch: 1, objects: objects,
            signature: proof.sign(zone: id, with: person.signing))
    }
}

enum ServerBench {
    /// `server DIRECTORY [PUSHES]`: pushes of one object of 1 KiB into an own vault and into one of ten people, in turn (500); and
    /// links behind a thousand others.
    static func run(_ arguments: [String]) throws {
        guard (1...2).contains(arguments.count), let count = Int(arguments.count > 1 ? arguments[1] : "500") else {
            print("usage: coffret-bench server DIRECTORY [PUSHES]")
            return
        }
        let fileSystem = PosixFileSystem()
        try fileSystem.removeTree(arguments[0])
        try fileSystem.makeDirectories(arguments[0])
        let database = try SQLiteDatabase(path: arguments[0] + "/server.sqlite")
        defer { database.close() }
        try ServerStore.initialize(database, random: SystemRandomSource())
        let store = try open(database)
        let founder = try person(at: store)
        let (own, shared) = (try BenchVault(founder), try BenchVault(founder))
        for vault in [own, shared] { try take([vault.item(vault.foundation)], by: founder, store) }
        var writer = founder
        for _ in 1..<10 {
            writer = try person(at: store)
            try store.setContacts(ContactList([founder.owner.accountID]), of: writer.owner)
            try take([shared.link(.add(writer.stated, .writer), by: founder)], by: founder, store)
            guard let adding = Bytes32(shared.newestHash) else { continue }
            try take([shared.link(.accept(addingLink: adding), by: writer)], by: writer, store)
        }
        try measurePushes(count, own, founder, shared, writer, store)
        try measureLinks(shared, founder, writer, store, database)
    }

    private static func open(_ database: SQLiteDatabase) throws -> ServerStore {
        try ServerStore(database: database, random: SystemRandomSource(), clock: SystemWallClock())
    }

    private static func person(at store: ServerStore) throws -> BenchPerson {
        let person = try BenchPerson()
        _ = try store.register(AccountRegistration(link: person.chain.links[0].link.encoded), policy: .open)
        return person
    }

    private static func take(_ items: [LinkPost.Item], by person: BenchPerson, _ store: ServerStore) throws {
        guard case .taken = try store.take(items, by: person.owner) else { throw BenchFailure.refused }
    }

    private static func measurePushes(
        _ count: Int, _ own: BenchVault, _ founder: BenchPerson, _ shared: BenchVault, _ writer: BenchPerson,
        _ store: ServerStore
    ) throws {
        var times: [[(wall: Double, processor: Double)]] = [[], []]
        for _ in 0..<count {
            for (place, (vault, person)) in [(own, founder), (shared, writer)].enumerated() {
                let push = vault.push(1, by: person)
                var processor = 0.0
                let wall = try measureSeconds {
                    processor = try measureCPUSeconds {
                        guard case .accepted = try store.push(push, to: vault.id, by: person.owner) else {
                            throw BenchFailure.refused
                        }
                    }
                }
                vault.head = push.newHead
                times[place].append((wall, processor))
            }
        }
        let walls = times.map { Samples($0.map(\.wall)).median }
        let processors = times.map { Samples($0.map(\.processor)).median }
        for (name, place) in [("own vault", 0), ("vault of ten people", 1)] {
            let (wall, processor) = (decimal(walls[place] * 1e6, 0), decimal(processors[place] * 1e6, 0))
            print("push, \(name): \(wall) us, processor \(processor) us")
        }
        let ratio = decimal(processors[1] / processors[0])
        print("shared / own: \(decimal(walls[1] / walls[0])), processor \(ratio) (goal 1.3)")
    }

    private static func measureLinks(
        _ vault: BenchVault, _ founder: BenchPerson, _ writer: BenchPerson, _ store: ServerStore,
        _ database: SQLiteDatabase
    ) throws {
        func change() -> LinkPost.Item {
            let role: MemberRole = vault.count % 2 == 0 ? .writer : .viewer
            return vault.link(
                .changeRoles([MemberOperation.RoleChange(writer.chain.accountID, role)]), by: founder)
        }
        while vault.count < 1_000 {
            try take((0..<min(100, 1_000 - vault.count)).map { _ in change() }, by: founder, store)
        }
        func measure(_ store: ServerStore, _ count: Int) throws -> Double {
            Samples(
                try (0..<count).map { _ in
                    let item = change()
                    return try measureSeconds { try take([item], by: founder, store) }
                }
            ).median
        }
        let kept = try measure(store, 100)
        print("a link behind 1,000: \(decimal(kept * 1e3)) ms with its sync (goal 2)")
        print("the same by a server that has just begun: \(decimal(try measure(open(database), 1) * 1e3)) ms")
    }
}

private enum BenchFailure: Error {
    case refused
}
