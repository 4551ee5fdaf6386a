// Random entries for properties. The one thing to keep true: what is made here is what section 3 allows, all of it.

import CoffretBase
import CoffretCrypto
import CoffretStorage
import CoffretTestSupport
import CoffretTrust

@testable import CoffretHistory

/// Makes contexts, bodies and their entries from a seed.
struct EntryMaker {
    let generator: SeededGenerator
    let key: SigningKey
    let context: EntryContext
    let others: [InstanceID]

    init(_ generator: SeededGenerator) {
        self.generator = generator
        key = SigningKey.generate(from: generator)
        context = Self.context(generator)
        others = (0..<5).map { _ in UniqueID.generate(from: generator) }.sorted()
    }

    static func bytes32(_ generator: SeededGenerator) -> Bytes32 {
        Bytes32(generator.next(), generator.next(), generator.next(), generator.next())
    }

    static func context(_ generator: SeededGenerator) -> EntryContext {
        guard let vaultID = VaultID(bytes32(generator).bytes), let accountID = ChainID(bytes32(generator).bytes) else {
            preconditionFailure("an id has 32 bytes")
        }
        let first = UInt32(generator.int(in: 1...9))
        return EntryContext(
            vaultID: vaultID, accountID: accountID, deviceID: .generate(from: generator),
            nonce: .generate(from: generator), firstLink: first,
            deviceHead: ChainPosition(number: UInt64(generator.int(in: 0...9)), hash: bytes32(generator)),
            memberHead: ChainPosition(number: UInt64(first) + 1, hash: bytes32(generator)), epoch: 1,
            identityHead: generator.bool() ? nil : ChainPosition(number: 3, hash: bytes32(generator)))
    }

    func name() -> BlobName { BlobName(Self.bytes32(generator)) }

    func number() -> UInt64 {
        generator.element(of: [1, 2, 23, 24, 255, 256, 65_536, 1 << 32, HistoryLimits.numberMax])
    }

    func dot(below number: UInt64) -> Dot {
        if number > 1, generator.bool() { return Dot(context.instance, 1 + generator.next() % (number - 1)) }
        return Dot(generator.element(of: others), self.number())
    }

    func content(retracting: Bool) -> ChangeContent {
        switch generator.int(in: retracting ? 0...3 : 1...3) {
        case 0: .retraction
        case 1: .inPlace([0] + generator.bytes(count: 0...511))
        case 2: .salted(salt: generator.bytes(count: 16...16), bytes: [1] + generator.bytes(count: 512...600))
        default: .inBlobs(StoredValue(name: name(), byteCount: generator.int(in: 513...1 << 24)))
        }
    }

    func changes(number: UInt64, count: Int) -> [Change] {
        let entities = (0..<3).map { _ in EntityID(kind: 1, uuid: .generate(from: generator)) }
        var keys: Set<FactKey> = []
        for _ in 0..<count {
            keys.insert(
                FactKey(
                    entity: generator.element(of: entities), attribute: generator.element(of: ["a", "text", "title"]),
                    element: generator.bool() ? [] : generator.bytes(count: 16...16)))
        }
        return keys.sorted().map { key in
            let replaces = Set((0..<generator.int(in: 0...4)).map { _ in dot(below: number) })
            let own = replaces.filter { $0.instance == context.instance }.sorted()
            return Change(
                key: key, content: content(retracting: !replaces.isEmpty),
                replaces: own + replaces.subtracting(own).sorted())
        }
    }

    func body() -> EntryBody {
        let number = number()
        var body = EntryBody(
            context: context.name, number: number, before: number > 1 ? name() : nil, height: self.number(),
            time: generator.bool() ? 0 : Int64(bitPattern: generator.next()))
        if generator.bool() {
            for other in others.prefix(generator.int(in: 1...5)) {
                body.seen[other] = EntryMark(number: self.number(), name: name())
            }
        }
        switch generator.int(in: 0...3) {
        case 0: break
        case 1: body.changes = .tree(name(), salt: generator.bytes(count: 16...16))
        default:
            body.changes = .list(
                changes(number: number, count: generator.int(in: 1...6)), salt: generator.bytes(count: 16...16))
        }
        if generator.bool() { body.statement = generator.bytes(count: 1...2_048) }
        if generator.bool() { body.rewrites = Dot(generator.element(of: others), self.number()) }
        if generator.bool() { body.keyLogNote = generator.bytes(count: 1...512) }
        return body
    }

    /// Reads bytes as an entry of this maker's context.
    func decode(_ content: [UInt8]) throws(HistoryError) -> UnverifiedEntry {
        let expected = context.name
        return try UnverifiedEntry.decode(
            content, name: BlobName.derive(type: .entry, content: content.span)
        ) { (name) throws(HistoryError) in
            guard name == expected else { throw HistoryError(.entryMalformed, place: name.description) }
            return context
        }
    }
}
