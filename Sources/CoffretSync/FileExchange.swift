// Files of attachments on their way to the server and back. The one thing to keep true: what comes is kept only if it
// opens as the chunk that it should be, and a file is either at the server or known to be waiting before a head that
// names it is pushed.

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
    /// The account's space at the server; nil if the server does not tell.
    func space() throws(SyncError) -> ServerSpace?
    /// Takes back a chunk of a file that will not become whole.
    func withdraw(_ address: BlobAddress) throws(SyncError)
}

/// An account's space, as its server states it.
package struct ServerSpace: Equatable, Sendable {
    /// Files leave so much for changes: a fiftieth of all, at most this.
    private static let reserveByteCountMax = 16 << 20

    package let usedByteCount: Int
    package let byteCountMax: Int

    package init(usedByteCount: Int, byteCountMax: Int) {
        self.usedByteCount = usedByteCount
        self.byteCountMax = byteCountMax
    }

    /// What files may still take. Notes are small and come often: files never take the last of it.
    package var roomForFiles: Int {
        let reserve = min(byteCountMax / 50, Self.reserveByteCountMax)
        return max(0, byteCountMax - reserve - min(usedByteCount, byteCountMax))
    }
}

/// A file that is here and not whole at the server, although a head there names it.
package struct WaitingFile: Equatable, Sendable {
    package enum Reason: UInt64, Sendable {
        /// The server has no room for it.
        case noRoom = 0
        /// It could not be read here.
        case unreadable = 1
    }

    package let fileID: UniqueID
    /// What is missing of it at the server.
    package let byteCount: Int
    /// What the server had for files when it was last tried; nil if it did not tell, or has no room for anybody.
    package let roomByteCount: Int?
    package let reason: Reason

    package init(fileID: UniqueID, byteCount: Int, roomByteCount: Int?, reason: Reason = .noRoom) {
        self.fileID = fileID
        self.byteCount = byteCount
        self.roomByteCount = roomByteCount
        self.reason = reason
    }
}

extension WaitingFile {
    fileprivate static func unreadable(_ file: UniqueID, byteCount: Int) -> WaitingFile {
        WaitingFile(fileID: file, byteCount: byteCount, roomByteCount: nil, reason: .unreadable)
    }
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
    /// To send: files that the server has no room for, or that cannot be read; the others were sent all the same.
    package var waiting: [WaitingFile] = []
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
    private let hasRoom: (_ byteCount: Int) -> Bool
    private let progress: (FileProgress) -> Void
    /// Files that this exchange has seen whole at the server.
    private var delivered: Set<UniqueID> = []

    /// - Parameter hasRoom: whether so many bytes more may lie on this disk.
    package init(
        store: AttachmentStore, transport: any FileTransport,
        hasRoom: @escaping (_ byteCount: Int) -> Bool = { _ in true },
        progress: @escaping (FileProgress) -> Void = { _ in }
    ) {
        self.store = store
        self.transport = transport
        self.hasRoom = hasRoom
        self.progress = progress
    }

    // MARK: Sending

    private struct Outgoing {
        let fileID: UniqueID
        let chunk: AttachmentChunk
        let bytes: ChunkList.Chunk
    }

    /// A run of sending, from the first file to the last.
    private struct Sending {
        var tally = FileTally()
        var state = FileProgress(direction: .sending)
        /// Chunks go in their order, so an upload that broke off did so in the first that is missing.
        var mayBeBegun = true
        var moved: Set<UniqueID> = []
        /// Of each file, what was not looked at yet.
        var leftByteCounts: [UniqueID: Int] = [:]
        /// Of the file that is being sent.
        var uploaded: [BlobAddress] = []
        var uploadedByteCount = 0
        var uploadedFile: UniqueID?
        var given: Set<UniqueID> = []
        /// What is left of the room that the server stated.
        var room: Int?
        var isRoomAsked = false
    }

