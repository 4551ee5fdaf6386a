// Operations on values that devices wrote at the same time. Invariant: the value of a secret field is told only if the request
// asked for it, whether it is the one that is shown or the other.

internal import CoffretBase
package import CoffretCore
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretTerminal
package import CoffretWire

extension ConflictList: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let records = try desk.records(vault)
        var answer = Answer()
        for record in records {
            let vault = try desk.vault(record)
            for item in try vault.conflictedItems() where desk.grant.admits(ItemSummary(item)) {
                var message = ConflictedItem()
                message.id = item.id.uuid.hex
                message.title = item.title
                message.conflicts = item.conflicts.map(\.attribute)
                message.vault = records.count > 1 ? vault.name : nil
                if desk.givesShortIDs(givesShortIDs) {
                    message.shortID = try vault.shortID(item.id)
                    message.labels = Set(item.conflicts.map { $0.label(in: item) }).sorted()
                }
                answer.items.append(message)
            }
        }
        return answer
    }
}

extension ConflictRead: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let place = try desk.find(item, vault: vault)
        let item = try desk.readable(place)
        var answer = Answer()
        (answer.id, answer.title) = (item.id.uuid.hex, item.title)
        answer.conflicts = ConflictMessage.list(of: item, revealsSecrets: revealsSecrets == true)
        let authors = AuthorNames(place.record, desk)
        for (index, conflict) in item.conflicts.enumerated() {
            guard let origin = try place.vault.origin(of: conflict) else { continue }
            answer.conflicts[index].device = authors[origin.device]
            answer.conflicts[index].time = WireMoment(origin.time)
        }
        return answer
    }
}

extension ConflictMessage {
    static func list(of item: Item, revealsSecrets: Bool) -> [Self] {
        item.conflicts.enumerated().map { index, conflict in
            var message = Self()
            message.number = index + 1
            message.attribute = conflict.attribute
            message.label = conflict.label(in: item)
            message.isSecret = conflict.isSecret(in: item)
            if revealsSecrets || !message.isSecret {
                message.shown = conflict.shown(in: item)
                message.other = conflict.otherText
            }
            if conflict.attribute == ItemAttribute.text.name, let shown = message.shown, let other = message.other {
                message.hunks = HunkMessage.list(UnifiedDifference(LineDifference(from: shown, to: other)))
            }
            return message
        }
    }
}

extension ConflictSettle: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        if number != nil, keepsAll == true { throw OperationError(.requestInvalid, at: "keepsAll") }
        let place = try desk.find(item, vault: vault)
        let before = try place.vault.item(place.id)
        let attribute = try attribute.map { try Self.attribute($0, of: before) }
        if let number, !(1...max(1, before.conflicts.count)).contains(number) || before.conflicts.isEmpty {
            throw try noSuchValue(number, before, place)
        }
        let choice = number.map { ConflictChoice.other($0 - 1) } ?? (keepsAll == true ? .all : .shown)
        return try desk.writing(place.record) { vault in
            var answer = Answer()
            answer.settledCount = try vault.settleConflicts(of: place.id, attribute: attribute, choice: choice)
            answer.item = ItemMessage(try vault.item(place.id), revealsSecrets: false)
            return answer
        }
    }

    private func noSuchValue(_ number: Int, _ item: Item, _ place: StoreDesk.Place) throws -> CommandFailure {
        let (title, count) = (TextWidth.displaySafe(item.title), item.conflicts.count)
        guard count > 0 else {
            return CommandFailure(
                .usage, .inputInvalid, "\"\(title)\" has no conflicts, so there is no other value to take",
                hint: "coffret conflicts ls lists what conflicts")
        }
        let values = NumberText.counted(count, "other value")
        return CommandFailure(
            .usage, .inputInvalid, "\"\(title)\" has \(values) to take, and none with the number \(number)",
            hint: "coffret conflicts show \(try place.shortID) numbers them; without --take what is shown now stays")
    }

    private static func attribute(_ name: String, of item: Item) throws -> String {
        if let exact = item.conflicts.first(where: { $0.attribute == name || $0.label(in: item) == name }) {
            return exact.attribute
        }
        return try ItemAttribute.fieldPrefix + item.field(named: name).key.name
    }
}

extension ItemConflict {
    /// The label of a field, else the attribute.
    package func label(in item: Item) -> String {
        fieldKey.map { key in item.fields.first { $0.key.name == key }?.label ?? key } ?? attribute
    }

    fileprivate var fieldKey: String? {
        guard attribute.hasPrefix(ItemAttribute.fieldPrefix) else { return nil }
        return String(attribute.dropFirst(ItemAttribute.fieldPrefix.count))
    }

    fileprivate func shown(in item: Item) -> String? {
        switch attribute {
        case ItemAttribute.text.name: item.text
        case ItemAttribute.title.name: item.givenTitle
        case ItemAttribute.path.name: item.path
        default: fieldKey.flatMap { key in item.fields.first { $0.key.name == key }?.value }
        }
    }

    /// A field that is gone here cannot be told from a secret.
    package func isSecret(in item: Item) -> Bool {
        fieldKey.map { key in item.fields.first { $0.key.name == key }?.kind.isSecret ?? true } ?? false
    }
}
