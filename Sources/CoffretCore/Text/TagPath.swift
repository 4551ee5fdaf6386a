// The names of tags. Invariant: two texts that people take for the same tag are the same path, and a path means the
// same wherever it was typed.

/// A tag: one or more names, from the widest to the narrowest, as in `garden/beds`.
///
/// Paths keep the case in which they were first typed; they compare without regard to ASCII case in
/// `folded`, which is what items are filtered by.
package struct TagPath: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The longest path, in UTF-8 bytes.
    package static let byteCountMax = 256
    /// The deepest nesting.
    package static let depthMax = 16

    /// The names joined by slashes, without a leading `#`.
    package let path: String

    /// Reads a tag as typed: a leading `#`, a closing `#` and stray slashes and spaces are forgiven.
    ///
    /// - Throws: `CoreError.tagInvalid` if nothing is left, if the path is above 256 bytes or sixteen names
    ///   deep, or if it holds a `#`, a comma or a control character.
    package init(_ text: String) throws(CoreError) {
        var bytes = Array(text.utf8)[...]
        Self.trimSpaces(&bytes)
        if bytes.first == UInt8(ascii: "#") {
            bytes = bytes.dropFirst()
            if bytes.last == UInt8(ascii: "#") { bytes = bytes.dropLast() }
        }
        var names: [ArraySlice<UInt8>] = []
        for part in bytes.split(separator: UInt8(ascii: "/")) {
            var name = part
            Self.trimSpaces(&name)
            if !name.isEmpty { names.append(name) }
        }
        let joined = Array(names.joined(separator: [UInt8(ascii: "/")]))
        guard !joined.isEmpty else { throw CoreError(.tagInvalid, at: "empty") }
        guard joined.count <= Self.byteCountMax else { throw CoreError(.tagInvalid, at: "too long") }
        guard names.count <= Self.depthMax else { throw CoreError(.tagInvalid, at: "too deep") }
        let forbidden: (UInt8) -> Bool = {
            $0 < 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "#") || $0 == UInt8(ascii: ",")
        }
        guard !joined.contains(where: forbidden) else { throw CoreError(.tagInvalid, at: "character") }
        path = String(decoding: joined, as: UTF8.self)
    }

    /// The path in a form in which letters of either ASCII case are the same.
    package var folded: String { Self.fold(path) }

    /// Whether this is `other` or lies below it.
    package func isInside(_ other: TagPath) -> Bool {
        let own = folded
        let wide = other.folded
        return own == wide || own.hasPrefix(wide + "/")
    }

    /// The same tag with `old`, which must contain it, replaced by `new`.
    package func moved(from old: TagPath, to new: TagPath) throws(CoreError) -> TagPath {
        guard isInside(old) else { return self }
        let rest = Array(path.utf8).dropFirst(old.path.utf8.count)
        return try TagPath(new.path + String(decoding: rest, as: UTF8.self))
    }

    /// The way to write the tag into a text: with a closing `#` if a space would end it early; nil if no way of writing is
    /// read as this tag again.
    package var mention: String? {
        let mention = path.utf8.allSatisfy(MarkdownScan.isTagByte) ? "#" + path : "#" + path + "#"
        return MarkdownScan(mention).tags.map(\.tag) == [self] ? mention : nil
    }

    package var description: String { path }

    package static func < (left: TagPath, right: TagPath) -> Bool {
        (left.folded, left.path) < (right.folded, right.path)
    }

    private static func fold(_ text: String) -> String {
        String(decoding: text.utf8.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }, as: UTF8.self)
    }

    private static func trimSpaces(_ bytes: inout ArraySlice<UInt8>) {
        while bytes.first == 0x20 || bytes.first == 0x09 { bytes = bytes.dropFirst() }
        while bytes.last == 0x20 || bytes.last == 0x09 { bytes = bytes.dropLast() }
    }
}
