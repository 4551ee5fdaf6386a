// JSON, read as it comes. Invariant: memory is bounded by one chunk, one string and the depth, for any input; and
// nothing that RFC 8259 does not allow is read.

/// A piece of a JSON text.
package enum JSONToken: Equatable, Sendable {
    case beginObject
    case endObject
    case beginArray
    case endArray
    /// The name of a member; its value comes next.
    case name(String)
    case string(String)
    /// The characters of a number, well-formed, at most 64.
    case number(String)
    case bool(Bool)
    case null
    /// Behind the one value of the text.
    case end
}

/// A strict streaming pull parser of one JSON text.
///
/// A byte order mark, comments, trailing commas, lone surrogates and control characters in strings
/// are refused. Repeated names in one object are the caller's business; `JSONValue` refuses them.
package struct JSONReader {
    private enum Place {
        /// Before the first member or the end of an object; before a name behind a comma; before a
        /// member's value; behind a member's value.
        case objectStart, objectName, objectValue, objectNext
        /// Before the first element or the end; before an element behind a comma; behind an element.
        case arrayStart, arrayValue, arrayNext
        case textStart, textEnd
    }

    private let source: () throws -> [UInt8]?
    private let depthMax: Int
    private let stringByteCountMax: Int
    private var chunk: [UInt8] = []
    private var index = 0
    private var chunkOffset = 0
    private var isSourceAtEnd = false
    private var places: [Place] = [.textStart]
    /// True while strings are read and not kept.
    private var isSkipping = false
    /// Line of the next byte, from 1.
    package private(set) var line = 1

    /// Offset of the next byte from the start of the text.
    package var byteOffset: Int { chunkOffset + index }
    /// Open arrays and objects.
    package var depth: Int { places.count - 1 }

    /// - Parameter source: gives the next chunk, of any size, or nil at the end.
    package init(
        depthMax: Int = Limits.jsonDepthMax, stringByteCountMax: Int = Limits.jsonStringByteCountMax,
        from source: @escaping () throws -> [UInt8]?
    ) {
        self.source = source
        self.depthMax = depthMax
        self.stringByteCountMax = stringByteCountMax
    }

    package init(_ bytes: [UInt8]) {
        var rest: [UInt8]? = bytes
        self.init(from: {
            defer { rest = nil }
            return rest
        })
    }

    /// An error at the next byte, for callers that refuse a value they have read.
    package func error(_ code: JSONError.Code) -> JSONError {
        JSONError(code, byteOffset: byteOffset, line: line)
    }

    /// Reads the next piece. Behind the value it is `.end`, again and again.
    package mutating func next() throws(JSONError) -> JSONToken {
        let character = try nextSignificant()
        switch places[places.count - 1] {
        case .textEnd:
            guard character == nil else { throw error(.trailingText) }
            return .end
        case .objectStart, .objectName:
            if character == UInt8(ascii: "}"), places[places.count - 1] == .objectStart {
                return endContainer(.endObject)
            }
            guard let character else { throw error(.truncated) }
            guard character == UInt8(ascii: "\"") else { throw error(.unexpectedCharacter) }
            let name = try readString()
            guard try nextSignificant() == UInt8(ascii: ":") else { throw unexpected() }
            index += 1
            places[places.count - 1] = .objectValue
            return .name(name)
        case .objectNext:
            if character == UInt8(ascii: "}") { return endContainer(.endObject) }
            try skipComma(character)
            places[places.count - 1] = .objectName
            return try next()
        case .arrayNext:
            if character == UInt8(ascii: "]") { return endContainer(.endArray) }
            try skipComma(character)
            places[places.count - 1] = .arrayValue
            return try next()
        case .arrayStart where character == UInt8(ascii: "]"):
            return endContainer(.endArray)
        case .arrayStart, .arrayValue, .objectValue, .textStart:
            return try readValue(startingWith: character)
        }
    }

    /// Reads the rest of the value whose first piece was `token`.
    package mutating func skipRest(of token: JSONToken) throws(JSONError) {
        guard token == .beginObject || token == .beginArray else { return }
        let outer = depth - 1
        repeat { _ = try next() } while depth > outer
    }

    /// Reads the next value and keeps none of its texts, nor copies them.
    package mutating func skipValue() throws(JSONError) {
        isSkipping = true
        defer { isSkipping = false }
        let token = try next()
        try skipRest(of: token)
    }

    private mutating func readValue(startingWith character: UInt8?) throws(JSONError) -> JSONToken {
        guard let character else { throw error(.truncated) }
        switch character {
        case UInt8(ascii: "{"): return try beginContainer(.beginObject, .objectStart)
        case UInt8(ascii: "["): return try beginContainer(.beginArray, .arrayStart)
        case UInt8(ascii: "\""):
            let text = try readString()
            endValue()
            return .string(text)
        case UInt8(ascii: "t"): return try readWord("true", .bool(true))
        case UInt8(ascii: "f"): return try readWord("false", .bool(false))
        case UInt8(ascii: "n"): return try readWord("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            let text = try readNumber()
            endValue()
            return .number(text)
        default: throw error(.unexpectedCharacter)
        }
    }

    private mutating func beginContainer(_ token: JSONToken, _ place: Place) throws(JSONError) -> JSONToken {
        guard depth < depthMax else { throw error(.tooDeep) }
        index += 1
        places.append(place)
        return token
    }

    private mutating func endContainer(_ token: JSONToken) -> JSONToken {
        index += 1
        places.removeLast()
        endValue()
        return token
    }

    private mutating func endValue() {
        switch places[places.count - 1] {
        case .objectValue: places[places.count - 1] = .objectNext
        case .arrayStart, .arrayValue: places[places.count - 1] = .arrayNext
        default: places[places.count - 1] = .textEnd
        }
    }

    private mutating func skipComma(_ character: UInt8?) throws(JSONError) {
        guard character == UInt8(ascii: ",") else {
            throw character == nil ? error(.truncated) : error(.unexpectedCharacter)
        }
        index += 1
    }

    private mutating func readWord(_ word: StaticString, _ token: JSONToken) throws(JSONError) -> JSONToken {
        for offset in 0..<word.utf8CodeUnitCount {
            let expected = unsafe word.utf8Start[offset]
            guard try peek() == expected else { throw unexpected() }
            index += 1
        }
        endValue()
        return token
    }

    private mutating func readNumber() throws(JSONError) -> String {
        var text: [UInt8] = []
        func isDigit(_ character: UInt8?) -> Bool {
            character.map { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 } ?? false
        }
        if try peek() == UInt8(ascii: "-") { try take(into: &text) }
        if try peek() == UInt8(ascii: "0") {
            try take(into: &text)
        } else {
            guard isDigit(try peek()) else { throw error(.invalidNumber) }
            while isDigit(try peek()) { try take(into: &text) }
        }
        if try peek() == UInt8(ascii: ".") {
            try take(into: &text)
            guard isDigit(try peek()) else { throw error(.invalidNumber) }
            while isDigit(try peek()) { try take(into: &text) }
        }
        let exponent = try peek()
        if exponent == UInt8(ascii: "e") || exponent == UInt8(ascii: "E") {
            try take(into: &text)
            let sign = try peek()
            if sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { try take(into: &text) }
            guard isDigit(try peek()) else { throw error(.invalidNumber) }
            while isDigit(try peek()) { try take(into: &text) }
        }
        if isDigit(try peek()) { throw error(.invalidNumber) }
        return String(decoding: text, as: UTF8.self)
    }

    private mutating func take(into text: inout [UInt8]) throws(JSONError) {
        guard text.count < 64 else { throw error(.invalidNumber) }
        text.append(chunk[index])
        index += 1
    }

    private mutating func readString() throws(JSONError) -> String {
        let start = error(.invalidText)
        index += 1
        var text: [UInt8] = []
        while true {
            guard let character = try peek() else { throw error(.truncated) }
            guard character >= 0x20 else { throw error(.invalidText) }
            if character == UInt8(ascii: "\"") {
                index += 1
                break
            }
            if character == UInt8(ascii: "\\") {
                index += 1
                try readEscape(into: &text)
                if isSkipping { text = [] }
            } else {
                // A run without escapes is taken whole: long values are mostly that.
                let end = chunk[index...].firstIndex { byte in
                    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
                }
                let run = index..<(end ?? chunk.count)
                guard text.count + run.count <= stringByteCountMax else { throw error(.stringTooLong) }
                if !isSkipping { text.append(contentsOf: chunk[run]) }
                index = run.upperBound
            }
            guard text.count <= stringByteCountMax else { throw error(.stringTooLong) }
        }
        guard let string = String(validating: text, as: UTF8.self) else { throw start }
        return string
    }

    private mutating func readEscape(into text: inout [UInt8]) throws(JSONError) {
        guard let character = try peek() else { throw error(.truncated) }
        index += 1
        switch character {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(character)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            var value = UInt32(try readCodeUnit())
            if 0xD800...0xDBFF ~= value {
                for expected in [UInt8(ascii: "\\"), UInt8(ascii: "u")] {
                    guard try peek() == expected else { throw error(.invalidEscape) }
                    index += 1
                }
                let low = UInt32(try readCodeUnit())
                guard 0xDC00...0xDFFF ~= low else { throw error(.invalidEscape) }
                value = 0x10000 + (value - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(value) else { throw error(.invalidEscape) }
            text.append(contentsOf: String(scalar).utf8)
        default: throw error(.invalidEscape)
        }
    }

    private mutating func readCodeUnit() throws(JSONError) -> UInt16 {
        var value: UInt16 = 0
        for _ in 0..<4 {
            guard let character = try peek() else { throw error(.truncated) }
            guard let digit = Character(Unicode.Scalar(character)).hexDigitValue, character < 0x80 else {
                throw error(.invalidEscape)
            }
            value = value << 4 | UInt16(digit)
            index += 1
        }
        return value
    }

    private mutating func unexpected() -> JSONError {
        error(isSourceAtEnd && index == chunk.count ? .truncated : .unexpectedCharacter)
    }

    /// The next byte that is not white space, which stays unread; nil at the end.
    private mutating func nextSignificant() throws(JSONError) -> UInt8? {
        while let character = try peek() {
            switch character {
            case 0x20, 0x09, 0x0D: index += 1
            case 0x0A:
                index += 1
                line += 1
            default: return character
            }
        }
        return nil
    }

    private mutating func peek() throws(JSONError) -> UInt8? {
        while index == chunk.count {
            if isSourceAtEnd { return nil }
            chunkOffset += chunk.count
            index = 0
            chunk.zero()
            chunk = []
            do {
                if let next = try source() { chunk = next } else { isSourceAtEnd = true }
            } catch {
                isSourceAtEnd = true
                throw JSONError(.source, byteOffset: byteOffset, line: line, cause: error)
            }
        }
        return chunk[index]
    }
}
