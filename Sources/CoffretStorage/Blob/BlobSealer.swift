// From content to sealed blob and back (`Spec/blob.md`). The one thing to keep true: nothing leaves
// `open` that is not, byte for byte, what the name says and what sealing would make again.

package import CoffretBase
internal import CoffretCrypto

/// The layout of a blob's plaintext: type (1) ‖ version (1) ‖ length (4) ‖ content ‖ zeros.
package enum BlobFormat {
    package static let version: UInt8 = 1
    package static let headerByteCount = 6
    /// The largest padded plaintext.
    package static let paddedByteCountMax = Limits.blobByteCountMax
    /// The largest content of one blob.
    package static let contentByteCountMax = paddedByteCountMax - headerByteCount
    /// Epoch (4) and Poly1305 tag (16): what a stored blob is longer than its plaintext.
    package static let overheadByteCount = 20
}

/// Seals and opens blobs for one store; keeps the memory it works in. Belongs to one thread.
final class BlobSealer {
    private struct Epoch {
        let keys: EpochKeys
        let address: AddressCipher
    }

    private let keys: VaultKeys
    /// Of the current epoch, and of the older ones that were asked for.
    private var epochs: [UInt32: Epoch] = [:]
    /// Made when a check of all files first asks.
    private var deciphers: [UInt32: AddressDecipher] = [:]
    /// All epochs, newest first: the order in which a name is looked up.
    let epochsNewestFirst: [UInt32]
    var currentEpoch: UInt32 { epochsNewestFirst[0] }
    private let plaintext = ScratchBuffer(capacity: 16 << 10)
    private let pool = ScratchPool()

    init(keys: VaultKeys) {
        self.keys = keys
        epochsNewestFirst = keys.epochs
    }

    /// A blob's plaintext and name, made by `prepare`, not sealed yet.
    struct Prepared {
        let name: BlobName
        let paddedByteCount: Int
        var sealedByteCount: Int { paddedByteCount + BlobFormat.overheadByteCount }
    }

    /// Lays out and names the plaintext; `seal` then seals what was prepared last.
    ///
    /// - Throws: `.blobTooLarge`.
    func prepare(type: BlobType, content: Span<UInt8>) throws(StorageError) -> Prepared {
        guard content.count <= BlobFormat.contentByteCountMax else {
            throw StorageError(.blobTooLarge, place: "\(content.count) bytes")
        }
        let usedByteCount = BlobFormat.headerByteCount + content.count
        let paddedByteCount = Padding.paddedByteCount(usedByteCount)
        precondition(paddedByteCount <= BlobFormat.paddedByteCountMax, "padding stays within the limit")
        let padded = unsafe plaintext.bytes(count: paddedByteCount)
        unsafe padded[0] = type.rawValue
        unsafe padded[1] = BlobFormat.version
        unsafe padded.storeBytes(of: UInt32(content.count).bigEndian, toByteOffset: 2, as: UInt32.self)
        unsafe content.withUnsafeBytes { bytes in
            if unsafe !bytes.isEmpty {
                unsafe UnsafeMutableRawBufferPointer(rebasing: padded[BlobFormat.headerByteCount...])
                    .copyMemory(from: bytes)
            }
        }
        unsafe UnsafeMutableRawBufferPointer(rebasing: padded[usedByteCount...])
            .initializeMemory(as: UInt8.self, repeating: 0)
        return Prepared(name: unsafe name(of: UnsafeRawBufferPointer(padded)), paddedByteCount: paddedByteCount)
    }

    /// Appends epoch ‖ tag ‖ ciphertext of what `prepare` made last, under the current epoch.
    func seal(_ prepared: Prepared, into target: inout [UInt8]) {
        let epoch = self.epoch(currentEpoch)
        let start = target.count
        target.append(contentsOf: repeatElement(0, count: prepared.sealedByteCount))
        let padded = unsafe UnsafeRawBufferPointer(plaintext.bytes(count: prepared.paddedByteCount))
        unsafe target.withUnsafeMutableBytes { bytes in
            unsafe bytes.storeBytes(of: epoch.keys.epoch.bigEndian, toByteOffset: start, as: UInt32.self)
            let sealed = unsafe UnsafeMutableRawBufferPointer(rebasing: bytes[(start + 4)...])
            unsafe withNonce(of: prepared.name, epoch) { nonce in
                unsafe SecretBox.seal(padded, key: epoch.keys.blobKey, nonce: nonce, into: sealed)
            }
        }
    }

