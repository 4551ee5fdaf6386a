// Media types of attached and imported files. Invariant: one table, so that a file has one type, whichever way it came.

/// Media types by the endings of file names.
package enum MediaType {
    private static let types: [String: String] = [
        "7z": "application/x-7z-compressed", "avif": "image/avif", "bmp": "image/bmp", "csv": "text/csv",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "eml": "message/rfc822", "epub": "application/epub+zip", "flac": "audio/flac", "gif": "image/gif",
        "gz": "application/gzip", "heic": "image/heic", "htm": "text/html", "html": "text/html", "ics": "text/calendar",
        "jpeg": "image/jpeg", "jpg": "image/jpeg", "json": "application/json", "m4a": "audio/mp4",
        "md": "text/markdown",
        "mov": "video/quicktime", "mp3": "audio/mpeg", "mp4": "video/mp4",
        "odt": "application/vnd.oasis.opendocument.text",
        "ogg": "audio/ogg", "opus": "audio/opus", "pdf": "application/pdf", "pem": "application/x-pem-file",
        "png": "image/png", "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "rtf": "application/rtf", "svg": "image/svg+xml", "tar": "application/x-tar", "tif": "image/tiff",
        "tiff": "image/tiff", "txt": "text/plain", "vcf": "text/vcard", "wav": "audio/wav", "webm": "video/webm",
        "webp": "image/webp", "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "xml": "application/xml", "zip": "application/zip",
    ]

    /// The type that a file name suggests; `application/octet-stream` if it suggests none.
    package static func guess(fileName: String) -> String {
        guard let dot = fileName.lastIndex(of: ".") else { return "application/octet-stream" }
        return types[fileName[fileName.index(after: dot)...].lowercased()] ?? "application/octet-stream"
    }

    /// The shortest ending of names of files of a type, with its dot; empty for a type that the table does not have.
    package static func fileExtension(of type: String) -> String {
        let endings = types.filter { $0.value == type.lowercased() }.map(\.key)
        return endings.min { ($0.utf8.count, $0) < ($1.utf8.count, $1) }.map { "." + $0 } ?? ""
    }
}
