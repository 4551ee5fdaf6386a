// Backups and exports of other programs that no importer reads yet. They are refused by their name: read as plain
// Markdown they would lose their trash, dates and locked notes without notice.

/// Recognises formats of other programs by paths and first bytes.
enum ForeignFormat {
    /// Bytes of a file that are looked at.
    private static let headByteCount = 4_096
    /// Files of a folder or archive whose first bytes are looked at.
    private static let headCountMax = 3

    /// The name of the program and format that a source comes from; nil if none is recognised.
    ///
    /// - Complexity: one pass over the listing; reads at most 4 KiB of at most three files.
    static func name(of source: any ImportSource) throws(ImportExportError) -> String? {
        let listing = source.listing.entries
        let paths = listing.map { String(decoding: $0.path.bytes, as: UTF8.self).asciiLowercased() }
        let place = lastComponent(of: source.location).asciiLowercased()
        if let name = name(ofPaths: paths, place: place, root: source.name.asciiLowercased()) { return name }
        // Among notes a file of another program is an attachment.
        guard !listing.contains(where: { $0.path.isMarkdown }) else { return nil }
        let telling = ["json", "xml", "enex", "csv", "txt", "kdbx", "kdb", "1pif", "2fas", "html", "nnbackup", ""]
        let samples = listing.indices.filter { listing.count == 1 || telling.contains(listing[$0].path.fileExtension) }
        for index in samples.prefix(headCountMax) {
            let head = try source.prefix(ofEntry: index, byteCount: headByteCount)
            if let name = name(ofHead: head) { return name }
        }
        return nil
    }

    // MARK: Paths

    private static func name(ofPaths paths: [String], place: String, root: String) -> String? {
        func has(_ path: String) -> Bool { paths.contains { $0 == path || $0.hasSuffix("/" + path) } }
        func isMost(_ isMember: (String) -> Bool, among all: [String]) -> Bool {
            !all.isEmpty && all.count(where: isMember) * 2 > all.count
        }
        let notes = paths.filter { $0.hasSuffix(".md") || $0.hasSuffix(".markdown") }
        let isBundle = [place, root].contains { $0.hasSuffix(".textbundle") || $0.hasSuffix(".textpack") }
        if place.hasSuffix(".bear2bk") || root.hasSuffix(".bear2bk") { return "a Bear backup" }
        if isBundle || isMost({ $0.contains(".textbundle/") }, among: notes) { return "a TextBundle" }
        if isMost({ isJoplinName($0) }, among: notes) { return "a Joplin export" }
        if has("export.data") && has("export.attributes") { return "a 1Password export (1PUX)" }
        if has("source/notes.json") { return "a Simplenote export" }
        if paths.contains(where: { $0.hasSuffix("standard notes backup and import file.txt") }) {
            return "a Standard Notes backup"
        }
        if root == "proton pass" || paths.contains(where: { $0.hasPrefix("proton pass/") }) {
            return "a Proton Pass export"
        }
        if paths.contains(where: { $0.hasSuffix(".nnbackup") || $0.hasSuffix(".nnbackupz") }) {
            return "a Notesnook backup"
        }
        if isMost({ $0.hasSuffix(".gpg") }, among: paths) { return "a password store (pass)" }
        return nil
    }

    /// Whether the file is called by 32 hexadecimal digits, as Joplin does.
    private static func isJoplinName(_ path: String) -> Bool {
        let name = path.split(separator: "/").last ?? ""
        return name.utf8.count == 35 && name.hasSuffix(".md") && name.dropLast(3).allSatisfy(\.isHexDigit)
    }

    // MARK: First bytes

    /// Words that stand together in the first 4 KiB of a text; the more telling formats first.
    private static let marks: [(words: [String], name: String)] = [
        (["<KeePassFile"], "a KeePass XML export"),
        (["<en-export"], "an Evernote export (ENEX)"),
        (["otpauth://"], "a list of one-time codes (otpauth)"),
        (["otpauth-migration://"], "a list of one-time codes (Google Authenticator)"),
        (["***5642bee8-a5ff-11dc-8314-0800200c9a66***"], "a 1Password export (1PIF)"),
        (["\"keyID\"", "\"typeName\""], "a 1Password export (1PIF)"),
        (["\"accounts\"", "\"attrs\"", "\"vaults\""], "a 1Password export (1PUX)"),
        (["\"passwordProtected\"", "\"encrypted\""], "a Bitwarden export"),
        (["\"folders\"", "\"encrypted\""], "a Bitwarden export"),
        (["\"folders\"", "\"items\"", "\"folderId\""], "a Bitwarden export"),
        (["\"folders\"", "\"items\"", "\"organizationId\""], "a Bitwarden export"),
        (["\"AUTHENTIFIANT\""], "a Dashlane export"),
        (["\"isTrashed\"", "\"isPinned\"", "\"isArchived\""], "a Google Keep export"),
        (["\"activeNotes\""], "a Simplenote export"),
        (["\"content_type\"", "\"uuid\""], "a Standard Notes backup"),
        (["\"version\"", "\"type\"", "\"date\"", "\"data\""], "a Notesnook backup"),
        (["\"schemaVersion\"", "\"services\""], "a 2FAS backup"),
        (["\"header\"", "\"slots\""], "an Aegis backup"),
        (["\"secret\"", "\"issuer\"", "\"digits\""], "an andOTP backup"),
        (["\"entries\"", "\"content\"", "otpauth"], "a Proton Authenticator export"),
    ]

    private static func name(ofHead head: [UInt8]) -> String? {
        if head.starts(with: [0x03, 0xD9, 0xA2, 0x9A]) { return "a KeePass database" }
        // The sample may end inside a character.
        let text = String(decoding: head, as: UTF8.self)
        return marks.first { $0.words.allSatisfy(text.contains) }?.name
    }
}
