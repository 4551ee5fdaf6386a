// Entries that may be believed. The one thing to keep true: `EntryVerifier` alone makes a `VerifiedEntry` of bytes from
// elsewhere, and only after all checks of section 6 that need no other log.

package import CoffretCrypto
package import CoffretStorage

/// An entry of its instance's log, signed by the device that its context names, with that device's right at the stated
/// links. Whether it counts is decided by the rules for logs (Spec/history.md section 6, table).
package struct VerifiedEntry: Hashable, Sendable {
    package let name: BlobName
    package let body: EntryBody
    package let context: EntryContext

    package var dot: Dot { Dot(context.instance, body.number) }
    package var instance: InstanceID { context.instance }
    package var number: EntryNumber { body.number }
    package var height: Height { body.height }
    package var rank: EntryRank { EntryRank(height: body.height, dot: dot) }
    package var mark: EntryMark { EntryMark(number: body.number, name: name) }

    /// For `EntryVerifier`, behind its last check.
    init(checked name: BlobName, _ body: EntryBody, _ context: EntryContext) {
        self.name = name
        self.body = body
        self.context = context
    }

    /// An entry that passed steps 1 to 6; steps 7 and 8 are looked at when its turn in its log comes.
    package init(_ signed: SignedEntry) { self.init(checked: signed.name, signed.body, signed.context) }

    /// An entry that a store keeps, read from its disk again: an index that says which entries were verified names it.
    ///
    /// Only the reader of entries that `LogIndex` names calls this; a test holds that.
    package static func readBack(_ entry: UnverifiedEntry) -> VerifiedEntry {
        VerifiedEntry(checked: entry.name, entry.body, entry.context)
    }

    /// An entry that was never signed, for worlds that tests replay. No source calls this; a test holds that.
    package static func assumedForReplay(
        name: BlobName, _ body: EntryBody, _ context: EntryContext
    ) -> VerifiedEntry {
        VerifiedEntry(checked: name, body, context)
    }

    package static func == (left: VerifiedEntry, right: VerifiedEntry) -> Bool { left.name == right.name }
    package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// What the chains that are known here say of an entry's author. Implemented by who keeps the verified chains.
package protocol EntryAuthority {
    /// Steps 3 to 5 of section 6: the stated member link is here; the account is owner or writer at it and has accepted;
    /// the stated device head is of the account's chain or a replaced branch, not older than what the member chain states,
    /// and the device is trusted there.
    ///
    /// - Returns: the key that the device signs with.
    /// - Throws: `.membersWithheld` (the entry waits), `.entryNotAWriter`.
    func signerKey(for context: EntryContext, of entry: BlobName) throws(HistoryError) -> VerifyingKey

    /// Step 7, S4: whether the later device head is the earlier one, or comes after it: by number on one branch, a
    /// replaced branch before the recovery that replaced it.
    func isHead(_ later: ChainPosition, atOrAfter earlier: ChainPosition, of context: EntryContext) -> Bool

    /// Step 8, S5.
    ///
    /// - Throws: `.entryEpochDiffers`.
    func checkEpoch(of context: EntryContext, of entry: BlobName) throws(HistoryError)
}
