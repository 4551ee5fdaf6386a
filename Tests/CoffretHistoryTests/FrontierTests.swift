// Frontiers, digests, head codes, leaves and the message of a push: against the vectors, and against hostile bytes.

import CoffretBase
import CoffretCrypto
import CoffretStorage
import CoffretTestSupport
import CoffretTrust
import Testing

@testable import CoffretHistory

@Suite("Frontiers")
struct FrontierTests {
    let vectors: HistoryVectors

    init() throws { vectors = try HistoryVectors.shared.get() }

    private func verify(_ content: [UInt8], _ name: BlobName) throws(HistoryError) -> SignedFrontier {
        guard let vaultID = try? vectors.vaultID(),
            let key = try? VerifyingKey(Hex.decode(vectors.device_public_key_hex))
        else {
            throw HistoryError(.stateDiffers)
        }
        return try SignedFrontier.verify(
            content, name: name, vaultID: vaultID, authority: AssumedAuthority(key: key)
        ) { (name) throws(HistoryError) in try vectors.context(name) }
    }

    @Test("a frontier of the vectors verifies, has its name, and is written as it was read")
    func frontiers() throws {
        #expect(vectors.frontiers.count >= 4)
        for vector in vectors.frontiers {
            let content = try Hex.decode(vector.content_hex)
            let name = BlobName.derive(type: .frontier, content: content.span)
            #expect(name.description == vector.name_hex)
            let frontier = try verify(content, name)
            #expect(frontier.body.encode() == Array(content.dropLast(64)), "\(vector.what)")
        }
    }

