// The right of a session to ask. Invariant: a token is looked at again whenever its file has changed, so that one that was
// removed is worth nothing from the next request on.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretStorage
internal import CoffretWire

/// The token of a session, if it has one, and what the log says of the session.
final class SessionAccess {
    let grant: AccessGrant
    private let book: TokenBook
    /// Nil for a session of one command: a person's own commands are written down nowhere.
    private let log: AccessLog?
    private let clock: any WallClock
    private let session: String
    private let program: String
    private var token: (id: String, message: TokenMessage)?
    private var stamp: FileStamp

    /// - Throws: `AccessError` if the token does not count; the log says so, too.
    init(_ store: Store, _ terms: SessionTerms) throws {
        book = try TokenBook(store)
        log = terms.isBrief ? nil : try AccessLog(store)
        clock = store.environment.clock
        session = Hex.encode(store.environment.random.bytes(count: 4))
        program = terms.program
        stamp = book.stamp
        guard let text = terms.token else {
            grant = .everything
            add(.opened)
            return
        }
        do {
            guard let offered = AccessToken(text) else { throw AccessError(.invalid) }
            let found = try book.find(offered)
            grant = try found.token.grant
            token = (found.id, found.token)
        } catch let error as AccessError {
            grant = AccessGrant(access: .none)
            add(.refused, code: error.code.rawValue)
            throw error
        }
        add(.opened)
    }

    /// - Throws: `AccessError` if the token was removed, or its time is over.
    func check() throws {
        guard let token else { return }
        let now = book.stamp
        if now != stamp {
            _ = try book.token(token.id)
            stamp = now
        }
        try book.checkTime(token.message)
    }

    /// Writes down what a token was used for; of a session without one its beginning and end are enough.
    func note(_ operation: String, _ code: String?, _ subject: (vault: VaultID, item: EntityID?)?) {
        guard token != nil else { return }
        let isRefused = code == OperationError.Code.notAllowed.rawValue || code?.hasPrefix("token.") == true
        add(isRefused ? .refused : .asked, operation: operation, code: code, subject)
    }

    func noteEnd() { add(.ended) }

    private func add(
        _ event: AccessEntry.Event, operation: String? = nil, code: String? = nil,
        _ subject: (vault: VaultID, item: EntityID?)? = nil
    ) {
        guard let log else { return }
        var entry = AccessEntry()
        entry.time = WireMoment(clock.now)
        entry.event = event
        entry.session = session
        entry.token = token?.message.name
        if event == .opened || event == .refused && operation == nil { entry.program = program }
        // A name that no operation has may hold anything.
        entry.operation = operation.flatMap { name in Operations.all.contains { $0.name == name } ? name : nil }
        entry.code = code
        entry.vault = subject?.vault.hex
        entry.item = subject?.item?.uuid.hex
        log.add(entry)
    }
}
