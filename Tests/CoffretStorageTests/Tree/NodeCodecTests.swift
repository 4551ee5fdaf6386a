// Nodes and lists of pieces as bytes. The one thing to keep true: a decoder accepts what its encoder
// writes and nothing else.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import Testing

@testable import CoffretStorage

@Suite("Tree nodes as bytes")
struct NodeCodecTests {
    private func facts(_ generator: SeededGenerator) -> [Fact] {
        TreeSupport.batch(generator, count: generator.int(in: 0...40), entityCount: 15).flatMap(\.facts)
    }

    private func children(_ generator: SeededGenerator) -> [ChildReference] {
        Set((0..<generator.int(in: 1...30)).map { _ in TreeSupport.key(generator, entityCount: 40) }).sorted().map {
            ChildReference(
                lastKey: $0, name: BlobName(bytes: generator.bytes(count: 32...32))!,
                factCount: UInt64(generator.int(in: 1...1 << 40)))
        }
    }

    @Test("a leaf decodes to the facts it was made of")
    func leaf() {
        forAll(count: 200) { generator in
            let facts = facts(generator)
            let bytes = LeafCodec.encode(LeafFacts(facts))
            try require(LeafCodec.decode(bytes.span, allowsRetractions: false).map { Array($0) } == facts)
        }
    }

    @Test("an inner node decodes to the children it was made of")
    func inner() {
        forAll(count: 200) { generator in
            let children = children(generator)
            let level = generator.int(in: 1...InnerCodec.levelMax)
            let decoded = InnerCodec.decode(InnerCodec.encode(level: level, ChildList(children)).span)
            try require(decoded?.level == level && decoded.map { Array($0.children) } == children)
        }
    }

    @Test("retractions stand in trees of changes only")
    func retractions() {
        let key = FactKey(entity: EntityID(kind: 78, uuid: TreeSupport.instance(1)), attribute: "title")
        let fact = Fact(key: key, content: .retraction, dot: Dot(instance: TreeSupport.instance(1), sequence: 1))
        let bytes = LeafCodec.encode(LeafFacts([fact]))
        #expect(LeafCodec.decode(bytes.span, allowsRetractions: true).map { Array($0) } == [fact])
        #expect(LeafCodec.decode(bytes.span, allowsRetractions: false).map { Array($0) } == nil)
    }

    @Test("whatever a node decoder accepts is canonical")
    func canonical() {
        let generator = SeededGenerator.fromEnvironment()
        var accepted = 0
        fuzz((0..<30).map { _ in LeafCodec.encode(LeafFacts(facts(generator))) }, rounds: 6_000) { bytes in
            guard let facts = LeafCodec.decode(bytes.span, allowsRetractions: true) else { return }
            accepted += 1
            #expect(LeafCodec.encode(facts) == bytes)
            // Facts taken out one by one are those that lie there, in ascending order, with well-formed keys.
            #expect(LeafCodec.encode(LeafFacts(facts)) == bytes)
            #expect(zip(facts, facts.dropFirst()).allSatisfy { $0 < $1 })
            #expect(facts.allSatisfy { FactKey(encoded: $0.key.bytes) == $0.key })
        }
        fuzz((0..<30).map { _ in InnerCodec.encode(level: 1, ChildList(children(generator))) }, rounds: 6_000) {
            bytes in
            guard let decoded = InnerCodec.decode(bytes.span) else { return }
            accepted += 1
            #expect(InnerCodec.encode(level: decoded.level, decoded.children) == bytes)
            #expect(InnerCodec.encode(level: decoded.level, ChildList(Array(decoded.children))) == bytes)
            #expect(zip(decoded.children, decoded.children.dropFirst()).allSatisfy { $0.lastKey <= $1.lastKey })
            #expect(decoded.children.allSatisfy { FactKey(encoded: $0.lastKey.bytes) == $0.lastKey })
        }
        #expect(accepted > 0)
    }

