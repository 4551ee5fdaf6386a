// Notes into Markdown files. Invariant: a note that nobody touched since its import is written with the bytes that
// came in; of one that was touched, only what changed is different.

internal import CoffretBase
internal import CoffretCore

/// Writes one note.
struct NoteWriter {
    let item: Item
    /// The import's record of it; nil for a note made in the vault.
    let record: FileRecord?
    /// Where it is written.
    let path: SourcePath
    /// References, from the note's folder, to attachments that its text does not mention.
    let unmentioned: [String]

    /// The file.
    func bytes() throws(ImportExportError) -> [UInt8] {
        let text = Array(item.text.utf8)
        guard let record else { return Array(try block(original: nil).utf8) + text }
        let mark = record.hasByteOrderMark ? NoteFile.byteOrderMark : []
        if record.stateHash == itemStateHash(item), unmentioned.isEmpty {
            return mark + Array(record.frontMatter.utf8) + text
        }
        let original = FrontMatter(startOf: Array(record.frontMatter.utf8)[...], byteCountMax: .max)
        return mark + Array(try block(original: original).utf8) + text
    }

    private func block(original: FrontMatter?) throws(ImportExportError) -> String {
        var block = FrontMatterWriter.text(replacing: try changes(original: original), in: original)
        let text = Array(item.text.utf8)
        if block.isEmpty, FrontMatter(startOf: text[...], byteCountMax: ImportLimits().frontMatterByteCountMax) != nil {
            // A text that begins like front matter must not be read as such.
            block = "---\n---\n"
        }
        return block.isEmpty || block.hasSuffix("\n") || text.isEmpty ? block : block + "\n"
    }

    /// The changes without which a second import of the old block and the current text would be wrong.
    private func changes(original: FrontMatter?) throws(ImportExportError) -> [FrontMatterChange] {
        var reading = FrontMatterReading()
        reading.read(original)
        var changes: [FrontMatterChange] = []
        if let change = titleChange(reading) { changes.append(change) }
        if let change = tagChange(reading, original) { changes.append(change) }
        changes += timeChanges(reading, original)
        for flag in FrontMatterReading.flags where reading.flags[flag] != item.flags[flag] {
            changes.append(FrontMatterChange(flag.rawValue, item.flags[flag] ? .raw("true") : nil))
        }
        let missing = unmentioned.filter { !reading.attachments.contains($0) }
        if !missing.isEmpty { changes.append(FrontMatterChange("attachments", .list(reading.attachments + missing))) }
        return changes + fieldChanges(reading, original)
    }

    private func titleChange(_ reading: FrontMatterReading) -> FrontMatterChange? {
        let fallback = NoteFile.fallbackTitle(text: Array(item.text.utf8), path: path)
        let wanted = item.givenTitle ?? item.title
        if let title = reading.title {
            if title == item.givenTitle { return nil }
            return FrontMatterChange("title", item.givenTitle == nil && fallback == nil ? nil : .text(wanted))
        }
        if fallback == item.givenTitle || wanted.isEmpty { return nil }
        return FrontMatterChange("title", .text(wanted))
    }

    private func tagChange(_ reading: FrontMatterReading, _ original: FrontMatter?) -> FrontMatterChange? {
        let implied = NoteFile.folderTag(of: path)?.folded
        let wanted = item.givenTags.filter { $0.folded != implied }
        let written = reading.tags.filter { $0.folded != implied }
        guard Set(wanted.map(\.folded)) != Set(written.map(\.folded)) else { return nil }
        let key = existingKey(FrontMatterReading.tagKeys, in: original) ?? "tags"
        return FrontMatterChange(key, wanted.isEmpty ? nil : .list(wanted.map(\.path)))
    }

    /// Times stand in the block if they stood there, and for notes that have no file to carry them.
    private func timeChanges(_ reading: FrontMatterReading, _ original: FrontMatter?) -> [FrontMatterChange] {
        var changes: [FrontMatterChange] = []
        for (keys, known, value) in [
            (FrontMatterReading.createdKeys, reading.created, item.created),
            (FrontMatterReading.modifiedKeys, reading.modified, item.modified),
        ] {
            guard record == nil || (known != nil && known != value) else { continue }
            let key =
                existingKey(keys, in: original) ?? (keys == FrontMatterReading.createdKeys ? "created" : "updated")
            changes.append(FrontMatterChange(key, .raw(CivilTime.format(value))))
        }
        return changes
    }

    private func fieldChanges(_ reading: FrontMatterReading, _ original: FrontMatter?) -> [FrontMatterChange] {
        var changes: [FrontMatterChange] = []
        for raw in reading.rawFields where !item.fields.contains(where: { $0.label == raw.label }) {
            changes.append(FrontMatterChange(raw.label, nil))
        }
        for field in item.fields {
            let isWritten = reading.rawFields.contains { $0.label == field.label && $0.value == field.value }
            if !isWritten { changes.append(FrontMatterChange(field.label, .text(field.value))) }
        }
        return changes
    }

    private func existingKey(_ keys: [String], in original: FrontMatter?) -> String? {
        original?.entries.first { keys.contains($0.key.asciiLowercased()) }?.key
    }
}
