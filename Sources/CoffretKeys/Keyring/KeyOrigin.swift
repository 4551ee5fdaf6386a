// Where a storage key came from, and whom that authenticates. Invariant: nothing that a storage key opens is used
// before its writer is known to be the device that made the opened slot.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretTrust

/// The secret that led to a storage key or backup key.
enum KeyOrigin {
    /// A slot whose secret was derived for this device.
    case device([UInt8])
    /// A key on paper. A slot without anchor is a paper device's: its sheet signed itself into the account's chain.
    case paper(RecoveryKey, anchor: [UInt8], acceptsFormer: Bool)
    /// An earlier opening of the same file, which was checked then.
    case held

    /// The device that must have written the file; nil where the body has to tell.
    var anchor: [UInt8]? {
        if case .device(let anchor) = self { anchor } else { nil }
    }

    /// Holds what was opened against the sheet.
    ///
    /// A device that printed a sheet is bound to it. A paper device is bound to the chain, in which its own signature stands.
    /// Anybody can list a chain as a former one, so that this counts only where a person says so.
    /// - Parameter author: the device that wrote the file, as verified.
    /// - Throws: `.keyringForeign`; `.recoveryAccountDiffers` at the account that the sheet is of.
    func check(_ body: KeyringBody, author: [UInt8]) throws(KeyError) {
        guard case .paper(let key, let anchor, let acceptsFormer) = self else { return }
        if anchor == author { return }
        let paper = key.kind == .paper && anchor.isEmpty ? PaperDevice(key) : nil
        func isOf(_ chain: VerifiedDeviceChain) -> Bool {
            if let paper { return paper.isTrusted(in: chain) }
            return chain.devices.contains { $0.keys.signing.bytes == anchor }
        }
        if paper != nil, isOf(body.deviceChain) { return }
        let former = body.formerChains.first { $0.accountID != body.deviceChain.accountID && isOf($0) }
        guard let former else { throw KeyError(.keyringForeign, at: "sheet") }
        guard acceptsFormer else {
            throw KeyError(.recoveryAccountDiffers, at: Fingerprint(of: former.accountID.bytes).description)
        }
    }
}
