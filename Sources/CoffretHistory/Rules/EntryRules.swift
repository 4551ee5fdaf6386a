// The checks of an entry that need its own log and the chains alone (Spec/history.md section 6). The one thing to keep
// true: nothing of other logs is looked at, so one bad entry takes nobody's work with it.

package import CoffretCrypto
package import CoffretStorage
internal import CoffretTrust

extension MemberView: EntryAuthority {
    package func signerKey(for context: EntryContext, of entry: BlobName) throws(HistoryError) -> VerifyingKey {
        let bytes = try signerKeyBytes(for: context, of: entry)
        do throws(CryptoError) {
            return try VerifyingKey(bytes)
        } catch {
            // Its device link was verified, and says what is no key.
            throw HistoryError(.entryNotAWriter, place: entry.description, cause: error)
        }
    }

    /// Steps 3 to 5.
    private func signerKeyBytes(for context: EntryContext, of entry: BlobName) throws(HistoryError) -> [UInt8] {
        let place = entry.description
        guard let stated = Int(exactly: context.memberHead.number), stated < takenCount,
            chain.links[stated].hash == context.memberHead.hash
        else { throw HistoryError(.membersWithheld, place: place) }
        guard chain.states[stated].members[context.accountID]?.writes == true else {
            throw HistoryError(.entryNotAWriter, place: place)
        }
        guard let devices = accounts[context.accountID], let head = devices.position(of: context.deviceHead) else {
            throw HistoryError(.membersWithheld, place: place)
        }
        let oldest = self.place(of: context.accountID, chain.states[stated].heads[context.accountID])
        guard devices.isTrusted(context.deviceID, at: head), oldest.map({ $0 <= head }) ?? true,
            let key = devices.signingKey(of: context.deviceID, at: head)
        else { throw HistoryError(.entryNotAWriter, place: place) }
        return key
    }

    /// Step 7, S4.
    package func isHead(
        _ later: ChainPosition, atOrAfter earlier: ChainPosition, of context: EntryContext
    ) -> Bool {
        guard let devices = accounts[context.accountID], let now = devices.position(of: later),
            let was = devices.position(of: earlier)
        else { return false }
        return now >= was
    }

    /// Step 8, S5.
    package func checkEpoch(of context: EntryContext, of entry: BlobName) throws(HistoryError) {
        let state = chain.states[Int(context.memberHead.number)]
        guard state.oldestEpoch...max(state.oldestEpoch, state.epoch) ~= context.epoch, context.epoch <= state.epoch
        else { throw HistoryError(.entryEpochDiffers, place: entry.description) }
    }

    /// Steps 2 to 5, 7 and 8; the signature is for `EntryVerifier`.
    ///
    /// - Parameter before: the entry before, or its bare form; nil where neither is kept.
    /// - Throws: `.membersWithheld` for an entry that waits, else the code that ends its log.
    package func check(_ entry: VerifiedEntry, behind before: VerifiedEntry?) throws(HistoryError) {
        let (context, place) = (entry.context, entry.name.description)
        guard context.memberHead.number >= UInt64(context.firstLink) else {
            throw HistoryError(.entryInstanceForeign, place: place)
        }
        _ = try signerKeyBytes(for: context, of: entry.name)
        if let before {
            let old = before.context
            guard old.memberHead.number <= context.memberHead.number, old.epoch <= context.epoch,
                before.height < entry.height, isHead(context.deviceHead, atOrAfter: old.deviceHead, of: context)
            else { throw HistoryError(.entryMalformed, place: place) }
        }
        try checkEpoch(of: context, of: entry.name)
    }
}

/// Whether an entry counts, as far as it can be told now.
package enum Verdict: Equatable, Sendable {
    case counts
    /// Stored, and without effect; by what rule.
    case excluded(HistoryError.Code)
    /// Not decided: a link, an entry or a newer program is missing, or its device was revoked and no link says yet what of
    /// it counts.
    case waits
}

/// Up to where a closed or ended instance counts.
struct Limit: Hashable, Sendable {
    /// The link that closed or ended it.
    let link: Int
    /// nil: nothing of it counts.
    let mark: EntryMark?

    var number: EntryNumber { mark?.number ?? 0 }
}

/// The names of an instance's log between the base and a tip, as far down as they are known.
struct LogChain: Sendable {
    private(set) var names: [EntryNumber: BlobName] = [:]
    /// Below this number nothing is known.
    private(set) var lowest: EntryNumber
    /// The name of the entry before the lowest one, as it states it.
    private(set) var before: BlobName?
    /// Whether the chain could be followed down to where it was asked for.
    private(set) var isWhole = true

    /// A chain of which nothing is known.
    init() { (lowest, isWhole) = (.max, false) }

    /// The name that the chain has at a number; nil: cannot be told here.
    func name(at number: EntryNumber) -> BlobName? {
        names[number] ?? (lowest > 0 && number == lowest - 1 ? before : nil)
    }

    /// Whether the entry lies on the chain; nil: cannot be told here.
    func contains(_ entry: VerifiedEntry) -> Bool? {
        if let name = names[entry.number] { return name == entry.name }
        if entry.number + 1 == lowest, let before { return before == entry.name }
        return isWhole ? false : nil
    }
}

extension LogChain {
    /// Follows a log from its tip down to `floor`, which is not looked at.
    ///
    /// - Parameter entry: gives the entry of a name and number, or its bare form.
    /// - Complexity: one read for each entry above `floor`.
    init<Failure: Error>(
        from tip: EntryMark, downTo floor: EntryNumber, entry: (EntryMark) throws(Failure) -> VerifiedEntry?
    ) throws(Failure) {
        lowest = tip.number + 1
        before = tip.name
        var next: EntryMark? = tip
        while let mark = next, mark.number > floor {
            guard let found = try entry(mark), found.number == mark.number else {
                isWhole = false
                return
            }
            names[mark.number] = mark.name
            (lowest, before) = (mark.number, found.body.before)
            next = found.body.before.map { EntryMark(number: mark.number - 1, name: $0) }
        }
    }
}
