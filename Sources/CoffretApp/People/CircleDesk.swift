// Circles of recovery contacts with the server at hand. The one thing to keep true: whatever is said or given rests on a chain that
// was followed to its end and verified just now.

internal import CoffretAccount
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHTTP
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretMessages
internal import CoffretSharing
internal import CoffretSync
internal import CoffretTrust
internal import CoffretWire

/// A circle that was followed just now.
struct FollowedCircle {
    let chains: FollowedChains
    let rights: VerifiedMemberRights
    let view: CircleView
    let memory: CircleMemory

    var id: VaultID { view.circleID }

    func isOwn(_ account: ChainID) -> Bool { view.founder == account }

    /// Contacts that the arming link names, or that were added.
    var contacts: [ChainID] {
        let added = view.members.filter { $0.value.role == .contact }.map(\.key)
        return Set(added + (view.arming?.shares.map(\.accountID) ?? [])).sortedByBytes
    }

    /// Whether it has served once, also where the device that armed it is not trusted any more.
    var wasArmed: Bool { rights.links.contains { if case .arm? = $0.circle { true } else { false } } }

    var isReady: Bool {
        !wasArmed && contacts.count == view.terms.count && contacts.allSatisfy(view.isContact)
    }

    /// Whether it can bring the account back.
    var serves: Bool { view.arming != nil && view.isPaperTrusted }

    /// The newest link with which an account says no more than that it is there.
    private func newestWord(of account: ChainID) -> Int? {
        rights.links.last { link in
            link.number > (view.arming?.link ?? .max) && link.accountID == account && link.roleChanges.isEmpty
                && link.accepts.isEmpty && link.circle == nil
        }?.number
    }

    /// Whether a contact has said that it holds its share, since the founder asked last; nil: nobody asked.
    func answer(of contact: ChainID) -> Bool? {
        newestWord(of: view.founder).map { asked in (newestWord(of: contact) ?? 0) > asked }
    }

    /// Requests that are neither forbidden nor of a circle that does not serve any more.
    var openRequests: [CircleRequest] { serves ? view.requests.filter { $0.forbiddenAt == nil } : [] }
}

/// The account's circles while it is logged in.
struct CircleDesk {
    /// How often a link is signed anew because somebody else was faster.
    private static let tryCountMax = 5

    let desk: StoreDesk
    let sync: AccountSync
    var vault: AccountVault { desk.accountVault }
    var own: ChainID { get throws { try desk.store.keyring.accountID() } }
    private var connection: ServerConnection { sync.account.connection }

    // MARK: Following

    /// Circles that this account is in, or was: as the server says, as this device remembers, and as other own devices noted.
    func known() throws -> [VaultID] {
        let shown = try connection.memberships().filter { $0.epoch == 0 }.compactMap { VaultID($0.zone) }
        let all = try Set(shown + CircleFile.circles(of: desk.store) + vault.circles())
        return all.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
    }

    /// Follows a circle to its end.
    ///
    /// - Returns: nil if the server shows nothing of it.
    /// - Throws: `SyncError.chainsRefused` for a chain that is shorter than it was, or that does not verify.
    func follow(_ id: VaultID) throws -> FollowedCircle? {
        let file = try CircleFile(id, desk.store)
        let remembered = file.read()
        let now = sync.clock.now
        let watch = try desk.store.keyring.server()?.watch ?? ChainWatch(confirmedAt: now)
        let account = FollowedAccount(try desk.store.keyring.deviceChain(), replaced: try replaced(), watch: watch)
        var chains = remembered?.chains ?? FollowedChains(vaultID: id)
        chains.set(account)
        var follower = MemberFollower(chains)
        follower.begin()
        let rights: VerifiedMemberRights?
        do {
            while let request = follower.request {
                let updates = try connection.exchange(
                    "POST", "/v1/chains/updates", request.encoded(), as: ChainUpdates.self)
                try follower.take(updates, now: now)
            }
            rights = try follower.chains.circleRights()
        } catch let error as FollowFailure {
            if error == .rolledBack(chain: id.bytes), try !isShown(id) { return nil }
            throw SyncError(.chainsRefused, at: "\(error)", cause: error)
        }
        guard let rights, let view = rights.circle(known: follower.chains.devices) else { return nil }
        var memory = remembered?.memory ?? CircleMemory()
        memory.follow(view, now: now)
        try file.write(follower.chains, memory)
        return FollowedCircle(chains: follower.chains, rights: rights, view: view, memory: memory)
    }

    /// Lines of the own devices that recoveries replaced, as they are known here.
    private func replaced() throws -> [VerifiedDeviceChain] {
        let own = try own
        return try desk.store.keyring.formerChains().filter { $0.accountID == own }
    }

    private func isShown(_ id: VaultID) throws -> Bool {
        try connection.memberships().contains { $0.zone == id.bytes }
    }

    /// All circles that the server shows.
    func followAll() throws -> [FollowedCircle] { try known().compactMap { try follow($0) } }

    /// Own circles, the newest last.
    func ownCircles() throws -> [FollowedCircle] {
        let own = try own
        return try followAll().filter { $0.isOwn(own) }
    }

