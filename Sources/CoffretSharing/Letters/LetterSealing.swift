// Sealing and opening letters. The one thing to keep true: a letter opens with the long-term and the transient key of its
// recipient alone, and nothing of it is believed before all checks have passed.

package import CoffretBase
package import CoffretCrypto
package import CoffretKeys
package import CoffretTrust

/// The device that writes letters.
package struct LetterSender: Sendable {
    package let accountID: ChainID
    package let deviceID: UniqueID
    /// The newest link of its device chain that it knows.
    package let head: StatedLink
    package let signingKey: SigningKey

    package init(accountID: ChainID, deviceID: UniqueID, head: StatedLink, signingKey: SigningKey) {
        self.accountID = accountID
        self.deviceID = deviceID
        self.head = head
        self.signingKey = signingKey
    }
}

/// An account to which something may be sealed today.
package struct LetterRecipient: Equatable, Sendable {
    /// How long an expired transient key is still used: 45 days.
    package static let graceTime: Milliseconds = 45 * 86_400_000

    package let keys: ReceivingKeys
    /// The transient key is past its time, and used: people are told.
    package let isExpired: Bool

    /// - Parameter now: by the sender's clock.
    /// - Throws: `.recipientDormant` more than 45 days past the time of the transient key.
    package init(_ keys: ReceivingKeys, now: Milliseconds) throws(SharingError) {
        let (late, overflow) = now.subtractingReportingOverflow(keys.transient.expires)
        let isOutOfRange = overflow && now > 0
        guard !isOutOfRange, overflow || late <= Self.graceTime else {
            throw SharingError(.recipientDormant, at: keys.accountID.hex)
        }
        self.keys = keys
        isExpired = !overflow && late > 0
    }
}

package enum LetterSealing {
    /// K = KDF(ss, "letter/agreement", E, LT, TK, header), ss = X25519(e, LT) ‖ X25519(e, TK), 64 bytes.
    static func key(
        from shared: borrowing SecretBytes, ephemeral: AgreementPublicKey, box: AgreementPublicKey,
        transient: AgreementPublicKey, header: [UInt8]
    ) -> AgreedKey {
        AgreedKey(
            KDF.derive(from: shared, .letterAgreement, ephemeral.bytes, box.bytes, transient.bytes, header))
    }

    private static func join(_ first: borrowing SecretBytes, _ second: borrowing SecretBytes) -> SecretBytes {
        unsafe SecretBytes(byteCount: 64) { target in
            // EXPOSE: two shared secrets, from locked memory to locked memory.
            unsafe first.withUnsafeBytes { unsafe target.copyMemory(from: $0) }
            unsafe second.withUnsafeBytes { half in
                unsafe UnsafeMutableRawBufferPointer(rebasing: target[32...]).copyMemory(from: half)
            }
        }
    }

    /// Writes a letter.
    ///
    /// - Parameters:
    ///   - scope: the vault's id (purposes 1 and 5), the recipient's account id (2 and 3), or the circle's id (4).
    ///   - ephemeral: nil makes a fresh one; tests give theirs.
    /// - Throws: `.letterInvalid` if a key of the recipient is a point with which nothing can be agreed on.
    package static func seal(
        _ content: LetterContent, scope: [UInt8], subject: LetterSubject, from sender: LetterSender,
        to recipient: LetterRecipient, ephemeral: AgreementKey? = nil, random: any RandomSource
    ) throws(SharingError) -> UnverifiedLetter {
        let (keys, ephemeral) = (recipient.keys, ephemeral ?? .generate(from: random))
        let header = LetterHeader(
            purpose: content.purpose, scope: scope, subject: subject.encoded, sender: sender.accountID,
            senderDevice: sender.deviceID, senderHead: sender.head, recipient: keys.accountID,
            recipientHead: keys.head, ephemeral: ephemeral.publicKey)
        let shared: SecretBytes
        do throws(CryptoError) {
            shared = join(
                try ephemeral.sharedSecret(with: keys.box), try ephemeral.sharedSecret(with: keys.transient.key))
        } catch {
            throw SharingError(.letterInvalid, at: "recipient's keys")
        }
        let key = key(
            from: shared, ephemeral: ephemeral.publicKey, box: keys.box, transient: keys.transient.key,
            header: header.encoded)
        let sealed = unsafe content.withEncoded { bytes in
            unsafe Envelope.seal(
                bytes, key: key, context: .letterContent, associatedData: header.encoded, fill: content.purpose.fill,
                random: random)
        }
        return UnverifiedLetter(header: header, sealed: sealed, with: sender.signingKey)
    }

    /// What both sides agree on; nil if either half is zero.
    static func openingKey(
        _ header: LetterHeader, box: AgreementKey, transient: AgreementKey
    ) -> AgreedKey? {
        guard let first = try? box.sharedSecret(with: header.ephemeral) else { return nil }
        guard let second = try? transient.sharedSecret(with: header.ephemeral) else { return nil }
        return key(
            from: join(first, second), ephemeral: header.ephemeral, box: box.publicKey,
            transient: transient.publicKey, header: header.encoded)
    }
}

