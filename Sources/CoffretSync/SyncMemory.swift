// What a device remembers of a zone. The one thing to keep true: it becomes durable together with what it speaks
// of, in the same transaction of the vault.

package import CoffretBase
package import CoffretStorage

/// What a compaction of this device removed and the server has still.
package struct DueSweep: Equatable, Sendable {
    /// The commit that says what was removed.
    package let compaction: BlobName
    /// When it went to the server, by the own clock.
    package var since: Milliseconds
    /// After an attempt that came to nothing.
    package var notBefore: Milliseconds = 0
}

/// What was last seen of one server's zone; lies in the vault's state.
///
/// Layout: deterministic CBOR [7, server (text), cursor, head or empty, acknowledgement counter,
/// its instance (16) or empty, {device (16): [counter, head, heard, ahead since]}, epoch, failed audits,
/// [[file (16), bytes, room or null, reason]], [instance (16), number] of the head or null, flags,
/// [compaction (32), since, not before] or null, {device (16): [stated head, since]},
/// [[device (16), stated head]]]; stated head = [vault (32), head, [instance (16), number], chain position].
/// Spec: Spec/sync.md.
package struct SyncMemory: Equatable, Sendable {
    /// What another device acknowledged last.
    package struct Acknowledged: Equatable, Sendable {
        package var counter: UInt64
        package var head: BlobName
        /// When this device first saw this word, by its own clock; 0 if an old memory does not say.
        package var heardAt: Milliseconds
        /// Since when it is known to have what the server does not deliver; 0 if it has not.
        package var aheadSince: Milliseconds
    }

    static let serverByteCountMax = 1_024
    static let deviceCountMax = 256
    /// So many are remembered one by one.
    package static let waitingFileCountMax = 256

    /// The address under which the person knows the server.
    package var server: String
    /// Where to go on reading; empty for the beginning.
    package var cursor: [UInt8] = []
    /// The head that the server showed last and that was verified, or took from this device.
    package var head: BlobName? {
        didSet { if head != oldValue { headDot = nil } }
    }
    /// The number of the head's commit, by which it is known once a compaction has removed it; nil if nobody said it.
    package internal(set) var headDot: Dot?
    /// Of this device's acknowledgements; durable before it is said.
    package var counter: UInt64 = 0
    /// The instance that counted so; another one goes on above what it finds at the server.
    package var counterInstance: UniqueID?
    package var others: [UniqueID: Acknowledged] = [:]
    package var epoch: UInt32 = 0
    /// How often in a row the server did not let this device see what the others say.
    package var failedAuditCount: UInt64 = 0
    /// Files that a head at the server names, and that are not there yet: they found no room, or could not be read here.
    package var waitingFiles: [WaitingFile] = []
    /// There are more of those than are remembered: which is found out by looking at all.
    package var hasMoreWaitingFiles = false
    /// What compactions of other devices removed is still to be removed here.
    package var areRemovalsDue = false

    /// What this device's compaction removed lies at the server still.
    package var sweep: DueSweep?
    /// By device, a head of this vault that it stated in a commit of another one, and that is not here.
    package var stated: [UniqueID: StatedHead] = [:]
    /// What commits here state of other vaults, until it was held against those.
    package var unchecked: [UncheckedHead] = []

    private static let version: UInt64 = 7
    private static let memberCount = 15
    private static let moreFilesFlag: UInt64 = 1
    private static let removalsFlag: UInt64 = 2

    package init(server: String) { self.server = server }

    /// A clock that shows an earlier time, 2026-01-01, was not set: no version of this program is as old.
    private static let earliest: Milliseconds = 1_767_225_600_000

    /// What was noted by a clock that was not set was noted now: else everything would have lasted for decades once it is.
    ///
    /// - Parameter now: by the own clock; one that is not set settles nothing.
    mutating func settleTimes(at now: Milliseconds) {
        guard now >= Self.earliest else { return }
        func settle(_ time: inout Milliseconds) { if time != 0, time < Self.earliest { time = now } }
        for device in others.keys {
            settle(&others[device]!.heardAt)
            settle(&others[device]!.aheadSince)
        }
        for device in stated.keys { settle(&stated[device]!.since) }
        if var due = sweep {
            settle(&due.since)
            sweep = due
        }
    }

    /// The memory of a device that was just let in.
    package init(server: String, told: ToldHead?) {
        self.server = server
        head = told?.head
        headDot = told?.dot
    }

    /// Never more than the vault's state takes: with as many devices and heads as are remembered at most, files for which there is
    /// no room are left out, and it says that there are more than it lists.
    package func encode() -> [UInt8] {
        var memory = self
        var bytes = memory.encodeAll()
        while bytes.count > VaultRepository.syncNoteByteCountMax, !memory.waitingFiles.isEmpty {
            memory.waitingFiles.removeLast((memory.waitingFiles.count + 1) / 2)
            memory.hasMoreWaitingFiles = true
            bytes = memory.encodeAll()
        }
        return bytes
    }

    private func encodeAll() -> [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: Self.memberCount)
            encoder.encode(unsigned: Self.version)
            encoder.encode(text: server)
            encoder.encode(bytes: cursor)
            encoder.encode(bytes: head?.bytes ?? [])
            encoder.encode(unsigned: counter)
            encoder.encode(bytes: counterInstance?.bytes ?? [])
            encoder.encodeMapHeader(count: others.count)
            for (device, acknowledged) in others.sorted(by: { $0.key < $1.key }) {
                encoder.encode(bytes: device.bytes)
                encoder.encodeArrayHeader(count: 4)
                encoder.encode(unsigned: acknowledged.counter)
                encoder.encode(bytes: acknowledged.head.bytes)
                encoder.encode(signed: acknowledged.heardAt)
                encoder.encode(signed: acknowledged.aheadSince)
            }
            encoder.encode(unsigned: UInt64(epoch))
            encoder.encode(unsigned: failedAuditCount)
            encoder.encodeArrayHeader(count: waitingFiles.count)
            for file in waitingFiles {
                encoder.encodeArrayHeader(count: 4)
                encoder.encode(bytes: file.fileID.bytes)
                encoder.encode(unsigned: UInt64(file.byteCount))
                if let room = file.roomByteCount {
                    encoder.encode(unsigned: UInt64(room))
                } else {
                    encoder.encodeNull()
                }
                encoder.encode(unsigned: file.reason.rawValue)
            }
            if let dot = headDot {
                encoder.encodeArrayHeader(count: 2)
                encoder.encode(bytes: dot.instance.bytes)
                encoder.encode(unsigned: dot.sequence)
            } else {
                encoder.encodeNull()
            }
            encoder.encode(
                unsigned: (hasMoreWaitingFiles ? Self.moreFilesFlag : 0) | (areRemovalsDue ? Self.removalsFlag : 0))
            if let sweep {
                encoder.encodeArrayHeader(count: 3)
                encoder.encode(bytes: sweep.compaction.bytes)
                encoder.encode(signed: sweep.since)
                encoder.encode(signed: sweep.notBefore)
            } else {
                encoder.encodeNull()
            }
            encodeStated(to: &encoder)
        }
    }

    private func encodeStated(to encoder: inout CBOREncoder) {
        encoder.encodeMapHeader(count: stated.count)
        for (device, head) in stated.sorted(by: { $0.key < $1.key }) {
            encoder.encode(bytes: device.bytes)
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(seen: head.seen)
            encoder.encode(signed: head.since)
        }
        encoder.encodeArrayHeader(count: unchecked.count)
        for head in unchecked {
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(bytes: head.device.bytes)
            encoder.encode(seen: head.seen)
        }
    }

    /// - Returns: nil for bytes that are none of ours, such as the empty ones of a vault that was never synced.
    package static func decode(_ bytes: [UInt8]) -> SyncMemory? {
        try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in try SyncMemory(from: &decoder) }
    }

    private init(from decoder: inout CBORDecoder) throws(CBORError) {
        let malformed = CBORError(.unexpectedItem, byteOffset: decoder.byteOffset)
        try decoder.readArrayHeader(count: Self.memberCount)
        guard try decoder.readUnsigned() == Self.version else { throw malformed }
        server = try decoder.readText(byteCountMax: Self.serverByteCountMax)
        cursor = try decoder.readBytes(countMax: 64)
        let head = try decoder.readBytes(countMax: 32)
        guard head.isEmpty || head.count == 32 else { throw malformed }
        self.head = BlobName(bytes: head)
        counter = try decoder.readUnsigned()
        let instance = try decoder.readBytes(countMax: UniqueID.byteCount)
        counterInstance = UniqueID(bytes: instance)
        guard instance.isEmpty || counterInstance != nil else { throw malformed }
        var map = try decoder.readMapHeader()
        guard map.remaining <= Self.deviceCountMax else { throw malformed }
        while let key = try decoder.readKey(
            in: &map, { (decoder) throws(CBORError) in try decoder.readBytes(count: UniqueID.byteCount) })
        {
            try decoder.readArrayHeader(count: 4)
            let counter = try decoder.readUnsigned()
            guard let device = UniqueID(bytes: key), let head = BlobName(bytes: try decoder.readBytes(count: 32)) else {
                throw malformed
            }
            let (heard, ahead) = (try decoder.readSigned(), try decoder.readSigned())
            others[device] = Acknowledged(counter: counter, head: head, heardAt: heard, aheadSince: ahead)
        }
        epoch = try decoder.readUnsigned(as: UInt32.self)
        failedAuditCount = try decoder.readUnsigned()
        let fileCount = try decoder.readArrayHeader()
        guard fileCount <= Self.waitingFileCountMax else { throw malformed }
        for _ in 0..<fileCount {
            try decoder.readArrayHeader(count: 4)
            guard let file = UniqueID(bytes: try decoder.readBytes(count: UniqueID.byteCount)) else { throw malformed }
            let byteCount = Int(clamping: try decoder.readUnsigned())
            var room: Int?
            if decoder.isNextNull {
                try decoder.readNull()
            } else {
                room = Int(clamping: try decoder.readUnsigned())
            }
            guard let reason = WaitingFile.Reason(rawValue: try decoder.readUnsigned()) else { throw malformed }
            waitingFiles.append(WaitingFile(fileID: file, byteCount: byteCount, roomByteCount: room, reason: reason))
        }
        if decoder.isNextNull {
            try decoder.readNull()
        } else {
            try decoder.readArrayHeader(count: 2)
            guard let instance = UniqueID(bytes: try decoder.readBytes(count: UniqueID.byteCount)) else {
                throw malformed
            }
            headDot = Dot(instance: instance, sequence: try decoder.readUnsigned())
        }
        let flags = try decoder.readUnsigned()
        guard flags <= Self.moreFilesFlag | Self.removalsFlag else { throw malformed }
        hasMoreWaitingFiles = flags & Self.moreFilesFlag != 0
        areRemovalsDue = flags & Self.removalsFlag != 0
        if decoder.isNextNull {
            try decoder.readNull()
        } else {
            try decoder.readArrayHeader(count: 3)
            guard let compaction = BlobName(bytes: try decoder.readBytes(count: 32)) else { throw malformed }
            let since = try decoder.readSigned()
            sweep = DueSweep(compaction: compaction, since: since, notBefore: try decoder.readSigned())
        }
        try readStated(from: &decoder)
    }

    private mutating func readStated(from decoder: inout CBORDecoder) throws(CBORError) {
        let malformed = CBORError(.unexpectedItem, byteOffset: decoder.byteOffset)
        var map = try decoder.readMapHeader()
        guard map.remaining <= Self.statedCountMax else { throw malformed }
        while let key = try decoder.readKey(
            in: &map, { (decoder) throws(CBORError) in try decoder.readBytes(count: UniqueID.byteCount) })
        {
            guard let device = UniqueID(bytes: key) else { throw malformed }
            try decoder.readArrayHeader(count: 2)
            let seen = try decoder.readSeen()
            stated[device] = StatedHead(seen: seen, since: try decoder.readSigned())
        }
        let count = try decoder.readArrayHeader()
        guard count <= Self.uncheckedCountMax else { throw malformed }
        for _ in 0..<count {
            try decoder.readArrayHeader(count: 2)
            guard let device = UniqueID(bytes: try decoder.readBytes(count: UniqueID.byteCount)) else {
                throw malformed
            }
            unchecked.append(UncheckedHead(device: device, seen: try decoder.readSeen()))
        }
    }
}
