// A vault as pages: whole, and harmless whatever stands in a note.

import CoffretBase
import CoffretCore
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

enum MarkdownLibrary {
    static let isThere =
        (try? MarkdownHTML.body(of: "", link: { _ in .none }, picture: { _ in .none }, wikiLink: { _ in .none })) != nil
}

@Suite("Exports as HTML", .enabled(if: MarkdownLibrary.isThere, "libmd4c0 is missing"))
struct HTMLExportTests {
    private static func body(_ text: String) throws -> String {
        let bytes = try MarkdownHTML.body(
            of: text, link: { .address("L:" + $0) }, picture: { .address("P:" + $0) },
            wikiLink: { .address("W:" + $0) })
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test("Markdown as people write it becomes the elements that it means")
    func elements() throws {
        let text = """
            # One *two*

            - [x] done
            - [ ] **open**

            3. three

            > quoted ~~old~~ `code <b>`

            | a | b |
            | --- | :---: |
            | 1 | 2 |

            [name](to/here?a=1&amp;b "title") ![alt *text*](pic.png) [[Other note|shown]] https://a.example &copy; &lt;

            ```html
            <script>&amp;
            ```
            """
        #expect(
            try Self.body(text) == """
                <h1>One <em>two</em></h1>
                <ul>
                <li><input type="checkbox" disabled checked> done</li>
                <li><input type="checkbox" disabled> <strong>open</strong></li>
                </ul>
                <ol start="3">
                <li>three</li>
                </ol>
                <blockquote>
                <p>quoted <del>old</del> <code>code &lt;b&gt;</code></p>
                </blockquote>
                <table>
                <thead>
                <tr><th>a</th><th class="center">b</th></tr>
                </thead>
                <tbody>
                <tr><td>1</td><td class="center">2</td></tr>
                </tbody>
                </table>
                <p><a href="L:to/here?a=1&amp;b" rel="noreferrer">name</a> <img src="P:pic.png" alt="alt text"> \
                <a href="W:Other note" rel="noreferrer">shown</a> \
                <a href="L:https://a.example" rel="noreferrer">https://a.example</a> &copy; &lt;</p>
                <pre><code>&lt;script&gt;&amp;amp;
                </code></pre>

                """)
    }

    /// Texts that try to become more than text.
    private static let hostile = [
        "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "a <b onclick='x'>b</b>", "<!-- <script> -->",
        "[x](javascript:alert(1))", "[x](JaVaScRiPt&#58;alert(1))", "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](file:///etc/passwd)", "[x](vbscript:x)", "<javascript:alert(1)>", "[x]( \u{1}javascript:alert(1))",
        "![x](https://evil.example/p.png)", "![x](//evil.example/p.png)", "![x](file:///etc/passwd)",
        "![\"><script>alert(1)</script>](pic.png)", "[\"><script>](https://a.example/\"><script>)",
        "```\n</code></pre><script>alert(1)</script>\n```", "`</code><script>`", "| <script> |\n| --- |\n| </table> |",
        "[[\"><script>alert(1)</script>]]", "[[https://evil.example]]", "![[https://evil.example/p.png]]",
        "&lt;script&gt; &#60;script&#62; &#x3c;script&#x3e;", "<https://a.example/\"onclick=x>",
        "# </title><script>", "[a]: javascript:alert(1)\n[a]", "\u{0}<script>\u{0}", "<svg/onload=alert(1)>",
        "<meta http-equiv=refresh content='0;url=https://evil.example'>", "<base href=https://evil.example>",
        String(repeating: "> ", count: 5_000) + "deep", String(repeating: "- ", count: 5_000) + "deep",
        String(repeating: "[", count: 20_000) + "x", String(repeating: "*a ", count: 20_000),
        String(repeating: "![", count: 5_000) + "x" + String(repeating: "](a)", count: 5_000),
    ]

    private static let elements: Set<String> = [
        "html", "head", "meta", "title", "style", "body", "p", "a", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol",
        "li",
        "input", "blockquote", "table", "thead", "tbody", "tr", "th", "td", "em", "strong", "code", "pre", "del", "img",
        "hr", "br",
    ]
    private static let attributes: Set<String> = [
        "charset", "http-equiv", "content", "name", "class", "href", "rel", "src", "alt", "type", "disabled", "checked",
        "start", "download",
    ]

    /// Says what a page has that it must not have.
    private func faults(_ element: HTMLElement, in folder: Set<String>, from page: String) -> [String] {
        var faults: [String] = []
        if !Self.elements.contains(element.name), element.name != "" { faults.append("<\(element.name)>") }
        for (name, value) in element.attributes {
            if !Self.attributes.contains(name) { faults.append("\(name)=\(value)") }
            let isWithin = {
                let base = page.contains("/") ? "../" : ""
                let path = percentDecoded(Array(value.utf8)[...]).map { String(decoding: $0, as: UTF8.self) } ?? value
                return path.hasPrefix(base) && folder.contains(String(path.dropFirst(base.count)))
            }
            let isFollowed = ["https://", "http://", "mailto:"].contains { value.lowercased().hasPrefix($0) }
            if name == "src", !isWithin() { faults.append("src \(value)") }
            if name == "href", !isWithin(), element.name != "a" || !isFollowed { faults.append("href \(value)") }
        }
        for child in element.children {
            if case .element(let inner) = child { faults += self.faults(inner, in: folder, from: page) }
        }
        return faults
    }

