// Base32 as people meet it: on web pages that show the secret of a one-time code, in groups, in lower case.

internal import CoffretBase

/// Base32 of RFC 4648 section 6 as it is printed for people.
package enum Base32Text {
    /// The longest text that is read, in UTF-8 bytes.
    package static let byteCountMax = 4_096

    /// Reads base32, in any case; spaces, hyphens and missing padding are forgiven.
    ///
    /// - Throws: `CoreError.base32Invalid` on other characters, on a length that no byte string has, on padding
    ///   that contradicts the length, and on left-over bits that are not zero.
    package static func decode(_ text: String) throws -> [UInt8] {
        guard text.utf8.count <= byteCountMax else { throw CoreError(.base32Invalid, at: "too long") }
        let separators: [UInt8] = [UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "\t")]
        let characters = text.utf8.filter { !separators.contains($0) }
        do throws(TextCodingError) {
            return try Base32.rfc4648.decode(String(decoding: characters, as: UTF8.self))
        } catch {
            throw CoreError(.base32Invalid, at: "character \(error.byteOffset + 1)", cause: error)
        }
    }

    /// Writes base32 in upper case, without padding.
    package static func encode(_ bytes: [UInt8]) -> String {
        Base32.rfc4648Unpadded.encode(bytes)
    }
}
