// The difference between two states of an item, in terms that people use.

internal import CoffretBase

/// The difference between two versions of one item.
package struct ItemChange: Equatable, Sendable {
    /// The change of something that has a name.
    package enum Verb: String, Equatable, Sendable {
        case added
        case changed
        case removed
    }

    /// A field and what happened to it.
    package struct Field: Equatable, Sendable {
        package let key: FieldKey
        package let label: String
        package let verb: Verb
    }

    /// A title before and after.
    package struct TitleChange: Equatable, Sendable {
        package let old: String
        package let new: String
    }

    /// A flag that was set or taken away, a lock or hiding among them.
    package struct Flag: Equatable, Sendable {
        package let name: String
        package let isSet: Bool
    }

    /// Whether the item did not exist before.
    package let isCreation: Bool
    /// Whether the item does not exist after.
    package let isDeletion: Bool
    /// The title before and after, if it changed.
    package let title: TitleChange?
    /// Lines of text that came and went.
    package private(set) var addedLineCount: Int
    package private(set) var removedLineCount: Int
    package let addedTags: [TagPath]
    package let removedTags: [TagPath]
    package private(set) var fields: [Field]
    package let flags: [Flag]
    /// Names of files.
    package private(set) var addedAttachments: [String]
    package private(set) var removedAttachments: [String]

    /// Compares two states; nil stands for an item that is not there.
    package init(from old: Item?, to new: Item?) {
        isCreation = old == nil && new != nil
        isDeletion = old != nil && new == nil
        let (oldTitle, newTitle) = (old?.title ?? "", new?.title ?? "")
        title = oldTitle == newTitle ? nil : TitleChange(old: oldTitle, new: newTitle)
        let (oldText, newText) = (old?.text ?? "", new?.text ?? "")
        let isSameText = oldText.utf8.elementsEqual(newText.utf8)
        let lines = LineDifference(from: isSameText ? "" : oldText, to: isSameText ? "" : newText)
        addedLineCount = lines.addedLineCount
        removedLineCount = lines.removedLineCount
        let (oldTags, newTags) = (old?.tags ?? [], new?.tags ?? [])
        addedTags = newTags.filter { !oldTags.contains($0) }
        removedTags = oldTags.filter { !newTags.contains($0) }
        fields = Self.fields(from: old?.fields ?? [], to: new?.fields ?? [])
        let (before, after) = (old?.flags ?? [], new?.flags ?? [])
        let states =
            CoffretBase.Flag.allCases.map { ($0.rawValue, before[$0], after[$0]) } + [
                ("locked", old?.isLocked ?? false, new?.isLocked ?? false),
                ("hidden", old?.isHidden ?? false, new?.isHidden ?? false),
            ]
        flags = states.filter { $0.1 != $0.2 }.map { Flag(name: $0.0, isSet: $0.2) }
        isSealedChange = Self.hasSealedEdit(from: old?.lock, to: new?.lock)
        let (oldFiles, newFiles) = (old?.attachments ?? [], new?.attachments ?? [])
        // A file with another name is one that went and one that came.
        addedAttachments = newFiles.filter { file in !oldFiles.contains { $0.isNamed(as: file) } }.map(\.name)
        removedAttachments = oldFiles.filter { file in !newFiles.contains { $0.isNamed(as: file) } }.map(\.name)
    }

    /// Whether a part was edited while it was sealed. Sealing the same contents anew is no change.
    private static func hasSealedEdit(from old: ItemLock?, to new: ItemLock?) -> Bool {
        guard let old, let new, !old.isOpen, !new.isOpen else { return false }
        let isEdited = Set(old.parts.keys).union(new.parts.keys).contains { part in
            guard let before = old.parts[part], let after = new.parts[part] else { return true }
            let value = after.values[after.preferred]
            let same = Set([value.tag] + value.ancestors.prefix(value.resealCount))
            return !before.values.contains { same.contains($0.tag) }
        }
        return isEdited || old.files.map(\.id) != new.files.map(\.id)
    }

    private static func fields(from old: [ItemField], to new: [ItemField]) -> [Field] {
        var fields: [Field] = []
        for field in new {
            guard let before = old.first(where: { $0.key == field.key }) else {
                fields.append(Field(key: field.key, label: field.label, verb: .added))
                continue
            }
            if before != field { fields.append(Field(key: field.key, label: field.label, verb: .changed)) }
        }
        for field in old where !new.contains(where: { $0.key == field.key }) {
            fields.append(Field(key: field.key, label: field.label, verb: .removed))
        }
        return fields
    }

    /// Whether sealed contents differ; what of them, nobody can say without the passphrase.
    package private(set) var isSealedChange: Bool

    /// Whether contents of a hidden item differ; which ones, is shown only after a check of presence.
    package private(set) var isHiddenChange = false

    /// The change without what it says of contents.
    var withoutContents: ItemChange {
        var change = self
        change.isHiddenChange =
            addedLineCount + removedLineCount + fields.count + addedAttachments.count + removedAttachments.count > 0
        change.addedLineCount = 0
        change.removedLineCount = 0
        change.fields = []
        change.addedAttachments = []
        change.removedAttachments = []
        return change
    }

    /// Whether nothing that people see changed.
    package var isEmpty: Bool { !isCreation && !isDeletion && summary.isEmpty }

    /// The change in one line, such as `text +4 −1, tag +balcony`; never a secret.
    package var summary: String {
        if isDeletion { return "deleted" }
        var parts: [String] = isCreation ? ["created"] : []
        if title != nil && !isCreation { parts.append("title") }
        if addedLineCount > 0 || removedLineCount > 0 {
            var text = "text"
            if addedLineCount > 0 { text += " +\(addedLineCount)" }
            if removedLineCount > 0 { text += " −\(removedLineCount)" }
            parts.append(text)
        }
        parts += addedTags.map { "tag +\($0)" } + removedTags.map { "tag −\($0)" }
        if !isCreation { parts += fields.map { "\($0.label) \($0.verb.rawValue)" } }
        if isSealedChange { parts.append("sealed contents") }
        if isHiddenChange && !isCreation { parts.append("hidden contents") }
        parts += flags.map { $0.isSet ? $0.name : "no longer \($0.name)" }
        parts += addedAttachments.map { "file +\($0)" } + removedAttachments.map { "file −\($0)" }
        return parts.joined(separator: ", ")
    }
}
