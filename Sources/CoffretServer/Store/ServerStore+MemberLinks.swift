// Links of member chains, stored. The one thing to keep true: what a link changes of rights, debts and letters changes in its
// transaction, and who is concerned is told.

internal import CoffretBase
internal import CoffretTrust
internal import CoffretWire

extension ServerStore {
    func store(
        _ vault: LinkBatch.Vault, _ id: [UInt8], now: Int64, by owner: SessionOwner, with cargo: LinkCargo?,
        _ session: any SQLSession
    ) throws {
        let first = vault.chain.links[0]
        let founder = SessionOwner(accountID: first.accountID.bytes, deviceID: first.deviceID.bytes)
        if vault.isNew, try !makeZone(id, foundedBy: vault.newest, of: founder, now: now, by: owner, session) {
            throw LinksRefusal(outcome: nil)
        }
        let zone = try zone(id, of: vault.isNew ? founder : owner, session)
        let stored = try session.first(
            "SELECT link FROM links WHERE kind = 3 AND chain = $1 ORDER BY seq DESC LIMIT 1", .bytes(id))
        guard stored?[0].bytes == vault.newest else { throw LinksRefusal(outcome: nil) }
        guard vault.isNew || !vault.steps.isEmpty else {
            // A link that was there already may bring what did not come with it then.
            if let cargo { try keep(cargo, of: vault.chain, in: zone.number, id, by: owner, session) }
            return
        }
        for step in vault.steps {
            guard let expected = step.expectedHead, expected != zone.head else { continue }
            throw LinksRefusal(outcome: .moved(index: step.index, logHead(of: zone)))
        }
        // A vault that is put back brings years of them.
        if !vault.isNew { try checkRate(of: vault.steps.map(\.effect), in: zone.number, session) }
        let time = age.now
        for step in vault.steps {
            try store(step.bytes, .member, id, at: Int64(step.effect.number), now: now, session)
            try charge(
                owner.accountID, Int64(step.bytes.count) + Self.rowByteCount, session,
                step.effect.endsReading ? .always : .small)
        }
        let effects = vault.steps.map(\.effect)
        for effect in effects {
            try session.run(
                """
                INSERT INTO steps(number, seq, hash, account, device, payer, sort, time)
                VALUES($1, $2, $3, $4, $5, $6, $7, $8)
                """, .int(zone.number), .int(Int64(effect.number)), .bytes(effect.hash.bytes),
                .bytes(effect.accountID.bytes), .bytes(effect.deviceID.bytes), .bytes(owner.accountID),
                .int(effect.sort), .int(time))
        }
        let before = try session.query("SELECT account FROM members WHERE number = $1", [.int(zone.number)])
        try setRights(of: vault.chain, in: zone.number, session)
        try settle(vault.chain, effects, before.map { $0[0].bytes }, in: zone.number, id, session)
        if let cargo { try keep(cargo, of: vault.chain, in: zone.number, id, by: owner, session) }
    }

    /// What links do beside rights: letters of epochs that are over go, whoever is no member any more hands over what he
    /// stored, and everybody is told.
    ///
    /// - Parameter before: the accounts that were members.
    private func settle(
        _ chain: VerifiedMemberRights, _ effects: [MemberEffect], _ before: [[UInt8]], in zone: Int64, _ id: [UInt8],
        _ session: any SQLSession
    ) throws {
        let rights = chain.rights
        if effects.contains(where: \.opensEpoch) {
            try dropLetters(in: zone, "epoch < $2", [.int(Int64(rights.epoch))], session)
        }
        var changed = Set(rights.members.keys.map(\.bytes)).symmetricDifference(before)
        changed.formUnion(effects.flatMap { $0.roleChanges.keys.map(\.bytes) + $0.accepts.map(\.bytes) })
        for account in before {
            guard let leaver = ChainID(account), rights.members[leaver] == nil,
                let payer = rights.payer(for: leaver, after: effects)
            else { continue }
            try handOver(zone, id, from: account, to: payer.bytes, session)
        }
        let event = ServerEvent.chain(
            kind: ChainKind.member.rawValue, id: id, sequenceNumber: UInt64(chain.count - 1))
        try tellMembers(of: zone, event, session)
        // Whose membership is another one by now, or none.
        try tell(changed.sorted { $0.lexicographicallyPrecedes($1) }, .membership(zone: id), session)
    }

    /// An account's chain has grown: its fellow members are to look at it.
    func noteNews(of account: [UInt8], _ session: any SQLSession) throws {
        try session.run(
            "UPDATE vaults SET people = people + 1 WHERE number IN (SELECT number FROM members WHERE account = $1)",
            .bytes(account))
    }
}

extension MemberEffect {
    /// As `ServerSchema` has them.
    static let plainSort: Int64 = 1
    static let epochSort: Int64 = 2
    static let additionSort: Int64 = 3

    var sort: Int64 {
        if looksPlain { return Self.plainSort }
        if opensEpoch { return Self.epochSort }
        let isAddition = roleChanges.count == 1 && roleChanges.contains { heads[$0.key] != nil && $0.key != accountID }
        return number > 0 && isAddition ? Self.additionSort : 0
    }
}
