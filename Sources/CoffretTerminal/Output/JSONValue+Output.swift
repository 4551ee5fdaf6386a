// JSON as commands answer it. Invariant: one value is one line, and shown on a terminal it is harmless.

package import CoffretBase

extension JSONValue {
    /// An object from its fields, in order; fields without a value are left out.
    package static func fields(_ fields: KeyValuePairs<String, JSONValue?>) -> JSONValue {
        .object(fields.compactMap { name, value in value.map { Member(name, $0) } })
    }

    /// A moment, as RFC 3339 in local time with its offset.
    package static func moment(_ milliseconds: Int64) -> JSONValue {
        .string(LocalTime(milliseconds: milliseconds).exact)
    }

    package static func strings(_ texts: some Sequence<String>) -> JSONValue { .array(texts.map { .string($0) }) }

    /// One line, without a line end. Control characters that JSON would allow are escaped as well.
    package var line: String {
        let text = self.text()
        guard text.unicodeScalars.contains(where: { Self.controls.contains($0.value) }) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            if Self.controls.contains(scalar.value) {
                result += "\\u00" + String(scalar.value, radix: 16)
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Delete and the C1 controls; JSON itself escapes those below space.
    private static let controls: ClosedRange<UInt32> = 0x7F...0x9F
}