    /// Sees to it that files are whole at the server; those that are not here are counted, and those that find no room
    /// or cannot be read are named and left for later.
    ///
    /// - Parameter known: files that found no room before: they are not read before there is some.
    /// - Throws: `.unreachable`, `.refused`.
    package func send(_ files: [UniqueID], known: [WaitingFile] = []) throws(SyncError) -> FileTally {
        var sending = Sending()
        var plan: [(fileID: UniqueID, chunks: [AttachmentChunk])] = []
        for file in files where !delivered.contains(file) {
            let stored: [AttachmentChunk]?
            do throws(StorageError) {
                stored = try store.storedChunks(ofFile: file)
            } catch {
                sending.tally.waiting.append(.unreadable(file, byteCount: 0))
                continue
            }
            guard let chunks = stored else {
                sending.tally.absentCount += 1
                continue
            }
            if let waiting = known.first(where: { $0.fileID == file && $0.reason == .noRoom }),
                try !hasRoom(waiting.byteCount, &sending)
            {
                sending.tally.waiting.append(
                    WaitingFile(fileID: file, byteCount: waiting.byteCount, roomByteCount: sending.room))
                continue
            }
            delivered.insert(file)
            plan.append((file, chunks))
            let byteCount = chunks.reduce(0) { $0 + $1.byteCount }
            sending.leftByteCounts[file] = byteCount
            sending.state.totalCount += 1
            sending.state.totalByteCount += byteCount
        }
        guard !plan.isEmpty else { return sending.tally }
        do throws(SyncError) {
            try send(plan, &sending)
        } catch {
            for (file, _) in plan { delivered.remove(file) }
            throw error
        }
        for file in sending.given { delivered.remove(file) }
        return sending.tally
    }

    private func send(
        _ plan: [(fileID: UniqueID, chunks: [AttachmentChunk])], _ sending: inout Sending
    ) throws(SyncError) {
        var window: [Outgoing] = []
        progress(sending.state)
        for (fileID, chunks) in plan {
            for chunk in chunks where !sending.given.contains(fileID) {
                guard let bytes = read(chunk, of: fileID) else {
                    giveUpUnread(fileID, &sending)
                    continue
                }
                window.append(
                    Outgoing(
                        fileID: fileID, chunk: chunk,
                        bytes: ChunkList.Chunk(address: chunk.addresses[0].bytes, digest: BLAKE2b.hash(bytes))))
                if window.count == Self.windowCount {
                    try send(window, &sending)
                    window = []
                }
            }
        }
        try send(window, &sending)
        sending.tally.movedCount += sending.moved.count
    }

    private func send(_ window: [Outgoing], _ sending: inout Sending) throws(SyncError) {
        guard !window.isEmpty else { return }
        let missing = Set(try transport.missingChunks(window.map(\.bytes)))
        for item in window where !sending.given.contains(item.fileID) {
            if sending.uploadedFile != item.fileID {
                sending.uploadedFile = item.fileID
                sending.uploaded = []
                sending.uploadedByteCount = 0
            }
            if missing.contains(item.bytes) {
                let left = sending.leftByteCounts[item.fileID] ?? item.chunk.byteCount
                // Asked once for each file, with its first chunk that is not there.
                if sending.uploaded.isEmpty, try !hasRoom(left, &sending) {
                    giveUp(item.fileID, left, lacking: left, &sending)
                    continue
                }
                // Once more: a window of chunks is more than is kept in memory.
                guard let bytes = read(item.chunk, of: item.fileID), BLAKE2b.hash(bytes) == item.bytes.digest else {
                    giveUpUnread(item.fileID, &sending)
                    continue
                }
                do throws(SyncError) {
                    try upload(bytes, of: item, mayBeBegun: sending.mayBeBegun)
                } catch {
                    guard error.code == .quotaExceeded else { throw error }
                    try takeBack(item, &sending)
                    giveUp(item.fileID, left, lacking: left + sending.uploadedByteCount, &sending)
                    continue
                }
                sending.mayBeBegun = false
                sending.moved.insert(item.fileID)
                sending.uploaded.append(item.chunk.addresses[0])
                sending.uploadedByteCount += item.chunk.byteCount
                sending.tally.movedByteCount += item.chunk.byteCount
                sending.room = sending.room.map { max(0, $0 - item.chunk.byteCount) }
            }
            sending.leftByteCounts[item.fileID, default: 0] -= item.chunk.byteCount
            sending.state.doneByteCount += item.chunk.byteCount
            if item.chunk.isLast { sending.state.doneCount += 1 }
            progress(sending.state)
        }
    }

