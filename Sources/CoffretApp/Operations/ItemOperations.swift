// Operations on items. Invariant: a change is one commit, and the answer shows the item as it is after it.

internal import CoffretBase
package import CoffretCore
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretSearch
internal import CoffretStorage
internal import CoffretTerminal
package import CoffretWire

extension ItemRead: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> ItemMessage {
        let (item, _) = try found(on: desk)
        var message = ItemMessage(item, revealsSecrets: revealsSecrets ?? false)
        if givesConflicts == true, !item.conflicts.isEmpty {
            message.conflictValues = ConflictMessage.list(of: item, revealsSecrets: revealsSecrets ?? false)
        }
        if givesForm == true { message.form = ItemForm.text(for: item) }
        return message
    }

    /// The item with its contents, and its vault.
    package func found(on desk: StoreDesk) throws -> (item: Item, vault: Vault) {
        guard let moment = try Moment(at: at, version: version) else {
            let place = try desk.find(item, vault: vault)
            guard asksNobody == true else { return (try desk.readable(place), place.vault) }
            return (try desk.open(place.vault.item(place.id), in: place.vault), place.vault)
        }
        let (record, past) = try PastItem.find(item, vault: vault, at: moment, on: desk)
        let vault = try desk.vault(record)
        if asksNobody == true { return (try desk.open(past, in: vault), vault) }
        return (try desk.readable(past, of: record, in: vault), vault)
    }
}

extension ItemLabel: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        var answer = Answer()
        answer.labels = try items.map { reference in
            let place = try desk.find(reference, vault: vault)
            let item = try place.vault.item(place.id)
            var label = LabelMessage()
            (label.id, label.shortID) = (item.id.uuid.hex, try place.shortID)
            (label.title, label.tags) = (item.title, item.tags.map(\.path))
            return label
        }
        return answer
    }
}

extension ItemCreate: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> ItemMessage {
        var draft = ItemDraft(kind: try ItemKind(wanted: kind) ?? .note, title: title, text: text ?? "")
        draft.tags = try (tags ?? []).map(TagPath.init(wanted:))
        draft.isPinned = isPinned ?? false
        for field in fields ?? [] {
            try FieldChange(field).apply(to: &draft.fields, kind: draft.kind, random: desk.surroundings.random)
        }
        let hasContent = draft.text.contains { !$0.isWhitespace } || !draft.fields.isEmpty
        guard draft.title?.isEmpty == false || draft.kind == .note && hasContent else {
            throw OperationError(.requestInvalid, at: "title")
        }
        try desk.requireWithin(draft)
        let record = try desk.record(vault)
        return try desk.writing(record) { vault in
            let id = try vault.create(draft)
            desk.subject = (record.vaultID, id)
            return ItemMessage(try vault.item(id), revealsSecrets: false)
        }
    }
}

extension ItemEdit: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let place = try desk.find(item, vault: vault)
        let name = try draft.map { try DraftBook.Name(place.record.vaultID, $0) }
        if let name, let text {
            try desk.drafts.update(KeptDraft(place.id, text, over: baseText ?? text), as: name)
        }
        let answer = try desk.edit(place) { item in
            if let form { return try apply(form, to: &item, desk) }
            if let title { item.givenTitle = title.isEmpty ? nil : title }
            if let text { item.text = try merged(text, over: item.text) }
            for name in removeFields ?? [] {
                let field = try item.field(named: name)
                item.fields.removeAll { $0.key == field.key }
            }
            for field in setFields ?? [] {
                try FieldChange(field).apply(to: &item.fields, kind: item.kind, random: desk.surroundings.random)
            }
        }
        // A draft that stays is settled later, and says what the item says then.
        if let name { try? desk.drafts.drop(name) }
        return answer
    }

    private func apply(_ form: String, to item: inout Item, _ desk: StoreDesk) throws {
        let isAlone = title == nil && text == nil && setFields == nil && removeFields == nil
        guard isAlone else { throw OperationError(.requestInvalid, at: "form") }
        do {
            try ItemForm.apply(form, to: &item, random: desk.surroundings.random)
        } catch let problem as ItemForm.Problem {
            throw CommandFailure(
                .badInput, .inputInvalid, "line \(problem.lineNumber) of the form: \(problem.message)")
        }
    }

    /// The new text, with what others saved since `baseText` was read.
    private func merged(_ text: String, over current: String) throws -> String {
        guard let baseText, current != baseText else { return text }
        guard let merged = ItemTexts.merged(text, current, over: baseText) else {
            throw OperationError(.textChanged, at: self.item)
        }
        return merged
    }
}

