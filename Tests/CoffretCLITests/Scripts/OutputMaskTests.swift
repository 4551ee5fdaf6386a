// The mask over a command's output (R33): what it hides, what it leaves alone, and that cutting the stream changes nothing.

import CoffretTestSupport
import Testing

@testable import CoffretCLI
@testable import CoffretMessages
@testable import CoffretScripting
@testable import CoffretTerminal

@Suite("Masking")
struct OutputMaskTests {
    static let mark = String(decoding: OutputMask.mark, as: UTF8.self)

    /// The whole output for a stream that comes in these pieces.
    static func masked(_ pieces: [[UInt8]], _ forms: [[UInt8]]) -> [UInt8] {
        var mask = OutputMask(FormAutomaton(forms))
        var shown: [UInt8] = []
        for piece in pieces { shown += mask.add(piece) }
        return shown + mask.finish()
    }

    static func masked(_ text: String, _ secrets: String...) -> String {
        let forms = secrets.flatMap { SecretForms.forms(of: Array($0.utf8)) }
        return String(decoding: masked([Array(text.utf8)], forms), as: UTF8.self)
    }

    /// The same by the obvious slow way: find every match at every place, mark, merge what overlaps.
    static func reference(_ bytes: [UInt8], _ forms: [[UInt8]]) -> [UInt8] {
        var isCovered = [Bool](repeating: false, count: bytes.count)
        var isJoined = isCovered
        for form in forms where !form.isEmpty && form.count <= bytes.count {
            for start in 0...(bytes.count - form.count) where bytes[start...].starts(with: form) {
                for index in start..<(start + form.count) {
                    isCovered[index] = true
                    if index > start { isJoined[index] = true }
                }
            }
        }
        var shown: [UInt8] = []
        for index in bytes.indices {
            if !isCovered[index] { shown.append(bytes[index]) } else if !isJoined[index] { shown += OutputMask.mark }
        }
        return shown
    }

    @Test("R33: whatever the secrets, the text and the cuts, the output is that of the obvious slow way")
    func randomSplits() {
        forAll(count: 400) { generator in
            // A small alphabet makes overlaps, repetitions and near misses likely.
            let letters = Array("aab".utf8.prefix(generator.int(in: 1...3)))
            func word(_ counts: ClosedRange<Int>) -> [UInt8] {
                (0..<generator.int(in: counts)).map { _ in generator.element(of: letters) }
            }
            let forms = (0..<generator.int(in: 1...5)).map { _ in word(1...9) }
            var text = word(0...60)
            if generator.bool() { text += generator.element(of: forms) + word(0...9) }
            var pieces: [[UInt8]] = []
            var rest = text[...]
            while !rest.isEmpty {
                let count = generator.int(in: 0...min(rest.count, 7))
                pieces.append(Array(rest.prefix(count)))
                rest = rest.dropFirst(count)
            }
            let expected = Self.reference(text, forms)
            try require(Self.masked(pieces, forms) == expected, "\(forms) in \(text) cut as \(pieces)")
            try require(Self.masked(text.map { [$0] }, forms) == expected, "byte by byte")
        }
    }

