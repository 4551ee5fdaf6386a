// What people call themselves, on the screen of others. The one thing to keep true: a claimed name cannot pass for another
// person's without a mark, nor turn the text around it.

internal import CICU

/// A name that somebody claims.
package struct ClaimedName: Equatable, Sendable {
    /// The name without control and bidirectional characters.
    package let shown: String
    /// Whether a word mixes scripts as no language's writing does; false where ICU is not installed.
    package let mixesScripts: Bool
    /// What look-alikes have in common.
    package let skeleton: String

    package init(_ name: String) {
        shown = Self.cleaned(name)
        mixesScripts = shown.split(separator: " ").contains { Self.mixesScripts(String($0)) }
        skeleton = Self.skeleton(of: shown)
    }

    /// Whether the two names can be taken for each other.
    package func looksLike(_ other: ClaimedName) -> Bool { skeleton == other.skeleton }

    private static func cleaned(_ name: String) -> String {
        var text = ""
        for scalar in name.unicodeScalars where isShown(scalar) { text.unicodeScalars.append(scalar) }
        return text.split(separator: " ").joined(separator: " ")
    }

    /// Control and format characters (among them the bidirectional ones and those without width), line and paragraph
    /// separators, and what Unicode assigns to nobody.
    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse,
            .unassigned:
            false
        default: true
        }
    }

    private static func mixesScripts(_ word: String) -> Bool {
        let bytes = Array(word.utf8)
        return unsafe bytes.withUnsafeBytes { bytes in
            unsafe coffret_icu_mixes_scripts(bytes.bindMemory(to: CChar.self).baseAddress, bytes.count)
                == 1
        }
    }

    /// Unicode's skeleton where ICU is installed, between two rounds of the rules below.
    private static func skeleton(of name: String) -> String {
        folded(confusable(folded(name)) ?? folded(name))
    }

    /// Lower case, accents off, and what people take for each other in Latin letters and digits.
    private static func folded(_ text: String) -> String {
        var result = ""
        for scalar in text.lowercased().unicodeScalars {
            switch scalar.properties.generalCategory {
            case .nonspacingMark, .enclosingMark, .spaceSeparator: continue
            default: break
            }
            switch scalar {
            case "0": result.append("o")
            case "1", "i", "\u{131}": result.append("l")
            default: result.unicodeScalars.append(scalar)
            }
        }
        return replacing("vv", by: "w", in: replacing("rn", by: "m", in: result))
    }

    private static func replacing(_ pair: String, by one: Character, in text: String) -> String {
        var (result, rest) = ("", text[...])
        while let first = rest.first {
            if rest.hasPrefix(pair) {
                result.append(one)
                rest = rest.dropFirst(pair.count)
            } else {
                result.append(first)
                rest = rest.dropFirst()
            }
        }
        return result
    }

    /// nil where ICU is not installed.
    private static func confusable(_ text: String) -> String? {
        let bytes = Array(text.utf8)
        // A character's skeleton has at most 18 others in Unicode's table.
        var skeleton = [UInt8](repeating: 0, count: bytes.count * 24 + 64)
        let count = unsafe bytes.withUnsafeBytes { bytes in
            unsafe skeleton.withUnsafeMutableBytes { target in
                unsafe coffret_icu_skeleton(
                    bytes.bindMemory(to: CChar.self).baseAddress, bytes.count,
                    target.bindMemory(to: CChar.self).baseAddress, target.count)
            }
        }
        guard count >= 0 else { return nil }
        return String(decoding: skeleton.prefix(count), as: UTF8.self)
    }
}