extension StoreDesk {
    /// Changes an item as one commit. A person may be asked before anything is written.
    package func edit(_ place: Place, _ change: (inout Item) throws -> Void) throws -> ItemEdit.Answer {
        _ = try readable(place)
        return try writing(place.record) { vault in
            var edited = try vault.opened(vault.revealed(vault.item(place.id)))
            try change(&edited)
            let isChanged = try vault.update(place.id) { $0 = edited }
            return ItemEdit.Answer(try vault.item(place.id), isChanged: isChanged)
        }
    }
}

extension ItemEdit.Answer {
    package init(_ item: Item, isChanged: Bool) {
        self.init()
        self.item = ItemMessage(item, revealsSecrets: false)
        self.isChanged = isChanged
    }
}

extension ItemTrash: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let places = try desk.find(all: items, vault: vault)
        try desk.writing(places.record) { vault in
            try vault.batch { batch in
                for id in places.ids { try batch.set(.trashed, of: id, to: true) }
            }
        }
        var answer = Answer()
        answer.trashed = places.ids.map(\.uuid.hex)
        return answer
    }
}

extension ItemRemove: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let places = try desk.find(all: items, vault: vault)
        var answer = Answer()
        answer.removed = places.ids.map(\.uuid.hex)
        guard isTrial != true else {
            answer.fileCount = try places.ids.reduce(0) { $0 + (try places.vault.item($1).attachments.count) }
            return answer
        }
        try desk.writing(places.record) { vault in try vault.deletePermanently(places.ids) }
        return answer
    }
}

extension ItemFlag: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let places = try desk.find(all: items, vault: vault)
        if isHidden == false {
            for item in try places.ids.map(places.vault.item) where item.isHidden {
                try desk.surroundings.requirePresence(desk.store, item)
            }
        }
        return try desk.writing(places.record) { vault in
            let before = try places.ids.map(vault.item)
            try vault.batch { batch in
                for id in places.ids {
                    for (flag, isSet) in flags { try batch.set(flag, of: id, to: isSet) }
                    if let isHidden { try batch.setHidden(id, isHidden) }
                }
            }
            if isHidden == true { try vault.forgetWords() }
            let after = try places.ids.map(vault.item)
            var answer = Answer()
            answer.items = after.map { ItemMessage($0, revealsSecrets: false) }
            answer.changed = zip(before, after).filter { $0 != $1 }.map(\.1.id.uuid.hex)
            return answer
        }
    }
}

extension ItemRestore: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> ItemEdit.Answer {
        guard let moment = try Moment(at: at, version: version) else { return try restoreFromTrash(on: desk) }
        let (record, past) = try PastItem.find(item, vault: vault, at: moment, on: desk)
        if past.isVeiled { try desk.surroundings.requirePresence(desk.store, past) }
        let entry = try desk.vault(record).entry(at: moment)
        let time = try desk.vault(record).time(of: entry)
        return try desk.writing(record) { vault in
            let isChanged = try vault.restore(past.id, to: entry)
            var answer = ItemEdit.Answer(try vault.item(past.id), isChanged: isChanged)
            answer.restoredTime = WireMoment(time)
            return answer
        }
    }

    private func restoreFromTrash(on desk: StoreDesk) throws -> ItemEdit.Answer {
        let place = try trashed(on: desk)
        let present = try place.vault.item(place.id)
        guard present.isTrashed else {
            throw CommandFailure(
                .usage, .inputInvalid, "\"\(TextWidth.displaySafe(present.title))\" is not in the trash",
                hint: "coffret history \(try place.shortID) lists its versions; --at chooses one")
        }
        return try desk.writing(place.record) { vault in
            try vault.restoreFromTrash(place.id)
            return ItemEdit.Answer(try vault.item(place.id), isChanged: true)
        }
    }

    /// As everywhere, but the beginning of a title may also be that of something in the trash.
    package func trashed(on desk: StoreDesk) throws -> StoreDesk.Place {
        do {
            return try desk.find(item, vault: vault)
        } catch let error as CoreError where error.code == .itemNotFound {
            var filter = ItemFilter.everything
            filter.isTrashed = true
            let sought = item.lowercased()
            var found: [(place: StoreDesk.Place, summary: ItemSummary)] = []
            for record in try desk.records(vault) where !sought.isEmpty {
                let vault = try desk.vault(record)
                for summary in try vault.list(filter)
                where desk.grant.admits(summary) && summary.title.lowercased().hasPrefix(sought) {
                    found.append((StoreDesk.Place(record: record, vault: vault, id: summary.id), summary))
                }
            }
            guard let only = found.first else { throw error }
            guard found.count == 1 else {
                throw CoreError(
                    .itemAmbiguous, at: item, candidates: found.prefix(20).map { CoreError.Candidate($0.summary) })
            }
            return only.place
        }
    }
}

