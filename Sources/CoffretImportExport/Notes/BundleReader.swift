// Bear's backups, TextBundles and TextPacks: notes that are folders. Invariant: the text of a note is the text of its file,
// byte for byte, but for links to other notes of Bear, which become links to the items.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto

extension ForeignFormat {
    static let bear = ForeignFormat(
        name: "bear", title: "a Bear backup", signs: [.place(suffix: ".bear2bk")],
        open: { (_, keys) in keys.constants.map { ForeignPayload($0) } },
        read: { (source, sink) throws(ImportExportError) in
            if let file = source.payload?.bytes {
                do {
                    sink.constants = try LockConstants(file: file)
                } catch {
                    throw ImportExportError(
                        .formatInvalid, at: "two lines", subject: "the file of constants", cause: error)
                }
            }
            try BundleReader(source, sink, isStrict: true).read()
        })

    static let textBundle = ForeignFormat(
        name: "textbundle", title: "a TextBundle",
        signs: [
            .place(suffix: ".textbundle"), .place(suffix: ".textpack"), .notes { $0.contains(".textbundle/") },
        ],
        read: { (source, sink) throws(ImportExportError) in try BundleReader(source, sink, isStrict: true).read() })
}

private struct BundleReader {
    private let source: ForeignSource
    private let sink: ForeignSink
    private let bundles: NoteBundles
    private let entries: [SourceEntry]

    init(_ source: ForeignSource, _ sink: ForeignSink, isStrict: Bool) throws(ImportExportError) {
        self.source = source
        self.sink = sink
        entries = source.entries
        bundles = try NoteBundles(of: source.source, isStrict: isStrict)
    }

    func read() throws(ImportExportError) {
        guard !bundles.bundles.isEmpty else {
            throw ImportExportError(.formatInvalid, at: "no bundle", subject: source.path.printable)
        }
        let infos = try readInfos()
        let known = Set(infos.values.compactMap(\.id))
        var files: [Int: [Int]] = [:]
        for (index, bundle) in bundles.bundleOfEntry { files[bundle, default: []].append(index) }
        let bundleOfText = Dictionary(uniqueKeysWithValues: bundles.bundles.enumerated().map { ($1.text, $0) })
        try source.source.visit({ bundleOfText[$0] != nil }) { (index, reader) throws(ImportExportError) in
            guard let number = bundleOfText[index], let info = infos[number] else { return }
            let bytes = try reader.readAll(byteCountMax: source.limits.noteByteCountMax)
            try put(number, bytes, info, (files[number] ?? []).sorted(), known)
            sink.took(index, bytes)
        }
        try sink.readItemList()
        let leftOut = Set(infos.values.flatMap(\.leftOut)).sorted()
        if !leftOut.isEmpty { sink.warn("of encrypted notes, left out: \(leftOut.joined(separator: ", "))") }
        let sealedCount = infos.values.count { $0.sealed != nil }
        if sealedCount > 0, sink.constants == nil {
            sink.warn(
                "\(sealedCount) encrypted \(sealedCount == 1 ? "note is" : "notes are") kept sealed: only Bear's own constants "
                    + "open \(sealedCount == 1 ? "it" : "them") (--bear-constants)")
        }
    }

    /// The `info.json` of each bundle, by its number.
    private func readInfos() throws(ImportExportError) -> [Int: BundleInfo] {
        let bundleOfInfo = Dictionary(uniqueKeysWithValues: bundles.bundles.enumerated().map { ($1.info, $0) })
        var infos: [Int: BundleInfo] = [:]
        let tagLists: Set = ["tags.json", "backup.json"]
        try source.source.visit({ index in
            bundleOfInfo[index] != nil || tagLists.contains(entries[index].path.printable)
        }) { (index, reader) throws(ImportExportError) in
            let subject = entries[index].path.printable
            let bytes = try reader.readAll(byteCountMax: BundleInfo.byteCountMax)
            if let number = bundleOfInfo[index] {
                infos[number] = try BundleInfo(bytes, subject: subject, limits: source.limits)
                sink.took(
                    index, contentHash: BLAKE2b.hash(bytes), text: String(validating: bytes, as: UTF8.self) ?? "")
            } else if try Self.saysNothing(bytes, limits: source.limits) {
                sink.took(index, bytes)
            }
        }
        return infos
    }

    /// Whether Bear's list of tags says no more than their names, which stand in the notes.
    private static func saysNothing(_ bytes: [UInt8], limits: ImportLimits) throws(ImportExportError) -> Bool {
        let list = try ForeignObject.parse(bytes, limits: limits)
        list.ignore("version")
        for tag in list.objects("tags") ?? [] {
            tag.ignore("title", "modificationDate", "sortingDirection")
            if tag.peek("pinned")?.bool == false { tag.ignore("pinned") }
            if tag.peek("sorting") == .integer(0) { tag.ignore("sorting") }
        }
        return list.rest.isEmpty
    }

    private func put(
        _ number: Int, _ bytes: [UInt8], _ info: BundleInfo, _ files: [Int], _ known: Set<String>
    ) throws(ImportExportError) {
        let bundle = bundles.bundles[number]
        let path = entries[bundle.text].path
        var text = try noteText(bytes, subject: path.printable, limits: source.limits)
        if text.containsBytes(of: BearLink.start) {
            text = relinked(text) { destination in
                BearLink.id(in: destination).flatMap { known.contains($0) ? sink.address(ofItem: $0) : nil }
            }
        }
        var item = ForeignItem(kind: .note)
        item.id = info.id ?? String(decoding: bundle.name.bytes, as: UTF8.self)
        item.isIDOfPlace = info.id == nil
        item.setPath(String(decoding: path.bytes, as: UTF8.self), in: sink)
        item.draft.title = NoteFile.fallbackTitle(text: Array(text.utf8), path: bundle.name)
        if Self.beginsWithEmptyHeading(text) {
            item.draft.title = cleanTitle(String(decoding: bundle.name.stem, as: UTF8.self))
        }
        if info.sealed == nil {
            item.draft.text = text
        } else if !text.trimmedBlanks().isEmpty {
            throw ImportExportError(.formatInvalid, at: "an encrypted note with a text", subject: path.printable)
        }
        if let folder = NoteFile.folderTag(of: bundle.name) { item.draft.tags.append(folder) }
        info.complete(&item)
        for index in files where index != bundle.text && index != bundle.info {
            let id = String(decoding: entries[index].path.bytes.dropFirst(bundle.folder.count), as: UTF8.self)
            item.files.append(sink.file(index, of: source, id: id))
        }
        try sink.put(item, name: item.draft.title ?? printableText(bundle.name.name))
    }

    /// Whether the text begins with a heading that says nothing, by which Bear means that the note has no title.
    private static func beginsWithEmptyHeading(_ text: String) -> Bool {
        let line = text.prefix { !$0.isNewline }
        return line.hasPrefix("#") && line.drop { $0 == "#" }.allSatisfy { $0 == " " || $0 == "\t" }
    }
}
