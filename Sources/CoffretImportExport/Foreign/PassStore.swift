// Password stores of pass: a folder of files, each under OpenPGP. Invariant: a line of an entry is a field or a line of its
// text.

internal import CoffretBase
internal import CoffretCore

extension ForeignFormat {
    static let pass = ForeignFormat(
        name: "pass", title: "a password store (pass)", signs: [.most { $0.hasSuffix(".gpg") }],
        open: { (source, keys) throws(ImportExportError) in
            let members = source.entries.indices.filter { source.entries[$0].path.fileExtension == "gpg" }
            var files: [Int: [UInt8]] = [:]
            try source.source.visit(Set(members).contains) { (index, reader) throws(ImportExportError) in
                let ciphertext = try reader.readAll(byteCountMax: PassReader.entryByteCountMax)
                files[index] = try keys.decrypt(ciphertext, of: source.entries[index].path.printable)
            }
            return ForeignPayload([], files: files)
        },
        read: { (source, sink) throws(ImportExportError) in
            guard let files = source.payload?.files else { throw ImportExportError(.passwordNeeded) }
            for index in files.keys.sorted() {
                guard let bytes = files[index] else { continue }
                sink.took(index, try source.bytes(ofEntry: index, byteCountMax: PassReader.entryByteCountMax))
                try PassReader.put(bytes, source.entries[index], sink)
            }
        })
}

private enum PassReader {
    static let entryByteCountMax = 4 << 20

    private static let columns: [String: ListFormat.Column] = [
        "user": .field("username"), "username": .field("username"), "login": .field("username"),
        "url": .addresses(separator: "\n"), "website": .addresses(separator: "\n"),
    ]

    static func put(_ bytes: [UInt8], _ entry: SourceEntry, _ sink: ForeignSink) throws(ImportExportError) {
        var item = ForeignItem(kind: .login)
        item.id = String(decoding: entry.path.bytes, as: UTF8.self)
        item.isIDOfPlace = true
        item.draft.title = cleanTitle(String(decoding: entry.path.stem, as: UTF8.self))
        item.draft.modified = entry.modifiedMilliseconds
        item.setFolder(String(decoding: entry.path.folder, as: UTF8.self), separator: "/", original: "folder")
        guard let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) else {
            // An entry of pass insert -m is not always text.
            item.files = [ForeignFile(name: String(decoding: entry.path.stem, as: UTF8.self), content: .bytes(bytes))]
            return try sink.put(item)
        }
        var notes: [Substring] = []
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let clean = line.last == "\r" ? line.dropLast() : line
            if number == 0 {
                item.set("password", to: String(clean), original: "password")
            } else if clean.hasPrefix("otpauth://") {
                item.addOneTimeCode(String(clean), label: "One-time code")
            } else if notes.isEmpty, let (name, value) = pair(clean) {
                let isSecret = soundsSecret(name)
                item.take(
                    value, as: columns[name.asciiLowercased()] ?? .labelled(name, isSecret ? .secret : .text),
                    original: name)
            } else {
                notes.append(clean)
            }
        }
        while notes.last?.isEmpty == true { notes.removeLast() }
        while notes.first?.isEmpty == true { notes.removeFirst() }
        item.addText(notes.joined(separator: "\n"))
        try sink.put(item)
    }

    /// `name: value` with a short name.
    private static func pair(_ line: Substring) -> (name: String, value: String)? {
        guard let colon = line.firstIndex(of: ":"), line[..<colon].utf8.count <= 64 else { return nil }
        let value = String(line[line.index(after: colon)...])
        let name = String(line[..<colon]).trimmedBlanks()
        guard !name.isEmpty, value.hasPrefix(" "), !value.trimmedBlanks().isEmpty else { return nil }
        return (name, value.trimmedBlanks())
    }
}
