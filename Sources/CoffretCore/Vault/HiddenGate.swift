// Hidden items stay redacted until a check of presence. Invariant: every item that leaves a vault comes through here,
// so that no command has to think of it, and no written item does.

internal import CoffretBase
internal import CoffretLogs
internal import CoffretStorage
internal import Synchronization

/// Whether contents of hidden items are given out. Closed when a store is opened; who has asked the person opens it.
package final class HiddenGate: Sendable {
    private let state: Mutex<Bool>

    package init(isOpen: Bool) { state = Mutex(isOpen) }

    package var isOpen: Bool { state.withLock(\.self) }

    /// Somebody is there, for as long as this process works with the store.
    package func open() { state.withLock { $0 = true } }
}

/// The contents that were taken out of an item.
final class ItemVeil: Equatable, Sendable {
    let whole: Item

    init(_ whole: Item) { self.whole = whole }

    static func == (left: ItemVeil, right: ItemVeil) -> Bool { left.whole == right.whole }
}

extension Item {
    /// Whether contents are missing here because the item is hidden and nobody has shown to be there.
    package var isVeiled: Bool { veil != nil }

    /// The item as everybody may see it: title, tags, times and flags.
    func veiled() -> Item {
        guard veil == nil else { return self }
        var item = self
        item.veil = ItemVeil(self)
        // Title and tags may stand in the text alone.
        item.givenTitle = title
        item.givenTags = tags
        item.text = ""
        item.fields = []
        item.attachments = []
        item.conflicts = conflicts.map { ItemConflict(attribute: $0.attribute, otherText: nil, dot: $0.dot) }
        return item
    }
}

/// The state that a view of the vault needs to redact hidden items.
struct HiddenItems {
    let gate: HiddenGate
    /// The present, for views of the past: what is hidden now is so with all its history. Nil in the present itself.
    let present: SnapshotReader?

    func veil(_ item: Item) throws -> Item {
        if gate.isOpen { return item }
        return try isHidden(item) ? item.veiled() : item
    }

    private func isHidden(_ item: Item) throws -> Bool {
        if item.isHidden { return true }
        guard let present else { return false }
        return try present.isHidden(item.id)
    }
}

extension SnapshotReader {
    /// Whether an item is hidden in this state.
    func isHidden(_ id: EntityID) throws -> Bool {
        let key = FactKey(entity: id, attribute: ItemAttribute.hidden)
        return try inStorage(snapshot.facts(under: key)).winner != nil
    }
}

extension Vault {
    /// The present with all its contents: for what writes, checks and compares, and shows nothing.
    var whole: VaultView {
        get throws { VaultView(reader: try presentReader()) }
    }

    /// An item with all its contents; as `whole`.
    func wholeItem(_ id: EntityID) throws -> Item {
        guard let item = try whole.item(id) else { throw CoreError(.itemNotFound, at: id.uuid.hex) }
        return item
    }

    /// A hidden item with its contents, once somebody has shown to be there; any other as it is.
    ///
    /// - Throws: `CoreError.noteHidden`.
    package func revealed(_ item: Item) throws -> Item {
        guard let veil = item.veil else { return item }
        guard hiddenGate.isOpen else { throw CoreError(.noteHidden, at: item.title) }
        return veil.whole
    }

    /// Refuses while contents of some item are out of sight: for what writes everything out.
    ///
    /// - Throws: `CoreError.noteHidden` with the title of one.
    package func checkNothingIsVeiled() throws {
        guard !hiddenGate.isOpen else { return }
        try present.forEachItem { item in _ = try revealed(item) }
    }
}
