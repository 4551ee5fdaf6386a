// Shares of a circle's paper device: made, taken by a contact, and put together again. The one thing to keep true: a contact
// keeps a share only of a circle in which it has accepted, and only the one that the circle commits to.

package import CoffretBase
package import CoffretCrypto
package import CoffretKeys
package import CoffretTrust

/// The share of one contact.
package struct CircleShare: Sendable {
    package let circleID: VaultID
    /// The person whose account it helps to bring back.
    package let founder: ChainID
    package let paper: UniqueID
    package let terms: CircleTerms
    package let x: UInt8
    package let share: AuthenticationKey

    package init(
        circleID: VaultID, founder: ChainID, paper: UniqueID, terms: CircleTerms, x: UInt8, share: AuthenticationKey
    ) {
        (self.circleID, self.founder, self.paper) = (circleID, founder, paper)
        (self.terms, self.x, self.share) = (terms, x, share)
    }

    /// BLAKE2b-256("coffret/circle-share/1" ‖ circle id ‖ x ‖ share).
    package static func hash(of share: AuthenticationKey, x: UInt8, in circleID: VaultID) -> Bytes32 {
        var hasher = BLAKE2bHasher()
        hasher.update(Array("coffret/circle-share/1".utf8) + circleID.bytes + [x])
        // EXPOSE: into the hash state; 32 bytes that look random are not told by their hash.
        unsafe share.withUnsafeBytes { unsafe hasher.update($0) }
        guard let hash = Bytes32(hasher.finish()) else { preconditionFailure("a hash has 32 bytes") }
        return hash
    }

    package var letter: LetterContent {
        .recoveryShare(
            RecoveryShareContent(x: x, threshold: UInt8(terms.threshold), count: UInt8(terms.count), share: share))
    }

    /// Takes the share that a letter of purpose 4 brought.
    ///
    /// - Parameters:
    ///   - sender: the account whose letter it was, as `LetterOpener` checked it.
    ///   - account: the own one.
    /// - Throws: `.consentRequired` if the own account has not accepted there; `.shareInvalid` for a letter of somebody else, of
    ///   a circle that is not armed, or with another share than the circle commits to.
    package static func take(
        _ content: RecoveryShareContent, from sender: ChainID, for account: ChainID, in circle: CircleView
    ) throws(SharingError) -> CircleShare {
        guard circle.isContact(account) else { throw SharingError(.consentRequired, at: circle.circleID.hex) }
        guard sender == circle.founder, let arming = circle.arming, let row = arming.share(of: account),
            content.x == row.x, Int(content.threshold) == circle.terms.threshold,
            Int(content.count) == circle.terms.count,
            hash(of: content.share, x: content.x, in: circle.circleID) == row.shareHash
        else { throw SharingError(.shareInvalid, at: circle.circleID.hex) }
        return CircleShare(
            circleID: circle.circleID, founder: circle.founder, paper: arming.paper, terms: circle.terms, x: content.x,
            share: content.share)
    }
}

/// A circle that is about to serve: the paper device that nobody holds, and a share for each contact.
package struct CircleArmament: Sendable {
    package let paper: PaperDevice
    package let shares: [ChainID: CircleShare]
    /// To post once the founder's chain has the paper device.
    package let operation: CircleOperation

    /// Draws a seed and splits it. The seed is zeroed when this returns; the device's keys, when `paper` goes.
    ///
    /// - Throws: `.consentRequired` before all contacts have accepted; `.shareInvalid` without libgfshare.
    package init(of circle: CircleView, random: any RandomSource) throws(SharingError) {
        let contacts = circle.members.filter { $0.value.role == .contact }
        let accounts = contacts.keys.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        guard accounts.count == circle.terms.count, accounts.allSatisfy(circle.isContact), circle.arming == nil else {
            throw SharingError(.consentRequired, at: circle.circleID.hex)
        }
        let seed = random.secret(byteCount: RecoveryKey.seedByteCount)
        let split: [AuthenticationKey]
        do throws(CryptoError) {
            split = try SecretSharing.split(
                seed, threshold: circle.terms.threshold, count: circle.terms.count, random: random)
        } catch {
            throw SharingError(.shareInvalid, at: error.place)
        }
        let paper = PaperDevice(RecoveryKey(paperSeed: seed))
        self.paper = paper
        var shares: [ChainID: CircleShare] = [:]
        for (index, account) in accounts.enumerated() {
            shares[account] = CircleShare(
                circleID: circle.circleID, founder: circle.founder, paper: paper.deviceID, terms: circle.terms,
                x: UInt8(index + 1), share: split[index])
        }
        self.shares = shares
        operation = .arm(
            paper: paper.deviceID,
            shares: accounts.enumerated().map { index, account in
                let x = UInt8(index + 1)
                return CircleShareRow(
                    accountID: account, x: x, shareHash: CircleShare.hash(of: split[index], x: x, in: circle.circleID))
            })
    }
}

extension CircleShare {
    /// The sheet that nobody printed, out of shares from contacts who may lie.
    ///
    /// Shares that claim the same account, circle, device and terms are put together, in all subsets of the threshold's size,
    /// until the device is the claimed one. The claim with most shares comes first.
    /// - Parameter shares: at most 16 of one circle count.
    /// - Throws: `.shareInvalid` if no subset gives the device; a further share may.
    /// - Complexity: at most 12,870 subsets of one circle.
    package static func sheet(from shares: [CircleShare]) throws(SharingError) -> PaperSheet {
        struct Claim: Hashable {
            let circle: VaultID
            let founder: ChainID
            let paper: UniqueID
            let terms: CircleTerms
        }
        let claims = Dictionary(grouping: shares) { share in
            Claim(circle: share.circleID, founder: share.founder, paper: share.paper, terms: share.terms)
        }
        for (claim, shares) in claims.sorted(by: { $0.value.count > $1.value.count }) {
            for subset in subsets(of: Array(shares.prefix(CircleTerms.countMax)), count: claim.terms.threshold) {
                let seed: SecretBytes
                do throws(CryptoError) {
                    seed = try SecretSharing.join(subset.map { ($0.x, $0.share) })
                } catch {
                    guard error.code == .invalidParameter else { throw SharingError(.shareInvalid, at: error.place) }
                    continue
                }
                let key = RecoveryKey(paperSeed: seed)
                guard PaperDevice(key).deviceID == claim.paper else { continue }
                return PaperSheet(key: key, accountID: claim.founder)
            }
        }
        throw SharingError(.shareInvalid)
    }

    private static func subsets(of shares: [CircleShare], count: Int) -> [[CircleShare]] {
        guard count > 0 else { return [[]] }
        guard shares.count >= count else { return [] }
        let rest = Array(shares.dropFirst())
        return subsets(of: rest, count: count - 1).map { [shares[0]] + $0 } + subsets(of: rest, count: count)
    }
}
