// Looks for a text wherever it must not be. The one thing to keep true: a text is looked for in every form in which
// it would come to rest by accident, and a test proves for each place that the search finds what is there.

internal import Foundation
internal import Glibc

/// A word that occurs nowhere by chance, to be planted in secrets, and what it looks like when it leaks.
package struct Canary: Sendable {
    /// Sixteen letters.
    package let word: String
    /// What it is called and its bytes.
    private let forms: [(name: String, bytes: [UInt8])]

    package init() {
        var generator = SystemRandomNumberGenerator()
        word = "canary" + String((0..<10).map { _ in "abcdefghijklmnopqrstuvwxyz".randomElement(using: &generator)! })
        let bytes = Array(word.utf8)
        var forms: [(name: String, bytes: [UInt8])] = [
            ("as it is", bytes), ("upper case", Array(word.uppercased().utf8)), ("backwards", bytes.reversed()),
            // From the first letter to the last, which is the same in either byte order.
            ("UTF-16", bytes.flatMap { [$0, 0] }.dropLast()), ("UTF-32", bytes.flatMap { [$0, 0, 0, 0] }.dropLast(3)),
        ]
        let digits = bytes.map { byte in
            let text = String(byte, radix: 16)
            return text.count == 1 ? "0" + text : text
        }.joined()
        forms.append(("hexadecimal", Array(digits.utf8)))
        forms.append(("HEXADECIMAL", Array(digits.uppercased().utf8)))
        for shift in 0..<3 {
            // The digits that depend on what stands before and after are left off. Letters have no digit that the
            // URL-safe alphabet writes differently.
            let text = Data([UInt8](repeating: 0, count: shift) + bytes).base64EncodedString()
            let last = (shift + bytes.count) / 3 * 4
            forms.append(("Base64", Array(text.utf8.prefix(last).dropFirst([0, 2, 3][shift]))))
        }
        self.forms = forms
    }

    /// Where the word is in some bytes: the form's name, and what stands around it.
    package func finds(in bytes: [UInt8]) -> [String] {
        forms.compactMap { form in
            guard let offset = Self.first(form.bytes, in: bytes) else { return nil }
            let around = bytes[max(0, offset - 40)..<min(bytes.count, offset + form.bytes.count + 40)]
            return "\(form.name) at \(offset): "
                + String(String.UnicodeScalarView(around.map { Unicode.Scalar((32..<127).contains($0) ? $0 : 46) }))
        }
    }

    /// Where it is in the files of a folder and of those below.
    package func finds(below folder: String) throws -> [String] {
        var found: [String] = []
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            var isFolder: ObjCBool = false
            let path = folder + "/" + name
            guard unsafe FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue,
                let data = FileManager.default.contents(atPath: path)
            else { continue }
            found += finds(in: [UInt8](data)).map { "\(name): \($0)" }
        }
        return found
    }

    private static func first(_ word: [UInt8], in bytes: [UInt8]) -> Int? {
        unsafe bytes.withUnsafeBytes { bytes -> Int? in
            guard let base = bytes.baseAddress else { return nil }
            var offset = 0
            while offset + word.count <= bytes.count {
                let rest = bytes.count - word.count + 1 - offset
                guard let hit = unsafe memchr(base + offset, Int32(word[0]), rest) else { return nil }
                offset = unsafe UnsafeRawPointer(hit) - base
                if unsafe memcmp(hit, word, word.count) == 0 { return offset }
                offset += 1
            }
            return nil
        }
    }
}
