// How wide text is on a terminal, and how it is cut and wrapped. Invariant: text from a vault reaches a terminal only
// after `displaySafe`, so a note cannot send it commands.

internal import CPlatform

/// Columns, truncation, wrapping and disarming of text.
package enum TextWidth {
    /// The number of terminal columns that `text` takes.
    package static func columns(of text: String) -> Int {
        if let ascii = asciiColumns(text) { return ascii }
        return text.reduce(0) { $0 + columns(of: $1) }
    }

    private static func asciiColumns(_ text: String) -> Int? {
        for byte in text.utf8 where byte < 0x20 || byte >= 0x7F { return nil }
        return text.utf8.count
    }

    /// The columns of one character: two for East Asian wide ones and emoji, none for marks.
    ///
    /// The C library's table decides (`wcwidth` in C.UTF-8); a sequence that shows an emoji takes two, whatever begins it.
    package static func columns(of character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        if scalar.properties.isEmojiPresentation { return 2 }
        if character.unicodeScalars.contains("\u{FE0F}"), scalar.properties.isEmoji { return 2 }
        return Int(coffret_column_count(scalar.value))
    }

    /// Cuts `text` to at most `width` columns, with an ellipsis in the last one if anything is cut.
    package static func truncate(_ text: String, to width: Int) -> String {
        if columns(of: text) <= width { return text }
        guard width > 0 else { return "" }
        var result = ""
        var used = 0
        for character in text {
            let next = columns(of: character)
            if used + next > width - 1 { break }
            result.append(character)
            used += next
        }
        return result + "…"
    }

    /// Fills up with spaces to `width` columns.
    package static func pad(_ text: String, to width: Int, alignRight: Bool = false) -> String {
        let missing = width - columns(of: text)
        guard missing > 0 else { return text }
        let spaces = String(repeating: " ", count: missing)
        return alignRight ? spaces + text : text + spaces
    }

    /// Breaks `text` at spaces into lines of at most `width` columns.
    ///
    /// - Parameters:
    ///   - indent: spaces before the first line; `hanging` before the others.
    ///   - keepsCommands: whether a command that people copy stays on one line, however long.
    package static func wrap(
        _ text: String, width: Int, indent: Int = 0, hanging: Int = 0, keepsCommands: Bool = false
    ) -> [String] {
        var spans = CommandSpans()
        var lines: [String] = []
        var line = String(repeating: " ", count: indent)
        var isEmpty = true
        var words: [String] = []
        for word in text.split(separator: " ", omittingEmptySubsequences: true) {
            if keepsCommands, spans.isInside(String(word)), let last = words.popLast() {
                words.append(last + " " + word)
            } else {
                words.append(String(word))
            }
        }
        for word in words {
            if !isEmpty, columns(of: line) + 1 + columns(of: word) > width {
                lines.append(line)
                line = String(repeating: " ", count: hanging)
                isEmpty = true
            }
            line += (isEmpty ? "" : " ") + word
            isEmpty = false
        }
        if !isEmpty || lines.isEmpty { lines.append(isEmpty ? "" : line) }
        return lines
    }

    /// Breaks lines that are wider than `width` at spaces, but not inside of commands that people copy; everything else stays
    /// as it is, colours too.
    ///
    /// - Parameters:
    ///   - width: nil when nobody looks, and nothing is broken.
    ///   - hanging: by how much what goes on in the next line is indented more than its beginning.
    package static func broken(_ text: String, width: Int?, hanging: Int = 0) -> String {
        guard let width, columns(of: text) > width else { return text }
        return text.split(separator: "\n", omittingEmptySubsequences: false)
            .flatMap { brokenLine($0, width: width, hanging: hanging) }.joined(separator: "\n")
    }

    private static func brokenLine(_ line: Substring, width: Int, hanging: Int) -> [String] {
        let indent = line.prefix { $0 == " " }.count
        let beginning = Array(repeating: Character(" "), count: indent + hanging)
        var lines: [String] = []
        var (current, column): ([Character], Int) = ([], 0)
        /// The last space in `current`, and the column behind it.
        var space: (index: Int, column: Int)?
        var isEscape = false
        let kept = keptSpaces(of: line)
        for (index, character) in line.enumerated() {
            current.append(character)
            if isEscape || character == "\u{1B}" {
                isEscape = character == "\u{1B}" || !character.isLetter
                continue
            }
            column += columns(of: character)
            if character == " ", column > indent, !kept.contains(index) { space = (current.count - 1, column) }
            guard column > width, let last = space else { continue }
            lines.append(String(current[..<last.index]).trimmingTrailingSpace)
            current = beginning + current[(last.index + 1)...]
            column += beginning.count - last.column
            space = nil
        }
        return lines + [String(current)]
    }

    /// The spaces at which a command would be broken, by their places in the line.
    private static func keptSpaces(of line: Substring) -> Set<Int> {
        var kept: Set<Int> = []
        var spans = CommandSpans()
        var (word, spaces, isEscape) = ("", [Int](), false)
        func end() {
            guard !word.isEmpty else { return }
            if spans.isInside(word, gap: spaces.count) { kept.formUnion(spaces) }
            (word, spaces) = ("", [])
        }
        for (index, character) in line.enumerated() {
            if isEscape || character == "\u{1B}" {
                isEscape = character == "\u{1B}" || !character.isLetter
            } else if character == " " {
                end()
                spaces.append(index)
            } else {
                word.append(character)
            }
        }
        end()
        return kept
    }

    /// Breaks each line of a text to `width` columns: at a space where there is one, else within the word.
    package static func folded(_ text: String, width: Int) -> [String] {
        let width = max(1, width)
        return text.split(separator: "\n", omittingEmptySubsequences: false).flatMap { line -> [String] in
            guard columns(of: String(line)) > width else { return [String(line)] }
            var lines: [String] = []
            var (current, used) = ("", 0)
            /// Where `current` ends before its last space, and the columns behind that.
            var space: (end: String.Index, used: Int)?
            for character in line {
                let next = columns(of: character)
                if used + next > width, !current.isEmpty {
                    if character == " " {
                        lines.append(current)
                        (current, used, space) = ("", 0, nil)
                        continue
                    }
                    if let last = space {
                        lines.append(String(current[..<last.end]))
                        current = String(current[current.index(after: last.end)...])
                        used -= last.used
                    } else {
                        lines.append(current)
                        (current, used) = ("", 0)
                    }
                    space = nil
                }
                if character == " " { space = (current.endIndex, used + 1) }
                current.append(character)
                used += next
            }
            return lines + [current]
        }
    }

    /// Replaces what could drive a terminal or mislead a reader by visible signs: control characters
    /// (`^[` for escape) and characters that change the direction of writing.
    ///
    /// - Parameter keepsLines: whether line ends and tabs stay as they are.
    package static func displaySafe(_ text: String, keepsLines: Bool = false) -> String {
        var needsWork = false
        for scalar in text.unicodeScalars where isUnsafe(scalar, keepsLines: keepsLines) {
            needsWork = true
            break
        }
        guard needsWork else { return text }
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            guard isUnsafe(scalar, keepsLines: keepsLines) else {
                result.append(scalar)
                continue
            }
            switch scalar.value {
            case 0x09, 0x0A, 0x0D: result.append(" ")
            case 0..<0x20:
                result.append("^")
                result.append(Unicode.Scalar(UInt8(scalar.value + 0x40)))
            case 0x7F: result.append(contentsOf: "^?".unicodeScalars)
            default: result.append("\u{FFFD}")
            }
        }
        return String(result)
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar, keepsLines: Bool) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A: return !keepsLines
        case 0..<0x20, 0x7F...0x9F: return true
        // Overrides and isolates of bidirectional text.
        case 0x202A...0x202E, 0x2066...0x2069: return true
        default: return false
        }
    }
}

extension String {
    package var trimmingTrailingSpace: String {
        var text = self
        while text.hasSuffix(" ") { text.removeLast() }
        return text
    }
}