    /// The circle in which this account helps a contact, or is asked to: one that serves before others.
    func circle(of founder: ChainID) throws -> FollowedCircle? {
        let own = try own
        let all = try followAll().filter { $0.view.founder == founder && $0.view.members[own] != nil }
        return all.last(where: \.serves) ?? all.last
    }

    // MARK: Links

    /// Posts a link, signed anew while somebody else is faster.
    ///
    /// - Parameter make: what the next link does; nil: nothing is left to do.
    /// - Returns: the circle with it.
    /// - Throws: what the rules refuse it for, before it leaves.
    @discardableResult
    func post(
        to circle: FollowedCircle, _ make: (FollowedCircle) throws -> MemberOperation.Kind?
    ) throws -> FollowedCircle {
        var circle = circle
        for _ in 0..<Self.tryCountMax {
            guard let kind = try make(circle) else { return circle }
            let link = try sign(
                kind, by: desk.store.keyring.deviceChain(), behind: circle.rights, in: circle.chains.devices)
            let item = LinkPost.Item(kind: ChainKind.member.rawValue, chainID: circle.id.bytes, link: link.encoded)
            let status = try connection.send(
                "POST", "/v1/links", LinkPost([item]).encoded(), accepted: [200, 409]
            ).status
            guard let next = try follow(circle.id) else {
                // The server shows nothing more to an account that has left.
                guard status == 200, kind == .leave else { throw SyncError(.memberUnknown) }
                return circle
            }
            circle = next
            if status == 200 { return circle }
        }
        throw SyncError(.contended)
    }

    /// - Parameter chain: the own device chain, at whose newest link it is signed.
    private func sign(
        _ kind: MemberOperation.Kind, by chain: VerifiedDeviceChain, behind rights: VerifiedMemberRights,
        in accounts: [ChainID: AccountDevices]
    ) throws -> UnverifiedLink {
        guard let head = Bytes32(chain.head.linkHash), let newest = rights.links.last else {
            throw SyncError(.chainsRefused)
        }
        let operation = MemberOperation(kind, by: chain.accountID, deviceHead: head)
        let device = try desk.store.keyring.deviceID()
        do throws(MemberError) {
            _ = try rights.preview(operation, signedBy: device, accounts: accounts)
        } catch {
            if error.code == .consentRequired { throw SharingError(.consentRequired) }
            throw AccountError(.refused, at: error.code.rawValue, cause: error)
        }
        return try desk.store.keyring.signMemberLink(
            operation, in: rights.vaultID, number: UInt64(rights.count), after: newest.hash)
    }

    /// Founds a circle, and adds its contacts, all in one request.
    func found(_ terms: CircleTerms, _ people: [ShownPerson]) throws -> FollowedCircle {
        let keyring = desk.store.keyring
        let chain = try keyring.deviceChain()
        let link = VerifiedMemberChain.found(
            VaultFoundation(
                random: desk.surroundings.random.bytes(count: VaultFoundation.randomByteCount),
                accountID: chain.accountID, deviceChainHead: chain.head.linkHash, keyCommitment: [],
                purpose: .circle(terms)), details: [], with: try keyring.letterSigner())
        let devices = AccountDevices(chain, replaced: try replaced())
        var accounts = [chain.accountID: devices]
        for person in people { accounts[person.accountID] = person.followed.devices }
        var rights = try VerifiedMemberRights(founding: link, founder: devices, chain: chain, allowsCircle: true)
        var links = [link]
        for person in people {
            let head = StatedHead(accountID: person.accountID, device: person.known.deviceHead)
            let next = try sign(.add(head, .contact), by: chain, behind: rights, in: accounts)
            try rights.append(next, accounts: accounts)
            links.append(next)
        }
        let id = rights.vaultID
        // Durable before anybody else has it: each own device then looks after it.
        try vault.addCircle(id)
        let items = links.map {
            LinkPost.Item(kind: ChainKind.member.rawValue, chainID: id.bytes, link: $0.encoded)
        }
        do {
            try connection.send("POST", "/v1/links", LinkPost(items).encoded())
        } catch {
            try vault.removeCircle(id)
            throw error
        }
        try sync.syncAccountVaults()
        guard let circle = try follow(id) else { throw SyncError(.chainsRefused, at: id.hex) }
        return circle
    }

