// Files of attachments on their way to the server and back. The one thing to keep true: what comes is kept only if it
// opens as the chunk that it should be, and no head that names a file is pushed before the file is there.

package import CoffretBase
package import CoffretCrypto
package import CoffretStorage
package import CoffretWire

/// Requests about the chunks of one zone. Each blocks until there is an answer.
package protocol FileTransport: AnyObject {
    /// Those of some chunks that the server does not hold in exactly this form.
    func missingChunks(_ chunks: [ChunkList.Chunk]) throws(SyncError) -> [ChunkList.Chunk]
    /// Sends a chunk; takes up an upload that broke off in it.
    ///
    /// - Parameter mayBeBegun: an earlier sync may have ended in the middle of this chunk.
    /// - Returns: whether bytes of an earlier upload are part of what is there now.
    func upload(_ bytes: [UInt8], to address: BlobAddress, mayBeBegun: Bool) throws(SyncError) -> Bool
    /// One of the ciphertexts under an address; nil if there are not as many.
    func chunk(at address: BlobAddress, variant: Int) throws(SyncError) -> StoredVariant?
}

/// A ciphertext as a server served it: unverified.
package struct StoredVariant: Equatable, Sendable {
    package let bytes: [UInt8]
    /// How many there are under its address, as the server says.
    package let count: Int

    package init(bytes: [UInt8], count: Int) {
        self.bytes = bytes
        self.count = count
    }
}

/// How far sending or fetching files is.
package struct FileProgress: Equatable, Sendable {
    package enum Direction: Equatable, Sendable { case sending, fetching }

    package let direction: Direction
    package var doneCount = 0
    package var totalCount = 0
    package var doneByteCount = 0
    package var totalByteCount = 0
}

/// What became of files.
package struct FileTally: Equatable, Sendable {
    /// Files that are whole at the other side now and were not before.
    package var movedCount = 0
    package var movedByteCount = 0
    /// To send: files that are not here, such as those that another device has not delivered yet.
    package var absentCount = 0
    /// To fetch: what is wrong with single files; the others were fetched all the same.
    package var problems: [SyncError] = []

    package init() {}
}

/// An attachment's file that is to be fetched.
package struct WantedFile: Sendable {
    package let reference: AttachmentReference
    /// The vault that its chunks are bound to, where it is another one.
    package let home: VaultID?
    /// For errors: the attachment's id.
    package let place: String

    package init(reference: AttachmentReference, home: VaultID?, place: String) {
        self.reference = reference
        self.home = home
        self.place = place
    }
}

