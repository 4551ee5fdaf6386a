// Words for each stable code. Invariant: the longest matching entry decides, so that a new code of a known family is
// never met without words.

package import CoffretTerminal

/// Exit code, words and hint for an error code or a family of them.
package struct FailureMeaning: Sendable {
    package let exitCode: ExitCode
    private let text: String
    /// Whether the place, such as a name that the person gave, ends the message.
    private let showsPlace: Bool
    package let hint: String?

    package init(_ exitCode: ExitCode, _ text: String, showsPlace: Bool = false, hint: String? = nil) {
        self.exitCode = exitCode
        self.text = text
        self.showsPlace = showsPlace
        self.hint = hint
    }

    /// Without a place.
    package var plainText: String { text }

    package func message(_ error: any CodedError) -> String {
        guard showsPlace, let place = error.placeText, !place.isEmpty else { return text }
        return "\(text): \(TextWidth.displaySafe(place))"
    }

    /// Codes that only say in which layer something happened; the cause tells what.
    package static let wrappers: Set<String> = [
        "core.storage", "core.search", "core.keys", "core.crypto", "core.input-output", "import.vault.failed",
        "storage.file.failed", "keys.file-failed", "keys.key-store.failed", "account.failed",
        "sync.vault.failed",
    ]

    /// The entry for a code: its own, or that of the longest family it belongs to.
    package static func find(_ code: String) -> FailureMeaning {
        var parts = code.split(separator: ".")
        while !parts.isEmpty {
            if let meaning = table[parts.joined(separator: ".")] { return meaning }
            parts.removeLast()
        }
        return FailureMeaning(
            .internalError, "something unexpected happened; nothing acknowledged is lost",
            hint: "run it again with --verbose and report what it says")
    }

    package static let damageHint = "coffret fsck says what is affected; coffret help check says what can be done"
    package static let listHint = "coffret ls shows what there is, coffret search finds it"

    /// All areas. A code stands in one of them.
    package static let areas = [items, stores, keys, devices, remote, refusals, formats, surroundings]

    private static let table: [String: FailureMeaning] = areas.reduce(into: [:]) { table, area in
        table.merge(area) { first, _ in first }
    }
}
