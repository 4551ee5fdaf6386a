// A vault as a folder of pages that any browser shows without a network. Invariant: a page refers to nothing outside the folder but
// by a link that somebody follows.

internal import CoffretBase
package import CoffretCore
internal import CoffretCrypto
internal import CoffretStorage

extension Vault {
    /// Writes a page for each item into a folder, with its files, and one that lists them.
    ///
    /// Files have mode 0600, folders 0700. Everything is in clear, secrets too: it is for reading, printing, or leaving.
    /// - Parameter isStopped: asked before each item; what was written until then stays.
    /// - Throws: `.libraryMissing` without libmd4c; `.targetOccupied` before anything is written, `.targetUnwritable`,
    ///   `.vaultFailed`, `.stopped`.
    package func exportHTML(
        to target: String, files: (any FileContentStore)? = nil, progress: (WorkProgress) -> Void = { _ in },
        isStopped: () -> Bool = { false }
    ) throws(ImportExportError) -> ExportReport {
        let name = name
        return try export(to: target, files: files, progress: progress, isStopped: isStopped) {
            (view, output) throws(ImportExportError) in
            try HTMLExportRun(name: name, view: view, output: output)
        }
    }
}

/// One export on its way.
private struct HTMLExportRun: ItemExport {
    var output: ExportOutput
    private let name: String
    private var fileNames = ExportNames(taken: [])
    private var pages: [EntityID: SourcePath] = [:]
    /// Pages by the keys that links have.
    private var pagesByKey: [String: SourcePath] = [:]
    /// Lines of the list, by folder.
    private var lists: [String: [(title: String, page: SourcePath)]] = [:]

    init(name: String, view: VaultView, output: ExportOutput) throws(ImportExportError) {
        self.output = output
        self.name = name
        var names = ExportNames(taken: [])
        // Before anything is written.
        _ = try MarkdownHTML.body(of: "", link: { _ in .none }, picture: { _ in .none }, wikiLink: { _ in .none })
        var items: [(item: Item, page: SourcePath)] = []
        try wrappingVaultErrors {
            try view.forEachItem { item in
                guard !item.isTrashed, !item.isSealed else { return }
                let title = item.title.isEmpty ? "Untitled" : ExportNames.safe(item.title)
                var bare = item
                bare.text = ""
                bare.givenTitle = item.title
                items.append((bare, names.free("pages/" + title, fileExtension: ".html")))
            }
        }
        for (item, page) in items {
            pages[item.id] = page
            for key in NoteLink.keys(of: item.id, title: item.title, path: item.path) where pagesByKey[key] == nil {
                pagesByKey[key] = page
            }
            lists[item.givenTags.first?.path ?? "", default: []].append((item.title, page))
        }
    }

    mutating func write(_ item: Item) throws(ImportExportError) {
        guard !output.leavesOut(item, isTrashLeftOut: true), let page = pages[item.id] else { return }
        output.report.warnOfConflicts(item)
        var files: [(name: String, path: SourcePath)] = []
        var filesByPath: [String: SourcePath] = [:]
        for attachment in item.attachments {
            let path = fileNames.pathOfAttachment(
                attachment, beside: SourcePath(cleanBytes: Array("files/\(item.id.uuid.hex.prefix(8))".utf8)))
            guard try output.write(attachment, to: path) else { continue }
            files.append((attachment.name, path))
            if let old = attachment.path { filesByPath[old] = path }
            filesByPath[attachment.name] = path
        }
        let body = try body(of: item, filesByPath)
        try output.write(HTMLPage.page(of: item, body: body, files: files), to: page, modified: item.modified)
        if item.kind == .note { output.report.notes += 1 } else { output.report.otherItems += 1 }
    }

    private func body(of item: Item, _ files: [String: SourcePath]) throws(ImportExportError) -> [UInt8] {
        let pagesByKey = pagesByKey
        func file(_ destination: String) -> SourcePath? {
            NoteLink.relativePath(destination, from: item.path).flatMap { files[$0] }
                ?? (percentDecoded(Array(destination.utf8)[...]).map { String(decoding: $0, as: UTF8.self) })
                .flatMap { files[$0] }
        }
        func page(_ destination: String, isWiki: Bool) -> MarkdownHTML.Target? {
            let keys = NoteLink.keys(of: destination, isWiki: isWiki, from: item.path)
            let path = keys.lazy.compactMap { pagesByKey[$0] }.first
            return path.map { .address(HTMLPage.address($0)) }
        }
        return try MarkdownHTML.body(
            of: item.text,
            link: { destination in
                if let page = page(destination, isWiki: false) { return page }
                if let file = file(destination) { return .address(HTMLPage.address(file)) }
                return HTMLPage.isFollowed(destination) ? .address(destination) : .none
            },
            picture: { destination in file(destination).map { .address(HTMLPage.address($0)) } ?? .none },
            wikiLink: { destination in
                let target = String(destination.prefix { $0 != "|" && $0 != "#" })
                return page(target, isWiki: true) ?? file(target).map { .address(HTMLPage.address($0)) } ?? .none
            })
    }

