// Formats of programs for notes. Invariant: as in ForeignFormat.swift.

internal import CoffretBase

extension ForeignFormat {
    /// Programs for notes; the more telling signs first.
    static let notePrograms: [ForeignFormat] = [
        ForeignFormat(name: "bear", title: "a Bear backup", signs: [.place(suffix: ".bear2bk")]),
        ForeignFormat(
            name: "textbundle", title: "a TextBundle",
            signs: [
                .place(suffix: ".textbundle"), .place(suffix: ".textpack"), .notes { $0.contains(".textbundle/") },
            ]),
        ForeignFormat(name: "joplin", title: "a Joplin export", signs: [.notes(isJoplinName)]),
        ForeignFormat(
            name: "simplenote", title: "a Simplenote export",
            signs: [.files(["source/notes.json"]), .words(["\"activeNotes\""])]),
        ForeignFormat(
            name: "standard-notes", title: "a Standard Notes backup",
            signs: [
                .any { $0.hasSuffix("standard notes backup and import file.txt") },
                .words(["\"content_type\"", "\"uuid\""]),
            ]),
        ForeignFormat(
            name: "notesnook", title: "a Notesnook backup",
            signs: [
                .any { $0.hasSuffix(".nnbackup") || $0.hasSuffix(".nnbackupz") },
                .words(["\"version\"", "\"type\"", "\"date\"", "\"data\""]),
            ]),
        ForeignFormat(name: "enex", title: "an Evernote export (ENEX)", signs: [.words(["<en-export"])]),
        ForeignFormat(
            name: "google-keep", title: "a Google Keep export",
            signs: [.words(["\"isTrashed\"", "\"isPinned\"", "\"isArchived\""])]),
    ]

    /// Whether the file is called by 32 hexadecimal digits, as Joplin does.
    @Sendable private static func isJoplinName(_ path: String) -> Bool {
        let name = path.split(separator: "/").last ?? ""
        return name.utf8.count == 35 && name.hasSuffix(".md") && name.dropLast(3).allSatisfy(\.isHexDigit)
    }
}