/// Sends and fetches the files of one vault, chunk by chunk; what was done before a break is not done again.
package final class FileExchange {
    /// So many chunks are asked for together.
    private static let windowCount = 64
    /// So many ciphertexts under one address are looked at.
    private static let variantCountMax = 64

    private let store: AttachmentStore
    private let transport: any FileTransport
    private let progress: (FileProgress) -> Void
    /// Files that this exchange has seen whole at the server.
    private var delivered: Set<UniqueID> = []

    package init(
        store: AttachmentStore, transport: any FileTransport,
        progress: @escaping (FileProgress) -> Void = { _ in }
    ) {
        self.store = store
        self.transport = transport
        self.progress = progress
    }

    // MARK: Sending

    private struct Outgoing {
        let fileID: UniqueID
        let chunk: AttachmentChunk
        let bytes: ChunkList.Chunk
    }

    /// Sees to it that files are whole at the server; those that are not here are counted.
    ///
    /// - Throws: `.unreachable`, `.quotaExceeded`, `.refused`; `.vaultFailed` if a file cannot be read.
    package func send(_ files: [UniqueID]) throws(SyncError) -> FileTally {
        var tally = FileTally()
        var state = FileProgress(direction: .sending)
        var plan: [(fileID: UniqueID, chunks: [AttachmentChunk])] = []
        for file in files where delivered.insert(file).inserted {
            if let chunks = try inVault({ () throws(StorageError) in try store.storedChunks(ofFile: file) }) {
                plan.append((file, chunks))
                state.totalCount += 1
                state.totalByteCount += chunks.reduce(0) { $0 + $1.byteCount }
            } else {
                tally.absentCount += 1
            }
        }
        guard !plan.isEmpty else { return tally }
        do throws(SyncError) {
            try send(plan, &tally, &state)
        } catch {
            for (file, _) in plan { delivered.remove(file) }
            throw error
        }
        return tally
    }

    private func send(
        _ plan: [(fileID: UniqueID, chunks: [AttachmentChunk])], _ tally: inout FileTally, _ state: inout FileProgress
    ) throws(SyncError) {
        var window: [Outgoing] = []
        // Chunks go in their order, so an upload that broke off did so in the first that is missing.
        var mayBeBegun = true
        var moved: Set<UniqueID> = []
        progress(state)
        for (fileID, chunks) in plan {
            for chunk in chunks {
                let bytes = try read(chunk, of: fileID)
                window.append(
                    Outgoing(
                        fileID: fileID, chunk: chunk,
                        bytes: ChunkList.Chunk(address: chunk.addresses[0].bytes, digest: BLAKE2b.hash(bytes))))
                if window.count == Self.windowCount {
                    try send(window, &moved, &tally, &state, &mayBeBegun)
                    window = []
                }
            }
        }
        try send(window, &moved, &tally, &state, &mayBeBegun)
        tally.movedCount += moved.count
    }

    private func send(
        _ window: [Outgoing], _ moved: inout Set<UniqueID>, _ tally: inout FileTally, _ state: inout FileProgress,
        _ mayBeBegun: inout Bool
    ) throws(SyncError) {
        guard !window.isEmpty else { return }
        let missing = Set(try transport.missingChunks(window.map(\.bytes)))
        for item in window {
            if missing.contains(item.bytes) {
                try upload(item, mayBeBegun: mayBeBegun)
                mayBeBegun = false
                moved.insert(item.fileID)
                tally.movedByteCount += item.chunk.byteCount
            }
            state.doneByteCount += item.chunk.byteCount
            if item.chunk.isLast { state.doneCount += 1 }
            progress(state)
        }
    }

    private func upload(_ item: Outgoing, mayBeBegun: Bool) throws(SyncError) {
        let bytes = try read(item.chunk, of: item.fileID)
        guard BLAKE2b.hash(bytes) == item.bytes.digest else {
            throw SyncError(.vaultFailed, at: "a file changed while it was sent")
        }
        let isPatched = try transport.upload(bytes, to: item.chunk.addresses[0], mayBeBegun: mayBeBegun)
        // The beginning was somebody's word; whether the whole is right only the digest says.
        guard isPatched, try !transport.missingChunks([item.bytes]).isEmpty else { return }
        _ = try transport.upload(bytes, to: item.chunk.addresses[0], mayBeBegun: false)
    }

    private func read(_ chunk: AttachmentChunk, of file: UniqueID) throws(SyncError) -> [UInt8] {
        try inVault { () throws(StorageError) in try store.sealedChunk(chunk, ofFile: file) }
    }

    // MARK: Fetching

    /// Fetches files that are not here, each verified as a whole before it counts.
    ///
    /// What is wrong with one file is told in the tally and keeps no other from coming.
    /// - Throws: `.unreachable` and other failures that concern all of them; what has come by then stays.
    package func fetch(_ files: [WantedFile]) throws(SyncError) -> FileTally {
        var tally = FileTally()
        var state = FileProgress(direction: .fetching)
        state.totalCount = files.count
        state.totalByteCount = files.reduce(0) { $0 + Int(clamping: $1.reference.byteCount) }
        guard !files.isEmpty else { return tally }
        progress(state)
        for file in files {
            let before = state.doneByteCount
            do throws(SyncError) {
                if try fetch(file, &tally, &state) { tally.movedCount += 1 }
            } catch {
                guard [.fileRefused, .fileMissing].contains(error.code) else { throw error }
                tally.problems.append(error)
            }
            state.doneCount += 1
            state.doneByteCount = before + Int(clamping: file.reference.byteCount)
            progress(state)
        }
        return tally
    }

    /// - Returns: false if the file is here already.
    private func fetch(
        _ file: WantedFile, _ tally: inout FileTally, _ state: inout FileProgress
    ) throws(SyncError) -> Bool {
        let store = store
        if try inVault({ () throws(StorageError) in try store.containsFile(file.reference.fileID) }) { return false }
        let receiver = try inVault { () throws(StorageError) in
            try store.makeReceiver(file.reference, sealedIn: file.home)
        }
        let before = state.doneByteCount
        while let chunk = receiver.next {
            tally.movedByteCount += try fetch(chunk, into: receiver, file)
            let done = (Int(chunk.index) + 1) * AttachmentFormat.chunkByteCount
            state.doneByteCount = before + min(done, Int(clamping: file.reference.byteCount))
            progress(state)
        }
        do throws(StorageError) {
            try receiver.finish()
            return true
        } catch {
            // Somebody else was putting the same file together, and has done it.
            if (try? store.containsFile(file.reference.fileID)) ?? false { return true }
            if error.code == .attachmentAuthenticationFailed || error.code == .attachmentTruncated {
                throw SyncError(.fileRefused, at: file.place, cause: error)
            }
            throw SyncError(.vaultFailed, at: error.code.rawValue, cause: error)
        }
    }

    /// Of all that lies under a chunk's addresses, takes the one that opens.
    private func fetch(
        _ chunk: AttachmentChunk, into receiver: AttachmentReceiver, _ file: WantedFile
    ) throws(SyncError) -> Int {
        var isServed = false
        for address in chunk.addresses {
            var variant = 0
            while variant < Self.variantCountMax, let stored = try transport.chunk(at: address, variant: variant) {
                isServed = true
                if try inVault({ () throws(StorageError) in try receiver.take(stored.bytes) }) {
                    return stored.bytes.count
                }
                variant += 1
                if variant >= stored.count { break }
            }
        }
        throw SyncError(isServed ? .fileRefused : .fileMissing, at: file.place)
    }

    private func inVault<Result>(_ body: () throws(StorageError) -> Result) throws(SyncError) -> Result {
        do throws(StorageError) {
            return try body()
        } catch {
            throw SyncError(.vaultFailed, at: error.code.rawValue, cause: error)
        }
    }
}
