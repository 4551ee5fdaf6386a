// The server's store over a database of its own, and the way between it and a sync. The one thing to keep true: what a
// device gets went through the bytes of the wire.

package import CoffretBase
internal import CoffretCrypto
package import CoffretServer
internal import CoffretStorage
package import CoffretSync
internal import CoffretTestSupport
package import CoffretTrust
internal import CoffretWire

/// A clock that worlds move.
package final class MovedClock: WallClock, @unchecked Sendable {
    // SAFETY: moved by the one thread of its world.
    package var now: Milliseconds = 1_800_000_000_000

    package init() {}
}

/// A server as devices reach it.
package protocol LogSite: AnyObject {
    /// The world's clock.
    var clock: MovedClock { get }

    func register(_ link: UnverifiedLink) throws
    /// A device exists: it can log in once its account has it.
    func admit(_ device: DeviceSecrets, of account: ChainID)
    /// Answers a request about a zone.
    ///
    /// - Parameter page: called with the pages of a list before the reply.
    func answer(
        _ request: LogRequest, in zone: [UInt8], by owner: SessionOwner, page: (LogPage) throws -> Void
    ) throws -> LogReply
}

/// A server that hides what came behind these links, so that a device does not hear of its revocation.
package struct LogDarkness {
    let deviceLinkCount: Int
    let linkCount: Int

    func hiding(_ reply: LogReply) -> LogReply {
        guard case .chains(let updates) = reply else { return reply }
        let chains = updates.chains.map { chain in
            let count = chain.kind == ChainKind.member.rawValue ? linkCount : deviceLinkCount
            let shown = max(0, count - Int(chain.start))
            return ChainUpdates.Chain(
                kind: chain.kind, chainID: chain.chainID, branches: chain.branches, start: chain.start,
                links: Array(chain.links.prefix(shown)))
        }
        return .chains(ChainUpdates(chains, hasMore: updates.hasMore))
    }
}

/// The real store of the server.
package final class LogServer: LogSite {
    package let store: ServerStore
    package let clock = MovedClock()
    /// Says that it has chunks, and forgets them.
    package var losesChunks = false
    private let folder: TemporaryDirectory
    private var accounts: [[UInt8]] = []
    /// Whether everybody lets all who come later write and add.
    package var introducesAll = true

    package init(random: any RandomSource) throws {
        folder = try TemporaryDirectory("log-server")
        let database = try SQLiteDatabase(unfinished: folder.file("d"))
        try ServerStore.initialize(database, random: random)
        store = try ServerStore(
            database: database, random: random, clock: clock, quota: Quota(), uptime: { [clock] in clock.now })
    }

    package func register(_ link: UnverifiedLink) throws {
        _ = try store.register(AccountRegistration(link: link.encoded), policy: .open)
        guard introducesAll else { return }
        // All people of a world know each other: everybody lets the others write and add.
        accounts.append(link.hash(inChain: nil))
        for account in accounts {
            try store.setContacts(ContactList(accounts), of: SessionOwner(accountID: account, deviceID: []))
        }
    }

    package func admit(_: DeviceSecrets, of _: ChainID) {}

    /// A person lets others add him to vaults.
    func admit(_ accounts: [ChainID], by person: LogPerson) throws {
        let others = accounts.filter { $0 != person.account }.map(\.bytes)
        try store.setContacts(ContactList(others), of: person.devices[0].owner)
    }

    package func answer(
        _ request: LogRequest, in zone: [UInt8], by owner: SessionOwner, page: (LogPage) throws -> Void
    ) throws -> LogReply {
        do {
            switch request {
            case .chains(let question):
                return .chains(try sent(store.updates(sent(question), for: owner)))
            case .head:
                return .head(try sent(store.head(zone, for: owner)))
            case .changes(let since):
                var (cursor, isLast) = (since, false)
                while !isLast {
                    let batch = try store.changes(in: zone, since: cursor, for: owner)
                    (cursor, isLast) = (batch.cursor, batch.isLast)
                    let objects = batch.objects.map { $0.object }
                    try page(LogPage(objects: objects, cursor: cursor, hasMore: !isLast))
                }
                return .end
            case .fetch(let addresses):
                var place: ServerStore.FetchPlace? = .init()
                let question = try sent(ZoneFetch(addresses: addresses.map { $0.bytes }))
                while let start = place {
                    let found = try store.objects(at: question.addresses, from: start, in: zone, for: owner)
                    place = found.next
                    let objects = found.batch.objects.map { $0.object }
                    try page(LogPage(objects: objects, cursor: [], hasMore: place != nil))
                }
                return .end
            case .push(let push):
                switch try store.push(sent(push), to: zone, by: owner) {
                case .accepted(let receipt): return .pushed(try sent(receipt))
                case .moved(let head): return .moved(try sent(head))
                }
            case .links(let post): return try posted(sent(post), by: owner)
            case .members(let post): return try posted(sent(post), to: zone, by: owner)
            case .keys: return .keys(try sent(store.keys(of: zone, for: owner)))
            case .letters(let post):
                try store.post(sent(post), to: zone, by: owner)
                return .acknowledged
            case .letterOpened(let epoch):
                try store.takeLetter(ofEpoch: epoch, in: zone, by: owner)
                return .acknowledged
            case .collections(let after):
                return .collections(try sent(store.collectionRecords(after: after, in: zone, for: owner)))
            case .sweep(let sweep):
                return .swept(try sent(store.sweep(sent(sweep), of: zone, by: owner)))
            case .acknowledgements:
                return .acknowledgements(try sent(store.acknowledgements(in: zone, for: owner)).entries)
            case .acknowledge(let bytes):
                try store.acknowledge(bytes, in: zone, by: owner)
                return .acknowledged
            }
        } catch let failure as ServerFailure {
            return .refused(code: failure.code.rawValue)
        }
    }

    private func posted(_ post: MemberPost, to zone: [UInt8], by owner: SessionOwner) throws -> LogReply {
        try reply(to: store.post(post, to: zone, by: owner))
    }

    private func posted(_ post: LinkPost, by owner: SessionOwner) throws -> LogReply {
        try reply(to: store.take(post.items, by: owner))
    }

    private func reply(to outcome: LinksOutcome) throws -> LogReply {
        switch outcome {
        case .taken(let heads): .links(try sent(LinkReceipt(heads.map(\.sequenceNumber))))
        case .conflict(let index, let head): .conflict(try sent(LinkConflict(index: UInt64(index), head: head)))
        case .moved(_, let state): .moved(try sent(state))
        case .untrusted(let code): .refused(code: code)
        case .tooMany: .refused(code: "server.rate.exceeded")
        }
    }

    /// A message as it comes out of its bytes.
    private func sent<Message: ServerMessage>(_ message: Message) throws -> Message {
        try Message(decoding: message.encoded())
    }
}