    private func hasRoom(_ byteCount: Int, _ sending: inout Sending) throws(SyncError) -> Bool {
        if !sending.isRoomAsked {
            sending.room = try transport.space()?.roomForFiles
            sending.isRoomAsked = true
        }
        return sending.room.map { byteCount <= $0 } ?? true
    }

    /// Leaves a file for later.
    private func giveUp(_ file: UniqueID, _ byteCount: Int, lacking: Int, _ sending: inout Sending) {
        sending.given.insert(file)
        sending.moved.remove(file)
        sending.tally.waiting.append(WaitingFile(fileID: file, byteCount: lacking, roomByteCount: sending.room))
        sending.state.totalByteCount -= byteCount
        sending.state.totalCount -= 1
        progress(sending.state)
    }

    /// Leaves a file for later that cannot be read, or is another one each time.
    private func giveUpUnread(_ file: UniqueID, _ sending: inout Sending) {
        let left = sending.leftByteCounts[file] ?? 0
        sending.given.insert(file)
        sending.moved.remove(file)
        sending.tally.waiting.append(.unreadable(file, byteCount: left))
        sending.state.totalByteCount -= left
        sending.state.totalCount -= 1
        progress(sending.state)
    }

    /// The space was used up in the middle of a file, by another device: half a file helps nobody, and takes what changes need.
    private func takeBack(_ item: Outgoing, _ sending: inout Sending) throws(SyncError) {
        for address in sending.uploaded + [item.chunk.addresses[0]] { try transport.withdraw(address) }
        sending.tally.movedByteCount -= sending.uploadedByteCount
        sending.room = try transport.space()?.roomForFiles
    }

    private func upload(_ bytes: [UInt8], of item: Outgoing, mayBeBegun: Bool) throws(SyncError) {
        let isPatched = try transport.upload(bytes, to: item.chunk.addresses[0], mayBeBegun: mayBeBegun)
        // The beginning was somebody's word; whether the whole is right only the digest says.
        guard isPatched, try !transport.missingChunks([item.bytes]).isEmpty else { return }
        _ = try transport.upload(bytes, to: item.chunk.addresses[0], mayBeBegun: false)
    }

    /// - Returns: nil for what cannot be read: one file on a bad sector keeps no other, and no change, from the server.
    private func read(_ chunk: AttachmentChunk, of file: UniqueID) -> [UInt8]? {
        try? store.sealedChunk(chunk, ofFile: file)
    }

    // MARK: Fetching

    /// Fetches files that are not here, each verified as a whole before it counts.
    ///
    /// What is wrong with one file is told in the tally and keeps no other from coming; a disk without room for the next
    /// one, `.diskFull`, is told there too, and ends it.
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
                guard [.fileRefused, .fileMissing, .diskFull].contains(error.code) else { throw error }
                tally.problems.append(error)
                if error.code == .diskFull { return tally }
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
        if try inVault(store.containsFile(file.reference.fileID)) { return false }
        let missing = try inVault(store.missingByteCount(of: file.reference))
        // Before it takes the last of the disk for a file that does not become whole.
        guard hasRoom(missing) else { throw SyncError(.diskFull, at: file.place) }
        let receiver = try inVault(store.makeReceiver(file.reference, sealedIn: file.home))
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
            throw Self.failure(error)
        }
    }

    private static func failure(_ error: StorageError) -> SyncError {
        error.code == .diskFull
            ? SyncError(.diskFull, cause: error) : SyncError(.vaultFailed, at: error.code.rawValue, cause: error)
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
                if try inVault(receiver.take(stored.bytes)) {
                    return stored.bytes.count
                }
                variant += 1
                if variant >= stored.count { break }
            }
        }
        throw SyncError(isServed ? .fileRefused : .fileMissing, at: file.place)
    }

    private func inVault<Result>(_ value: @autoclosure () throws(StorageError) -> Result) throws(SyncError) -> Result {
        do throws(StorageError) {
            return try value()
        } catch {
            throw Self.failure(error)
        }
    }
}
