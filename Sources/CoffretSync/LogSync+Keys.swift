// Keys of a vault that several people have. The one thing to keep true: a key counts because the chain commits to it, whoever
// sent it, and who lacks one writes nothing.

internal import CoffretBase
package import CoffretCrypto
internal import CoffretHistory
internal import CoffretLogs
internal import CoffretStorage
package import CoffretTrust
internal import CoffretWire

extension LogSync {
    // MARK: The own key

    /// Asks once for the newest key of a vault of several people, where it is not here, and takes it.
    func askForKey() throws -> LogRequest? {
        guard let people, let chain = follower.chains.rights else { return nil }
        // Also who is alone again: the one who opened the epoch may have left since.
        let own = repository.author.accountID
        guard chain.rights.members.count > 1 || chain.links.contains(where: { $0.accountID != own }) else { return nil }
        let epoch = chain.rights.epoch
        try keys.settle(chain)
        guard keys.vaultKey(ofEpoch: epoch) == nil else { return nil }
        guard hasAskedForKeys else {
            hasAskedForKeys = true
            return ask(.keys, for: .keys)
        }
        guard let given = zoneKeys else { return nil }
        zoneKeys = nil
        report.awaitsKey = true
        guard given.epoch == epoch, !given.letter.isEmpty else { return nil }
        let opened = try people.keys(in: given.letter, epoch: epoch, chain: chain, accounts: follower.accounts)
        guard let opened, chain.commits(to: opened.key, ofEpoch: epoch),
            opened.splitKey.isEqual(to: keys.splitKey)
        else {
            report.hasBadLetter = true
            return nil
        }
        let older = Self.olderKeys(in: given.history, epoch: epoch, key: opened.key, chain)
        report.wrongOlderKeys = older.wrong
        try keys.offer(older.keys.merging([epoch: opened.key]) { $1 })
        try keys.settle(chain)
        if memory.told == nil, let word = PairingWord.decoded(opened.word) {
            memory.told = word
            try repository.remember(memory.merged(in: repository))
        }
        report.awaitsKey = keys.vaultKey(ofEpoch: epoch) == nil
        return report.awaitsKey ? nil : ask(.letterOpened(epoch: epoch), for: .letterEnd)
    }

    /// The keys in a history object that the chain commits to, and the epochs of those that are others (R56).
    package static func olderKeys(
        in history: [UInt8], epoch: UInt32, key: VaultKey, _ chain: VerifiedMemberRights
    ) -> (keys: [UInt32: VaultKey], wrong: [UInt32]) {
        guard epoch > 1 else { return ([:], []) }
        let given = EpochHistory.open(history, in: chain.vaultID, epoch: epoch, key: key) ?? [:]
        let right = given.filter { chain.commits(to: $0.value, ofEpoch: $0.key) }
        return (right, (1..<epoch).filter { right[$0] == nil })
    }

    // MARK: Letters to others

    /// Letters with the newest key to those of the accounts to whom one can be sealed.
    ///
    /// - Parameter rights: as they are behind `memberHead`.
    func letters(
        to accounts: [ChainID], in rights: MemberRights, key: VaultKey, memberHead: ChainPosition
    ) throws -> [[UInt8]] {
        guard let people, !accounts.isEmpty else { return [] }
        let newcomers = accounts.filter { rights.members[$0]?.hasAccepted == false }
        let wish = LetterWish(
            vaultID: repository.keys.vaultID, accounts: accounts.sortedByBytes, epoch: rights.epoch, key: key,
            splitKey: keys.splitKey, memberHead: memberHead, newcomers: Set(newcomers),
            word: newcomers.isEmpty ? [] : try PairingWord.encoded(of: repository, memory) ?? [])
        return try people.letters(wish, accounts: follower.accounts)
    }

    /// Letters to members who lack one: a sync of anybody who has the key sends them.
    func writeLetters() throws -> LogRequest? {
        guard options.looksForLetters, people != nil, let members = follower.members,
            let key = keys.vaultKey(ofEpoch: members.rights.rights.epoch), members.rights.rights.members.count > 1
        else { return nil }
        let epoch = members.rights.rights.epoch
        guard let given = zoneKeys else {
            guard !hasAskedForKeys else { return nil }
            hasAskedForKeys = true
            return ask(.keys, for: .keys)
        }
        zoneKeys = nil
        let own = repository.author.accountID
        let lacking = given.lacking.compactMap { ChainID($0) }
            .filter { $0 != own && members.rights.rights.members[$0] != nil }
        guard given.epoch == epoch, let newest = members.state.links.last else { return nil }
        if lacksKeys(given, under: key, members.rights) {
            lackingEpoch = epoch
            if let request = try writeLink(closingOnly: true) { return request }
        }
        let head = ChainPosition(number: UInt64(newest.number), hash: newest.hash)
        let letters = try letters(to: lacking, in: members.rights.rights, key: key, memberHead: head)
        guard !letters.isEmpty else { return nil }
        report.letterCount += letters.count
        return ask(.letters(LetterPost(letters)), for: .letters)
    }

    /// Whether the history object that the newest epoch came with lacks a key that is here: others have it from nowhere.
    private func lacksKeys(_ given: ZoneKeys, under key: VaultKey, _ chain: VerifiedMemberRights) -> Bool {
        // A server that shows another one costs no epoch.
        guard newestHistoryHash == Bytes32(BLAKE2b.hash(given.history)) else { return false }
        return Self.olderKeys(in: given.history, epoch: given.epoch, key: key, chain).wrong.contains { epoch in
            keys.vaultKey(ofEpoch: epoch).map { chain.commits(to: $0, ofEpoch: epoch) } == true
        }
    }

    // MARK: Members

    /// Where the own account stands, and whose word is waited for.
    func lookAtMembers() throws {
        let account = repository.author.accountID
        let view = try members()
        guard view.takenCount > 0 else { return }
        let member = view.newestState.members[account]
        (report.role, report.isInvited) = (member?.role, member.map { !$0.hasAccepted } ?? false)
        (report.memberCount, report.takenLinkCount) = (view.newestState.members.count, view.takenCount)
        if let link = view.waitingForWord {
            let account = view.chain.links[link].accountID
            let isFormer = view.chain.states.last?.members[account] == nil
            report.waitsForWord = WaitingLink(
                link: link, account: account,
                speaker: !isFormer ? .account : view.unspokenLinks.contains(link) ? .nobody : .earlierOwner)
        }
    }
}
