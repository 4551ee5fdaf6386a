// The operation that looks after passwords. Invariant: each flaw of the request is one of the review, by its name.

internal import CoffretBase
internal import CoffretCore
internal import CoffretKeys
internal import CoffretStorage
internal import CoffretTerminal
package import CoffretWire

extension PasswordAudit: PerformedOperation {
    private static let oldDayCounts = 1...36_500

    package func perform(on desk: StoreDesk) throws -> Answer {
        let days = oldAfterDays ?? PasswordReview.usualOldDayCount
        guard Self.oldDayCounts.contains(days) else { throw OperationError(.requestInvalid, at: "oldAfterDays") }
        guard bringsList == true else { return try audited(on: desk, days: days, list: nil) }
        let descriptor = try desk.takeDescriptor(.file)
        return try audited(on: desk, days: days, list: BreachList(descriptor: descriptor.number))
    }

    private func audited(on desk: StoreDesk, days: Int, list: BreachList?) throws -> Answer {
        let wanted = Set((flaws ?? Flaw.allCases).compactMap { PasswordFlaw(rawValue: $0.rawValue) })
        var review = PasswordReview(wanted: wanted, now: desk.surroundings.clock.now, oldDayCount: days, list: list)
        let records = try desk.records(vault)
        var answer = Answer()
        answer.isStrengthKnown = review.isStrengthKnown
        // Of each password that is looked at, its vault.
        var vaults: [Vault] = []
        for record in records {
            let vault = try desk.vault(record)
            let (passwords, hiddenCount) = try vault.passwords(admitting: desk.grant.admits)
            answer.hiddenCount += hiddenCount
            for (index, password) in passwords.enumerated() {
                try desk.work.step(index, of: passwords.count)
                try review.add(password)
                vaults.append(vault)
            }
        }
        let rows = zip(review.finish(), vaults).map { (row: $0, vault: $1) }
        answer.passwordCount = rows.count
        answer.counts = PasswordFlaw.allCases.filter { wanted.contains($0) && ($0 != .breached || list != nil) }.map {
            flaw in
            var count = FlawCountMessage()
            (count.flaw, count.count) = (Flaw(flaw), rows.count { $0.row.flaws.contains(flaw) })
            return count
        }
        let shortIDs = desk.givesShortIDs(givesShortIDs) ? try Self.shortIDs(of: rows) : [:]
        answer.items = rows.filter { !$0.row.flaws.isEmpty }.enumerated().sorted { left, right in
            // With the same worst flaws, more of them come first.
            let (ranks, others) = (
                left.element.row.flaws.map(\.rank) + [.max], right.element.row.flaws.map(\.rank) + [.max]
            )
            return ranks == others ? left.offset < right.offset : ranks.lexicographicallyPrecedes(others)
        }.map { entry in
            var item = AuditedItemMessage(entry.element.row)
            item.vault = records.count > 1 ? entry.element.vault.name : nil
            item.shortID = shortIDs[entry.element.row.item]
            return item
        }
        return answer
    }

    private static func shortIDs(
        of rows: [(row: AuditedPassword, vault: Vault)]
    ) throws -> [EntityID: String] {
        try Dictionary(grouping: rows, by: { ObjectIdentifier($0.vault) }).values.reduce(into: [:]) { ids, rows in
            ids.merge(try rows[0].vault.shortIDs(rows.map(\.row.item))) { first, _ in first }
        }
    }
}

extension PasswordFlaw {
    fileprivate var rank: Int { Self.allCases.firstIndex(of: self)! }
}

extension PasswordAudit.Flaw {
    fileprivate init(_ flaw: PasswordFlaw) {
        self =
            switch flaw {
            case .breached: .breached
            case .weak: .weak
            case .reused: .reused
            case .similar: .similar
            case .old: .old
            case .oneFactor: .oneFactor
            }
    }
}

extension AuditedItemMessage {
    fileprivate init(_ row: AuditedPassword) {
        self.init()
        (item, title) = (row.item.uuid.hex, row.title)
        flaws = row.flaws.map(PasswordAudit.Flaw.init)
        changed = WireMoment(row.changed)
        (breachCount, reuseGroup, similarGroup) = (row.breachCount, row.reuseGroup, row.similarGroup)
    }
}