    mutating func finish() throws(ImportExportError) {
        try output.write(
            HTMLPage.list(name, lists), to: SourcePath(cleanBytes: Array("index.html".utf8)), modified: nil)
        if output.report.otherItems > 0 {
            output.report.warnings.append("the pages hold passwords and other secrets in clear")
        }
        var names = ExportNames(taken: [])
        try output.finish(&names)
    }
}

/// The frame of a page.
private enum HTMLPage {
    private static let style = """
        body{max-width:46rem;margin:2rem auto;padding:0 1rem;font:1rem/1.5 sans-serif;overflow-wrap:anywhere}\
        img{max-width:100%}pre{overflow-x:auto;background:#f4f4f4;padding:.5rem}table{border-collapse:collapse}\
        th,td{border:1px solid #bbb;padding:.2rem .5rem;text-align:left;vertical-align:top;white-space:pre-wrap}\
        .center{text-align:center}.right{text-align:right}.quiet{color:#666;font-size:.9rem}\
        blockquote{border-left:3px solid #bbb;margin-left:0;padding-left:1rem}
        """

    /// Nothing is loaded but files beside the page; there are no scripts, and no style but this one.
    private static let policy: String = {
        let hash = Base64.standard.encode(HashAlgorithm.sha256.hash(Array(style.utf8)))
        return
            "default-src 'none'; img-src 'self' file:; style-src 'sha256-\(hash)'; base-uri 'none'; form-action 'none'"
    }()

    /// Whether a link may leave the folder.
    static func isFollowed(_ destination: String) -> Bool {
        ["https://", "http://", "mailto:"].contains { destination.lowercased().hasPrefix($0) }
    }

    /// The address of a file of the export, from a page.
    static func address(_ path: SourcePath) -> String { "../" + linkDestination(path.bytes) }

    private static func page(_ title: String, _ content: [UInt8]) -> [UInt8] {
        let head = """
            <!DOCTYPE html>
            <html>
            <head>
            <meta charset="utf-8">
            <meta http-equiv="Content-Security-Policy" content="\(policy)">
            <meta name="referrer" content="no-referrer">
            <meta name="viewport" content="width=device-width">
            <title>\(MarkdownHTML.escaped(title))</title>
            <style>\(style)</style>
            </head>
            <body>

            """
        return Array(head.utf8) + content + Array("</body>\n</html>\n".utf8)
    }

    static func page(of item: Item, body: [UInt8], files: [(name: String, path: SourcePath)]) -> [UInt8] {
        let tags = item.tags.map { "#" + MarkdownHTML.escaped($0.path) }.joined(separator: " ")
        let days = [item.created, item.modified].map { String(CivilTime.format($0).prefix(10)) }
        var start = "<p class=\"quiet\"><a href=\"../index.html\">All items</a> · \(item.kind.noun) · "
        start += "created \(days[0]), changed \(days[1]) \(tags)</p>\n"
        // A note's text mostly says its title.
        if item.kind != .note || item.givenTitle?.isEmpty == false {
            start += "<h1>\(MarkdownHTML.escaped(item.title))</h1>\n"
        }
        if !item.fields.isEmpty {
            let rows = item.fields.map {
                "<tr><th>\(MarkdownHTML.escaped($0.label))</th><td>\(MarkdownHTML.escaped($0.value))</td></tr>\n"
            }
            start += "<table>\n\(rows.joined())</table>\n"
        }
        var end = ""
        if !files.isEmpty {
            let lines = files.map {
                "<li><a href=\"\(MarkdownHTML.escaped(address($0.path)))\" download>\(MarkdownHTML.escaped($0.name))</a></li>\n"
            }
            end = "<h2>Files</h2>\n<ul>\n\(lines.joined())</ul>\n"
        }
        return page(item.title, Array(start.utf8) + body + Array(end.utf8))
    }

    /// The page that lists all others, by their first tags.
    static func list(_ name: String, _ lists: [String: [(title: String, page: SourcePath)]]) -> [UInt8] {
        var text = "<h1>\(MarkdownHTML.escaped(name))</h1>\n"
        for (folder, lines) in lists.sorted(by: { $0.key < $1.key }) {
            if !folder.isEmpty { text += "<h2>\(MarkdownHTML.escaped(folder))</h2>\n" }
            text += "<ul>\n"
            for line in lines.sorted(by: { $0.title.lowercased() < $1.title.lowercased() }) {
                let title = line.title.isEmpty ? "Untitled" : line.title
                let address = MarkdownHTML.escaped(linkDestination(line.page.bytes))
                text += "<li><a href=\"\(address)\">\(MarkdownHTML.escaped(title))</a></li>\n"
            }
            text += "</ul>\n"
        }
        return page(name, Array(text.utf8))
    }
}
