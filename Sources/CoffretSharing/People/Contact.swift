// Contacts: accounts whose people the own person knows. The one thing to keep true: a state says what it rests on, and falls
// when somebody else may hold the account.

package import CoffretBase
package import CoffretTrust

/// How sure it is that an account is a certain person's.
package enum ContactState: UInt8, Sendable, Comparable, CaseIterable {
    /// A short address, or a stranger's request.
    case unverified = 0
    /// An owner added the account to a vault that both are in.
    case introduced = 1
    /// A full address, a link, or a proof, by a way that the person trusts.
    case linked = 2
    /// Both person codes were read out and are equal.
    case compared = 3
    /// Each scanned the other's QR code.
    case met = 4

    package static func < (left: ContactState, right: ContactState) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// What a state rests on.
///
/// Layout, deterministic CBOR: [state, time, own bytes, other's bytes, by whom], bytes = account id (32) ‖ hash of the newest
/// device link (32) ‖ hash of the newest identity link (32), as they were then; by whom = an account id or empty.
package struct ContactVerification: Equatable, Sendable {
    package let state: ContactState
    package let time: Milliseconds
    package let own: PersonCode.Known
    package let other: PersonCode.Known
    /// Who introduced the account; nil: nobody else.
    package let introducer: ChainID?

    package init(
        state: ContactState, time: Milliseconds, own: PersonCode.Known, other: PersonCode.Known,
        introducer: ChainID? = nil
    ) {
        self.state = state
        self.time = time
        self.own = own
        self.other = other
        self.introducer = introducer
    }

    package var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 5)
            encoder.encode(unsigned: UInt64(state.rawValue))
            encoder.encode(signed: time)
            encoder.encode(bytes: own.bytes)
            encoder.encode(bytes: other.bytes)
            encoder.encode(bytes: introducer?.bytes ?? [])
        }
    }

    /// Reads what `encoded` wrote; nil for anything else.
    package init?(decoding bytes: [UInt8]) {
        let read = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) -> ContactVerification in
            try decoder.readArrayHeader(count: 5)
            let start = decoder.byteOffset
            let state = ContactState(rawValue: try decoder.readUnsigned(as: UInt8.self))
            let time = try decoder.readSigned()
            let own = PersonCode.Known(bytes: try decoder.readBytes(count: 96))
            let other = PersonCode.Known(bytes: try decoder.readBytes(count: 96))
            let introducer = try decoder.readBytes(countMax: 32)
            guard let state, let own, let other, introducer.isEmpty || ChainID(introducer) != nil else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            return ContactVerification(
                state: state, time: time, own: own, other: other, introducer: ChainID(introducer))
        }
        guard let read else { return nil }
        self = read
    }

    /// The state as it is now, by the newest device chain known of the other: who has the sheet of an account has the account,
    /// so behind a recovery nothing that was compared counts until it is compared again.
    ///
    /// - Returns: the state, at most `.linked` behind a recovery, and whether there was one.
    package func now(_ chain: VerifiedDeviceChain) -> (state: ContactState, isChanged: Bool) {
        let known = chain.links.firstIndex { $0.hash == other.deviceHead.bytes }
        // A head that is not in the chain was replaced, which a recovery alone does.
        let isChanged =
            known.map { place in
                chain.links[(place + 1)...].contains { link in
                    if case .recover? = try? DeviceOperation(decoding: link.link) { true } else { false }
                }
            } ?? true
        return (isChanged ? min(state, .linked) : state, isChanged)
    }
}

extension PersonCode.Known {
    package var bytes: [UInt8] { accountID.bytes + deviceHead.bytes + identityHead.bytes }

    package init?(bytes: [UInt8]) {
        guard bytes.count == 96, let account = ChainID(Array(bytes[..<32])),
            let device = Bytes32(bytes[32..<64]),
            let identity = Bytes32(bytes[64...])
        else { return nil }
        self.init(accountID: account, deviceHead: device, identityHead: identity)
    }
}

/// A contact as the account vault has it.
package struct Contact: Equatable, Sendable {
    package let accountID: ChainID
    /// What the own person calls it.
    package let name: String
    /// The newest card that it sent or handed out.
    package let card: Card?
    package let verification: ContactVerification?
    /// When it was blocked; nil: it is not.
    package let blockedSince: Milliseconds?

    package init(
        accountID: ChainID, name: String, card: Card? = nil, verification: ContactVerification? = nil,
        blockedSince: Milliseconds? = nil
    ) {
        self.accountID = accountID
        self.name = name
        self.card = card
        self.verification = verification
        self.blockedSince = blockedSince
    }

    /// Checks that something may be shared with the contact.
    ///
    /// - Parameters:
    ///   - chain: its devices as they are known now.
    ///   - required: the state that the vault asks for, at least `.linked`.
    /// - Throws: `.contactUnverified`; `.contactChanged` behind a recovery.
    package func checkSharing(
        _ chain: VerifiedDeviceChain, required: ContactState = .linked
    ) throws(SharingError) {
        guard let verification, chain.accountID == accountID, blockedSince == nil else {
            throw SharingError(.contactUnverified, at: name)
        }
        let (state, isChanged) = verification.now(chain)
        guard !isChanged else { throw SharingError(.contactChanged, at: name) }
        guard state >= max(required, .linked) else { throw SharingError(.contactUnverified, at: name) }
    }
}

extension [Contact] {
    /// Contacts of other accounts that a name can be taken for: R79.
    ///
    /// - Parameter accountID: whose name it is; itself is none of them.
    package func lookAlikes(of name: String, claimedBy accountID: ChainID) -> [Contact] {
        let claimed = ClaimedName(name)
        return filter { contact in
            contact.accountID != accountID
                && ([contact.name] + (contact.card.map { [$0.name] } ?? [])).contains {
                    ClaimedName($0).looksLike(claimed)
                }
        }
    }
}