    @Test("a frontier with a changed bit is refused, whichever it is")
    func flippedBits() throws {
        let content = try Hex.decode(#require(vectors.frontiers.last).content_hex)
        let name = BlobName(Bytes32(1, 2, 3, 4))
        withEveryFlippedBit(content) { changed, bit in
            do throws(HistoryError) {
                _ = try verify(changed, name)
                Issue.record("bit \(bit) is not covered")
            } catch {
                #expect(error.code == .headRefused)
            }
        }
    }

    @Test("no bytes crash the reading of frontiers: fuzz")
    func hostileBytes() throws {
        fuzz(try vectors.frontiers.map { try Hex.decode($0.content_hex) }, rounds: 2_000) { bytes in
            // The signature covers every byte, so what verifies is a sample.
            guard let frontier = try? verify(bytes, BlobName(Bytes32(1, 2, 3, 4))) else { return }
            #expect(frontier.body.encode() + bytes.suffix(64) == bytes)
        }
    }

    @Test("a frontier is told by its difference to the last full one, or anew where more than 16 instances differ")
    func differences() {
        forAll(count: 50) { generator in
            let maker = EntryMaker(generator)
            func marks(_ count: Int) -> [InstanceID: EntryMark] {
                var marks: [InstanceID: EntryMark] = [:]
                for _ in 0..<count {
                    marks[.generate(from: generator)] = EntryMark(number: maker.number(), name: maker.name())
                }
                return marks
            }
            let accept = Frontier(marks(generator.int(in: 0...30)))
            var last = accept
            last.merge(Frontier(marks(generator.int(in: 0...30))))
            var now = last
            let changed = generator.int(in: 0...20)
            now.merge(Frontier(marks(changed)))
            let name = maker.name()
            let told = ZoneFrontier.difference(now, accept: accept, last: (name, last))
            try require((told.full == name) == (changed <= 16))
            let body = ZoneFrontier(
                context: name, base: 1, full: told.full, marks: told.marks, digest: StateDigest(), time: 0)
            try require(body.frontier(over: told.full == nil ? accept : last) == now)
            try require(ZoneFrontier.difference(now, accept: accept, last: nil).full == nil)
        }
    }

    @Test("the terms of facts sum up to the digest, in any order, and go out again")
    func digest() throws {
        let state = vectors.state
        var secret = try Hex.decode(state.split_key_hex)
        let splitKey = SplitKey(SecretBytes(consuming: &secret))
        var terms = DigestTerms(splitKey: splitKey, vaultID: try vectors.vaultID())
        let facts = try Self.facts(state)
        var (up, down) = (StateDigest(), StateDigest())
        for (fact, vector) in zip(facts, state.facts) {
            let term = terms.term(of: fact)
            #expect(term.description == vector.term_hex)
            up.add(term)
        }
        for fact in facts.reversed() { down.add(terms.term(of: fact)) }
        #expect(up == down && up.description == state.digest_hex)
        for fact in facts { up.subtract(terms.term(of: fact)) }
        #expect(up == StateDigest())
        // Carries run through all words.
        var largest = StateDigest(Bytes32(.max, .max, .max, .max))
        largest.add(StateDigest(Bytes32(0, 0, 0, 1)))
        #expect(largest == StateDigest())
    }

    private static func facts(_ state: HistoryVectors.State) throws -> [Fact] {
        try state.facts.map { fact in
            let content = try Hex.decode(fact.content_hex)
            let instance = try #require(UniqueID(bytes: Hex.decode(fact.instance_hex)))
            // The vector's third fact lies in blobs: 32 bytes that begin with no form are its name.
            let isName = content.count == 32 && (content.first ?? 0) > 2
            return Fact(
                key: try #require(FactKey(encoded: Hex.decode(fact.key_hex))),
                content: isName
                    ? .stored(StoredValue(name: try HistoryVectors.name(fact.content_hex), byteCount: 20_000))
                    : .inline(content),
                dot: Dot(instance, fact.number), height: fact.height)
        }
    }

    @Test("a leaf of facts with heights is the one of the vectors, and is read back")
    func leaf() throws {
        let state = vectors.state
        let facts = try Self.facts(state).sorted()
        let leaf = LeafCodec.encode(LeafFacts(facts))
        #expect(Hex.encode(leaf) == state.leaf_hex)
        #expect(BlobName.derive(type: .treeLeaf, content: leaf.span).description == state.leaf_name_hex)
        let read = LeafCodec.decode(leaf.span, allowsRetractions: false, hasHeights: true)
        #expect(read.map { Array($0) } == facts)
        #expect(LeafCodec.decode(leaf.span, allowsRetractions: false).map { Array($0) } != facts)
        // A height of 0, and numbers that entries cannot have, are none.
        for (number, height) in [(1, 0), (1, 1 << 53), (1 << 53, 1)] as [(UInt64, UInt64)] {
            let bad = facts.map {
                Fact(key: $0.key, content: $0.content, dot: Dot($0.dot.instance, number), height: height)
            }
            let bytes = LeafCodec.encode(LeafFacts(bad))
            #expect(LeafCodec.decode(bytes.span, allowsRetractions: false, hasHeights: true).map { Array($0) } == nil)
        }
    }

    @Test("head codes are those of the vectors, and follow each part")
    func headCodes() throws {
        #expect(vectors.head_codes.count >= 2)
        for vector in vectors.head_codes {
            var frontier = Frontier()
            for (instance, mark) in vector.frontier {
                frontier[try #require(UniqueID(bytes: Hex.decode(instance)))] = EntryMark(
                    number: mark.number, name: try HistoryVectors.name(mark.name))
            }
            let base = try Bytes32(Hex.decode(vector.base_hash_hex)).map { ChainPosition(number: 4, hash: $0) }
            let digest = StateDigest(try #require(Bytes32(Hex.decode(vector.digest_hex))))
            let device = ChainPosition(
                number: 1, hash: try #require(Bytes32(Hex.decode(vector.device_chain_head_hex))))
            let code = HeadCode(
                vaultID: try vectors.vaultID(), base: base, frontier: frontier, digest: digest, deviceHead: device)
            #expect(Hex.encode(code.hash) == vector.hash_hex)
            #expect(code.description == vector.code)
        }
    }

    @Test("a push is signed as the vectors say, and an absent head takes the place of one")
    func push() throws {
        let push = vectors.push
        var hasher = PushedObjectsHasher()
        for object in push.objects {
            hasher.add(address: try Hex.decode(object[0]), ciphertext: try Hex.decode(object[1]))
        }
        let (expected, new) = (try Hex.decode(push.expected_hex), try Hex.decode(push.new_hex))
        let proof = ZoneProof.push(expectedHead: expected, newHead: new, epoch: push.epoch, hash: hasher.finish())
        let key = SigningKey.generate(from: SeededGenerator(seed: 1))
        let zone = [UInt8](repeating: 7, count: 32)
        let message = try Hex.decode(push.message_hex)
        #expect(proof.sign(zone: zone, with: key) == key.sign(.push, scope: zone, message: message))
        let hash = Array(message.suffix(32))
        let first = ZoneProof.push(expectedHead: nil, newHead: new, epoch: push.epoch, hash: hash)
        let last = ZoneProof.push(expectedHead: new, newHead: nil, epoch: push.epoch, hash: hash)
        #expect(first.sign(zone: zone, with: key) != last.sign(zone: zone, with: key))
    }
}