    @Test("a hostile note becomes text: a page has chosen elements alone, loads nothing and runs nothing")
    func hostile() throws {
        let folder = try TemporaryFolder()
        let made = try ImportFixture()
        for (index, text) in Self.hostile.enumerated() {
            _ = try made.vault.create(
                ItemDraft(title: "\(index) </title><script>\"'&", text: text, tags: [try TagPath("a<script>\"b")]))
        }
        var login = ItemDraft(kind: .login, title: "<script>alert(1)</script>", text: "<b>")
        login.fields = [
            ItemField(listed: "<img src=x>", kind: .secret, value: "\"><script>alert(1)</script>", position: 1)
        ]
        let id = try made.vault.create(login)
        try made.attach(Array("<script>".utf8), named: "<script>\"'.html", to: id)
        let target = folder.url.appendingPathComponent("out")
        let report = try made.vault.exportHTML(to: target.path, files: made.files)
        #expect(report.notes == Self.hostile.count && report.otherItems == 1 && report.attachments == 1)
        let files = try contents(of: target)
        let names = Set(files.keys)
        #expect(names.count == Self.hostile.count + 3)
        for (name, data) in files where name.hasSuffix(".html") && !name.hasPrefix("files/") {
            let page = try HTMLElement.parse([UInt8](data), subject: name)
            #expect(faults(page, in: names, from: name) == [], "\(name)")
            let text = String(decoding: data, as: UTF8.self)
            #expect(text.contains("default-src 'none'"))
            // The frame has no angle bracket of a note before it.
            #expect(text.components(separatedBy: "<title>").count == 2 && text.contains("</html>\n"))
        }
        // Nothing of a text is lost on the way.
        let all = files.values.map { String(decoding: $0, as: UTF8.self) }.joined()
        #expect(all.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && all.contains("&lt;svg/onload=alert(1)&gt;"))
    }

    @Test("notes show their pictures, and lead to each other and to their files; fields and times are on the page")
    func pages() throws {
        let folder = try TemporaryFolder()
        let bundle = "in/A.textbundle/"
        try folder.write(#"{"version": 2, "type": "net.daringfireball.markdown"}"#, to: bundle + "info.json")
        try folder.write("# A\n\n![pic](assets/p%201.png) [[B]] [file](assets/p%201.png)\n", to: bundle + "text.md")
        try folder.write("picture", to: bundle + "assets/p 1.png")
        let trial = try ForeignTrial(folder.url.appendingPathComponent("in").path)
        let first = try #require(trial["A"])
        _ = try trial.fixture.vault.create(
            ItemDraft(text: "# B\n\n[one](coffret:\(first.id.uuid.hex)) [web](https://a.example)\n"))
        var login = ItemDraft(kind: .login, title: "Shop")
        login.fields = [try #require(ItemField(standard: "password", of: .login, value: "p&w"))]
        _ = try trial.fixture.vault.create(login)
        _ = try trial.fixture.vault.trash(trial.fixture.vault.create(ItemDraft(text: "# Gone")))
        let target = folder.url.appendingPathComponent("out")
        let report = try trial.fixture.vault.exportHTML(to: target.path, files: trial.fixture.files)
        #expect(report.notes == 2 && report.otherItems == 1 && report.attachments == 1 && report.trashed == 1)
        #expect(report.warnings.contains { $0.contains("in clear") })
        let files = try contents(of: target).mapValues { String(decoding: $0, as: UTF8.self) }
        let picture = try #require(files.keys.first { $0.hasSuffix("/p 1.png") })
        let address = "../" + picture.replacing(" ", with: "%20")
        let page = try #require(files["pages/A.html"])
        #expect(page.contains("<img src=\"\(address)\" alt=\"pic\">"), "\(page)")
        #expect(page.contains("<a href=\"../pages/B.html\" rel=\"noreferrer\">B</a>"))
        #expect(page.contains("<a href=\"\(address)\" rel=\"noreferrer\">file</a>"))
        let other = try #require(files["pages/B.html"])
        #expect(other.contains("<a href=\"../pages/A.html\" rel=\"noreferrer\">one</a>"))
        #expect(other.contains("<a href=\"https://a.example\" rel=\"noreferrer\">web</a>"))
        #expect(files["pages/Shop.html"]?.contains("<tr><th>Password</th><td>p&amp;w</td></tr>") == true)
        let list = try #require(files["index.html"])
        #expect(["A", "B", "Shop"].allSatisfy { list.contains("<a href=\"pages/\($0).html\">\($0)</a>") })
        #expect(!list.contains("Gone"))
        #expect(throws: ImportExportError.self) { _ = try trial.fixture.vault.exportHTML(to: target.path) }
    }
}
