// Operations that look through a vault. Invariant: what is only looked at is neither opened nor asked for.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretSearch
internal import CoffretStorage
internal import CoffretTerminal
package import CoffretWire

extension LogRead: PerformedOperation {
    private static let usualLimit = 1_000

    package func perform(on desk: StoreDesk) throws -> Answer {
        let record = try desk.record(vault)
        let (vault, authors) = (try desk.vault(record), AuthorNames(record, desk))
        let present = try vault.present
        var answer = Answer()
        answer.vault = vault.name
        answer.entries = try vault.log(limit: max(0, limit ?? Self.usualLimit)).map { entry in
            try desk.work.checkCancelled()
            var message = LogMessage()
            (message.version, message.time) = (entry.commit.description, WireMoment(entry.time))
            (message.instance, message.itemCount) = (entry.instance.hex, entry.itemCount)
            message.device = authors[entry.device]
            message.hasMore = entry.hasMore ? true : nil
            message.items = entry.items.map(\.uuid.hex)
            message.titles = (try? Self.titles(of: entry.items, present)) ?? []
            message.summary = try Self.summary(of: entry, present, vault)
            return message
        }
        return answer
    }

    private static func titles(of items: [EntityID], _ present: VaultView) throws -> [String] {
        try items.map { id in
            try present.item(id).map { "\"\(TextWidth.displaySafe($0.title))\"" } ?? "an item that is gone"
        }
    }

    /// The first items that a commit touched, by their titles of now, and what it did to them.
    static func summary(of entry: LogLine, _ present: VaultView, _ vault: Vault) throws -> String {
        guard entry.itemCount > 0 else { return "(the vault itself)" }
        let shown = Array(entry.items.prefix(2))
        let titles = try titles(of: shown, present)
        // A merge may only have taken over what another line says of itself.
        let changes = try shown.map { try vault.change(of: $0, in: entry.commit).summary }.map {
            $0.isEmpty ? "merged" : $0
        }
        let rest = entry.itemCount - titles.count
        let more = rest > 0 ? " and \(entry.hasMore ? "over " : "")\(NumberText.grouped(rest)) more" : ""
        if Set(changes).count == 1 {
            return "\(titles.joined(separator: ", "))\(more): \(TextWidth.displaySafe(changes[0]))"
        }
        return zip(titles, changes).map { "\($0): \(TextWidth.displaySafe($1))" }.joined(separator: "; ") + more
    }
}

extension NameList: PerformedOperation {
    private static let usualLimit = 200

    package func perform(on desk: StoreDesk) throws -> Answer {
        let begins = (beginning ?? "").lowercased()
        let words =
            switch kind {
            case .vaults: try desk.vaultRecords.map(\.name)
            case .tags: try desk.records(vault).flatMap { try desk.tags(in: desk.vault($0)).map(\.path) }
            case .fields: try fields(on: desk)
            case .items: try desk.records(vault).flatMap { try titles(in: desk.vault($0), on: desk) }
            }
        var answer = Answer()
        answer.names = Array(
            words.filter { $0.lowercased().hasPrefix(begins) && !$0.contains("\n") }
                .prefix(max(0, limit ?? Self.usualLimit)))
        return answer
    }

    private func titles(in vault: Vault, on desk: StoreDesk) throws -> [String] {
        try vault.list().filter(desk.grant.admits).map(\.title)
    }

    /// The labels of an item's fields, none where it is not one item's name: a person may still be typing it.
    private func fields(on desk: StoreDesk) throws -> [String] {
        guard let item, let place = try? desk.find(item, vault: vault) else { return [] }
        return try place.vault.item(place.id).fields.map(\.label)
    }
}

extension LoginMatch: PerformedOperation {
    private static let candidateCountMax = 200

    package func perform(on desk: StoreDesk) throws -> Answer {
        let place = WebPlace(protocolName: protocolName, host: host, path: path, username: username)
        var answer = Answer()
        for record in try records(on: desk) {
            let vault = try desk.vault(record)
            let candidates = desk.within(try Self.candidates(place, vault))
            answer.logins += try candidates.compactMap { try Self.login(vault.item($0.id), for: place) }
        }
        return answer
    }

    private func records(on desk: StoreDesk) throws -> [VaultRecord] {
        let named = try desk.records(vault, for: .git)
        guard includesGuests == true, vault != nil else { return named }
        let guests = desk.guests
        let others = try desk.vaultRecords.filter { other in
            try guests.isGuest(other) && !named.contains { $0.vaultID == other.vaultID }
        }
        return try (named + others).filter { try guests.allows($0, for: .git) }
    }

    private static func login(_ item: Item, for place: WebPlace) -> LoginMessage? {
        // A match is no reason to ask a person to show to be there.
        guard !item.isHidden else { return nil }
        let addresses = item.fields.filter { $0.kind == .url && place.matches($0.value) }
        let key = item.kind == .apiToken ? "token" : "password"
        guard !addresses.isEmpty, let secret = item.fields.first(where: { $0.key.name == key }) else { return nil }
        let named = item.fields.first { $0.key.name == "username" }?.value
        let username = named ?? addresses.compactMap { WebPlace.Address($0.value)?.username }.first
        if let wanted = place.username, let username, wanted != username { return nil }
        var login = LoginMessage()
        (login.item, login.title, login.tags) = (item.id.uuid.hex, item.title, item.givenTags.map(\.path))
        (login.username, login.field, login.secret) = (username, secret.key.name, secret.value)
        login.hasPath =
            place.path != nil && addresses.contains { WebPlace.Address($0.value)?.path.isEmpty == false }
        return login
    }

    /// The items in which the words of the host stand side by side, out of the index: those that fit are among them, and
    /// nothing else is opened.
    static func candidates(_ place: WebPlace, _ vault: Vault) throws -> [ItemSummary] {
        let words = place.searchWords
        guard !words.isEmpty else {
            var filter = ItemFilter()
            filter.kinds = [.login, .apiToken]
            return try vault.list(filter)
        }
        let query = "(type:login OR type:token) fields:\"\(words.joined(separator: " "))\""
        var found: [ItemSummary] = []
        while true {
            let page = try vault.search(query, limit: candidateCountMax, offset: found.count)
            found += page.hits.map(\.item)
            guard !page.hits.isEmpty, found.count < page.totalCount else { break }
        }
        return found.filter { !$0.isArchived && !$0.isTrashed }
    }
}
