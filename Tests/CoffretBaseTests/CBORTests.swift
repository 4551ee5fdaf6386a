// Deterministic CBOR against the vectors, and against itself.

import CoffretBase
import CoffretTestSupport
import Testing

@Suite("CBOR")
struct CBORTests {
    struct Cases<Case: Decodable>: Decodable { let cases: [Case] }

    struct DeterministicCase: Decodable { let id: String; let cbor_hex: String }
    struct RejectCase: Decodable { let id: String; let cbor_hex: String; let reason: String }

    /// Whether an item holds what Coffret's formats leave out: floats, undefined, other simple values.
    private func isLeftOut(_ error: CBORError) -> Bool { error.code == .floatingPoint || error.code == .reserved }

    @Test("what the deterministic vectors encode is read and written again byte for byte")
    func deterministicVectors() throws {
        let file = try VectorFile.decode(Cases<DeterministicCase>.self, from: "cbor/deterministic.json")
        var readCount = 0
        for vector in file.cases {
            let bytes = try Hex.decode(vector.cbor_hex)
            do throws(CBORError) {
                let value = try CBORValue(decoding: bytes)
                #expect(value.encoded == bytes, "\(vector.id)")
                readCount += 1
            } catch {
                #expect(isLeftOut(error), "\(vector.id): \(error)")
            }
        }
        #expect(readCount > 60)
    }

    @Test("every vector to be rejected is rejected")
    func rejectVectors() throws {
        let codes: [String: Set<CBORError.Code>] = [
            "truncated": [.truncated, .floatingPoint], "not-shortest-integer": [.notShortest],
            "reserved": [.reserved, .indefiniteLength],
            "keys-not-sorted": [.keysNotSorted], "duplicate-key": [.keysNotSorted], "invalid-utf8": [.invalidText],
            "indefinite-length": [.indefiniteLength], "unexpected-break": [.indefiniteLength],
            "invalid-simple": [.reserved], "bignum-not-preferred": [.notPreferredBignum],
            "trailing-bytes": [.trailingBytes], "not-shortest-float": [.floatingPoint],
            "nan-not-canonical": [.floatingPoint],
        ]
        for vector in try VectorFile.decode(Cases<RejectCase>.self, from: "cbor/reject.json").cases {
            let bytes = try Hex.decode(vector.cbor_hex)
            let error = #expect(throws: CBORError.self, "\(vector.id)") { try CBORValue(decoding: bytes) }
            if let error, let expected = codes[vector.reason] {
                #expect(expected.contains(error.code), "\(vector.id) \(vector.reason): \(error.code)")
            }
        }
    }

    @Test("a length of 2^64 - 1 fails without allocating")
    func hugeLength() {
        for first: UInt8 in [0x5B, 0x7B, 0x9B, 0xBB] {
            let bytes = [first] + [UInt8](repeating: 0xFF, count: 8)
            #expect(throws: CBORError(.truncated, byteOffset: 0)) { try CBORValue(decoding: bytes) }
        }
    }

    @Test("integers at the ends of their ranges read back")
    func integerEnds() throws {
        for value: Int64 in [0, 23, 24, 255, 256, 65_535, 65_536, .max, -1, -24, -25, -256, -257, .min] {
            let bytes = CBOREncoder.encode { $0.encode(signed: value) }
            #expect(try withCBORDecoder(bytes) { (decoder) throws(CBORError) in try decoder.readSigned() } == value)
        }
        let tooLarge = CBOREncoder.encode { $0.encode(unsigned: .max) }
        #expect(throws: CBORError(.unexpectedItem, byteOffset: 0)) {
            try withCBORDecoder(tooLarge) { (decoder) throws(CBORError) in try decoder.readSigned() }
        }
    }

    @Test("nesting beyond the limit is refused, at the limit it is read")
    func depth() throws {
        let atLimit = [UInt8](repeating: 0x81, count: Limits.cborDepthMax) + [0x00]
        _ = try CBORValue(decoding: atLimit)
        #expect(throws: CBORError(.tooDeep, byteOffset: Limits.cborDepthMax)) {
            try CBORValue(decoding: [0x81] + atLimit)
        }
        // A megabyte of nesting must not use up the stack.
        #expect(throws: CBORError.self) { try CBORValue(decoding: [UInt8](repeating: 0x81, count: 1 << 20)) }
    }

    private func randomValue(_ generator: SeededGenerator, depth: Int) -> CBORValue {
        switch generator.int(in: 0...(depth > 0 ? 8 : 5)) {
        case 0: return .unsigned(generator.next() >> UInt64(generator.int(in: 0...63)))
        case 1: return .negative(generator.next() >> UInt64(generator.int(in: 0...63)))
        case 2: return .bytes(generator.bytes(count: 0...300))
        case 3: return .text(generator.text(countMax: 40))
        case 4: return .bool(generator.bool())
        case 5: return .null
        case 6: return .array((0..<generator.int(in: 0...5)).map { _ in randomValue(generator, depth: depth - 1) })
        case 7: return .tagged(UInt64(generator.int(in: 4...70_000)), randomValue(generator, depth: depth - 1))
        default:
            var pairs: [[UInt8]: CBORValue.CBORPair] = [:]
            for _ in 0..<generator.int(in: 0...5) {
                let key = randomValue(generator, depth: 0)
                pairs[key.encoded] = CBORValue.CBORPair(key, randomValue(generator, depth: depth - 1))
            }
            return .map(Array(pairs.values))
        }
    }

    @Test("property: decoding and encoding again gives the same bytes")
    func roundTrip() {
        forAll { generator in
            let encoded = randomValue(generator, depth: 4).encoded
            try require(try CBORValue(decoding: encoded).encoded == encoded)
        }
    }

    @Test("R14 property: altered bytes are refused or encode to themselves")
    func alteredBytes() {
        let generator = SeededGenerator.fromEnvironment()
        let samples = (0..<50).map { _ in randomValue(generator, depth: 4).encoded }
        fuzz(samples) { bytes in
            if let value = try? CBORValue(decoding: bytes), !containsBignum(value) {
                #expect(value.encoded == bytes, "seed \(generator.seed)")
            }
        }
    }

    private func containsBignum(_ value: CBORValue) -> Bool {
        if case .tagged(let tag, _) = value { tag == 2 || tag == 3 } else { false }
    }
}