extension ItemHistory: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let place = try desk.find(item, vault: vault)
        var answer = Answer()
        let authors = AuthorNames(place.record, desk)
        answer.id = place.id.uuid.hex
        answer.versions = try place.vault.history(of: place.id, limit: max(0, limit ?? .max)).map { version in
            var message = VersionMessage(version)
            if namesDevices == true { message.device = authors[version.device] }
            return message
        }
        return answer
    }
}

extension CodeRead: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let place = try desk.find(item, vault: vault)
        let item = try desk.readable(place)
        guard let field = item.fields.first(where: { $0.kind == .oneTimeCode }) else {
            throw CommandFailure(
                .notFound, .fieldNotFound, "\"\(TextWidth.displaySafe(item.title))\" has no one-time codes",
                hint: "coffret edit \(try place.vault.shortID(item.id)) --secret totp adds the key")
        }
        let generator = try OneTimeCode.parse(field.value)
        let code = try generator.code(unixMilliseconds: desk.surroundings.clock.now)
        if let next = try generator.advanced() {
            // Saved first: a counter that is shown twice would be refused by the other side.
            _ = try desk.writing(place.record) { vault in
                try vault.update(item.id) { item in
                    guard let index = item.fields.firstIndex(where: { $0.key == field.key }) else { return }
                    item.fields[index].value = next.address
                }
            }
        }
        var answer = Answer()
        answer.code = code.digits
        answer.remainingSeconds = code.remainingSeconds.map { Int($0) }
        return answer
    }
}

/// Items as they were.
enum PastItem {
    /// An item whose title was different then is found by its present title too.
    static func find(
        _ reference: String, vault name: String?, at moment: Moment, on desk: StoreDesk
    ) throws -> (record: VaultRecord, item: Item) {
        if let place = try? desk.find(reference, vault: name),
            let item = try place.vault.view(at: moment).item(place.id)
        {
            return (place.record, item)
        }
        // The present decides what the session may see.
        guard desk.grant.tags == nil else { throw CoreError(.itemNotFound, at: reference) }
        for record in try desk.records(name) {
            let view: VaultView
            do {
                view = try desk.vault(record).view(at: moment)
            } catch let error as CoreError where name == nil && error.code == .momentBeforeHistory { continue }
            do {
                if let item = try view.item(try view.resolve(reference)) { return (record, item) }
            } catch let error as CoreError where error.code == .itemNotFound {}
        }
        throw CoreError(.itemNotFound, at: reference)
    }
}

extension FieldChange {
    package init(_ draft: FieldDraft) { self.init(name: draft.name, value: draft.value, isSecret: draft.isSecret) }
}

extension Moment {
    /// - Throws: `.requestInvalid` if both are given.
    init?(at: WireMoment?, version: String?) throws {
        switch (at, version) {
        case (nil, nil): return nil
        case (let at?, nil): self = .time(at.milliseconds)
        case (nil, let version?): self = .commit(version)
        default: throw OperationError(.requestInvalid, at: "version")
        }
    }
}

extension ItemKind {
    /// - Throws: `.requestInvalid` for a name that no kind has.
    init?(wanted name: String?) throws {
        guard let name else { return nil }
        guard let kind = ItemKind(name: name) else { throw OperationError(.requestInvalid, at: "kind") }
        self = kind
    }
}

extension TagPath {
    /// With or without `#`.
    package init(wanted text: String) throws { try self.init(text.hasPrefix("#") ? String(text.dropFirst()) : text) }
}
