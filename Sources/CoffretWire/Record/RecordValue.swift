// Values of fields, in CBOR and in JSON. Invariant: a value that was decoded is encoded to the same bytes again.

package import CoffretBase

/// A value that a field of a record can hold.
package protocol RecordValue: Equatable, Sendable {
    static var shape: RecordShape { get }
    func encode(to encoder: inout CBOREncoder)
    /// - Throws: `.malformed`.
    init(from decoder: inout CBORDecoder) throws(WireError)
    var json: JSONValue { get }
    /// - Throws: `.malformed`.
    init(json: JSONValue) throws(WireError)
}

/// A moment in a message.
package struct WireMoment: Hashable, Sendable {
    package let milliseconds: Milliseconds

    package init(_ milliseconds: Milliseconds) { self.milliseconds = milliseconds }
}

extension String: RecordValue {
    package static var shape: RecordShape { .text }
    package func encode(to encoder: inout CBOREncoder) { encoder.encode(text: self) }
    package init(from decoder: inout CBORDecoder) throws(WireError) {
        self = try inWire(decoder.readText())
    }
    package var json: JSONValue { .string(self) }
    package init(json: JSONValue) throws(WireError) {
        guard let text = json.string else { throw WireError(.malformed) }
        self = text
    }
}

extension Int: RecordValue {
    package static var shape: RecordShape { .integer }
    package func encode(to encoder: inout CBOREncoder) { encoder.encode(signed: Int64(self)) }
    package init(from decoder: inout CBORDecoder) throws(WireError) {
        self = Int(try inWire(decoder.readSigned()))
    }
    package var json: JSONValue { .integer(self) }
    package init(json: JSONValue) throws(WireError) {
        guard let number = json.integer else { throw WireError(.malformed) }
        self = Int(number)
    }
}

extension Bool: RecordValue {
    package static var shape: RecordShape { .bool }
    package func encode(to encoder: inout CBOREncoder) { encoder.encode(bool: self) }
    package init(from decoder: inout CBORDecoder) throws(WireError) {
        self = try inWire(decoder.readBool())
    }
    package var json: JSONValue { .bool(self) }
    package init(json: JSONValue) throws(WireError) {
        guard let value = json.bool else { throw WireError(.malformed) }
        self = value
    }
}

extension WireMoment: RecordValue {
    package static var shape: RecordShape { .moment }
    package func encode(to encoder: inout CBOREncoder) { encoder.encode(signed: milliseconds) }
    package init(from decoder: inout CBORDecoder) throws(WireError) {
        milliseconds = try inWire(decoder.readSigned())
    }
    package var json: JSONValue { .string(LocalTime(milliseconds: milliseconds).exact) }
    package init(json: JSONValue) throws(WireError) {
        guard let text = json.string, let milliseconds = try? CivilTime.parse(text) else {
            throw WireError(.malformed)
        }
        self.milliseconds = milliseconds
    }
}

extension Array: RecordValue where Element: RecordValue {
    package static var shape: RecordShape { .list(Element.shape) }
    package func encode(to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: count)
        for element in self { element.encode(to: &encoder) }
    }
    package init(from decoder: inout CBORDecoder) throws(WireError) {
        self = []
        for _ in 0..<(try inWire(decoder.readArrayHeader())) {
            append(try Element(from: &decoder))
        }
    }
    package var json: JSONValue { .array(map(\.json)) }
    package init(json: JSONValue) throws(WireError) {
        guard let elements = json.elements else { throw WireError(.malformed) }
        self = []
        for element in elements { append(try Element(json: element)) }
    }
}

/// A value that is one of a few words.
package protocol RecordChoice: RecordValue, RawRepresentable<String>, CaseIterable {}

extension RecordChoice {
    package static var shape: RecordShape { .choice(allCases.map(\.rawValue)) }
    package func encode(to encoder: inout CBOREncoder) { encoder.encode(text: rawValue) }
    package init(from decoder: inout CBORDecoder) throws(WireError) { self = try Self(word: String(from: &decoder)) }
    package var json: JSONValue { .string(rawValue) }
    package init(json: JSONValue) throws(WireError) { self = try Self(word: String(json: json)) }

    private init(word: String) throws(WireError) {
        guard let value = Self(rawValue: word) else { throw WireError(.malformed, place: word) }
        self = value
    }
}

func inWire<Result>(_ value: @autoclosure () throws(CBORError) -> Result) throws(WireError) -> Result {
    do throws(CBORError) {
        return try value()
    } catch {
        throw WireError(error)
    }
}
