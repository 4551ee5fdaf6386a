// Rewriting what is alive. The one thing to keep true: until the manifest is replaced the old files are
// the store, from then on the new ones are; at no moment does a blob that is alive depend on both.

internal import CoffretBase
internal import CoffretCrypto

/// What a compaction did.
package struct BlobCompaction: Equatable, Sendable {
    package let blobCount: Int
    package let packCount: Int
    /// Bytes of all files of records before and after.
    package let byteCountBefore: Int
    package let byteCountAfter: Int
}

extension BlobStore {
    /// Rewrites the blobs that `walk` names into packs, sorted by address, and drops everything else.
    ///
    /// Crash-safe at each step. Blobs are copied as they are sealed, after each was verified, so that
    /// damage is not carried on unseen; one that does not verify stops the compaction, and nothing has
    /// changed then.
    /// - Parameters:
    ///   - state: the state from then on.
    ///   - walk: calls its argument for each blob that lives; that returns whether the blob was new, so
    ///     that shared parts need be walked only once.
    /// - Throws: `.blobMissing`, `.blobAuthenticationFailed`, `.diskFull`, `.fileFailed`, `.readOnly`.
    /// - Complexity: about 90 bytes of memory per blob; reads and writes each once.
    @discardableResult
    package func compact(
        state newState: RepositoryState,
        keeping walk: (_ keep: (BlobName) -> Bool) throws(StorageError) -> Void
    ) throws(StorageError) -> BlobCompaction {
        guard isWritable else { throw StorageError(isBroken ? .unusable : .readOnly, place: directory) }
        precondition(!isInTransaction, "a transaction must end before compaction")
        var names: Set<BlobName> = []
        try walk { names.insert($0).inserted }
        var live: [LiveBlob] = []
        live.reserveCapacity(names.count)
        for name in names { live.append(try locate(name)) }
        names = []
        live.sort { $0.address < $1.address }

        let byteCountBefore = fileByteCount
        let generation = takeNumber()
        var written: [StorageFileID] = []
        do throws(StorageError) {
            let packs = try writePacks(live, generation: generation, written: &written)
            let fresh = try ActiveSegment.create(
                number: takeNumber(), firstSequence: active.lastSequence + 1, state: newState,
                byteCount: context.environment.tuning.segmentByteCountMin, context: context, sealer: sealer)
            written.append(fresh.id)
            try translatingFileErrors { () throws(FileSystemError) in
                try context.fileSystem.synchronizeDirectory(context.path("blobs"))
                try context.fileSystem.synchronizeDirectory(context.path("journal"))
            }
            let old = manifest.sealed.map(\.id) + [active.id]
            try replaceManifest {
                $0.sealed = packs
                $0.activeSegment = fresh.number
            }
            active = fresh
            // What cannot be removed now is an orphan that the next writer removes.
            for id in old { try? context.fileSystem.remove(context.path(id.relativePath)) }
            return BlobCompaction(
                blobCount: live.count, packCount: packs.count, byteCountBefore: byteCountBefore,
                byteCountAfter: fileByteCount)
        } catch {
            if !isBroken { for id in written { try? context.fileSystem.remove(context.path(id.relativePath)) } }
            throw error
        }
    }

    /// Bytes of all files of records that the manifest lists, empty room included.
    package var fileByteCount: Int {
        manifest.sealed.reduce(active.capacityByteCount) { $0 + $1.byteCount }
    }

    /// Bytes that compaction would read: everything outside packs.
    package var journalByteCount: Int {
        manifest.sealed.filter { $0.id.kind != .pack }.reduce(active.endOffset) { $0 + $1.byteCount }
    }

    struct LiveBlob {
        let name: BlobName
        let address: BlobAddress
        /// Nil: the segment that grows.
        let file: SealedFile?
        let location: RecordLocation
    }

    /// The newest epoch's record of a name.
    ///
    /// In the last epoch that can have it the word of an index is enough: whoever copies the record compares its
    /// address, and looks everywhere else if it is another's. Before that, one read more tells the epoch for sure.
    func locate(_ name: BlobName) throws(StorageError) -> LiveBlob {
        for epoch in sealer.epochsNewestFirst {
            let address = sealer.address(of: name, epoch: epoch)
            let isLast = epoch == sealer.epochsNewestFirst.last
            if let place = try isLast ? indexedPlace(of: address) : place(of: address) {
                return LiveBlob(name: name, address: address, file: place.file, location: place.location)
            }
        }
        throw StorageError(.blobMissing, place: name.description)
    }

    private func indexedPlace(
        of address: BlobAddress
    ) throws(StorageError) -> (file: SealedFile?, location: RecordLocation)? {
        if let location = try active.location(of: address) { return (file: nil, location: location) }
        for entry in segmentEntries {
            let file = try openFile(entry)
            if let location = try file.indexedLocation(of: address) { return (file: file, location: location) }
        }
        guard let pack = packByFirstByte[address.firstByte] else { return nil }
        let file = try openFile(pack)
        guard let location = try file.indexedLocation(of: address) else { return nil }
        return (file: file, location: location)
    }

    /// Writes a pack for each range of addresses, all of them durable when it returns.
    private func writePacks(
        _ live: [LiveBlob], generation: UInt64, written: inout [StorageFileID]
    ) throws(StorageError) -> [Manifest.SealedEntry] {
        var packs: [Manifest.SealedEntry] = []
        try forEachPack(live, generation: generation) { (id, blobs) throws(StorageError) in
            written.append(id)
            let writer = try SealedFileWriter(id, context: context)
            for blob in blobs { try copy(blob, to: writer) }
            packs.append(try writer.finish())
        }
        return packs
    }

    /// Divides blobs, sorted by address, into the packs that they go to.
    func forEachPack(
        _ live: [LiveBlob], generation: UInt64,
        _ body: (StorageFileID, ArraySlice<LiveBlob>) throws(StorageError) -> Void
    ) throws(StorageError) {
        let byteCount = live.reduce(0) { $0 + $1.location.recordByteCount }
        let wanted = byteCount / max(context.environment.tuning.packByteCountMin, 1)
        let prefixBitCount = wanted >= 256 ? 8 : wanted >= 16 ? 4 : 0
        var start = 0
        while start < live.count {
            let id = StorageFileID(
                kind: .pack, number: generation,
                prefix: UInt8(live[start].address.firstByte & ~((1 << (8 - prefixBitCount)) - 1)),
                prefixBitCount: prefixBitCount)
            var end = start
            while end < live.count, id.firstBytes.contains(live[end].address.firstByte) { end += 1 }
            try body(id, live[start..<end])
            start = end
        }
    }

    func copy(_ blob: LiveBlob, to writer: SealedFileWriter) throws(StorageError) {
        func take(_ sealed: UnsafeRawBufferPointer) throws(StorageError) -> Bool? {
            guard try unsafe sealer.open(sealed, name: blob.name, type: nil, { (_, _) in true }) != nil else {
                return nil
            }
            try unsafe writer.append(sealed: sealed, address: blob.address)
            return true
        }
        // Where it was found; and if it does not verify there, wherever else it lies.
        let file = blob.file?.file ?? active.file
        let buffer = scratch.take()
        defer { scratch.give(buffer) }
        let isCopied = try unsafe file.withBlobRecord(at: blob.location, of: blob.address, scratch: buffer, take)
        if isCopied == true { return }
        var isDamaged = false
        if try unsafe withSealedBlob(blob.address, isDamaged: &isDamaged, take) == nil {
            throw StorageError(isDamaged ? .blobAuthenticationFailed : .blobMissing, place: blob.name.description)
        }
    }
}