    /// Opens a stored blob, verifies everything about it, and lends its content.
    ///
    /// - Parameter sealed: epoch ‖ tag ‖ ciphertext.
    /// - Returns: nil if it does not verify; the caller knows where it came from and says so.
    func open<Result>(
        _ sealed: UnsafeRawBufferPointer, name: BlobName, type: BlobType?,
        _ body: (BlobType, Span<UInt8>) throws(StorageError) -> Result
    ) throws(StorageError) -> Result? {
        guard sealed.count >= BlobFormat.overheadByteCount + BlobFormat.headerByteCount else { return nil }
        guard let epoch = unsafe known(sealed.loadBigEndian(UInt32.self, at: 0)) else { return nil }
        let scratch = pool.take()
        defer { pool.give(scratch) }
        let padded = unsafe scratch.bytes(count: sealed.count - BlobFormat.overheadByteCount)
        let isOpened = unsafe withNonce(of: name, epoch) { nonce in
            do throws(CryptoError) {
                try unsafe SecretBox.open(
                    UnsafeRawBufferPointer(rebasing: sealed[4...]), key: epoch.keys.blobKey, nonce: nonce, into: padded)
                return true
            } catch {
                return false
            }
        }
        guard isOpened, unsafe self.name(of: UnsafeRawBufferPointer(padded)) == name,
            let found = unsafe Self.verifiedLayout(UnsafeRawBufferPointer(padded)),
            type == nil || type == found.type
        else { return nil }
        let content = unsafe UnsafeBufferPointer(
            start: padded.baseAddress!.assumingMemoryBound(to: UInt8.self) + BlobFormat.headerByteCount,
            count: found.contentByteCount)
        return try unsafe body(found.type, Span(_unsafeElements: content))
    }

    /// The address of a name under one of our epochs.
    func address(of name: BlobName, epoch number: UInt32) -> BlobAddress {
        let cipher = epoch(number).address
        return unsafe BlobAddress(
            derive { target in
                unsafe withBytes(of: name.value) { bytes in unsafe cipher.encipher(bytes, into: target) }
            })
    }

    /// The name that has this address in `epoch`; nil for an epoch that is not ours. Lets a check of
    /// all files verify every blob without knowing what refers to it.
    func name(ofAddress address: BlobAddress, epoch number: UInt32) -> BlobName? {
        guard let keys = known(number)?.keys else { return nil }
        let cipher = decipher(of: keys)
        return unsafe BlobName(
            derive { target in
                unsafe withBytes(of: address.value) { bytes in unsafe cipher.decipher(bytes, into: target) }
            })
    }

    private func decipher(of keys: EpochKeys) -> AddressDecipher {
        if let cipher = deciphers[keys.epoch] { return cipher }
        let cipher = AddressDecipher(keys.blobAddressKey)
        deciphers[keys.epoch] = cipher
        return cipher
    }

    /// nil for an epoch that is not ours.
    private func known(_ number: UInt32) -> Epoch? {
        if let epoch = epochs[number] { return epoch }
        guard let epochKeys = keys.keys(ofEpoch: number) else { return nil }
        let epoch = Epoch(keys: epochKeys, address: AddressCipher(epochKeys.blobAddressKey))
        epochs[number] = epoch
        return epoch
    }

    private func epoch(_ number: UInt32) -> Epoch {
        guard let epoch = known(number) else { preconditionFailure("an epoch of this vault is needed") }
        return epoch
    }

    /// Lends the nonce that a name gives in an epoch.
    private func withNonce<Result>(
        of name: BlobName, _ epoch: Epoch, _ body: (UnsafeRawBufferPointer) -> Result
    ) -> Result {
        unsafe withUnsafeTemporaryAllocation(byteCount: SecretBox.nonceByteCount, alignment: 8) { nonce in
            unsafe withBytes(of: name.value) { bytes in
                unsafe SecretBox.deriveNonce(ofName: bytes, key: epoch.keys.nonceKey, into: nonce)
            }
            return unsafe body(UnsafeRawBufferPointer(nonce))
        }
    }

    /// Type and content size of a plaintext; nil unless it is exactly what `prepare` lays out.
    static func verifiedLayout(
        _ padded: UnsafeRawBufferPointer
    ) -> (type: BlobType, contentByteCount: Int)? {
        guard padded.count >= BlobFormat.headerByteCount, unsafe padded[1] == BlobFormat.version,
            let type = unsafe BlobType(rawValue: padded[0])
        else { return nil }
        let contentByteCount = unsafe Int(padded.loadBigEndian(UInt32.self, at: 2))
        guard contentByteCount <= BlobFormat.contentByteCountMax,
            Padding.paddedByteCount(BlobFormat.headerByteCount + contentByteCount) == padded.count
        else { return nil }
        let padding = unsafe padded[(BlobFormat.headerByteCount + contentByteCount)...]
        guard unsafe padding.allSatisfy({ $0 == 0 }) else { return nil }
        return (type, contentByteCount)
    }

    private func name(of padded: UnsafeRawBufferPointer) -> BlobName {
        unsafe BlobName(derive { target in unsafe BLAKE2b.hash(padded, into: target) })
    }

    /// Lends 32 bytes to be filled.
    private func derive(_ body: (UnsafeMutableRawBufferPointer) -> Void) -> Bytes32 {
        unsafe withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { buffer in
            unsafe body(buffer)
            return unsafe Bytes32(UnsafeRawBufferPointer(buffer))
        }
    }
}

/// Lends the 32 bytes of a name or an address.
package func withBytes<Result>(of value: Bytes32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    unsafe withUnsafeTemporaryAllocation(byteCount: 32, alignment: 8) { buffer in
        unsafe value.write(to: buffer.baseAddress!)
        return unsafe body(UnsafeRawBufferPointer(buffer))
    }
}
