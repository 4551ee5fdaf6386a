// Logins for other programs, found by their place and kept. Invariant: a program gets a secret only if one item is for
// exactly that place; several that fit are never chosen from, but for the one that the program had kept itself.

internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretMessages
internal import CoffretScripting
internal import CoffretTerminal
internal import CoffretWire

/// The logins of a store, as one program may use them.
struct CredentialKeeper {
    let store: CommandStore
    let format: CredentialFormat

    // MARK: Finding

    /// The items that are for that place, by the rules of the program.
    func matches(_ place: WebPlace) throws -> [LoginMessage] {
        var request = LoginMatch()
        (request.protocolName, request.host) = (place.protocolName, place.host)
        (request.path, request.username, request.vault) = (place.path, place.username, try store.wantedVault)
        if store.namedVault == nil { request.includesGuests = true }
        return try store.perform(request).logins.filter {
            format.secretFields.contains($0.field) && (!format.comparesWholeAddress || isWhole($0, place))
        }
    }

    /// Whether the address of an item has the path of the place, or neither has one.
    private func isWhole(_ match: LoginMessage, _ place: WebPlace) -> Bool {
        match.hasPath || place.path.map { $0.allSatisfy { $0 == "/" } } ?? true
    }

    private func isOwn(_ match: LoginMessage) -> Bool { match.tags.contains { $0.lowercased() == format.tag } }

    /// Of several, those whose address has the path that was told; of these, the one that the program had kept.
    private func narrowed(_ found: [LoginMessage], _ place: WebPlace) -> [LoginMessage] {
        let exact = place.path == nil ? [] : found.filter(\.hasPath)
        let best = found.count > 1 && !exact.isEmpty ? exact : found
        let own = best.filter(isOwn)
        return format.keepsOne && own.count == 1 ? own : best
    }

    /// - Returns: nil if nothing is for that place.
    /// - Throws: the candidates, if several are.
    func find(_ place: WebPlace) throws -> LoginMessage? {
        let found = narrowed(try matches(place), place)
        guard found.count <= 1 else { throw ambiguous(found, place) }
        return found.first
    }

    private func ambiguous(_ found: [LoginMessage], _ place: WebPlace) -> CommandFailure {
        let hint =
            format.name == CredentialFormat.git.name
            ? "tell git which user: git config credential.https://HOST.username NAME"
            : "give one of them an address of its own, or archive those that are not for \(format.name)"
        var failure = CommandFailure(
            .ambiguous, code: CoreError.Code.itemAmbiguous.rawValue,
            "several items are for \(TextWidth.displaySafe(place.protocolName))://\(TextWidth.displaySafe(place.host))",
            hint: hint)
        failure.add(
            found.map { match in
                CoreError.Candidate(
                    id: match.item,
                    title: match.title + (match.username.map { " (\($0))" } ?? ""))
            })
        return failure
    }

    // MARK: Keeping

    /// Keeps a password that worked. Of several that fit none is changed: which one worked is not known.
    ///
    /// - Parameter address: of a new item.
    func keep(_ secret: String, for place: WebPlace, address: String) throws {
        let found = narrowed(try matches(place), place)
        guard let match = found.first else { return try make(secret, for: place, address: address) }
        guard found.count == 1, match.secret != secret else { return }
        try change(match, [FieldDraft(name: match.field, value: secret)])
    }

    /// Keeps the one login of a program for a place: in the item that it had kept before, else in a new one.
    func keepOnly(_ secret: String, for place: WebPlace, address: String) throws {
        let own = try ownItems(place)
        if let last = own.first {
            if own.count > 1 { try trash(Array(own.dropFirst())) }
            guard last.secret != secret || last.username != place.username else { return }
            return try change(
                last,
                [FieldDraft(name: last.field, value: secret)]
                    + (place.username.map { [FieldDraft(name: "username", value: $0)] } ?? []))
        }
        // The person has it already, and the program finds it.
        var anyUser = place
        anyUser.username = nil
        let found = narrowed(try matches(anyUser), anyUser)
        if found.count == 1, found[0].secret == secret, found[0].username == place.username { return }
        try make(secret, for: place, address: address)
    }

    /// Items that the program had kept for exactly that place, for any user name.
    private func ownItems(_ place: WebPlace) throws -> [LoginMessage] {
        var anyUser = place
        anyUser.username = nil
        return try matches(anyUser).filter { isOwn($0) && isWhole($0, place) }
    }

    private func make(_ secret: String, for place: WebPlace, address: String) throws {
        var request = ItemCreate()
        (request.kind, request.title, request.tags) = (format.kind.name, place.host, [format.tag])
        request.vault = store.namedVault
        let field = format.kind == .apiToken ? "token" : "password"
        request.fields =
            (place.username.map { [FieldDraft(name: "username", value: $0)] } ?? [])
            + [FieldDraft(name: field, value: secret), FieldDraft(name: "url", value: address)]
        _ = try store.perform(request)
    }

    private func change(_ match: LoginMessage, _ fields: [FieldDraft]) throws {
        var request = ItemEdit()
        (request.item, request.vault, request.setFields) = (match.item, store.namedVault, fields)
        _ = try store.perform(request)
    }

    // MARK: Removing

    /// Moves to the trash what the program had kept for exactly that place. Nothing is said of other items.
    ///
    /// - Returns: whether there was any.
    func eraseOnly(_ place: WebPlace) throws -> Bool {
        let own = try ownItems(place)
        try trash(own)
        return !own.isEmpty
    }

    /// Moves a password that does not work to the trash if the program had kept it.
    ///
    /// - Parameters:
    ///   - secret: the one that was tried; a newer one stays.
    ///   - noteKept: is called for other items, which stay as they are.
    func erase(_ secret: String?, for place: WebPlace, noteKept: (LoginMessage) -> Void) throws {
        for match in try matches(place) where secret == nil || secret == match.secret {
            if isOwn(match), match.username == place.username { try trash([match]) } else { noteKept(match) }
        }
    }

    private func trash(_ matches: [LoginMessage]) throws {
        for match in matches {
            var request = ItemTrash()
            (request.items, request.vault) = ([match.item], store.namedVault)
            _ = try store.perform(request)
        }
    }
}
