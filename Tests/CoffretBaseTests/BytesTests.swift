// Text forms of bytes, identifiers, times, secrets.

import CoffretBase
import CoffretTestSupport
import Testing

@Suite("Bytes")
struct BytesTests {
    @Test("base32 and base64 of RFC 4648, section 10")
    func rfc4648() throws {
        let cases = [
            ("", "", ""), ("f", "MY======", "Zg=="), ("fo", "MZXQ====", "Zm8="), ("foo", "MZXW6===", "Zm9v"),
            ("foob", "MZXW6YQ=", "Zm9vYg=="), ("fooba", "MZXW6YTB", "Zm9vYmE="),
            ("foobar", "MZXW6YTBOI======", "Zm9vYmFy"),
        ]
        for (plain, base32, base64) in cases {
            let bytes = Array(plain.utf8)
            #expect(Base32.rfc4648.encode(bytes) == base32)
            #expect(try Base32.rfc4648.decode(base32) == bytes)
            #expect(try Base32.rfc4648.decode(base32.lowercased().replacing("=", with: "")) == bytes)
            #expect(Base64.standard.encode(bytes) == base64)
            #expect(try Base64.standard.decode(base64) == bytes)
        }
    }

    @Test("property: every text form reads back")
    func roundTrip() {
        forAll { generator in
            let bytes = generator.bytes(count: 0...70)
            try require(try Hex.decode(Hex.encode(bytes)) == bytes)
            try require(try Hex.decode(Hex.encode(bytes).uppercased()) == bytes)
            for form in [Base32.rfc4648, .rfc4648Unpadded, .crockford] {
                try require(try form.decode(form.encode(bytes)) == bytes)
            }
            for form in [Base64.standard, .url] { try require(try form.decode(form.encode(bytes)) == bytes) }
        }
    }

    @Test("texts that encoding never writes are refused")
    func notCanonical() {
        func code(_ body: () throws -> Void) -> TextCodingError.Code? {
            do {
                try body()
                return nil
            } catch {
                return (error as? TextCodingError)?.code
            }
        }
        #expect(code { _ = try Hex.decode("abc") } == .invalidLength)
        #expect(code { _ = try Hex.decode("0g") } == .invalidCharacter)
        #expect(code { _ = try Base64.standard.decode("Zh==") } == .notCanonical)
        #expect(code { _ = try Base64.standard.decode("Zg") } == .invalidLength)
        #expect(code { _ = try Base64.standard.decode("Z===") } == .invalidCharacter)
        #expect(code { _ = try Base64.standard.decode("Zm 9v===") } == .invalidCharacter)
        #expect(code { _ = try Base64.url.decode("Z") } == .invalidLength)
        #expect(code { _ = try Base32.rfc4648.decode("MZ======") } == .notCanonical)
        #expect(code { _ = try Base32.rfc4648.decode("M") } == .invalidLength)
        #expect(code { _ = try Base32.rfc4648.decode("MY=====") } == .invalidLength)
        #expect(code { _ = try Base32.crockford.decode("U0") } == .invalidCharacter)
        #expect((try? Base32.crockford.decode("o1iL")) == (try? Base32.crockford.decode("0111")))
    }

    @Test("identifiers are UUIDs of version 4, ordered by their bytes")
    func identifiers() throws {
        let generator = SeededGenerator.fromEnvironment()
        for _ in 0..<50 {
            let (one, two) = (UniqueID.generate(from: generator), UniqueID.generate(from: generator))
            #expect(one.bytes[6] >> 4 == 4 && one.bytes[8] >> 6 == 2)
            #expect(try UniqueID.parse(one.description) == one && UniqueID.parse(one.hex.uppercased()) == one)
            #expect(UniqueID(bytes: one.bytes) == one)
            #expect((one < two) == one.bytes.lexicographicallyPrecedes(two.bytes))
        }
        let text = "00112233-4455-6677-8899-aabbccddeeff"
        #expect(try UniqueID.parse(text).description == text)
        for bad in [
            "", "0011", "00112233_4455-6677-8899-aabbccddeeff", text + "0", "0011223344556677-8899-aabbccddeeff-0",
        ] {
            #expect(throws: TextCodingError.self) { try UniqueID.parse(bad) }
        }
        #expect(UniqueID(bytes: [1, 2, 3]) == nil)
    }

