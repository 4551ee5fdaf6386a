// The strings in which the ZKA sample keeps cells and keys. Decoding takes what its decoder takes, and
// refuses text longer than the caller expects before any work.

internal import CoffretBase

/// Base64, then percent-encoded: how the SecureNotes ZKA sample stores binary values as text.
///
/// Spec: Spec/interop-themis.md §10. Vectors: zka_sample.json.
public enum TransportString {
    /// The longest text that is decoded unless the caller says otherwise: 64 MiB.
    public static let textByteCountMaxDefault = 64 << 20

    /// Standard base64 with padding, every character that is neither letter nor digit percent-encoded.
    public static func encode(_ bytes: some Collection<UInt8>) -> String {
        let bytes = [UInt8](bytes)
        var text: [UInt8] = []
        for character in Base64.standard.encode(bytes).utf8 {
            switch character {
            case UInt8(ascii: "+"): text += "%2B".utf8
            case UInt8(ascii: "/"): text += "%2F".utf8
            case UInt8(ascii: "="): text += "%3D".utf8
            default: text.append(character)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Undoes `encode`.
    ///
    /// Takes text without any escape, escapes in either case, and skips characters outside the alphabet,
    /// such as line feeds, as the sample's decoder does.
    /// - Throws: `InteropError`: `.invalidText` for a malformed escape, escapes that are not UTF-8, wrong
    ///   padding or unused bits that are not zero; `.limitExceeded`.
    public static func decode(
        _ text: String, textByteCountMax: Int = TransportString.textByteCountMaxDefault
    ) throws(InteropError) -> [UInt8] {
        guard text.utf8.count <= textByteCountMax else { throw InteropError(.limitExceeded, at: "transport string") }
        let unescaped = try removeEscapes(Array(text.utf8))
        guard String(validating: unescaped, as: UTF8.self) != nil else {
            throw InteropError(.invalidText, at: "escape that is not UTF-8")
        }
        let characters = unescaped.filter { isBase64($0) }
        do throws(TextCodingError) {
            return try Base64.standard.decode(String(decoding: characters, as: UTF8.self))
        } catch {
            throw InteropError(.invalidText, at: "base64")
        }
    }

    private static func removeEscapes(_ text: [UInt8]) throws(InteropError) -> [UInt8] {
        var unescaped: [UInt8] = []
        unescaped.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            guard text[index] == UInt8(ascii: "%") else {
                unescaped.append(text[index])
                index += 1
                continue
            }
            guard index + 2 < text.count, let high = hexadecimalValue(text[index + 1]),
                let low = hexadecimalValue(text[index + 2])
            else { throw InteropError(.invalidText, at: "percent escape") }
            unescaped.append(high << 4 | low)
            index += 3
        }
        return unescaped
    }

    private static func hexadecimalValue(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func isBase64(_ character: UInt8) -> Bool {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
            true
        default: false
        }
    }
}
