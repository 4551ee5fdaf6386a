// The checks of an entry by itself. The one thing to keep true: they look at its own log, the member chain and its
// author's device chain, and at nothing else; so one bad entry takes nobody's work with it.

package import CoffretCrypto
package import CoffretStorage

/// An entry, or a bare form, that passed steps 1 to 6 of section 6: its author signed it, and had the right to write at
/// the links that it states. Two of these with one dot are a fork's evidence (K6).
package struct SignedEntry: Sendable {
    package let name: BlobName
    package let body: EntryBody
    package let context: EntryContext
    package let isBare: Bool

    package var dot: Dot { Dot(context.instance, body.number) }

    fileprivate init(_ entry: UnverifiedEntry) {
        name = entry.name
        body = entry.body
        context = entry.context
        isBare = entry.isBare
    }
}

/// The entry before, as step 7 needs it: a verified entry, or the bare form of one that was deleted for good.
package struct EntryPredecessor: Sendable {
    /// Of the entry; a bare form does not tell it.
    package let name: BlobName?
    package let number: EntryNumber
    package let height: Height
    package let context: EntryContext

    package init(_ entry: VerifiedEntry) {
        name = entry.name
        number = entry.number
        height = entry.height
        context = entry.context
    }

    /// - Returns: nil for an entry that has its changes: that has to be verified itself.
    package init?(bare entry: SignedEntry) {
        guard entry.isBare else { return nil }
        name = nil
        number = entry.body.number
        height = entry.body.height
        context = entry.context
    }
}

/// Checks entries of one vault, in the order of Spec/history.md section 6.
package struct EntryVerifier<Authority: EntryAuthority> {
    private let vaultID: VaultID
    private let authority: Authority

    package init(vaultID: VaultID, authority: Authority) {
        self.vaultID = vaultID
        self.authority = authority
    }

    /// Steps 1 to 6, which look at no other entry.
    ///
    /// - Throws: `.entryMalformed`, `.entryInstanceForeign`, and what `EntryAuthority.signerKey` throws.
    /// - Complexity: one verification of a signature.
    package func verifySignature(of entry: UnverifiedEntry) throws(HistoryError) -> SignedEntry {
        let place = entry.name.description
        guard entry.context.vaultID == vaultID else { throw HistoryError(.entryMalformed, place: place) }
        guard entry.context.memberHead.number >= UInt64(entry.context.firstLink) else {
            throw HistoryError(.entryInstanceForeign, place: place)
        }
        let key = try authority.signerKey(for: entry.context, of: entry.name)
        do throws(CryptoError) {
            try key.verify(entry.signature, .entry, scope: vaultID.bytes, message: entry.message)
        } catch {
            throw HistoryError(.entryMalformed, place: place, cause: error)
        }
        return SignedEntry(entry)
    }

    /// Steps 7 and 8.
    ///
    /// - Parameter before: the entry before in the log; nil for entry 1.
    /// - Throws: `.entryMalformed`; what `EntryAuthority.checkEpoch` throws.
    package func verify(
        _ entry: SignedEntry, after before: EntryPredecessor?
    ) throws(HistoryError) -> VerifiedEntry {
        guard !entry.isBare, follows(entry, before) else {
            throw HistoryError(.entryMalformed, place: entry.name.description)
        }
        try authority.checkEpoch(of: entry.context, of: entry.name)
        return VerifiedEntry(checked: entry.name, entry.body, entry.context)
    }

    /// S4, and that it is the entry before.
    private func follows(_ entry: SignedEntry, _ before: EntryPredecessor?) -> Bool {
        guard let before else { return entry.body.number == 1 }
        let (new, old) = (entry.context, before.context)
        guard old.instance == new.instance, entry.body.number == before.number + 1, entry.body.height > before.height,
            before.name == nil || before.name == entry.body.before
        else { return false }
        return new.memberHead.number >= old.memberHead.number && new.epoch >= old.epoch
            && authority.isHead(new.deviceHead, atOrAfter: old.deviceHead, of: new)
    }
}
