// A JSON text as a tree, for small texts. Invariant: members keep their order, and one object never holds a name
// twice.

/// Any JSON value.
package indirect enum JSONValue: Equatable, Sendable {
    case object([Member])
    case array([JSONValue])
    case string(String)
    /// The characters of the number as they were read.
    case number(String)
    case bool(Bool)
    case null

    package struct Member: Equatable, Sendable {
        package let name: String
        package let value: JSONValue

        package init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    package static func integer<Value: FixedWidthInteger>(_ value: Value) -> JSONValue {
        .number(String(value))
    }

    /// Parses all of `bytes`.
    package init(parsing bytes: [UInt8]) throws(JSONError) {
        var reader = JSONReader(bytes)
        self = try JSONValue(from: &reader)
        _ = try reader.next()
    }

    /// Reads the next value, with all it contains.
    package init(from reader: inout JSONReader) throws(JSONError) {
        self = try JSONValue(startingWith: try reader.next(), from: &reader)
    }

    /// Reads the rest of the value whose first piece was `token`.
    package init(startingWith token: JSONToken, from reader: inout JSONReader) throws(JSONError) {
        switch token {
        case .beginObject:
            var members: [Member] = []
            var names: Set<String> = []
            while case .name(let name) = try reader.next() {
                guard names.insert(name).inserted else { throw reader.error(.duplicateName) }
                members.append(Member(name, try JSONValue(from: &reader)))
            }
            self = .object(members)
        case .beginArray:
            var elements: [JSONValue] = []
            while true {
                let next = try reader.next()
                if next == .endArray { break }
                elements.append(try JSONValue(startingWith: next, from: &reader))
            }
            self = .array(elements)
        case .string(let text): self = .string(text)
        case .number(let text): self = .number(text)
        case .bool(let value): self = .bool(value)
        case .null: self = .null
        case .name, .endObject, .endArray, .end: throw reader.error(.unexpectedValue)
        }
    }

    /// The member with this name, if this is an object that has it.
    package subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    package var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    package var integer: Int64? {
        if case .number(let text) = self { Int64(text) } else { nil }
    }

    package var bool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    package var elements: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    package func write<Failure: Error>(to writer: inout JSONWriter<Failure>) throws(Failure) {
        switch self {
        case .object(let members):
            try writer.beginObject()
            for member in members {
                try writer.name(member.name)
                try member.value.write(to: &writer)
            }
            try writer.endObject()
        case .array(let elements):
            try writer.beginArray()
            for element in elements { try element.write(to: &writer) }
            try writer.endArray()
        case .string(let text): try writer.string(text)
        case .number(let text): try writer.rawNumber(text)
        case .bool(let value): try writer.bool(value)
        case .null: try writer.null()
        }
    }

    /// The whole text.
    package func text(_ style: JSONStyle = .compact) -> String {
        var bytes: [UInt8] = []
        var writer = JSONWriter<Never>(style: style) { bytes.append(contentsOf: $0) }
        write(to: &writer)
        writer.finish()
        return String(decoding: bytes, as: UTF8.self)
    }
}
