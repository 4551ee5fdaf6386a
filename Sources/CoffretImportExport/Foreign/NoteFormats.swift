// Formats of programs for notes. Invariant: as in ForeignFormat.swift.

extension ForeignFormat {
    /// Programs for notes; the more telling signs first.
    static let notePrograms: [ForeignFormat] = [
        bear, textBundle, joplin, simplenote, standardNotes, notesnook, enex, keep, html,
    ]
}