    @Test("times are those of the calendar, both ways")
    func times() throws {
        let cases: [(Milliseconds, String)] = [
            (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00Z"),
            (1_709_208_000_500, "2024-02-29T12:00:00.500Z"), (-2_203_891_200_000, "1900-03-01T00:00:00Z"),
            (CivilTime.range.lowerBound, "0000-01-01T00:00:00Z"),
            (CivilTime.range.upperBound, "9999-12-31T23:59:59.999Z"),
        ]
        for (time, text) in cases {
            #expect(CivilTime.format(time) == text)
            #expect(try CivilTime.parse(text) == time)
        }
        #expect(try CivilTime.parse("2024-02-29") == 1_709_164_800_000)
        #expect(try CivilTime.parse("2024-02-29 13:30:00+01:30") == 1_709_208_000_000)
        #expect(try CivilTime.parse("2024-02-29T12:00") == 1_709_208_000_000)
        #expect(try CivilTime.parse("2024-02-29t12:00:00.123456z") == 1_709_208_000_123)
        for bad in [
            "", "2024", "2023-02-29", "1900-02-29", "2024-13-01", "2024-00-10", "2024-01-01T24:00:00Z",
            "2024-01-01T12:60Z",
            "2024-01-01T12:00:00+1:00", "2024-01-01T12:00:00.Z", "2024-01-01Z", "2024-01-01T12:00:00Zx", "+2024-01-01",
            "0000-01-01T00:00:00+00:01",
        ] {
            #expect(throws: TextCodingError.self, "\(bad)") { try CivilTime.parse(bad) }
        }
        #expect(CivilTime.format(.max) == "9999-12-31T23:59:59.999Z")
    }

    @Test("property: a moment's text reads back as the moment")
    func timesRoundTrip() {
        forAll(count: 300) { generator in
            var source = generator
            let time = Milliseconds.random(in: CivilTime.range, using: &source)
            try require(try CivilTime.parse(CivilTime.format(time)) == time)
            try require(CivilTime(milliseconds: time).milliseconds == time)
        }
    }

    @Test("R14 fuzz: altered texts of bytes, identifiers and times are refused or read back")
    func fuzzTexts() {
        let samples = [
            "2024-02-29T12:00:00.5+01:30", "00112233-4455-6677-8899-aabbccddeeff", "MZXW6YQ=", "Zm9vYg==", "00ff",
        ]
        fuzz(samples.map { Array($0.utf8) }, rounds: 4_000) { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            if let time = try? CivilTime.parse(text) { #expect(CivilTime.range.contains(time)) }
            if let id = try? UniqueID.parse(text) { #expect((try? UniqueID.parse(id.description)) == id) }
            if let read = try? Base64.standard.decode(text) { #expect(Base64.standard.encode(read) == text) }
            if let read = try? Base32.rfc4648Unpadded.decode(text) {
                #expect(Base32.rfc4648Unpadded.encode(read) == text.uppercased())
            }
            if let read = try? Hex.decode(text) { #expect(Hex.encode(read) == text.lowercased()) }
        }
    }

    @Test("uniform numbers stay below their bound and reach all of it")
    func uniform() {
        let generator = SeededGenerator.fromEnvironment()
        var seen: Set<UInt64> = []
        for _ in 0..<500 { seen.insert(generator.uniform(below: 7)) }
        #expect(seen == Set(0..<7))
        #expect(SystemRandomSource().bytes(count: 32) != SystemRandomSource().bytes(count: 32))
    }

    @Test("secrets compare in constant time, and the original is zeroed when moved")
    func secrets() {
        var bytes: [UInt8] = [1, 2, 3]
        let one = SecretBytes(consuming: &bytes)
        #expect(bytes == [0, 0, 0])
        let two = one.duplicate()
        let isEqual = one.isEqual(to: two)
        #expect(isEqual)
        var other: [UInt8] = [1, 2, 4]
        let three = SecretBytes(consuming: &other)
        let isUnequal = !one.isEqual(to: three)
        #expect(isUnequal)
        #expect(ConstantTime.isEqual([1, 2], [1, 2]) && !ConstantTime.isEqual([1, 2], [1, 3]))
        #expect(!ConstantTime.isEqual([1], [1, 2]) && ConstantTime.isEqual([], []))
    }
}
