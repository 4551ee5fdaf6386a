// JSON: what is written reads back, and what RFC 8259 does not allow is refused.

import CoffretBase
import CoffretTestSupport
import Testing

@Suite("JSON")
struct JSONTests {
    private func parse(_ text: String) throws -> JSONValue { try JSONValue(parsing: Array(text.utf8)) }

    private func code(_ bytes: [UInt8]) -> JSONError.Code? {
        do throws(JSONError) {
            _ = try JSONValue(parsing: bytes)
            return nil
        } catch {
            return error.code
        }
    }

    @Test("values of every kind are read")
    func values() throws {
        let value = try parse(
            #" { "a" : [ 1 , -2.5e+3 , true , false , null , "x\u00e9\ud83d\ude00\n\/" ] , "b" : { } , "" : [] } "#)
        #expect(value["a"]?.elements?.count == 6)
        #expect(value["a"]?.elements?[0].integer == 1)
        #expect(value["a"]?.elements?[1] == .number("-2.5e+3"))
        #expect(value["a"]?.elements?[5].string == "x\u{E9}\u{1F600}\n/")
        #expect(value["b"] == .object([]) && value[""] == .array([]) && value["c"] == nil)
    }

    @Test("what RFC 8259 does not allow is refused by name")
    func refused() {
        let cases: [(String, JSONError.Code)] = [
            ("", .truncated), ("{", .truncated), (#"{"a""#, .truncated), (#"{"a":"#, .truncated), ("[1,", .truncated),
            (#""abc"#, .truncated), ("tru", .truncated), ("[1,]", .unexpectedCharacter),
            (#"{"a":1,}"#, .unexpectedCharacter),
            ("{a:1}", .unexpectedCharacter), ("'a'", .unexpectedCharacter), ("[1 2]", .unexpectedCharacter),
            ("01", .invalidNumber), ("1.", .invalidNumber), ("-", .invalidNumber), ("1e", .invalidNumber),
            (".5", .unexpectedCharacter), ("+1", .unexpectedCharacter), ("NaN", .unexpectedCharacter),
            (String(repeating: "1", count: 65), .invalidNumber), (#""\x""#, .invalidEscape),
            (#""\ud800""#, .invalidEscape),
            (#""\ud800\u0041""#, .invalidEscape), (#""\udc00""#, .invalidEscape), (#""\u12g4""#, .invalidEscape),
            ("\"a\nb\"", .invalidText), ("1 1", .trailingText), ("[]]", .trailingText),
            (#"{"a":1,"a":2}"#, .duplicateName),
            ("\u{FEFF}1", .unexpectedCharacter), ("// c\n1", .unexpectedCharacter), ("truer", .trailingText),
        ]
        for (text, expected) in cases { #expect(code(Array(text.utf8)) == expected, "\(text)") }
        #expect(code([0x22, 0xFF, 0x22]) == .invalidText)
        #expect(code([0x22, 0xED, 0xA0, 0x80, 0x22]) == .invalidText)
    }

    @Test("an error says at which byte and line")
    func places() {
        let error = #expect(throws: JSONError.self) { try parse("{\n  \"a\": 1,\n  oops\n}") }
        #expect(error?.line == 3 && error?.byteOffset == 14)
    }

    @Test("R41: depth and length of strings are limited, at the limit they are read")
    func limits() throws {
        let deep =
            String(repeating: "[", count: Limits.jsonDepthMax) + String(repeating: "]", count: Limits.jsonDepthMax)
        _ = try parse(deep)
        #expect(code(Array(("[" + deep + "]").utf8)) == .tooDeep)
        var rest: [UInt8]? = Array("\"12345\"".utf8)
        var reader = JSONReader(stringByteCountMax: 5) {
            defer { rest = nil }
            return rest
        }
        #expect(try reader.next() == .string("12345"))
        rest = Array("\"123456\"".utf8)
        var strict = JSONReader(stringByteCountMax: 5) {
            defer { rest = nil }
            return rest
        }
        #expect(throws: JSONError(.stringTooLong, byteOffset: 1, line: 1)) { try strict.next() }
    }

    private func randomValue(_ generator: SeededGenerator, depth: Int) -> JSONValue {
        switch generator.int(in: 0...(depth > 0 ? 6 : 4)) {
        case 0: return .integer(Int64(bitPattern: generator.next()))
        case 1: return .string(generator.text(countMax: 30))
        case 2: return .bool(generator.bool())
        case 3: return .null
        case 4: return .number("-1.25e-7")
        case 5: return .array((0..<generator.int(in: 0...4)).map { _ in randomValue(generator, depth: depth - 1) })
        default:
            var names: Set<String> = []
            for _ in 0..<generator.int(in: 0...4) { names.insert(generator.text(countMax: 8)) }
            return .object(names.sorted().map { JSONValue.Member($0, randomValue(generator, depth: depth - 1)) })
        }
    }

    @Test("property: what is written reads back, compact or pretty, in chunks of any size")
    func roundTrip() {
        forAll { generator in
            let value = randomValue(generator, depth: 4)
            for style in [JSONStyle.compact, .pretty] {
                let bytes = Array(value.text(style).utf8)
                try require(try JSONValue(parsing: bytes) == value)
                var position = 0
                var reader = JSONReader {
                    guard position < bytes.count else { return nil }
                    let end = min(bytes.count, position + generator.int(in: 0...3))
                    defer { position = end }
                    return Array(bytes[position..<end])
                }
                try require(try JSONValue(from: &reader) == value)
                try require(try reader.next() == .end)
            }
        }
    }

    @Test("pretty text is indented by two spaces")
    func prettyText() {
        let value = JSONValue.object([
            .init("a", .array([.integer(1), .object([])])), .init("b", .array([])),
            .init("c", .string("\u{7F}\u{1}\"")),
        ])
        let expected = "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": [],\n  \"c\": \"\\u007f\\u0001\\\"\"\n}\n"
        #expect(value.text(.pretty) == expected)
        #expect(value.text() == "{\"a\":[1,{}],\"b\":[],\"c\":\"\\u007f\\u0001\\\"\"}")
    }

    @Test("a long text goes to the sink in pieces, and a failing sink is told")
    func sink() throws {
        struct Full: Error {}
        var pieceCount = 0
        var writer = JSONWriter<Full> { (bytes) throws(Full) in
            pieceCount += 1
            if bytes.count > 64 << 10 { throw Full() }
        }
        try writer.beginArray()
        for number in 0..<20_000 { try writer.integer(number) }
        try writer.endArray()
        try writer.finish()
        #expect(pieceCount > 2)
        var failing = JSONWriter<Full> { (_) throws(Full) in throw Full() }
        try failing.beginArray()
        #expect(throws: Full.self) { try failing.string(String(repeating: "x", count: 100_000)) }
    }

    @Test("a failing source is an error with its cause")
    func failingSource() {
        var reader = JSONReader { throw FileSystemError(.inputOutput, place: "a") }
        let error = #expect(throws: JSONError.self) { try reader.next() }
        #expect(error?.code == .source && error?.cause is FileSystemError)
    }

    @Test("R14 fuzz: altered texts are refused, or mean what they mean when written again")
    func fuzzText() {
        let generator = SeededGenerator.fromEnvironment()
        let samples = (0..<30).map { _ in Array(randomValue(generator, depth: 4).text(.pretty).utf8) }
        fuzz(samples) { bytes in
            if let value = try? JSONValue(parsing: bytes) {
                #expect((try? JSONValue(parsing: Array(value.text().utf8))) == value, "seed \(generator.seed)")
            }
        }
    }

    @Test("what a caller does not want is skipped, with all it contains")
    func skipping() throws {
        var reader = JSONReader(Array(#"{"a":{"b":[1,{"c":2}]},"d":3}"#.utf8))
        #expect(try reader.next() == .beginObject)
        #expect(try reader.next() == .name("a"))
        try reader.skipRest(of: try reader.next())
        #expect(try reader.next() == .name("d"))
        #expect(try reader.next() == .number("3"))
        #expect(try reader.next() == .endObject)
        #expect(try reader.next() == .end)
    }
}