    @Test("a list of pieces decodes only if its pieces are the value's size together")
    func valueList() {
        let generator = SeededGenerator(seed: 4)
        let salt = generator.bytes(count: 16...16)
        let pieces = (0..<5).map { _ in
            ValuePiece(
                name: BlobName(bytes: generator.bytes(count: 32...32))!, byteCount: generator.int(in: 1...16_384))
        }
        let bytes = ValueCodec.encodeList(salt: salt, pieces)
        let sum = pieces.reduce(0) { $0 + $1.byteCount }
        #expect(ValueCodec.decodeList(bytes.span, byteCount: sum)?.pieces == pieces)
        #expect(ValueCodec.decodeList(bytes.span, byteCount: sum)?.salt == salt)
        #expect(ValueCodec.decodeList(bytes.span, byteCount: sum + 1) == nil)
        fuzz([bytes]) { bytes in
            guard let decoded = ValueCodec.decodeList(bytes.span, byteCount: sum) else { return }
            #expect(ValueCodec.encodeList(salt: decoded.salt, decoded.pieces) == bytes)
        }
    }

    @Test("keys sort as (entity, attribute, element), also where one attribute begins another")
    func keyOrder() {
        forAll(count: 200) { generator in
            let one = TreeSupport.key(generator, entityCount: 3)
            let other = TreeSupport.key(generator, entityCount: 3)
            let parts = { (key: FactKey) in (key.entity.bytes, Array(key.attribute.name.utf8), key.element) }
            let left = parts(one)
            let right = parts(other)
            let expected =
                left.0 != right.0
                ? left.0.lexicographicallyPrecedes(right.0)
                : left.1 != right.1
                    ? left.1.lexicographicallyPrecedes(right.1) : left.2.lexicographicallyPrecedes(right.2)
            try require((one < other) == expected)
            try require(FactKey(encoded: one.bytes) == one)
        }
    }

    @Test("names and lengths outside the rules make no key")
    func badKeys() {
        let entity = [UInt8](repeating: 65, count: 17)
        #expect(FactKey(encoded: entity + Array("title".utf8) + [0]) != nil)
        #expect(FactKey(encoded: entity + [0]) == nil)
        #expect(FactKey(encoded: entity + Array("title".utf8)) == nil)
        #expect(FactKey(encoded: entity + [0x7F, 0]) == nil)
        #expect(FactKey(encoded: entity + Array("title".utf8) + [0] + [UInt8](repeating: 1, count: 15)) == nil)
        #expect(FactKey(encoded: entity + [UInt8](repeating: 65, count: 65) + [0]) == nil)
        #expect(Attribute(String()) == nil)
        #expect(Attribute(["caf\u{E9}"].joined()) == nil)
    }

    @Test("variable-length integers have one form")
    func varints() {
        forAll(count: 300) { generator in
            let value = generator.next() >> UInt64(generator.int(in: 0...63))
            var bytes: [UInt8] = []
            Varint.append(value, to: &bytes)
            try require(bytes.count == Varint.byteCount(of: value))
            var offset = 0
            try require(Varint.read(bytes.span, at: &offset) == value && offset == bytes.count)
        }
        for bytes: [UInt8] in [[], [0x80], [0x80, 0], [0xFF, 0x80, 0], [UInt8](repeating: 0xFF, count: 11)] {
            var offset = 0
            #expect(Varint.read(bytes.span, at: &offset) == nil)
        }
    }

    @Test("a piece ends where the bytes say so: an inserted letter moves the ends around it only")
    func cutter() {
        let generator = SeededGenerator(seed: 9)
        var key = generator.bytes(count: 16...16)
        let cutter = ValueCutter(key: ShortHashKey(SecretBytes(consuming: &key)))
        var value = generator.bytes(count: 400_000...400_000)
        let before = cutter.pieces(of: value)
        #expect(before.first?.lowerBound == 0 && before.last?.upperBound == value.count)
        for (one, other) in zip(before, before.dropFirst()) {
            #expect(one.upperBound == other.lowerBound)
            #expect(ValueCutter.pieceByteCountMin...ValueCutter.pieceByteCountMax ~= one.count)
        }
        let contents = Set(before.map { Array(value[$0]) })
        value.insert(1, at: 200_000)
        let fresh = cutter.pieces(of: value).filter { !contents.contains(Array(value[$0])) }
        #expect(fresh.count <= 3)
    }
}
