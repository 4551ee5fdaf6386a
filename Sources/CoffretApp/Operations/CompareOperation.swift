// The operation that compares two versions of an item.

internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretTerminal
package import CoffretWire

/// Two versions of an item, compared.
private struct ItemComparison {
    let id: EntityID
    let old: BlobName
    /// Nil for the present.
    let new: BlobName?
    let change: ItemChange
    let text: UnifiedDifference
}

extension ItemCompare: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer { Answer(try compared(on: desk)) }

    private func compared(on desk: StoreDesk) throws -> ItemComparison {
        let start = try Moment(at: at, version: version)
        let end = try Moment(at: newAt, version: newVersion)
        let place = try desk.find(item, vault: vault)
        let (vault, id) = (place.vault, place.id)
        let old = try start.map { try vault.entry(at: $0) } ?? versionBeforeLatest(of: id, in: vault)
        let new = try end.map { try vault.entry(at: $0) }
        // Both versions are opened: a locked note's old passphrase may be another one.
        for version in [old, new] {
            let past = try version.map { try vault.item(id, at: $0) } ?? vault.present.item(id)
            if let past { _ = try desk.readable(past, of: place.record, in: vault) }
        }
        let (change, text) = try vault.difference(of: id, from: old, to: new)
        return ItemComparison(id: id, old: old, new: new, change: change, text: text)
    }

    private func versionBeforeLatest(of id: EntityID, in vault: Vault) throws -> BlobName {
        let versions = try vault.history(of: id, limit: 2)
        guard versions.count == 2 else {
            throw CommandFailure(.notFound, .versionNotFound, "there is only one version of this item so far")
        }
        return versions[1].commit
    }
}

extension ItemCompare.Answer {
    fileprivate init(_ compared: ItemComparison) {
        self.init()
        let change = compared.change
        id = compared.id.uuid.hex
        from = compared.old.description
        to = compared.new?.description
        summary = change.summary
        oldTitle = change.title?.old
        newTitle = change.title?.new
        addedTags = change.addedTags.map(\.path)
        removedTags = change.removedTags.map(\.path)
        fields = change.fields.map { field in
            var message = FieldDifference()
            (message.name, message.label, message.change) = (field.key.name, field.label, field.verb.rawValue)
            return message
        }
        flags = change.flags.map { flag in
            var message = FlagDifference()
            (message.name, message.isSet) = (flag.name, flag.isSet)
            return message
        }
        addedAttachments = change.addedAttachments
        removedAttachments = change.removedAttachments
        hunks = HunkMessage.list(compared.text)
    }
}

extension HunkMessage {
    static func list(_ difference: UnifiedDifference) -> [Self] {
        difference.hunks.map { hunk in
            var message = Self()
            (message.oldStart, message.newStart) = (hunk.oldRange.lowerBound, hunk.newRange.lowerBound)
            message.lines = hunk.lines.map { line in
                var shown = LineMessage()
                (shown.mark, shown.text) = (line.mark.rawValue, line.text)
                shown.lacksLineEnd = line.hasLineFeed ? nil : true
                return shown
            }
            return message
        }
    }
}
