// Templates with references in them, for `coffret inject` (Spec/references.md). Invariant: only what begins with `{{`,
// blanks and `coffret://` is touched; every other byte of a template comes out as it went in.

internal import CoffretBase
package import CoffretCore
internal import CoffretTerminal

/// A template, cut into what stays and what is filled in.
package struct ReferenceTemplate {
    /// The longest template.
    package static let byteCountMax = 16 << 20

    package enum Piece: Equatable {
        case text([UInt8])
        case reference(SecretReference)
    }

    /// An error of a template.
    package struct TemplateError: Error, Equatable {
        /// From 1.
        package let line: Int
        package let reason: String
    }

    package let pieces: [Piece]

    /// The references in their order, with repetitions.
    package var references: [SecretReference] {
        pieces.compactMap { piece in if case .reference(let reference) = piece { reference } else { nil } }
    }

    private static let opening = Array("{{".utf8)
    private static let closing = Array("}}".utf8)

    /// Reads a template.
    package init(_ bytes: [UInt8]) throws(TemplateError) {
        var pieces: [Piece] = []
        var text: [UInt8] = []
        var index = 0
        while index < bytes.count {
            guard let start = Self.referenceStart(bytes, at: index) else {
                text.append(bytes[index])
                index += 1
                continue
            }
            if text.last == UInt8(ascii: "\\") {
                // `\{{ coffret://…` stays, without the backslash.
                text.removeLast()
                text += bytes[index..<start]
                index = start
                continue
            }
            let line = bytes[..<index].count { $0 == 0x0A } + 1
            let rest = bytes[start...]
            guard let end = Self.end(of: rest) else {
                throw TemplateError(line: line, reason: "a {{ is not closed by }} on its line")
            }
            var reference = rest[..<end]
            while let last = reference.last, last == 0x20 || last == 0x09 { reference.removeLast() }
            guard let word = String(validating: reference, as: UTF8.self) else {
                throw TemplateError(line: line, reason: "a reference is not UTF-8 text")
            }
            do throws(CoreError) {
                if !text.isEmpty { pieces.append(.text(text)) }
                text = []
                pieces.append(.reference(try SecretReference.parse(word)))
            } catch {
                throw TemplateError(line: line, reason: "not a reference: \(error.place ?? "")")
            }
            index = end + Self.closing.count
        }
        if !text.isEmpty { pieces.append(.text(text)) }
        self.pieces = pieces
    }

    /// Where the reference begins, if one is opened at `index`.
    private static func referenceStart(_ bytes: [UInt8], at index: Int) -> Int? {
        guard bytes[index...].starts(with: opening) else { return nil }
        let inner = bytes[(index + opening.count)...].drop { $0 == 0x20 || $0 == 0x09 }
        return inner.starts(with: SecretReference.prefix.utf8) ? inner.startIndex : nil
    }

    private static func end(of bytes: ArraySlice<UInt8>) -> Int? {
        var index = bytes.startIndex
        while index + 1 < bytes.endIndex, bytes[index] != 0x0A {
            if bytes[index...].starts(with: closing) { return index }
            index += 1
        }
        return nil
    }

    /// The template with values in the places of its references, which are in the order of `references`.
    package func filled(with values: [ResolvedSecret]) -> [UInt8] {
        var output: [UInt8] = []
        let valueCount = values.reduce(0) { $0 + $1.bytes.count }
        let textCount = pieces.reduce(0) { sum, piece in
            if case .text(let text) = piece { sum + text.count } else { sum }
        }
        // In one piece from the start, so that no half-filled copy stays behind in memory.
        output.reserveCapacity(valueCount + textCount)
        var next = values.makeIterator()
        for piece in pieces {
            switch piece {
            case .text(let text): output += text
            case .reference: output += next.next()?.bytes ?? []
            }
        }
        return output
    }
}