extension LetterPurpose {
    /// Names and texts of people are filled. The rest has lengths that the server can tell from the vault.
    var fill: Envelope.Fill {
        switch self {
        case .contactRequest, .contactAnswer: .sizeClasses
        case .vaultKey, .recoveryShare, .keyWanted: .none
        }
    }
}

/// Where a recipient expects a letter to belong.
package enum LetterPlace: Sendable {
    /// A vault with its verified rights, as far as they are known here (purposes 1 and 5).
    case vault(VerifiedMemberRights)
    /// The recipient himself (purposes 2 and 3).
    case account
    /// A circle (purpose 4).
    case circle(VaultID)
}

/// Opens letters to an account.
package struct LetterOpener: Sendable {
    package let chain: VerifiedIdentityChain
    package let keys: IdentityKeys

    /// - Parameters:
    ///   - chain: the account's own identity chain.
    ///   - keys: the private halves that are here.
    package init(chain: VerifiedIdentityChain, keys: IdentityKeys) {
        self.chain = chain
        self.keys = keys
    }

    /// Checks a letter and opens it, in the order of Spec/people.md section 5: recipient, identity, sender, signature,
    /// membership; then the content; of a vault's keys what the chain commits to.
    ///
    /// - Parameter sender: the sender's devices, verified from the account id that the header names.
    /// - Throws: `.letterInvalid` without detail, `.letterStaleIdentity`, `.letterKeyDiffers`.
    package func open(
        _ letter: UnverifiedLetter, from sender: AccountDevices, in place: LetterPlace
    ) throws(SharingError) -> LetterContent {
        let header = letter.header
        guard header.recipient == chain.accountID, header.sender == sender.accountID,
            let link = chain.link(at: header.recipientHead)
        else { throw SharingError(.letterInvalid) }
        guard link.number >= chain.newestSet.number else { throw SharingError(.letterStaleIdentity) }
        guard let longTerm = keys.longTerm(of: chain.newestSet), let transient = keys.transient(of: link) else {
            throw SharingError(.letterInvalid)
        }
        // A key counts because the chain commits to it, also where its sender has left since.
        do throws(TrustError) {
            try letter.checkSender(sender, mayHaveGone: header.purpose == .vaultKey)
        } catch { throw SharingError(.letterInvalid) }
        guard let subject = LetterSubject(decoding: header.subject, of: header.purpose),
            isInPlace(header, place)
        else { throw SharingError(.letterInvalid) }
        guard let key = LetterSealing.openingKey(header, box: longTerm.box, transient: transient) else {
            throw SharingError(.letterInvalid)
        }
        let opened = unsafe try? Envelope.open(
            letter.sealed, key: key, context: .letterContent, associatedData: header.encoded, fill: header.purpose.fill
        ) { content in unsafe LetterContent.decode(content, purpose: header.purpose) }
        guard let content = opened ?? nil else { throw SharingError(.letterInvalid) }
        if case .vault(let rights) = place, case .vaultKey(let vaultKey) = content {
            try check(vaultKey, subject, against: rights)
        }
        return content
    }

    private func isInPlace(_ header: LetterHeader, _ place: LetterPlace) -> Bool {
        switch (header.purpose, place) {
        case (.vaultKey, .vault(let rights)): header.scope == rights.vaultID.bytes
        case (.keyWanted, .vault(let rights)):
            header.scope == rights.vaultID.bytes && rights.rights.members[header.sender] != nil
        case (.contactRequest, .account), (.contactAnswer, .account): header.scope == chain.accountID.bytes
        case (.recoveryShare, .circle(let circle)): header.scope == circle.bytes
        default: false
        }
    }

    /// A key counts because the chain commits to it, whoever sent it.
    private func check(
        _ content: VaultKeyContent, _ subject: LetterSubject, against chain: VerifiedMemberRights
    ) throws(SharingError) {
        guard case .key(let epoch, let head) = subject, head.number < UInt64(chain.count),
            chain.links[Int(head.number)].hash == head.hash
        else { throw SharingError(.letterInvalid) }
        let scope = epoch == 1 ? chain.foundation.random : chain.vaultID.bytes
        let commitment = EpochKeys.deriveCommitment(to: content.vaultKey, scope: scope, epoch: epoch)
        let split: AuthenticationKey = KDF.derive(
            from: content.splitKey, .splitKeyCommitment, chain.vaultID.bytes)
        // EXPOSE: commitments are no secrets: they are written into links.
        let splitCommitment = unsafe split.withUnsafeBytes { bytes in unsafe [UInt8](bytes) }
        guard let stated = chain.keyCommitments[epoch], stated.bytes == commitment,
            let statedSplit = chain.rights.splitKeyCommitment, statedSplit.bytes == splitCommitment
        else { throw SharingError(.letterKeyDiffers) }
    }
}
