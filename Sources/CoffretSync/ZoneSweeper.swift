// Lets a server forget what a compaction removed. The one thing to keep true: nothing is asked to go that a commit which
// is kept here needs, and nothing at all before everything that is kept is known to be there.

package import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
package import CoffretStorage
internal import CoffretTrust
package import CoffretWire

/// Requests about what lies in one zone. Each blocks until there is an answer.
package protocol SweepTransport: AnyObject {
    /// - Parameter after: what the page before named as the next; empty for the beginning.
    func storedObjects(after: [UInt8]) throws(SyncError) -> AddressPage
    func storedChunks(after: [UInt8]) throws(SyncError) -> AddressPage
    /// - Returns: nil if the head is another one.
    func sweep(_ sweep: ZoneSweep) throws(SyncError) -> SweepReceipt?
}

/// What became of a sweep.
package struct SweepTally: Equatable, Sendable {
    /// Objects and chunks that the server let go of, as it says, and their bytes.
    package var count = 0
    package var byteCount = 0
    /// Something that was removed here lies at the server still.
    package var isDue = false
    /// Devices that have not said yet that they have what is left.
    package var waitsFor: [UniqueID] = []
    /// Why the server did not let go of it: it is tried again.
    package var problem: SyncError?

    package init() {}

    func followed(by next: SweepTally) -> SweepTally {
        var both = next
        both.count += count
        both.byteCount += byteCount
        return both
    }
}

