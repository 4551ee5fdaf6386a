// Keys out of bytes, however they are cut.

import CoffretTerminal
import Testing

@Suite("Keys of a terminal")
struct KeyDecoderTests {
    private func keys(_ parts: [UInt8]...) -> [Key] {
        var decoder = KeyDecoder()
        return parts.flatMap { decoder.add($0) } + decoder.flush()
    }

    @Test("text, control keys and sequences of xterm, VT and the application mode")
    func known() {
        let text = "tö\u{1B}[A\u{1B}OB\u{1B}[1;5C\u{1B}[D\u{1B}[5~\u{1B}[6~\u{1B}[H\u{1B}[4~\r\t\u{7F}\u{19}漢"
        #expect(
            keys(Array(text.utf8)) == [
                .text("tö"), .up, .down, .right, .left, .pageUp, .pageDown, .home, .end, .enter, .tab, .backspace,
                .control("y"), .text("漢"),
            ])
    }

    @Test("bytes that come one by one give the same keys, and an escape alone is a key")
    func pieces() {
        let bytes = Array("a\u{1B}[B漢\u{1B}[200~x\ny\u{1B}[201~".utf8)
        var decoder = KeyDecoder()
        var keys: [Key] = []
        for byte in bytes { keys += decoder.add([byte]) }
        #expect(!decoder.isWithinKey)
        #expect(keys == [.text("a"), .down, .text("漢"), .text("x"), .text(" "), .text("y")])
        #expect(decoder.add([0x1B]).isEmpty && decoder.isWithinKey)
        #expect(decoder.flush() == [.escape] && !decoder.isWithinKey)
    }

    @Test("a paste is text: its line ends open nothing, its control characters do nothing")
    func paste() {
        let pasted = "\u{1B}[200~one\r\u{19}two\u{1B}[A\u{1B}x\u{1B}[201~\r"
        #expect(keys(Array(pasted.utf8)) == [.text("one  twox"), .enter])
    }

    @Test("unknown, endless and broken sequences are dropped whole")
    func unknown() {
        #expect(keys(Array("\u{1B}[99;99ua".utf8)) == [.text("a")])
        #expect(keys(Array(("\u{1B}[" + String(repeating: "1", count: 40)).utf8)) == [.text("1111111111")])
        // Half a character takes the byte behind it along.
        #expect(keys([0xC3], [0x28, 0x61]) == [.text("a")])
        #expect(keys([0x1B, 0x5B]).isEmpty)
    }

    @Test("folding keeps every line within the width, at spaces where there are some, and loses no letter")
    func folding() {
        let text = "one two three 漢字漢字漢字漢字\n\nabcdefghijklmnop q"
        for width in 2...20 {
            let lines = TextWidth.folded(text, width: width)
            #expect(lines.allSatisfy { TextWidth.columns(of: $0) <= width }, "\(width): \(lines)")
            #expect(lines.joined().filter { !$0.isWhitespace } == text.filter { !$0.isWhitespace })
        }
        #expect(TextWidth.folded("one two three", width: 8) == ["one two", "three"])
        #expect(TextWidth.folded("one two", width: 7) == ["one two"])
    }
}
