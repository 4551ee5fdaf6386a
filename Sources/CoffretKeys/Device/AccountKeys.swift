// Keys that one device of a person hands to another: the key of link details, former chains, vaults. Invariant:
// received keys are verified as if they came from a stranger, and local keys never leave their device.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretTrust

/// The content of a device box.
///
/// Layout: [details key (32), [former chain...], [vault...], identity], vault = [id, name, kind, member chain,
/// {epoch: vault key}, [offered key...], split key], identity = [[[number, signing seed (32), box key (32)]...],
/// [[number, transient key (32)]...]], numbers of identity links. A content without the last item is of version 1.
struct AccountKeys {
    let detailsKey: LinkDetailsKey
    let formerChains: [VerifiedDeviceChain]
    /// With fresh local keys.
    let vaults: [VaultRecord]
    /// Private halves that somebody else of the account had, with no time.
    let identity: IdentityKeys

    init(
        detailsKey: LinkDetailsKey, formerChains: [VerifiedDeviceChain], vaults: [VaultRecord], identity: IdentityKeys
    ) {
        self.detailsKey = detailsKey
        self.identity = identity
        self.formerChains = formerChains
        self.vaults = vaults
    }

    /// Encodes what `body` holds of `vaults`, lends it, and zeroes it.
    static func withEncoded<Result, Failure: Error>(
        _ body: KeyringBody, vaults: [VaultRecord], _ use: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var encoder = CBOREncoder(reservingByteCount: body.encodedByteCountMax)
        encoder.encodeArrayHeader(count: 4)
        KeyringBody.encode(body.detailsKey, to: &encoder)
        encoder.encodeArrayHeader(count: body.formerChains.count)
        for chain in body.formerChains { KeyringBody.encode(chain.links, to: &encoder) }
        encoder.encodeArrayHeader(count: vaults.count)
        for vault in vaults {
            encoder.encodeArrayHeader(count: 7)
            KeyringBody.encodeShared(vault, to: &encoder)
        }
        (body.identity?.keys ?? IdentityKeys()).encode(to: &encoder, withTimes: false)
        precondition(encoder.bytes.count <= body.encodedByteCountMax, "the buffer grew and left a copy")
        defer { encoder.zero() }
        return try unsafe encoder.bytes.span.withUnsafeBytes(use)
    }

    /// Reads and verifies what another device sent.
    static func decode(
        _ bytes: UnsafeRawBufferPointer, chain: VerifiedDeviceChain, random: any RandomSource
    ) -> Result<AccountKeys, KeyError> {
        do throws(KeyError) {
            return .success(try unsafe AccountKeys(decoding: bytes, chain: chain, random: random))
        } catch {
            return .failure(error)
        }
    }

    private init(
        decoding bytes: UnsafeRawBufferPointer, chain: VerifiedDeviceChain, random: any RandomSource
    ) throws(KeyError) {
        let detailsKey: LinkDetailsKey
        let formerLinks: [[UnverifiedLink]]
        let unverified: [UnverifiedVault]
        let identity: IdentityKeys
        var vaults: [VaultRecord] = []
        do throws(CBORError) {
            (detailsKey, formerLinks, unverified, identity) = try unsafe withCBORDecoder(over: bytes) {
                (decoder) throws(CBORError) in
                let start = decoder.byteOffset
                let count = try decoder.readArrayHeader()
                guard count == 3 || count == 4 else { throw CBORError(.unexpectedItem, byteOffset: start) }
                let detailsKey = LinkDetailsKey(try decoder.readSecret())
                var formerLinks: [[UnverifiedLink]] = []
                for _ in 0..<(try decoder.readArrayHeader()) { formerLinks.append(try decoder.readLinks()) }
                let vaults = try decoder.readVaults { (decoder) throws(CBORError) in
                    try UnverifiedVault(from: &decoder, localKey: LocalKey.generate(from: random))
                }
                let identity = count == 4 ? try IdentityKeys(from: &decoder, withTimes: false) : IdentityKeys()
                return (detailsKey, formerLinks, vaults, identity)
            }
        } catch {
            throw KeyError(.boxInvalid, at: "shape", cause: error)
        }
        do throws(TrustError) {
            var former: [VerifiedDeviceChain] = []
            for links in formerLinks { former.append(try VerifiedDeviceChain.verify(links)) }
            for vault in unverified { vaults.append(try KeyringBody.verify(vault, accounts: [chain] + former)) }
            self.detailsKey = detailsKey
            self.identity = identity
            formerChains = former
        } catch {
            throw KeyError(.boxInvalid, at: "chain", cause: error)
        }
        for vault in vaults where !vault.keysFitFoundation { throw KeyError(.boxInvalid, at: "vault key") }
        // What another device calls the key of an epoch counts when the chain says so.
        self.vaults = vaults.map { vault in
            let others = vault.vaultKeys.filter { $0.key != 1 }.sorted { $0.key < $1.key }
                .map { OfferedKey(epoch: $0.key, key: $0.value, since: 0) }
            return vault.replacing(vaultKeys: vault.vaultKeys.filter { $0.key == 1 }, offered: others + vault.offered)
        }
    }
}

extension VaultRecord {
    /// Whether the key of epoch 1 is the one that the founding link commits to.
    var keysFitFoundation: Bool {
        let foundation = memberChain.foundation
        guard let first = vaultKeys[1] else { return false }
        return EpochKeys.deriveCommitment(to: first, scope: foundation.random, epoch: 1) == foundation.keyCommitment
    }

    func replacing(
        kind: VaultKind? = nil, vaultKeys: [UInt32: VaultKey]? = nil, offered: [OfferedKey]? = nil
    ) -> VaultRecord {
        VaultRecord(
            vaultID: vaultID, name: name, kind: kind ?? self.kind, memberChain: memberChain,
            vaultKeys: vaultKeys ?? self.vaultKeys, offered: offered ?? self.offered, splitKey: splitKey,
            localKey: localKey)
    }

    /// Takes keys that are new here aside.
    func offering(_ keys: [OfferedKey], at now: Milliseconds) -> VaultRecord {
        var offered = offered
        for key in keys where vaultKeys[key.epoch] == nil && offered.count < Limits.epochCountMax {
            if offered.contains(where: { $0.epoch == key.epoch && $0.commitment == key.commitment }) { continue }
            offered.append(OfferedKey(epoch: key.epoch, key: key.key, since: now))
        }
        return replacing(offered: offered)
    }
}

extension OfferedKey {
    /// Tells keys apart; it is bound to no vault.
    fileprivate var commitment: [UInt8] { EpochKeys.deriveCommitment(to: key, scope: [], epoch: epoch) }
}