/// Compares what a zone holds with what the vault's kept commits need.
package struct ZoneSweeper {
    /// A device that has been silent for longer is not waited for: what it needs stays anyway.
    static let silenceMilliseconds: Milliseconds = 30 * 86_400_000
    /// After an attempt that was refused.
    static let pauseMilliseconds: Milliseconds = 86_400_000
    /// After one that broke off, or that another device's push was in the way of.
    static let shortPauseMilliseconds: Milliseconds = 3_600_000
    /// Chunks that are asked to go at once. A server reads what it marks, and these are long: a slow disk has to do it in the
    /// time that a request gets.
    static let chunkCountMax = 128
    /// Chunks in a row that a file of unknown length may lack.
    private static let gapCountMax: UInt64 = 8
    /// Of each kind; a server that names more of them does not end.
    private static let storedCountMax = 1 << 24
    /// More is no answer to one request.
    private static let receiptByteCountMax = 1 << 40

    private let repository: VaultRepository
    private let files: AttachmentStore?
    private let author: CommitAuthor
    private let zoneID: [UInt8]
    private let transport: any SyncTransport & SweepTransport

    /// - Parameter files: nil in a vault that is nothing but facts.
    package init(
        repository: VaultRepository, files: AttachmentStore?, author: CommitAuthor, zoneID: [UInt8],
        transport: any SyncTransport & SweepTransport
    ) {
        self.repository = repository
        self.files = files
        self.author = author
        self.zoneID = zoneID
        self.transport = transport
    }

    /// Sweeps what is due, if it is time.
    ///
    /// - Parameters:
    ///   - head: where the server's head lies; it has to be the own one, or this is not the time.
    ///   - others: the person's other devices that are trusted now.
    /// - Returns: what came of it, and what is to be remembered.
    /// - Throws: what reading the vault throws.
    package func run(
        _ memory: SyncMemory, at head: BlobAddress, others: Set<UniqueID>, now: Milliseconds
    ) throws(StorageError) -> (tally: SweepTally, memory: SyncMemory) {
        var tally = SweepTally()
        guard let due = memory.sweep else { return (tally, memory) }
        tally.isDue = true
        tally.waitsFor = try awaited(due, memory, others, now)
        guard tally.waitsFor.isEmpty, now >= due.notBefore, let own = repository.headNames.first, own == memory.head,
            try repository.addresses(of: own).contains(head)
        else { return (tally, memory) }
        var next = memory
        do throws(SyncError) {
            if try sweep(at: head, &tally) {
                next.sweep = nil
                tally.isDue = false
            }
        } catch {
            tally.problem = error
            let isPassing = error.place == "server.zone.push-pending" || error.isTransient
            next.sweep?.notBefore = now + (isPassing ? Self.shortPauseMilliseconds : Self.pauseMilliseconds)
        }
        return (tally, next)
    }

    /// Devices that were heard of lately and have not said that they have the compaction. One that never spoke may be new.
    private func awaited(
        _ due: DueSweep, _ memory: SyncMemory, _ others: Set<UniqueID>, _ now: Milliseconds
    ) throws(StorageError) -> [UniqueID] {
        var awaited: [UniqueID] = []
        for device in others.sorted() {
            let word = memory.others[device]
            guard now - (word?.heardAt ?? due.since) <= Self.silenceMilliseconds else { continue }
            if let word {
                if word.head == memory.head { continue }
                if try repository.hasSeen(due.compaction, by: word.head) { continue }
            }
            awaited.append(device)
        }
        return awaited
    }

    /// - Returns: whether nothing is left to do; false if the head moved meanwhile.
    private func sweep(at head: BlobAddress, _ tally: inout SweepTally) throws(SyncError) -> Bool {
        var fileIDs: Set<UniqueID> = []
        let needed = try inVault(
            repository.neededNames(visiting: .only(EntityKind.attachment)) { (fact) throws(StorageError) in
                if let file = try NamedFile(fact) { fileIDs.insert(file.fileID) }
            })
        guard let needed else { throw SyncError(.vaultFailed, at: "a tree with which the history begins") }
        let objects = try all { (after) throws(SyncError) in try transport.storedObjects(after: after) }
        let stored = Set(objects)
        var kept: Set<BlobAddress> = []
        var lacking: [BlobName] = []
        for name in needed {
            let addresses = try inVault(repository.addresses(of: name))
            kept.formUnion(addresses)
            if !addresses.contains(where: stored.contains) { lacking.append(name) }
        }
        // Such as the trees of a history that was cut before they went along.
        guard try StagedPush(repository: repository, transport: transport).put(lacking.sorted(), at: head) else {
            return false
        }
        let chunks = try all { (after) throws(SyncError) in try transport.storedChunks(after: after) }
        let keptChunks = addresses(ofChunksOf: fileIDs, among: Set(chunks))
        // The newest first: whoever reads meanwhile finds the end of what is left, and not a hole in it.
        return try sweep(
            objects.reversed().filter { !kept.contains($0) }, chunks.filter { !keptChunks.contains($0) }, head, &tally)
    }

    private func all(_ page: ([UInt8]) throws(SyncError) -> AddressPage) throws(SyncError) -> [BlobAddress] {
        var addresses: [BlobAddress] = []
        var next: [UInt8] = []
        repeat {
            let page = try page(next)
            addresses += page.addresses.compactMap { BlobAddress(bytes: $0) }
            // A server that goes round in circles would never end.
            guard page.next.isEmpty || page.next != next && !page.addresses.isEmpty,
                addresses.count <= Self.storedCountMax
            else { throw SyncError(.answerMalformed) }
            next = page.next
        } while !next.isEmpty
        return addresses
    }

    private func addresses(
        ofChunksOf fileIDs: Set<UniqueID>, among stored: Set<BlobAddress>
    ) -> Set<BlobAddress> {
        guard let files else { return stored }
        var kept: Set<BlobAddress> = []
        for file in fileIDs {
            var index: UInt64 = 0
            var gap: UInt64 = 0
            // Of a locked note's file nobody knows the length.
            while gap < Self.gapCountMax {
                let addresses = files.addresses(ofChunk: index, ofFile: file)
                gap = addresses.contains(where: stored.contains) ? 0 : gap + 1
                kept.formUnion(addresses)
                index += 1
            }
        }
        return kept
    }

    private func sweep(
        _ objects: [BlobAddress], _ chunks: [BlobAddress], _ head: BlobAddress, _ tally: inout SweepTally
    ) throws(SyncError) -> Bool {
        var (objects, chunks) = (objects[...], chunks[...])
        while !objects.isEmpty || !chunks.isEmpty {
            let parts = (
                objects.prefix(ServerLimits.sweepAddressCountMax).map(\.bytes),
                chunks.prefix(Self.chunkCountMax).map(\.bytes)
            )
            let proof = SweepProof(zoneID: zoneID, expectedHead: head.bytes, objects: parts.0, chunks: parts.1)
            let receipt = try transport.sweep(
                ZoneSweep(
                    expectedHead: head.bytes, objects: parts.0, chunks: parts.1,
                    signature: proof.sign(with: author.signingKey)))
            guard let receipt else { return false }
            // Its word, for show.
            tally.count += min(Int(clamping: receipt.count), Int(UInt32.max))
            tally.byteCount += min(Int(clamping: receipt.byteCount), Self.receiptByteCountMax)
            objects = objects.dropFirst(parts.0.count)
            chunks = chunks.dropFirst(parts.1.count)
        }
        return true
    }

    private func inVault<Result>(_ value: @autoclosure () throws(StorageError) -> Result) throws(SyncError) -> Result {
        do throws(StorageError) { return try value() } catch {
            throw SyncError(.vaultFailed, at: error.code.rawValue, cause: error)
        }
    }
}
