// The shape of messages, as data: from it come the page in Spec and the checks of tests.

/// What a field of a record can hold.
package indirect enum RecordShape: Equatable, Sendable {
    case text
    /// 64 bits, signed.
    case integer
    case bool
    /// CBOR: milliseconds since 1970. JSON: RFC 3339 to the second, in local time with its offset.
    case moment
    /// One of these texts.
    case choice([String])
    case list(RecordShape)
    case record(String, [RecordFieldShape])

    /// As `Spec/operations.md` writes it.
    package var text: String {
        switch self {
        case .text: "text"
        case .integer: "integer"
        case .bool: "bool"
        case .moment: "moment"
        case .choice(let words): words.map { "`\($0)`" }.joined(separator: " / ")
        case .list(let element): "list of \(element.text)"
        case .record(let name, _): "`\(name)`"
        }
    }
}

/// One field, described.
package struct RecordFieldShape: Equatable, Sendable {
    package let name: String
    package let shape: RecordShape
    package let isOptional: Bool
    /// For the page.
    package let meaning: String
}
