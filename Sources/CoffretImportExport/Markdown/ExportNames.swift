// Names for files that an export makes. Invariant: no two files share a name, also where upper and lower case are the
// same, and a name works on the file systems that people use.

internal import CoffretCore

/// Hands out names that are free.
struct ExportNames {
    private var taken: Set<String>

    init(taken paths: [SourcePath]) {
        taken = Set(paths.map(Self.folded))
    }

    private static func folded(_ path: SourcePath) -> String {
        String(decoding: path.bytes, as: UTF8.self).lowercased()
    }

    /// A note made in the vault lies in the folder of its first tag, under its title.
    mutating func pathOfNote(_ item: Item) -> SourcePath {
        let folder = (item.givenTags.first?.path ?? "").split(separator: "/").map { Self.safe(String($0)) }
        let name = item.title.isEmpty ? "Untitled" : Self.safe(item.title)
        return free((folder + [name]).joined(separator: "/"), fileExtension: ".md")
    }

    /// An attachment made in the vault lies beside its note, in a folder of the note's name.
    mutating func pathOfAttachment(_ attachment: Attachment, beside path: SourcePath) -> SourcePath {
        var folder = String(decoding: path.folder, as: UTF8.self)
        if !folder.isEmpty { folder += "/" }
        folder += Self.safe(String(decoding: path.stem, as: UTF8.self)) + " files/"
        let name = Self.safe(attachment.name)
        guard let dot = name.lastIndex(of: "."), dot > name.startIndex else { return free(folder + name) }
        return free(folder + name[..<dot], fileExtension: String(name[dot...]))
    }

    /// The first free one of `name`, `name 2`, `name 3`, …
    mutating func free(_ name: String, fileExtension: String = "") -> SourcePath {
        var number = 1
        while true {
            let text = name + (number > 1 ? " \(number)" : "") + fileExtension
            let path = SourcePath(cleanBytes: Array(text.utf8))
            if taken.insert(Self.folded(path)).inserted { return path }
            number += 1
        }
    }

    /// A component of a path that Linux, macOS and Windows accept: without `/\:*?"<>|` and controls, no dot or
    /// blank at either end, no device name, at most 120 bytes.
    static func safe(_ text: String) -> String {
        var result = ""
        for character in text {
            let isBad = character.utf8.contains { $0 < 0x20 || $0 == 0x7F } || "/\\:*?\"<>|".contains(character)
            guard result.utf8.count + character.utf8.count <= 120 else { break }
            result.append(isBad ? "-" : character)
        }
        while let first = result.first, first == "." || first == " " { result.removeFirst() }
        while let last = result.last, last == "." || last == " " { result.removeLast() }
        let devices = ["con", "prn", "aux", "nul"]
        let stem = String(result.prefix { $0 != "." }).asciiLowercased()
        let isPort = stem.utf8.count == 4 && (stem.hasPrefix("com") || stem.hasPrefix("lpt"))
        if devices.contains(stem) || isPort { result = "_" + result }
        return result.isEmpty ? "_" : result
    }
}
