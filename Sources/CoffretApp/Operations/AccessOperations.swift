// Operations on tokens and on the log of programs. Invariant: a person who is there makes a token; titles are looked up now, and
// stand in no file.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretStorage
internal import CoffretTerminal
package import CoffretWire

extension StoreDesk {
    fileprivate var tokenBook: TokenBook { get throws { try TokenBook(store) } }
}

extension TokenCreate: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        var token = TokenMessage()
        (token.name, token.reason, token.until) = (name, reason, until)
        (token.access, token.operations) = (access, operations)
        token.tags = try tags?.map { try TagPath(wanted: $0).path }
        token.vaults = try vaults?.map { try desk.record($0).vaultID.hex }
        let book = try desk.tokenBook
        let shown = TextWidth.truncate(TextWidth.displaySafe(name), to: 40)
        try desk.surroundings.requirePerson(desk.store, "make the token \"\(shown)\"", "no token was made")
        let made = try book.add(token)
        var answer = Answer()
        (answer.secret, answer.token) = (made.secret, made.token)
        return answer
    }
}

extension TokenList: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        var answer = Answer()
        answer.tokens = try desk.tokenBook.tokens()
        return answer
    }
}

extension TokenRemove: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> NothingMessage {
        guard (name == nil) == (isAll == true) else { throw OperationError(.requestInvalid, at: "name") }
        if let name { try desk.tokenBook.remove(named: name) } else { try desk.tokenBook.removeAll() }
        return NothingMessage()
    }
}

extension AccessList: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let all = try AccessLog(desk.store).entries()
        var answer = Answer()
        answer.entries = all.suffix(max(0, limit ?? .max)).reversed()
        if let first = all.first, let last = all.last {
            answer.isIncomplete = last.number - first.number + 1 != all.count
        }
        var seen: Set<String> = []
        for entry in answer.entries {
            guard let item = entry.item, seen.insert(item).inserted, let title = title(of: entry, on: desk) else {
                continue
            }
            var message = AccessTitle()
            (message.item, message.title) = (item, title)
            answer.titles.append(message)
        }
        return answer
    }

    private func title(of entry: AccessEntry, on desk: StoreDesk) -> String? {
        guard let hex = entry.item, let vaultID = entry.vault, let record = try? desk.store.vaultRecord(vaultID),
            let vault = try? desk.vault(record), let bytes = try? Hex.decode(hex), let uuid = UniqueID(bytes: bytes),
            let id = try? vault.resolve(uuid.hex), let item = try? vault.item(id)
        else { return nil }
        return ItemSummary(item).title
    }
}
