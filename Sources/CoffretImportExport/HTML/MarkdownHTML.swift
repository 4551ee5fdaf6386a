// Markdown as HTML for a page that loads nothing. Invariant: of a text nothing becomes an element or an address but what is chosen
// here: markup within it is shown as it stands.

internal import CMarkdown
internal import CoffretBase

/// Turns a note's text into the body of a page, parsed by md4c.
struct MarkdownHTML {
    /// The new form of a link or picture.
    enum Target {
        /// This address.
        case address(String)
        /// Its text alone.
        case none
    }

    /// Elements beyond this depth are left out, their text is not.
    private static let depthMax = 100

    private let link: (String) -> Target
    private let picture: (String) -> Target
    private let wikiLink: (String) -> Target
    private var output: [UInt8] = []
    /// What closes each open element; empty for one that was left out.
    private var open: [String] = []
    /// Within the text of a picture: its element so far.
    private var pictures: [String] = []
    private var alternative = ""

    /// - Parameters:
    ///   - link: the target of a link's destination, as it is written.
    ///   - picture: that of a picture's.
    ///   - wikiLink: that of the inside of `[[…]]`.
    /// - Throws: `.libraryMissing` without libmd4c; `.formatInvalid` for what it does not take.
    static func body(
        of text: String, link: @escaping (String) -> Target, picture: @escaping (String) -> Target,
        wikiLink: @escaping (String) -> Target
    ) throws(ImportExportError) -> [UInt8] {
        var page = MarkdownHTML(link: link, picture: picture, wikiLink: wikiLink)
        let bytes = Array(text.utf8)
        var visitor = coffret_markdown_visitor()
        // SAFETY: the context is the page of this call, which outlives it.
        unsafe visitor.start = { context, element, number, text, byteCount in
            let text = unsafe String(decoding: UnsafeBufferPointer(start: text, count: byteCount), as: UTF8.self)
            unsafe context?.assumingMemoryBound(to: MarkdownHTML.self).pointee.start(element, number, text)
        }
        unsafe visitor.end = { context, element in
            unsafe context?.assumingMemoryBound(to: MarkdownHTML.self).pointee.end(element)
        }
        unsafe visitor.text = { context, kind, text, byteCount in
            let text = unsafe String(decoding: UnsafeBufferPointer(start: text, count: byteCount), as: UTF8.self)
            unsafe context?.assumingMemoryBound(to: MarkdownHTML.self).pointee.text(kind, text)
        }
        let result = unsafe withUnsafeMutablePointer(to: &page) { page in
            unsafe bytes.withUnsafeBufferPointer { bytes in
                unsafe coffret_markdown_read(bytes.baseAddress, bytes.count, &visitor, page)
            }
        }
        guard result != COFFRET_MARKDOWN_UNAVAILABLE else { throw ImportExportError(.libraryMissing, at: "libmd4c0") }
        guard result == COFFRET_MARKDOWN_READ else { throw ImportExportError(.formatInvalid, at: "markdown") }
        return page.output
    }

    private init(
        link: @escaping (String) -> Target, picture: @escaping (String) -> Target,
        wikiLink: @escaping (String) -> Target
    ) {
        (self.link, self.picture, self.wikiLink) = (link, picture, wikiLink)
    }

    /// Text between elements or within an attribute.
    static func escaped(_ text: some StringProtocol) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            case "\u{0}"..."\u{8}", "\u{B}", "\u{C}", "\u{E}"..."\u{1F}", "\u{7F}": result += "\u{FFFD}"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    // MARK: Elements

    private mutating func put(_ text: String) { output += Array(text.utf8) }

    /// Opens an element, and remembers how it is closed.
    private mutating func begin(_ start: String, _ end: String) {
        let isShown = open.count < Self.depthMax
        if isShown { put(start) }
        open.append(isShown ? end : "")
    }

