// HTML and its kin as Markdown.

import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("HTML to Markdown")
struct HTMLMarkdownTests {
    private func markdown(_ html: String) throws -> String {
        var converter = HTMLMarkdown()
        return converter.markdown(of: try HTMLElement.parse(Array(html.utf8), subject: "test"))
    }

    @Test(
        "elements become their marks",
        arguments: [
            ("<h2>A <i>b</i></h2><p>c</p><p>d</p>", "## A *b*\n\nc\n\nd\n"),
            ("<div>one</div><div>two</div><div><br></div><div>three</div>", "one\ntwo\n\nthree\n"),
            ("a<br/>b", "a\nb\n"), ("<b>x </b>y", "**x** y\n"), ("<b><strong>x</strong></b>", "**x**\n"),
            ("<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "- a\n    - b\n- c\n"),
            ("<ol start=3><li>a</li><li>b</li></ol>", "3. a\n4. b\n"),
            ("<ul><li><ul><li>deep</li></ul></li></ul>", "    - deep\n"),
            ("<ul><li><input type=checkbox checked>done</li></ul>", "- [x] done\n"),
            ("<blockquote><p>a</p><p>b</p></blockquote>", "> a\n>\n> b\n"),
            ("<pre><code class='language-swift'>let a\n  b</code></pre>", "```swift\nlet a\n  b\n```\n"),
            ("<pre>```</pre>", "````\n```\n````\n"),
            (
                "<table><tr><th>a<th>b</tr><tr><td>c|d<td>e<br>f</tr></table>",
                "| a | b |\n| --- | --- |\n| c\\|d | e<br>f |\n"
            ),
            ("<a href='http://x.org/?a=1&amp;b'>t</a>", "[t](http://x.org/?a=1&b)\n"),
            ("<a href='http://x.org'>http://x.org</a>", "<http://x.org>\n"),
            ("<img src='a b.png' alt='q]'>", "![q\\]](a%20b.png)\n"), ("<s>a</s> <code>b`c</code>", "~~a~~ ``b`c``\n"),
            ("x<script>alert(1)</script><style>p{}</style>y", "xy\n"), ("<hr>", "---\n"), ("", ""),
        ])
    func elements(_ html: String, _ expected: String) throws {
        #expect(try markdown(html) == expected)
    }

    @Test(
        "text that looks like marks stays text",
        arguments: [
            ("1. a", "1\\. a\n"), ("# a", "\\# a\n"), ("- a", "\\- a\n"), ("*a* _b_ c_d", "\\*a\\* \\_b\\_ c_d\n"),
            ("[a](b) &lt;b&gt;", "\\[a](b) \\<b>\n"), ("a\n   b", "a b\n"), ("2 * 3", "2 * 3\n"), ("#tag", "#tag\n"),
        ])
    func escapes(_ html: String, _ expected: String) throws {
        #expect(try markdown("<p>\(html)</p>") == expected)
    }

    @Test("depth and size are bounded, and what is no UTF-8 is refused")
    func limits() throws {
        let deep = String(repeating: "<div>", count: HTMLElement.depthMax - 8)
        #expect(try markdown(deep + "x") == "x\n")
        for page in [String(repeating: "<div>", count: 400), String(repeating: "<b>", count: 300_000)] {
            #expect(throws: ImportExportError.self) { try markdown(page) }
        }
        #expect(throws: ImportExportError(.formatInvalid, at: "not UTF-8", subject: "test")) {
            try HTMLElement.parse([0xFF], subject: "test")
        }
        // Entities of the text's own are no entities here.
        let bomb = "<!DOCTYPE html [<!ENTITY a \"bbbb\">]><p>x&a;</p>"
        #expect(try !markdown(bomb).contains("xbbbb"))
    }
}
