// Relative paths of foreign files. Invariant: a value of this type never leaves the folder that it is relative to.

/// The path of a file inside an import: relative, `/` between components, without `.` or `..`.
///
/// Bytes, not text: a file system does not promise UTF-8, and an export has to give back the same name.
package struct SourcePath: Hashable, Comparable, Sendable {
    /// The path, components joined by `/`.
    package let bytes: [UInt8]

    /// A path known to be clean, from components that a folder walk or a parser has checked.
    package init(cleanBytes bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Checks a path from an archive or an export file.
    ///
    /// `./` and doubled slashes are dropped; a slash at the end too.
    /// - Throws: `.pathUnsafe` for an absolute path, `..`, a NUL or nothing at all; `.pathTooLong`.
    package init(validating raw: [UInt8], limits: ImportLimits) throws(ImportExportError) {
        let subject = printableText(raw)
        guard raw.first != UInt8(ascii: "/"), !raw.contains(0) else {
            throw ImportExportError(.pathUnsafe, subject: subject)
        }
        guard raw.count <= limits.pathByteCountMax else {
            throw ImportExportError(.pathTooLong, at: "bytes \(raw.count)", subject: subject)
        }
        var clean: [UInt8] = []
        clean.reserveCapacity(raw.count)
        var depth = 0
        for component in raw.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: true) {
            if component.elementsEqual([UInt8(ascii: ".")]) { continue }
            guard !component.elementsEqual([UInt8(ascii: "."), UInt8(ascii: ".")]) else {
                throw ImportExportError(.pathUnsafe, subject: subject)
            }
            guard component.count <= limits.pathComponentByteCountMax else {
                throw ImportExportError(.pathTooLong, at: "component \(component.count)", subject: subject)
            }
            depth += 1
            if !clean.isEmpty { clean.append(UInt8(ascii: "/")) }
            clean.append(contentsOf: component)
        }
        guard !clean.isEmpty else { throw ImportExportError(.pathUnsafe, subject: subject) }
        guard depth <= limits.pathDepthMax else {
            throw ImportExportError(.pathTooLong, at: "depth \(depth)", subject: subject)
        }
        self.bytes = clean
    }

    /// The components, at least one.
    package var components: [ArraySlice<UInt8>] { bytes.split(separator: UInt8(ascii: "/")) }

    /// The last component.
    package var name: ArraySlice<UInt8> {
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return bytes[...] }
        return bytes[(slash + 1)...]
    }

    /// The path of the folder, without a slash at the end; empty at the top.
    package var folder: ArraySlice<UInt8> {
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return [] }
        return bytes[..<slash]
    }

    /// The part behind the last dot of the name, in lower case ASCII; empty if there is none.
    package var fileExtension: String {
        let name = name
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return "" }
        return String(decoding: name[(dot + 1)...], as: UTF8.self).asciiLowercased()
    }

    /// Whether the name says Markdown.
    package var isMarkdown: Bool { ["md", "markdown", "mdown", "mkd"].contains(fileExtension) }

    /// The name without its extension.
    package var stem: ArraySlice<UInt8> {
        let name = name
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")), dot > name.startIndex else { return name }
        return name[..<dot]
    }

    /// For people: repaired where it is not UTF-8, control characters escaped.
    package var printable: String { printableText(bytes) }

    /// Whether the bytes are UTF-8.
    package var isUTF8: Bool { isValidUTF8(bytes) }

    package static func < (left: Self, right: Self) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }

    /// Resolves a relative reference, as it stands in a note in `folder`, after percent decoding.
    ///
    /// - Returns: nil if it is absolute or leads out of the import.
    package static func resolve(_ reference: ArraySlice<UInt8>, in folder: ArraySlice<UInt8>) -> SourcePath? {
        guard let first = reference.first, first != UInt8(ascii: "/"), !reference.contains(0) else { return nil }
        var components = folder.split(separator: UInt8(ascii: "/"))
        for component in reference.split(separator: UInt8(ascii: "/")) {
            if component.elementsEqual([UInt8(ascii: ".")]) { continue }
            if component.elementsEqual([UInt8(ascii: "."), UInt8(ascii: ".")]) {
                guard components.popLast() != nil else { return nil }
                continue
            }
            components.append(component)
        }
        guard !components.isEmpty else { return nil }
        return SourcePath(cleanBytes: Array(components.joined(separator: [UInt8(ascii: "/")])))
    }

    /// The shortest relative reference from a file in `folder` to this path.
    package func reference(from folder: ArraySlice<UInt8>) -> [UInt8] {
        let start = folder.split(separator: UInt8(ascii: "/"))
        let target = components
        var shared = 0
        while shared < start.count, shared < target.count - 1, start[shared] == target[shared] { shared += 1 }
        var result: [UInt8] = []
        for _ in shared..<start.count { result.append(contentsOf: "../".utf8) }
        result.append(contentsOf: target[shared...].joined(separator: [UInt8(ascii: "/")]))
        return result
    }
}
