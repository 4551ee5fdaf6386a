// The forms in which programs print a secret. Invariant: what is listed here and in Spec/references.md is the same,
// because people rely on knowing what is not masked.

internal import CoffretBase
internal import CoffretTerminal

/// Every text that stands for a secret in a child's output.
package enum SecretForms {
    /// Shorter secrets are not masked: they would match everywhere, and masking would tell where.
    package static let secretByteCountMin = 4
    /// The shortest single line of a multi-line secret, and the shortest encoded piece, that is masked by itself.
    package static let pieceByteCountMin = 8
    /// Line lengths at which base64 is commonly broken: PEM, MIME.
    private static let wrappedLengths = [64, 76]

    /// The forms of one secret, each once, the plain one first; none if the secret is too short.
    package static func forms(of secret: [UInt8]) -> [[UInt8]] {
        var whole = secret
        defer { whole.zero() }
        // Programs print a value without the line end that it may have in the vault.
        while whole.last == 0x0A || whole.last == 0x0D { whole.removeLast() }
        guard whole.count >= secretByteCountMin else { return [] }
        var forms = Forms()
        forms.add(whole)
        addLines(of: whole, to: &forms)
        addBase64(of: whole, to: &forms)
        forms.add(whole.flatMap { byte in hex(byte, upper: false) })
        forms.add(whole.flatMap { byte in hex(byte, upper: true) })
        addPercentEscapes(of: whole, to: &forms)
        addJSON(of: whole, to: &forms)
        return forms.list
    }

    /// A list without repetitions.
    private struct Forms {
        private(set) var list: [[UInt8]] = []
        private var known: Set<[UInt8]> = []

        mutating func add(_ form: [UInt8]) {
            if known.insert(form).inserted { list.append(form) }
        }
    }

    /// The lines by themselves, because terminals, indentation and other line ends change what stands between them.
    private static func addLines(of secret: [UInt8], to forms: inout Forms) {
        let lines = secret.split { $0 == 0x0A || $0 == 0x0D }
        guard lines.count > 1 else { return }
        for line in lines where line.count >= pieceByteCountMin { forms.add(Array(line)) }
    }

    /// Base64 in both alphabets, also where the secret stands at any place in what was encoded: of the three ways in
    /// which its bits can fall, the characters that depend on the secret alone.
    private static func addBase64(of secret: [UInt8], to forms: inout Forms) {
        for (index, base64) in [Base64.standard, Base64.url].enumerated() {
            // By itself, and as `echo` hands it on: to the last character, with what fills up the last group.
            for ending: [UInt8] in [[], [0x0A]] {
                var whole = secret + ending
                defer { whole.zero() }
                let text = Array(base64.encode(whole).utf8)
                if text.count >= pieceByteCountMin { forms.add(text) }
            }
            for shift in 0..<3 {
                var shifted = [UInt8](repeating: 0, count: shift) + secret
                defer { shifted.zero() }
                let text = Array(base64.encode(shifted).utf8)
                // Shifted by n bytes, the first n + 1 characters (none for 0) hold bits of what stands before.
                let from = shift == 0 ? 0 : shift + 1
                let to = shifted.count * 8 / 6
                if to - from >= pieceByteCountMin { forms.add(Array(text[from..<to])) }
                if shift == 0, index == 0 { addWrapped(text[..<to], to: &forms) }
            }
        }
    }

    /// The lines of base64 that is broken after so many characters.
    private static func addWrapped(_ text: ArraySlice<UInt8>, to forms: inout Forms) {
        for length in wrappedLengths where text.count > length {
            var rest = text
            while !rest.isEmpty {
                let line = rest.prefix(length)
                if line.count >= pieceByteCountMin { forms.add(Array(line)) }
                rest = rest.dropFirst(length)
            }
        }
    }

    private static func hex(_ byte: UInt8, upper: Bool) -> [UInt8] {
        let digits = Array((upper ? "0123456789ABCDEF" : "0123456789abcdef").utf8)
        return [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }

    /// Percent escapes as common functions write them: RFC 3986, with slashes kept as Python does, JavaScript's
    /// encodeURIComponent, and forms with their plus for a space; digits in either case.
    private static func addPercentEscapes(of secret: [UInt8], to forms: inout Forms) {
        let unreserved = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)
        let percentSpace: UInt8? = nil
        for (kept, space) in [
            (unreserved, percentSpace), (unreserved.union("/".utf8), percentSpace),
            (unreserved.union("!'()*".utf8), percentSpace), (unreserved, UInt8(ascii: "+")),
        ] {
            for upper in [true, false] {
                forms.add(
                    secret.flatMap { byte in
                        if byte == 0x20, let space { return [space] }
                        return kept.contains(byte) ? [byte] : [UInt8(ascii: "%")] + hex(byte, upper: upper)
                    })
            }
        }
    }

    /// The inside of a JSON string, with and without `\u` for what is not ASCII.
    private static func addJSON(of secret: [UInt8], to forms: inout Forms) {
        guard let text = String(validating: secret, as: UTF8.self) else { return }
        for escapesAll in [false, true] {
            var form: [UInt8] = []
            for scalar in text.unicodeScalars {
                switch scalar {
                case "\"": form += "\\\"".utf8
                case "\\": form += "\\\\".utf8
                case "\n": form += "\\n".utf8
                case "\r": form += "\\r".utf8
                case "\t": form += "\\t".utf8
                default:
                    if scalar.value < 0x20 || escapesAll && !scalar.isASCII {
                        for unit in String(scalar).utf16 {
                            form += "\\u".utf8
                            form += hex(UInt8(unit >> 8), upper: false) + hex(UInt8(unit & 0xFF), upper: false)
                        }
                    } else {
                        form += String(scalar).utf8
                    }
                }
            }
            forms.add(form)
        }
    }
}