    private static let plainElements: [Int32: (start: String, end: String)] = [
        number(COFFRET_MARKDOWN_QUOTE): ("<blockquote>\n", "</blockquote>\n"),
        number(COFFRET_MARKDOWN_LIST): ("<ul>\n", "</ul>\n"), number(COFFRET_MARKDOWN_RULE): ("<hr>\n", ""),
        number(COFFRET_MARKDOWN_CODE_BLOCK): ("<pre><code>", "</code></pre>\n"),
        number(COFFRET_MARKDOWN_PARAGRAPH): ("<p>", "</p>\n"),
        number(COFFRET_MARKDOWN_TABLE): ("<table>\n", "</table>\n"),
        number(COFFRET_MARKDOWN_TABLE_HEAD): ("<thead>\n", "</thead>\n"),
        number(COFFRET_MARKDOWN_TABLE_BODY): ("<tbody>\n", "</tbody>\n"),
        number(COFFRET_MARKDOWN_TABLE_ROW): ("<tr>", "</tr>\n"),
        number(COFFRET_MARKDOWN_EMPHASIS): ("<em>", "</em>"),
        number(COFFRET_MARKDOWN_STRONG): ("<strong>", "</strong>"),
        number(COFFRET_MARKDOWN_CODE): ("<code>", "</code>"), number(COFFRET_MARKDOWN_DELETED): ("<del>", "</del>"),
    ]

    private static func number(_ element: coffret_markdown_element) -> Int32 { Int32(element.rawValue) }

    private mutating func start(_ element: Int32, _ number: UInt32, _ text: String) {
        // The text of a picture has no elements.
        guard pictures.isEmpty || element == Self.number(COFFRET_MARKDOWN_IMAGE) else { return open.append("") }
        if let plain = Self.plainElements[element] { return begin(plain.start, plain.end) }
        let destination = text.replacing("&amp;", with: "&")
        switch coffret_markdown_element(UInt32(element)) {
        case COFFRET_MARKDOWN_ORDERED_LIST: begin(number == 1 ? "<ol>\n" : "<ol start=\"\(number)\">\n", "</ol>\n")
        case COFFRET_MARKDOWN_ITEM:
            let box = ["", "<input type=\"checkbox\" disabled> ", "<input type=\"checkbox\" disabled checked> "]
            begin("<li>" + box[min(Int(number), 2)], "</li>\n")
        case COFFRET_MARKDOWN_HEADING:
            let level = min(max(number, 1), 6)
            begin("<h\(level)>", "</h\(level)>\n")
        case COFFRET_MARKDOWN_TABLE_HEADER: begin("<th\(Self.alignment(number))>", "</th>")
        case COFFRET_MARKDOWN_TABLE_CELL: begin("<td\(Self.alignment(number))>", "</td>")
        case COFFRET_MARKDOWN_LINK: beginLink(link(destination))
        case COFFRET_MARKDOWN_WIKI_LINK: beginLink(wikiLink(destination))
        case COFFRET_MARKDOWN_IMAGE:
            if case .address(let address) = picture(destination) {
                pictures.append("<img src=\"\(Self.escaped(address))\" alt=\"")
            } else {
                pictures.append("")
            }
            open.append("")
        default: open.append("")
        }
    }

    private mutating func beginLink(_ target: Target) {
        guard case .address(let address) = target else { return open.append("") }
        begin("<a href=\"\(Self.escaped(address))\" rel=\"noreferrer\">", "</a>")
    }

    private static func alignment(_ number: UInt32) -> String {
        let classes = ["", " class=\"left\"", " class=\"center\"", " class=\"right\""]
        return classes[min(Int(number), 3)]
    }

    private mutating func end(_ element: Int32) {
        let end = open.popLast() ?? ""
        guard element == Self.number(COFFRET_MARKDOWN_IMAGE) else { return put(end) }
        let picture = pictures.removeLast()
        // Of a picture within the text of another one only the text counts.
        guard pictures.isEmpty else { return }
        put(picture.isEmpty ? alternative : "\(picture)\(alternative)\">")
        alternative = ""
    }

    private mutating func text(_ kind: Int32, _ text: String) {
        let shown: String
        switch coffret_markdown_text(UInt32(kind)) {
        case COFFRET_MARKDOWN_NULL: shown = "\u{FFFD}"
        case COFFRET_MARKDOWN_BREAK: shown = pictures.isEmpty ? "<br>\n" : " "
        case COFFRET_MARKDOWN_SOFT_BREAK: shown = "\n"
        case COFFRET_MARKDOWN_ENTITY: shown = Self.isEntity(text) ? text : Self.escaped(text)
        default: shown = Self.escaped(text)
        }
        if pictures.isEmpty { put(shown) } else { alternative += shown }
    }

    /// `&name;` or `&#number;`, which can be a character and nothing else.
    private static func isEntity(_ text: String) -> Bool {
        guard text.hasPrefix("&"), text.hasSuffix(";"), text.utf8.count <= 50 else { return false }
        return text.dropFirst().dropLast().utf8.allSatisfy { byte in
            byte == UInt8(ascii: "#") || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
                || (0x61...0x7A).contains(byte)
        }
    }
}
