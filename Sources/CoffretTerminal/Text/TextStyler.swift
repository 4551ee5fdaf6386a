// Colour. Invariant: no meaning depends on it; without colour the words are the same.

/// The role of a piece of text, from which its looks follow.
package enum TextRole: Sendable {
    case heading
    case identifier
    case title
    case tag
    case faint
    case match
    case error
    case hint
    case success
    case added
    case removed
}

/// Puts text into terminal colours, or leaves it alone.
package struct TextStyler: Sendable {
    package let isColored: Bool

    package init(isColored: Bool) { self.isColored = isColored }

    package static let plain = TextStyler(isColored: false)

    /// ECMA-48 sequences from the eight basic colours, which every theme keeps readable.
    package func apply(_ role: TextRole, _ text: String) -> String {
        guard isColored, !text.isEmpty else { return text }
        let code =
            switch role {
            case .heading, .title: "1"
            case .identifier: "33"
            case .tag: "36"
            case .faint: "2"
            case .match: "1;32"
            case .error: "1;31"
            case .hint: "36"
            case .success, .added: "32"
            case .removed: "31"
            }
        return "\u{1B}[\(code)m\(text)\u{1B}[0m"
    }
}
