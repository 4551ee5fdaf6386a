// PEM text (RFC 7468). One block is read; what stands around it is ignored, as the RFC allows.

internal import CoffretBase

/// Base64 between two marked lines.
enum PEM {
    /// One block, in lines of 64 characters.
    static func encode(_ label: String, _ bytes: [UInt8]) -> String {
        var text = "-----BEGIN \(label)-----\n"
        var rest = Base64.standard.encode(bytes)[...]
        while !rest.isEmpty {
            text += rest.prefix(64) + "\n"
            rest = rest.dropFirst(64)
        }
        return text + "-----END \(label)-----\n"
    }

    /// The first block of a text, those with the label `skipped` apart.
    static func decode(
        _ text: String, skipping skipped: String? = nil
    ) throws(InteropError) -> (label: String, bytes: [UInt8]) {
        guard text.utf8.count <= keyFileByteCountMax else { throw InteropError(.limitExceeded, at: "pem") }
        var label: String?
        var body = ""
        for line in text.split(whereSeparator: { $0.isNewline }) {
            let line = line.reversed().drop { $0 == " " || $0 == "\t" }.reversed().map { $0 }
            let characters = String(line)
            if let open = label {
                if characters == "-----END \(open)-----" {
                    if open != skipped { return (open, try bytes(body)) }
                    label = nil
                } else {
                    body += characters
                }
            } else if characters.hasPrefix("-----BEGIN "), characters.hasSuffix("-----"), characters.utf8.count > 16 {
                label = String(characters.dropFirst(11).dropLast(5))
                body = ""
            }
        }
        throw InteropError(.invalidText, at: "pem")
    }

    private static func bytes(_ body: String) throws(InteropError) -> [UInt8] {
        do throws(TextCodingError) {
            return try Base64.standard.decode(body)
        } catch {
            throw InteropError(.invalidText, at: "pem base64")
        }
    }
}
