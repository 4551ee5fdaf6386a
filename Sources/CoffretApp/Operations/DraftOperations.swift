// Operations on drafts. Invariant: a text that was kept is in the vault or in a draft at each moment, and never in neither.

internal import CoffretBase
internal import CoffretCore
internal import CoffretKeys
internal import CoffretStorage
package import CoffretWire

extension DraftKeep: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let place = try desk.find(item, vault: vault)
        let item = try desk.readable(place)
        let name = try DraftBook.Name(place.record.vaultID, draft)
        var answer = Answer()
        // A key that opens the store must not open what lies under another passphrase.
        guard !item.isLocked else { return answer }
        answer.isKept = true
        guard text != baseText else {
            try desk.drafts.drop(name)
            return answer
        }
        try desk.drafts.keep(KeptDraft(place.id, text, over: baseText), as: name)
        return answer
    }
}

extension DraftSettle: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        try desk.drafts.release()
        var answer = Answer()
        for record in try desk.records(vault) {
            let settled = try desk.settleDrafts(of: record)
            answer.items += settled.items
            answer.waitingCount += settled.waitingCount
        }
        return answer
    }
}

extension StoreDesk {
    /// Saves the drafts of a vault that nobody writes any more, each as a change of its own.
    ///
    /// - Complexity: one look for a folder where there are none.
    func settleDrafts(of record: VaultRecord) throws -> DraftSettle.Answer {
        var answer = DraftSettle.Answer()
        let abandoned = try drafts.abandoned(in: record.vaultID)
        guard !abandoned.isEmpty else { return answer }
        for (name, draft) in abandoned {
            guard let draft, let settled = try? writing(record, { try Self.settle(draft, in: $0) }) else {
                answer.waitingCount += 1
                continue
            }
            try drafts.drop(name)
            answer.items.append(settled)
        }
        // Those that this session writes itself stay its own.
        try drafts.release(abandoned.map(\.name))
        return answer
    }

    private static func settle(_ draft: KeptDraft, in vault: Vault) throws -> SettledDraft {
        var settled = SettledDraft()
        guard let item = try present(draft.item, in: vault) else {
            return try beside(ItemDraft(kind: .note, title: nil, text: draft.text), in: vault)
        }
        // A locked note that nobody has opened throws here, and its draft waits.
        var edited = try vault.opened(vault.revealed(item))
        guard edited.text != draft.text else {
            (settled.item, settled.title) = (item.id.uuid.hex, item.title)
            return settled
        }
        guard
            let merged = edited.text == draft.baseText
                ? draft.text : ItemTexts.merged(draft.text, edited.text, over: draft.baseText)
        else {
            var other = ItemDraft(kind: .note, title: nil, text: draft.text)
            other.tags = item.tags
            return try beside(other, in: vault)
        }
        edited.text = merged
        settled.isChanged = try vault.update(item.id) { $0 = edited }
        (settled.item, settled.title) = (item.id.uuid.hex, try vault.item(item.id).title)
        return settled
    }

    private static func beside(_ draft: ItemDraft, in vault: Vault) throws -> SettledDraft {
        var settled = SettledDraft()
        let id = try vault.create(draft)
        (settled.item, settled.title) = (id.uuid.hex, try vault.item(id).title)
        (settled.isChanged, settled.isBeside) = (true, true)
        return settled
    }

    private static func present(_ id: String, in vault: Vault) throws -> Item? {
        do {
            return try vault.item(vault.resolve(id))
        } catch let error as CoreError where error.code == .itemNotFound {
            return nil
        }
    }
}
