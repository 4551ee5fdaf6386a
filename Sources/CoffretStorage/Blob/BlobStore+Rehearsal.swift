// What a process does once, done early.

internal import CoffretBase
package import CoffretCrypto

extension BlobStore {
    /// Seals a blob and opens it: the first time in a process, OpenSSL sets itself up.
    ///
    /// - Returns: whether it opened.
    @discardableResult
    package static func rehearse(_ keys: VaultKeys) -> Bool {
        let (sealer, content, type) = (BlobSealer(keys: keys), [UInt8](repeating: 0, count: 64), BlobType.value)
        guard let prepared = try? sealer.prepare(type: type, content: content.span) else { return false }
        var sealed: [UInt8] = []
        sealer.seal(prepared, into: &sealed)
        let address = sealer.address(of: prepared.name, epoch: sealer.currentEpoch)
        let opened = unsafe sealed.withUnsafeBytes { bytes in
            try? unsafe sealer.open(bytes, name: prepared.name, type: type) { _, content in content.count }
        }
        return sealer.name(ofAddress: address, epoch: sealer.currentEpoch) == prepared.name && opened == content.count
    }
}
