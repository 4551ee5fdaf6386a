// Stored values: the vectors, hostile bytes, bombs, and the writer's choice of a form, in counts of bytes.

import CoffretBase
import CoffretStorage
import CoffretTestSupport
import Dispatch
import Testing

@testable import CoffretHistory

@Suite("Stored values")
struct ValueTests {
    private let vectors: HistoryVectors.Values
    private let bases: [BlobName: [UInt8]]

    init() throws {
        vectors = try HistoryVectors.shared.get().values
        var bases: [BlobName: [UInt8]] = [:]
        for base in vectors.bases {
            let content = try Hex.decode(base.content_hex)
            let name = BlobName.derive(type: .value, content: content.span)
            try #require(name.description == base.name_hex)
            bases[name] = Array(content.dropFirst(FactLimits.saltByteCount))
        }
        self.bases = bases
    }

    private func decode(_ stored: [UInt8]) throws(HistoryError) -> [UInt8] {
        try ValueDecoder.decode(stored, place: "here") { bases[$0] }
    }

    @Test("values of the vectors are read, and what is none is refused")
    func values() throws {
        #expect(vectors.cases.count >= 5 && vectors.refused.count >= 19)
        for vector in vectors.cases {
            #expect(try Hex.encode(decode(Hex.decode(vector.stored_hex))) == vector.bytes_hex, "\(vector.what)")
        }
        for vector in vectors.refused {
            #expect(throws: HistoryError(.valueMalformed, place: "here"), "\(vector.why)") {
                _ = try decode(Hex.decode(vector.stored_hex))
            }
        }
    }

    /// Words that repeat as those of a note do.
    private func note(_ generator: SeededGenerator, byteCount: Int) -> [UInt8] {
        let words = (0..<300).map { _ in generator.bytes(count: 2...9).map { 97 + $0 % 26 } }
        var text: [UInt8] = []
        while text.count < byteCount {
            text += generator.element(of: words)
            text.append(generator.int(in: 0...9) == 0 ? 0x0A : 0x20)
        }
        return Array(text.prefix(byteCount))
    }

    @Test("texts of all sizes are read back as they were, whole and as deltas")
    func roundTrip() {
        forAll(count: 60) { generator in
            let size = generator.element(of: [0, 1, 255, 256, 257, 900, 9_216, 60_000, 400_000])
            let text = note(generator, byteCount: size)
            let whole = ValueEncoder.text(text)
            try require(try ValueDecoder.decode(whole, place: "") { _ in nil } == text)
            try require(size > 256 || whole == [0] + text)
            let name = BlobName(Bytes32(generator.next(), 2, 3, 4))
            guard let base = ValueBase(name: name, stored: whole) else { return }
            var edited = text
            edited.insert(contentsOf: Array(" a few words ".utf8), at: generator.int(in: 0...size))
            let delta = ValueEncoder.text(edited, base: base)
            try require(try ValueDecoder.decode(delta, place: "") { $0 == name ? whole : nil } == edited)
            try require(delta.first != 2 || delta.count * 8 <= whole.count)
            try require(size < 4_000 || delta.first == 2 && delta.count < 300, "\(size): \(delta.count)")
            try require(ValueBase.name(behind: delta, name: nil) == (delta.first == 2 ? name : nil))
        }
    }

    @Test("a stored value depends on text and base alone, whatever was stored before it or is stored beside it")
    func independence() {
        let generator = SeededGenerator(seed: 4)
        // Around 4 KiB the way changes on which libzstd works.
        let texts = [300, 1_024, 4_095, 4_096, 4_097, 20_000].map { note(generator, byteCount: $0) }
        let firsts = texts.map { ValueEncoder.text($0) }
        let hostile = firsts.map { Array($0.dropLast()) + [$0.last! ^ 0x55] }
        DispatchQueue.concurrentPerform(iterations: 8) { part in
            for turn in 0..<60 {
                let place = (part + turn) % texts.count
                // A frame that is none leaves nothing behind for the next.
                _ = try? ValueDecoder.decode(hostile[place], place: "") { _ in nil }
                #expect(ValueEncoder.text(texts[place]) == firsts[place])
                let read = try? ValueDecoder.decode(firsts[place], place: "") { _ in nil }
                #expect(read == texts[place])
                guard let base = ValueBase(name: BlobName(Bytes32(1, 1, 1, 1)), stored: firsts[place]) else { continue }
                let edited = Array("first\n".utf8) + texts[place]
                let delta = ValueEncoder.text(edited, base: base)
                let again = try? ValueDecoder.decode(delta, place: "") { _ in base.stored }
                #expect(again == edited)
            }
        }
    }

    @Test("a text is compressed from 257 bytes on, if that saves a tenth, and never beyond what readers believe")
    func choice() {
        let generator = SeededGenerator(seed: 3)
        #expect(ValueEncoder.text([UInt8](repeating: 97, count: 256)).first == 0)
        #expect(ValueEncoder.text([UInt8](repeating: 97, count: 257)).first == 1)
        // What cannot be compressed is plain; so is what shrinks to less than readers believe.
        #expect(ValueEncoder.text(generator.bytes(count: 5_000...5_000)).first == 0)
        #expect(ValueEncoder.text([UInt8](repeating: 97, count: 100_000)).first == 0)
        // The borders of the rules, in bytes.
        #expect(ValueEncoder.isWorthwhile(900, 999) && !ValueEncoder.isWorthwhile(901, 999))
        #expect(ValueEncoder.isWorthwhile(100, 10_496) && !ValueEncoder.isWorthwhile(100, 10_497))
        #expect(ValueEncoder.isShortEnough(100, 9_000, 800) && !ValueEncoder.isShortEnough(101, 9_000, 800))
        #expect(ValueEncoder.isShortEnough(100, 64 * 900 + 4_096, 800))
        #expect(!ValueEncoder.isShortEnough(100, 64 * 900 + 4_097, 800))
    }

    @Test("a base is a whole value of at least 513 stored bytes; behind a delta its base serves again")
    func baseRules() {
        let name = BlobName(Bytes32(1, 2, 3, 4))
        let plain = [UInt8](repeating: 0, count: 513)
        #expect(ValueBase(name: name, stored: plain) != nil)
        #expect(ValueBase(name: name, stored: Array(plain.dropLast())) == nil)
        #expect(ValueBase(name: name, stored: [2] + plain) == nil && ValueBase(name: name, stored: [3] + plain) == nil)
        // A base has at most 1 MiB, by itself or when it is decoded.
        let large = [UInt8](repeating: 0, count: 2 + 1 << 20)
        #expect(ValueBase(name: name, stored: Array(large.dropLast())) != nil)
        #expect(ValueBase(name: name, stored: large) == nil)
        var head: [UInt8] = [1]
        Varint.append(1 << 20, to: &head)
        #expect(ValueBase(name: name, stored: head + plain) != nil)
        head = [1]
        Varint.append(1 << 20 + 1, to: &head)
        #expect(ValueBase(name: name, stored: head + plain) == nil)
        #expect(ValueBase.name(behind: plain, name: name) == name)
        #expect(ValueBase.name(behind: [0, 1, 2], name: nil) == nil)
        #expect(ValueBase.name(behind: [2, 5] + name.bytes + [0], name: nil) == name)
        #expect(ValueBase.name(behind: [2, 5] + name.bytes.dropLast(), name: nil) == nil)
    }

    @Test("a size is refused before memory is taken for it, and a frame may not say more than its bytes")
    func bombs() throws {
        let text = [UInt8](repeating: 97, count: 2_000)
        let frame = Array(ValueEncoder.text(text).dropFirst(3))
        func stored(_ size: UInt64, _ frame: [UInt8]) -> [UInt8] {
            var head: [UInt8] = [1]
            Varint.append(size, to: &head)
            return head + frame
        }
        #expect(try decode(stored(2_000, frame)) == text)
        let wrong: [(String, [UInt8])] = [
            ("a size beyond the ratio", stored(1 << 20, frame)), ("a size above 16 MiB", stored(1 << 24 + 1, frame)),
            ("the greatest size", stored(.max, frame)), ("two frames", stored(4_000, frame + frame)),
            ("no block", stored(0, Array(frame.prefix(2)))),
            ("a window above 2^24", stored(2_000, [0, 0x71] + frame[2...])),
            ("a size in the frame", stored(2_000, [0x40] + frame[1...])),
            ("one segment", stored(2_000, [0x20] + frame[1...])), ("a dictionary", stored(2_000, [0x01] + frame[1...])),
            ("a reserved bit", stored(2_000, [0x08] + frame[1...])),
            ("an unused bit", stored(2_000, [0x10] + frame[1...])),
            ("a reserved block", stored(2_000, [0, 0, 0x07, 0, 0])),
        ]
        for (why, bytes) in wrong {
            #expect(throws: HistoryError(.valueMalformed, place: "here"), "\(why)") { _ = try decode(bytes) }
        }
        // One byte repeated: the block says 100,000 bytes, the value 2,000, or the other way round.
        let repeated: [UInt8] =
            [0, 0x38] + [UInt8(100_000 << 3 & 0xFF | 3), UInt8(100_000 >> 5 & 0xFF), UInt8(100_000 >> 13)] + [97]
        #expect(throws: HistoryError.self) { _ = try decode(stored(2_000, repeated)) }
        #expect(throws: HistoryError.self) {
            _ = try decode(stored(4_000, [0, 0x38, UInt8(2_000 << 3 & 0xFF | 3), UInt8(2_000 >> 5), 0, 97]))
        }
    }

    @Test("no bytes crash the reading of values, and none takes more than the bound: fuzz")
    func hostileBytes() {
        let generator = SeededGenerator(seed: 8)
        let text = note(generator, byteCount: 9_216)
        let whole = ValueEncoder.text(text)
        let name = BlobName(Bytes32(9, 8, 7, 6))
        let delta = ValueBase(name: name, stored: whole).map {
            ValueEncoder.text(text + Array("more\n".utf8), base: $0)
        }
        let samples = [whole, delta ?? [], [0] + text]
        fuzz(samples, rounds: 4_000) { bytes in
            guard let value = try? ValueDecoder.decode(bytes, place: "", base: { _ in whole }) else { return }
            #expect(value.count <= 64 * (bytes.count + whole.count) + 4_096)
        }
        // A base of anybody's, too.
        fuzz([whole], rounds: 2_000) { base in
            _ = try? ValueDecoder.decode(delta ?? [], place: "", base: { _ in base })
        }
    }
}
