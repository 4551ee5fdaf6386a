// Looks of a sync at what waits for a word of the person, and at which vaults need nothing. The one thing to keep true: what the
// server says about people says only where to look, and each thing is told once, whatever process finds it.

internal import CoffretAccount
internal import CoffretApp
internal import CoffretBase
internal import CoffretCrypto
internal import CoffretHTTP
internal import CoffretKeys
internal import CoffretSync
internal import CoffretTrust
internal import CoffretWire

extension SyncRound {
    /// Circles are looked at so often where nobody asks: a wait grows by a quarter of itself with each look, and has a day at least.
    private static let quietMilliseconds: Int64 = 6 * 3_600_000
    private static let soonMilliseconds: Int64 = 10_000

    /// Finds out in one request which vaults need nothing.
    func lookAtHeads() throws {
        guard let sync = openedSync() else { return }
        try sync.askForHeads()
        for id in vaults.keys {
            guard let record = record(id), let rest = try? sync.rest(of: record) else { continue }
            serverHeads[id] = rest.head
            schedule.rests(id)
            log.followed(id)
            // From here on what happens to its people is news.
            if records.toldLinkCount(of: id) == nil { lookAtMembers(record) }
        }
    }

    /// Finds out who waits for a word of this account's person. It answers nobody: a command does that.
    func lookForPeople() {
        guard let connection else { return }
        (isPeopleDue, peopleAt) = (false, .max)
        do {
            let letters = try connection.letters()
            let memberships = try connection.memberships()
            let requests = letters.filter { [.contactRequest, .contactAnswer].contains(Self.purpose(of: $0)) }
            let added = memberships.filter { $0.state == 1 && $0.epoch > 0 }
            var found =
                requests.map { PeopleNotice(.letter, $0.id) } + added.map { PeopleNotice(.vault, $0.zone) }
            let circles = try lookAtCircles(
                isShown: memberships.contains { $0.epoch == 0 }
                    || letters.contains { Self.purpose(of: $0) == .recoveryShare })
            found += circles ?? []
            tell(found)
            var waiting = WaitingForPerson()
            (waiting.letterCount, waiting.vaultCount) = (requests.count, added.count)
            waiting.helpCount = found.count { $0.kind == .help }
            waiting.requestCount = found.count { $0.kind == .request }
            records.note(waiting)
            if circles != nil {
                let pause = waiting.requestCount > 0 ? ToldNotices.repeatMilliseconds : Self.quietMilliseconds
                peopleAt = now + pause
            }
        } catch  where error is HTTPError || error is AccountError {
            lost(error)
        } catch {
            // A fault of what is here ends no sync; whoever syncs the account's own vault now is done soon.
            peopleAt = now + (SyncTrouble.isTransient(error) ? Self.soonMilliseconds : Self.quietMilliseconds)
        }
    }

    private static func purpose(of entry: WaitingLetters.Entry) -> LetterPurpose? {
        (try? UnverifiedLetter(decoding: entry.letter))?.header.purpose
    }

    /// Follows circles of recovery contacts. Where there are none, nothing is opened.
    ///
    /// - Returns: nil if there are none.
    private func lookAtCircles(isShown: Bool) throws -> [PeopleNotice]? {
        let isKnown = isShown || AccountSync.remembersCircles(in: layout, fileSystem)
        guard isKnown || isOpen, let sync = openedSync(), try isKnown || sync.hasCircles() else { return nil }
        let found = try sync.lookAtCircles()
        noteKeyring()
        return found
    }

    /// Tells what is new of it, and that no more of these kinds waits.
    private func tell(_ found: [PeopleNotice]) {
        var told = records.toldNotices
        for kind in [PeopleNotice.Kind.letter, .vault, .help] {
            told.keepOnly(kind.rawValue, found.filter { $0.kind == kind }.map(\.subject))
        }
        let news = found.filter { told.take($0, now: clock.now) }
        records.note(told)
        let (letters, vaults) = (news.count { $0.kind == .letter }, news.count { $0.kind == .vault })
        if letters + vaults > 0 { note(.peopleWait(letterCount: letters, vaultCount: vaults)) }
        for one in news where ![.letter, .vault].contains(one.kind) {
            note(.people(words: one.words, isLoud: one.isLoud))
        }
    }

    /// Tells what is new about the people of a vault.
    ///
    /// - Parameter report: of a sync, which says whether there may be something; nil: there may be.
    func lookAtMembers(_ record: VaultRecord, _ report: SyncReport? = nil) {
        let id = record.vaultID.hex
        let mayBeNew = report.map { $0.hasNewChains || $0.takenLinkCount != toldLinkCounts[id] } ?? true
        guard mayBeNew, !record.isAccountVault, let sync = openedSync() else { return }
        let known = records.toldLinkCount(of: id)
        guard let news = try? sync.memberNotices(of: record, behind: known) else { return }
        var told = records.toldNotices
        // Recoveries of before this device had the vault are no news.
        let recoveries = news.recoveries.filter { told.take($0, now: clock.now) && known != nil }
        records.note(told)
        records.note(toldLinkCount: news.linkCount, of: id)
        toldLinkCounts[id] = news.linkCount
        for one in recoveries + news.notices { note(.people(words: one.words, isLoud: one.isLoud)) }
    }

    /// One of several devices writes a key that is due, ten minutes later if it has nothing to say: that is no failure before then.
    private static let keyMilliseconds: Int64 = 15 * 60_000

    /// Whether a sync failed because a key is due that may still come by itself. Of the people the person hears at once.
    func waitsForKey(_ error: any Error, _ record: VaultRecord) -> Bool {
        guard let code = (error as? SyncError)?.code, [.epochStale, .keyAwaited, .memberUnconfirmed].contains(code)
        else {
            return false
        }
        lookAtMembers(record)
        let since = staleSince[record.vaultID.hex] ?? now
        staleSince[record.vaultID.hex] = since
        return code == .epochStale && now - since < Self.keyMilliseconds
    }

    /// Finds out who asks this device for a value. It is not answered here: a person has to be asked.
    func lookForAsks() {
        guard let connection else { return }
        isAskDue = false
        do {
            let waiting = try connection.asks()
            for relayID in waiting where !knownAsks.contains(relayID) { asked(relayID) }
            knownAsks = Set(waiting)
        } catch {
            lost(error)
        }
    }
}

extension ToldNotices {
    fileprivate mutating func take(_ notice: PeopleNotice, now: Milliseconds) -> Bool {
        take(notice.kind.rawValue, notice.subject, isRepeated: notice.kind == .request, now: now)
    }
}
