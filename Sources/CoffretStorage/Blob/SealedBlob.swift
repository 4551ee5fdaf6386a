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

extension BlobReader {
    /// The one of the names that an address may mean under which a commit lies.
    ///
    /// Under the key of a wrong epoch the address means a name of nothing, whose own address is this one: so only
    /// what opens counts.
    func commitName(among names: [BlobName]) throws(StorageError) -> BlobName? {
        for name in names where try containsBlob(name) {
            do throws(StorageError) {
                return try readBlob(name, type: .commit) { (_) in name }
            } catch {
                guard error.code == .blobAuthenticationFailed || error.code == .blobMissing else { throw error }
            }
        }
        return nil
    }
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

/// Blobs from elsewhere that are not stored yet, in front of those that are.
///
/// Whatever is offered is verified at once; what is read is opened again, so that memory holds ciphertext only.
final class IncomingBlobs: BlobReader {
    let exchange: any SealedBlobExchange
    /// Where blobs go that are needed; reads see it too.
    let transaction: any SealedBlobWriter
    private var pool: [BlobName: (type: BlobType, sealed: SealedBlob)] = [:]
    /// Blobs that went into the transaction.
    private(set) var keptCount = 0

    init(exchange: any SealedBlobExchange, transaction: any SealedBlobWriter) {
        self.exchange = exchange
        self.transaction = transaction
    }

    /// - Returns: the blob's name; nil if it does not verify.
    func offer(_ blob: SealedBlob) throws(StorageError) -> BlobName? {
        let opened = try exchange.openSealed(blob) { (name, type, _) in (name: name, type: type) }
        // A state of a journal says nothing to others, and would be believed as our own.
        guard let opened, opened.type != .repositoryState else { return nil }
        pool[opened.name] = (opened.type, blob)
        return opened.name
    }

    /// Commits that were offered.
    var commitNames: [BlobName] { pool.filter { $0.value.type == .commit }.map(\.key) }

    /// Trees that are offered and whole, by their roots.
    var wholeTrees: Set<BlobName> = []

    /// Whether all of a tree is here: it is stored, or known to be whole.
    func containsTree(_ root: BlobName) throws(StorageError) -> Bool {
        if wholeTrees.contains(root) { return true }
        return try transaction.containsBlob(root)
    }

    /// Takes all blobs out of the pool into the transaction, but the inner nodes of trees: one that is stored has all that is
    /// below it, and what came so far may not be all.
    func keepAllButInnerNodes() throws(StorageError) {
        for (name, blob) in pool where blob.type != .treeInner {
            try transaction.writeSealed(blob.sealed, name: name)
        }
        pool = [:]
    }

    /// Takes a blob out of the pool into the transaction.
    ///
    /// - Throws: `.blobMissing` if it is in neither.
    func keep(_ name: BlobName) throws(StorageError) {
        guard let found = pool.removeValue(forKey: name) else {
            guard try transaction.containsBlob(name) else {
                throw StorageError(.blobMissing, place: name.description)
            }
            return
        }
        try transaction.writeSealed(found.sealed, name: name)
        keptCount += 1
    }

    func readBlob<Result>(
        _ name: BlobName, type: BlobType, _ body: (Span<UInt8>) throws(StorageError) -> Result
    ) throws(StorageError) -> Result {
        if let found = pool[name] {
            guard found.type == type else { throw StorageError(.blobAuthenticationFailed, place: name.description) }
            let result = try exchange.openSealed(found.sealed) { (_, _, content) throws(StorageError) in
                try body(content)
            }
            guard let result else { throw StorageError(.blobAuthenticationFailed, place: name.description) }
            return result
        }
        return try transaction.readBlob(name, type: type, body)
    }

    func containsBlob(_ name: BlobName) throws(StorageError) -> Bool {
        if pool[name] != nil { return true }
        return try transaction.containsBlob(name)
    }
}
