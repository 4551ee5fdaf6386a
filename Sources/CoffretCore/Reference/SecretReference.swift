// Secret references: `coffret://vault/item/field` (Spec/references.md). Invariant: what is read is written back the
// same, and a text that is not exactly a reference is refused, never trimmed or completed.

/// The name of one value in one item of one vault, as scripts and templates write it.
package struct SecretReference: Hashable, Sendable, CustomStringConvertible {
    /// The beginning of every reference, in exactly this case.
    package static let prefix = "coffret://"
    /// The longest reference, in UTF-8 bytes.
    package static let byteCountMax = 8_192

    /// The part of an item that a reference names.
    package enum Part: Hashable, Sendable {
        /// A field by key or label; also `otp`, `title` and `text`.
        case field(String)
        /// The present one-time code of the field with this key or label.
        case oneTimeCode(String)
        /// The content of an attachment, by name or id.
        case attachment(String)
    }

    /// Name or id of the vault.
    package let vault: String
    /// Id or title of the item.
    package let item: String
    package let part: Part

    package init(vault: String, item: String, part: Part) {
        self.vault = vault
        self.item = item
        self.part = part
    }

    /// The third of four parts that says what the fourth is.
    private static let oneTimeCodeWord = "otp"
    private static let attachmentWord = "attachment"

    /// Whether a text claims to be a reference; whether it is a good one, `parse` says.
    package static func isMeant(by text: String) -> Bool { text.utf8.starts(with: prefix.utf8) }

    /// Reads a reference.
    ///
    /// - Throws: `CoreError.referenceInvalid`; its place says what is wrong.
    package static func parse(_ text: String) throws(CoreError) -> SecretReference {
        guard isMeant(by: text) else { throw invalid("it does not begin with \(prefix)") }
        guard text.utf8.count <= byteCountMax else { throw invalid("it is longer than \(byteCountMax) bytes") }
        var parts: [String] = []
        for part in text.utf8.dropFirst(prefix.utf8.count).split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        {
            parts.append(try decode(Array(part)))
        }
        guard (3...4).contains(parts.count) else { throw invalid("it has the form \(prefix)vault/item/field") }
        let named: Part
        switch (parts.count, parts[2]) {
        case (3, let name): named = .field(name)
        case (_, oneTimeCodeWord): named = .oneTimeCode(parts[3])
        case (_, attachmentWord): named = .attachment(parts[3])
        default: throw invalid("of four parts the third is \(oneTimeCodeWord) or \(attachmentWord)")
        }
        return SecretReference(vault: parts[0], item: parts[1], part: named)
    }

    private static func decode(_ part: [UInt8]) throws(CoreError) -> String {
        guard !part.isEmpty else { throw invalid("a part is empty") }
        guard !part.contains(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) else {
            throw invalid("? and # are written %3F and %23")
        }
        guard let decoded = PercentCoding.decode(part[...]) else { throw invalid("a percent escape is broken") }
        guard !decoded.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            throw invalid("it holds a control character")
        }
        return decoded
    }

    private static func invalid(_ reason: String) -> CoreError { CoreError(.referenceInvalid, at: reason) }

    /// The reference with every character escaped that could be misread.
    package var description: String {
        let tail =
            switch part {
            case .field(let name): [name]
            case .oneTimeCode(let name): [Self.oneTimeCodeWord, name]
            case .attachment(let name): [Self.attachmentWord, name]
            }
        return Self.prefix + ([vault, item] + tail).map { PercentCoding.encode($0) }.joined(separator: "/")
    }
}