    /// Makes a circle serve: sends the shares, then adds the paper device to the account and commits to all shares in one request.
    ///
    /// The shares are worth nothing before that request. Whatever breaks off, no paper device is in the account whose shares did not go
    /// out; the next call draws new ones, whose letters take the place of the first.
    func arm(_ circle: FollowedCircle, named name: String) throws -> FollowedCircle {
        let armament = try CircleArmament(of: circle.view, random: desk.surroundings.random)
        // Before anything is done: everybody can be written to.
        let people = try circle.contacts.map { try sync.shown($0, behind: vault.contact(with: $0)?.verification) }
        for person in people { try sync.checkRecipient(person) }
        for person in people {
            guard let share = armament.shares[person.accountID] else { continue }
            try sync.post(share.letter, to: person, scope: circle.id.bytes)
        }
        try sync.account.add(armament.paper, named: name, at: sync.clock.now) { chain in
            guard let newest = try follow(circle.id) else { throw SyncError(.memberUnknown) }
            guard newest.view.arming == nil else { throw SyncError(.contended) }
            var accounts = newest.chains.devices
            accounts[chain.accountID] = AccountDevices(chain, replaced: try replaced())
            let link = try sign(.circle(armament.operation), by: chain, behind: newest.rights, in: accounts)
            return [LinkPost.Item(kind: ChainKind.member.rawValue, chainID: circle.id.bytes, link: link.encoded)]
        }
        guard let armed = try follow(circle.id), armed.view.arming?.paper == armament.paper.deviceID else {
            throw SyncError(.contended)
        }
        try vault.setAsked(in: circle.id, at: sync.clock.now)
        try sync.syncAccountVaults()
        return armed
    }

    /// Takes a circle away from the server, and forgets it.
    func delete(_ circle: VaultID) throws {
        let keyring = desk.store.keyring
        let signature = ZoneProof.deletion(accountID: try own.bytes)
            .sign(zone: circle.bytes, with: try keyring.letterSigner())
        try connection.send(
            "POST", "/v1/zones/\(circle.hex)/delete", ZoneDeletion(signature: signature).encoded(),
            accepted: [204, 404])
        try forget(circle)
    }

    func forget(_ circle: VaultID) throws {
        try vault.removeCircle(circle)
        try CircleFile(circle, desk.store).remove()
        try sync.syncAccountVaults()
    }

    /// Gives a server that was put back the links that it lost.
    func restore() throws {
        for id in CircleFile.circles(of: desk.store) {
            guard let chains = try CircleFile(id, desk.store).read()?.chains else { continue }
            let items = chains.links.map {
                LinkPost.Item(kind: ChainKind.member.rawValue, chainID: id.bytes, link: $0.encoded)
            }
            for start in stride(from: 0, to: items.count, by: ServerLimits.linkCountMaxPerPost) {
                let part = items[start..<min(start + ServerLimits.linkCountMaxPerPost, items.count)]
                // Links that are there already are taken as they are; a server with others shows them to the next look.
                try connection.send("POST", "/v1/links", LinkPost(Array(part)).encoded(), accepted: [200, 409])
            }
        }
    }

    // MARK: Shares

    /// Takes the shares that came. A letter that does not hold is told of and deleted: nothing makes it good.
    ///
    /// - Returns: circles of which a share came.
    func receiveShares() throws -> [VaultID] {
        var opener: LetterOpener?
        var taken: [VaultID] = []
        for entry in try connection.letters() {
            guard let letter = try? UnverifiedLetter(decoding: entry.letter) else { continue }
            if letter.header.purpose == .keyWanted {
                // The server showed by it who lacks a key, and the sync of that vault looked.
                try connection.deleteLetter(entry.id)
                continue
            }
            guard letter.header.purpose == .recoveryShare, let id = VaultID(letter.header.scope) else { continue }
            do {
                let identity = try sync.account.ownIdentity()
                let reader = opener ?? LetterOpener(chain: identity.chain, keys: identity.keys)
                opener = reader
                let followed = try follow(id)
                // The link that arms comes behind the letters.
                if let followed, !followed.wasArmed, followed.view.isContact(try own) { continue }
                guard let circle = followed, let sender = circle.chains.accounts[letter.header.sender] else {
                    throw SharingError(.letterInvalid)
                }
                guard case .recoveryShare(let content) = try reader.open(letter, from: sender.devices, in: .circle(id))
                else { throw SharingError(.letterInvalid) }
                let share = try CircleShare.take(content, from: letter.header.sender, for: own, in: circle.view)
                try vault.keep(share)
                taken.append(id)
            } catch let error as SharingError {
                desk.surroundings.person?.warn(
                    "a share from \(letter.header.sender.hex.prefix(8)) was not taken (\(error.code.rawValue))")
            } catch  where !SyncTrouble.isTransient(error) {
                // A fault of one circle keeps no other share from being taken.
                desk.surroundings.person?.warn(
                    "a share from \(letter.header.sender.hex.prefix(8)) waits (\(FailureCode.of(error)))")
                continue
            }
            try connection.deleteLetter(entry.id)
        }
        if !taken.isEmpty { try sync.syncAccountVaults() }
        return taken
    }

    /// The own share, if it is the one that the circle commits to.
    func share(in circle: FollowedCircle) throws -> CircleShare? {
        guard let share = try vault.share(of: circle.id), let row = circle.view.arming?.share(of: try own),
            share.x == row.x, CircleShare.hash(of: share.share, x: share.x, in: circle.id) == row.shareHash
        else { return nil }
        return share
    }
}

extension StoreDesk {
    /// Runs `body` with the account logged in, and its circles at hand.
    func withCircles<Result>(_ body: (CircleDesk) throws -> Result) throws -> Result {
        try withContacts { try body(CircleDesk(desk: self, sync: $0.sync)) }
    }
}
