// Blobs as they lie, to be carried elsewhere. The one thing to keep true: what comes from elsewhere is opened
// and compared with its name before it is stored, and nothing is sealed twice under one name and epoch.

internal import CoffretBase
internal import CoffretCrypto

/// A blob as it lies on a disk or a server: its address and epoch (4) ‖ tag ‖ ciphertext.
package struct SealedBlob: Equatable, Sendable {
    package let address: BlobAddress
    package let bytes: [UInt8]

    package init(address: BlobAddress, bytes: [UInt8]) {
        self.address = address
        self.bytes = bytes
    }

    /// The key epoch under which it claims to be sealed; nil for fewer than four bytes.
    package var epoch: UInt32? { UInt32(bigEndianBytes: Array(bytes.prefix(4))) }
}

/// A blob of this device, as it goes to others.
package struct WrittenBlob: Equatable, Sendable {
    package let name: BlobName
    package let sealed: SealedBlob
}

/// A backend that can hand blobs out and check those that come in.
package protocol SealedBlobExchange: BlobRepositoryBackend {
    /// Opens a blob from elsewhere and verifies all of it: address, tag, name, layout.
    ///
    /// - Returns: nil if anything does not verify.
    func openSealed<Result>(
        _ blob: SealedBlob, _ body: (BlobName, BlobType, Span<UInt8>) throws(StorageError) -> Result
    ) throws(StorageError) -> Result?

    /// A stored blob under the current epoch: as it lies if it was sealed under that, else sealed anew, which
    /// changes neither its name nor any root (protocol 8).
    ///
    /// - Throws: `.blobMissing`, `.blobAuthenticationFailed`.
    func sealedBlob(_ name: BlobName) throws(StorageError) -> SealedBlob

    /// Where a blob of this name may lie: under each epoch, newest first.
    func addresses(of name: BlobName) -> [BlobAddress]

    /// The names that an address may mean: one for each epoch, newest first.
    func names(of address: BlobAddress) -> [BlobName]
}

/// A transaction that takes blobs as they lie.
package protocol SealedBlobWriter: BlobTransactionWriter {
    /// Stores a blob that `openSealed` accepted, byte for byte; does nothing if it is there under any epoch.
    func writeSealed(_ blob: SealedBlob, name: BlobName) throws(StorageError)
}

extension BlobStore: SealedBlobExchange {
    package func openSealed<Result>(
        _ blob: SealedBlob, _ body: (BlobName, BlobType, Span<UInt8>) throws(StorageError) -> Result
    ) throws(StorageError) -> Result? {
        guard let epoch = blob.epoch, let name = sealer.name(ofAddress: blob.address, epoch: epoch) else { return nil }
        return try unsafe blob.bytes.lending(0..<blob.bytes.count) { (sealed) throws(StorageError) in
            try unsafe sealer.open(sealed, name: name, type: nil) { (type, content) throws(StorageError) in
                try body(name, type, content)
            }
        }
    }

    package func sealedBlob(_ name: BlobName) throws(StorageError) -> SealedBlob {
        let address = sealer.address(of: name, epoch: sealer.currentEpoch)
        var isDamaged = false
        let asItLies = try unsafe withSealedBlob(address, isDamaged: &isDamaged) {
            (sealed) throws(StorageError) -> SealedBlob? in
            let isWhole = try unsafe sealer.open(sealed, name: name, type: nil) { (_, _) in true }
            return isWhole == nil ? nil : SealedBlob(address: address, bytes: unsafe Array(sealed))
        }
        if let asItLies { return asItLies }
        let blob = try anyBlob(name)
        let made = try seal(blob.content, type: blob.type)
        precondition(made.name == name, "a blob has one name")
        return made.sealed
    }

    /// Seals a blob under the current epoch and stores nothing.
    package func seal(_ content: [UInt8], type: BlobType) throws(StorageError) -> WrittenBlob {
        let prepared = try sealer.prepare(type: type, content: content.span)
        var bytes: [UInt8] = []
        sealer.seal(prepared, into: &bytes)
        let address = sealer.address(of: prepared.name, epoch: sealer.currentEpoch)
        return WrittenBlob(name: prepared.name, sealed: SealedBlob(address: address, bytes: bytes))
    }

    /// A blob of whatever type, under whatever epoch.
    private func anyBlob(_ name: BlobName) throws(StorageError) -> (type: BlobType, content: [UInt8]) {
        var isDamaged = false
        for epoch in sealer.epochsNewestFirst {
            let address = sealer.address(of: name, epoch: epoch)
            let found = try unsafe withSealedBlob(address, isDamaged: &isDamaged) {
                (sealed) throws(StorageError) -> (type: BlobType, content: [UInt8])? in
                try unsafe sealer.open(sealed, name: name, type: nil) { (type, content) in
                    (type: type, content: unsafe content.withUnsafeBufferPointer { unsafe Array($0) })
                }
            }
            if let found { return found }
        }
        throw StorageError(isDamaged ? .blobAuthenticationFailed : .blobMissing, place: name.description)
    }

    package func addresses(of name: BlobName) -> [BlobAddress] {
        sealer.epochsNewestFirst.map { sealer.address(of: name, epoch: $0) }
    }

    package func names(of address: BlobAddress) -> [BlobName] {
        sealer.epochsNewestFirst.compactMap { sealer.name(ofAddress: address, epoch: $0) }
    }
}

extension BlobTransaction: SealedBlobWriter {
    package func writeSealed(_ blob: SealedBlob, name: BlobName) throws(StorageError) {
        guard try !containsBlob(name) else { return }
        try append(sealed: blob)
    }
}
