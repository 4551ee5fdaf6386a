// The result of an import, in numbers and with the names of all entries that did not come in as they were. The one
// thing to keep true: an entry of the source is in exactly one of the counts.

internal import CoffretBase
internal import CoffretCore

/// The outcome of an import.
package struct ImportReport: Equatable, Sendable {
    /// The name of the format that the source was read as.
    package var format = ""
    /// Items made.
    package var imported = 0
    /// Items whose source changed and that were brought up to date.
    package var updated = 0
    /// Items whose source is as it was at the last import.
    package var unchanged = 0
    /// Items that were changed in the source and in the vault: the vault's stays, the source's came in beside it.
    package var conflicts = 0
    /// Files attached to items, new or changed.
    package var attachments = 0
    /// Files attached at an earlier import and unchanged.
    package var attachmentsUnchanged = 0
    /// Different tags on the items that were made or updated.
    package var tags = 0
    /// Values that have a place of their own in items: titles, texts, tags, fields, times and flags.
    package var mapped = 0
    /// Values without a place of their own, kept as fields.
    package var keptAsRaw = 0
    /// Things of the source that are not in the vault. Hidden files are counted apart.
    package var dropped = 0
    /// Hidden and version control files left out by rule.
    package var hidden = 0
    /// Items of an earlier import that the source does not have any more; they stay in the vault.
    package var missing = 0
    /// Links that point to no file of the source.
    package var danglingLinks = 0
    /// Bytes read.
    package var byteCount: UInt64 = 0
    /// One line each for what a person should look at; at most `warningCountMax` are kept.
    package private(set) var warnings: [String] = []
    /// All warnings, kept or not.
    package private(set) var warningCount = 0
    /// How many items keep a raw field of a label, and one of them; at most `warningCountMax` labels.
    package private(set) var rawFields: [String: RawField] = [:]

    /// Raw fields of one label.
    package struct RawField: Equatable, Sendable {
        /// How many there are.
        package var count: Int
        /// The path or title of the first item that has one.
        package let example: String
    }

    /// What became of each item, in the order of the source; at most `itemCountMax`.
    package private(set) var items: [ImportedItem] = []
    /// How many items are listed.
    package static let itemCountMax = 100_000

    /// What became of one item of the source.
    package struct ImportedItem: Equatable, Sendable {
        package enum Outcome: String, Sendable {
            case imported, updated, unchanged, conflict
        }

        /// Its title, or its path in the source.
        package let name: String
        package fileprivate(set) var outcome: Outcome
        /// Values with a place of their own.
        package let mapped: Int
        /// Labels of values that were kept raw.
        package let raw: [String]
    }

    /// How many lines are kept.
    package static let warningCountMax = 1_000

    package init() {}

    /// Whether the vault is as it was.
    package var isNothingNew: Bool { imported == 0 && updated == 0 && conflicts == 0 && attachments == 0 }

    /// Adds a line for people.
    package mutating func warn(_ text: String) {
        warningCount += 1
        if warnings.count < Self.warningCountMax { warnings.append(text) }
    }

    /// Notes an item.
    mutating func add(_ name: String, _ outcome: ImportedItem.Outcome, mapped count: Int = 0, raw: [String] = []) {
        mapped += count
        guard items.count < Self.itemCountMax else { return }
        items.append(ImportedItem(name: name, outcome: outcome, mapped: count, raw: raw))
    }

    /// Says otherwise of the item that was noted last.
    mutating func amendLast(_ outcome: ImportedItem.Outcome) {
        if !items.isEmpty { items[items.count - 1].outcome = outcome }
    }

    /// Counts a value that has no place of its own.
    package mutating func keepRaw(label: String, of item: String) {
        keptAsRaw += 1
        if let known = rawFields[label] {
            rawFields[label] = RawField(count: known.count + 1, example: known.example)
        } else if rawFields.count < Self.warningCountMax {
            rawFields[label] = RawField(count: 1, example: item)
        }
    }
}

/// How far a long piece of work is.
package struct WorkProgress: Equatable, Sendable {
    /// The stage of the work.
    package enum Stage: String, Sendable {
        case listing, reading, attaching, saving, writing, verifying
    }

    package let stage: Stage
    /// Entries done and in all; the total is known before the first is read.
    package let doneCount: Int
    package let totalCount: Int
    /// Bytes done so far.
    package let byteCount: UInt64

    package init(stage: Stage, doneCount: Int, totalCount: Int, byteCount: UInt64) {
        self.stage = stage
        self.doneCount = doneCount
        self.totalCount = totalCount
        self.byteCount = byteCount
    }
}

extension ItemDraft {
    /// The values that an item will have.
    var valueCount: Int {
        let isThere = [title != nil, !text.isEmpty, created != nil, modified != nil, isPinned, isArchived, isTrashed]
        return isThere.count { $0 } + tags.count + fields.count
    }
}