    @Test("R33: no beginning of a secret leaves before it is clear that the rest does not follow")
    func nothingEarly() {
        let secret = Array("correct horse".utf8)
        var mask = OutputMask(FormAutomaton([secret]))
        for byte in secret.dropLast() { #expect(mask.add([byte]).isEmpty) }
        #expect(mask.add([secret[secret.count - 1]]) == OutputMask.mark)
        #expect(mask.finish().isEmpty)
        // What only began like the secret comes out whole, at the first byte that differs or at the end.
        #expect(mask.add(Array("correct ho".utf8)).isEmpty)
        #expect(mask.add(Array("use".utf8)) == Array("correct house".utf8))
        #expect(mask.add(Array("corr".utf8)).isEmpty)
        #expect(mask.finish() == Array("corr".utf8))
    }

    @Test("R33: base64, hex, URL and JSON forms are masked, wherever they stand in what was encoded")
    func forms() {
        let secret = "p&ss \"wörd\"/"
        #expect(Self.masked("x=\(secret);", secret) == "x=\(Self.mark);")
        for before in ["", "a", "ab", "abc"] {
            let encoded = Self.base64(before + secret + "tail")
            let shown = Self.masked(encoded, secret)
            #expect(shown.contains(Self.mark), "\(before): \(shown)")
            #expect(shown.count < encoded.count - 8 + Self.mark.count)
        }
        let hex = secret.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(Self.masked(hex, secret) == Self.mark)
        #expect(Self.masked(hex.uppercased(), secret) == Self.mark)
        #expect(Self.masked("p%26ss%20%22w%C3%B6rd%22%2F", secret) == Self.mark)
        #expect(Self.masked("p%26ss%20%22w%c3%b6rd%22%2f", secret) == Self.mark)
        #expect(Self.masked("p%26ss%20%22w%C3%B6rd%22/", secret) == Self.mark)
        #expect(Self.masked("p%26ss+%22w%C3%B6rd%22%2F", secret) == Self.mark)
        #expect(Self.masked(#"{"p":"p&ss \"wörd\"/"}"#, secret) == #"{"p":"\#(Self.mark)"}"#)
        #expect(Self.masked(#"p&ss \"w\u00f6rd\"/"#, secret) == Self.mark)
    }

    @Test("R33: of a secret of several lines each longer line is masked by itself, whatever stands between")
    func lines() {
        let key = "-----BEGIN KEY-----\nAAAAB3NzaC1yc2EAAAADAQ\nshort\n-----END KEY-----\n"
        #expect(Self.masked(key, key) == Self.mark + "\n")
        let indented = key.split(separator: "\n").map { "    \($0)\r\n" }.joined()
        #expect(
            Self.masked(indented, key)
                == "    \(Self.mark)\r\n    \(Self.mark)\r\n    short\r\n    \(Self.mark)\r\n")
        let long = (0..<20).map { "line number \($0) of a longer secret" }.joined(separator: "\n")
        let text = Self.base64(long)
        for width in [64, 76] {
            let wrapped = stride(from: 0, to: text.count, by: width).map { start in
                String(text.dropFirst(start).prefix(width))
            }
            let shown = Self.masked(wrapped.joined(separator: "\n"), long)
            for line in wrapped.dropLast() { #expect(!shown.contains(line)) }
        }
    }

    @Test("secrets of fewer than four bytes are left alone, and so is everything else")
    func short() {
        #expect(Self.masked("a yes and a no", "yes") == "a yes and a no")
        #expect(Self.masked("PIN 1234!", "1234\n") == "PIN \(Self.mark)!")
        #expect(SecretForms.forms(of: []).isEmpty)
        forAll { generator in
            let text = generator.bytes(count: 0...300)
            try require(Self.masked([text], []) == text)
        }
    }

    @Test("long secrets that repeat themselves cost no more than others")
    func repetitive() {
        let secret = [UInt8](repeating: 0x61, count: 20_000)
        let (shown, seconds) = ProcessorTime.measure {
            Self.masked([[UInt8](repeating: 0x61, count: 200_000) + [0x62]], [secret])
        }
        #expect(shown == OutputMask.mark + [0x62])
        // Quadratic work would be four thousand million steps.
        #expect(seconds < 20)
    }

    static func base64(_ text: String) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        var bits = ""
        for byte in text.utf8 {
            let digits = String(byte, radix: 2)
            bits += String(repeating: "0", count: 8 - digits.count) + digits
        }
        var encoded = ""
        while !bits.isEmpty {
            let group = bits.prefix(6)
            bits = String(bits.dropFirst(6))
            encoded.append(alphabet[Int(group + String(repeating: "0", count: 6 - group.count), radix: 2) ?? 0])
        }
        while encoded.count % 4 != 0 { encoded += "=" }
        return encoded
    }
}
