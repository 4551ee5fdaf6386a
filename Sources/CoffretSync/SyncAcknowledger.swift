// What devices tell each other through a zone about what they have. The one thing to keep true: a word of another
// device counts only with its signature, and one that is older than a word that was seen takes nothing back.

package import CoffretBase
package import CoffretCrypto
package import CoffretStorage
internal import CoffretWire

/// Writes this device's acknowledgement and reads those of others (protocol 12).
///
/// Layout: epoch (4) ‖ ENV(KDF(vault key, "acknowledgement/key", vault id ‖ epoch), "acknowledgement/seal",
/// vault id ‖ device id, length (4) ‖ message ‖ signature ‖ zeros); message = CBOR [1, commit context, head, version
/// vector, counter, time]; signature: context "acknowledgement/signature", scope = vault id. Spec: Spec/sync.md.
package struct SyncAcknowledger {
    /// The message and its signature are filled with zeros to this, so that all acknowledgements are one size.
    static let contentByteCount = 2_048
    private static let instanceCountMax = 64
    private static let withheldTime: Milliseconds = 24 * 3_600_000
    private static let staleTime: Milliseconds = 14 * 24 * 3_600_000

    private let keys: VaultKeys
    private let author: CommitAuthor
    private let signers: any CommitSignerDirectory
    /// The person's other devices that are trusted now.
    private let others: Set<UniqueID>
    private let newestRevocation: UInt64?
    private let random: any RandomSource
    private let now: () -> Int64

    /// - Parameter newestRevocation: the newest link that revokes a device, as far as this device knows.
    package init(
        keys: VaultKeys, author: CommitAuthor, signers: any CommitSignerDirectory, others: Set<UniqueID>,
        newestRevocation: UInt64? = nil, random: any RandomSource, now: @escaping () -> Int64
    ) {
        self.newestRevocation = newestRevocation
        self.keys = keys
        self.author = author
        self.signers = signers
        self.others = others
        self.random = random
        self.now = now
    }

    /// What a device said.
    struct Word: Equatable {
        var deviceID: [UInt8]
        var head: BlobName
        var versions: VersionVector
        var counter: UInt64
        var time: Int64
    }

    /// This device's word about the remembered head.
    func acknowledgement(of memory: SyncMemory, in repository: VaultRepository) throws -> [UInt8] {
        guard let head = memory.head else { return [] }
        var newest = try repository.versions(of: head).sequences
        // The own entry and the greatest ones say enough where there are very many.
        if newest.count > Self.instanceCountMax {
            let kept = newest.sorted { $0.value > $1.value }.prefix(Self.instanceCountMax)
            newest = Dictionary(uniqueKeysWithValues: kept.map { ($0.key, $0.value) })
        }
        let context = repository.contextBytes(of: author)
        let message = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 6)
            encoder.encode(unsigned: 1)
            encoder.encode(bytes: context)
            encoder.encode(bytes: head.bytes)
            encoder.encodeMapHeader(count: newest.count)
            for (instance, sequence) in newest.sorted(by: { $0.key < $1.key }) {
                encoder.encode(bytes: instance.bytes)
                encoder.encode(unsigned: sequence)
            }
            encoder.encode(unsigned: memory.counter)
            encoder.encode(signed: now())
        }
        let signature = author.signingKey.sign(.acknowledgement, scope: keys.vaultID.bytes, message: message)
        var content = UInt32(message.count).bigEndianBytes + message + signature
        guard content.count <= Self.contentByteCount else { throw SyncError(.vaultFailed, at: "acknowledgement") }
        content += [UInt8](repeating: 0, count: Self.contentByteCount - content.count)
        let sealed = unsafe content.withUnsafeBytes { bytes in
            unsafe Envelope.seal(
                bytes, key: keys.current.acknowledgementKey, context: .acknowledgementSeal,
                associatedData: keys.vaultID.bytes + author.deviceID, fill: .none, random: random)
        }
        return keys.currentEpoch.bigEndianBytes + sealed
    }

    /// Reads the words of the other devices, and holds what they stated of this vault elsewhere against what is here.
    ///
    /// - Throws: `SyncError` `.storeRolledBack` if this instance has said more than it remembers. Bytes that do not verify
    ///   are as if they were not there: whoever has an account can put some there, and they prove nothing.
    func inspect(
        _ list: [Acknowledgements.Entry], _ memory: SyncMemory, in repository: VaultRepository
    ) throws -> VaultReply {
        var memory = memory
        var audit = SyncAudit()
        try inspectOwn(list, &memory, &audit)
        if memory.head != nil { try inspectWords(list, &memory, &audit, in: repository) }
        try inspectStated(&memory, &audit, in: repository)
        return .inspected(memory, audit)
    }

    /// What this device has said itself: it is the only witness of what it read where it wrote nothing.
    private func inspectOwn(
        _ list: [Acknowledgements.Entry], _ memory: inout SyncMemory, _ audit: inout SyncAudit
    ) throws(SyncError) {
        let own = list.first { $0.deviceID.bytes == author.deviceID }.flatMap(open)
        if let own, own.counter > memory.counter {
            // A new instance, or a memory that begins anew, goes on above what was said before.
            guard memory.counterInstance != author.instanceID else {
                throw SyncError(.storeRolledBack, at: "acknowledgement \(own.counter)")
            }
            memory.counter = own.counter
        }
        memory.counterInstance = author.instanceID
        audit.isOwnShown = own?.counter == memory.counter && own?.head == memory.head
    }

    /// What a device has said in another vault it cannot have said otherwise here: the server shows both, or lies in one.
    private func inspectStated(
        _ memory: inout SyncMemory, _ audit: inout SyncAudit, in repository: VaultRepository
    ) throws(StorageError) {
        guard !memory.stated.isEmpty else { return }
        let check = StatedHeadCheck(
            repository: repository, signers: signers, newestRevocation: newestRevocation, others: others)
        for (device, stated, isForked) in try check.look(&memory) {
            if isForked, audit.contradiction == nil {
                // Nobody but this very instance gives its numbers.
                let isOwn = stated.seen.dot.instance == author.instanceID
                audit.contradiction = SyncError(
                    isOwn ? .storeRolledBack : .headForked, at: "commit \(stated.seen.head)")
            }
            let isLate = now() - stated.since >= Self.withheldTime
            let standing: SyncPeer.Standing = !isForked && isLate ? .withheld : .ahead
            var peer = SyncPeer(device: device.bytes, standing: standing, time: stated.since)
            if let index = audit.peers.firstIndex(where: { $0.device == device.bytes }) {
                let known = audit.peers.remove(at: index)
                if known.standing == .withheld { peer = known }
            }
            audit.peers.append(peer)
        }
    }

    private func inspectWords(
        _ list: [Acknowledgements.Entry], _ memory: inout SyncMemory, _ audit: inout SyncAudit,
        in repository: VaultRepository
    ) throws {
        guard let head = memory.head else { return }
        let versions = try repository.versions(of: head)
        let present = now()
        memory.others = memory.others.filter { others.contains($0.key) }
        var heard: Set<UniqueID> = []
        for entry in list where entry.deviceID.bytes != author.deviceID {
            let device = entry.deviceID
            guard let word = open(entry), others.contains(device),
                memory.others[device] != nil || memory.others.count < SyncMemory.deviceCountMax
            else { continue }
            let known = memory.others[device]
            if let known, word.counter < known.counter {
                // No word of today: what it said last goes on counting.
                audit.olderWords.append(device)
                let peer = try peer(device, lastSaying: known, time: word.time, head, &memory, in: repository)
                audit.peers.append(peer)
                continue
            }
            heard.insert(device)
            var standing: SyncPeer.Standing =
                word.head == head ? .upToDate : versions.covers(word.versions) ? .behind : .ahead
            var noted = SyncMemory.Acknowledged(
                counter: word.counter, head: word.head, heardAt: present, aheadSince: 0)
            if let known, known.counter == word.counter, known.heardAt != 0 { noted.heardAt = known.heardAt }
            if standing == .ahead {
                noted.aheadSince = present
                if let known, known.aheadSince != 0, try isMissing(known.head, from: head, in: repository) {
                    noted.aheadSince = known.aheadSince
                }
                if present - noted.aheadSince >= Self.withheldTime { standing = .withheld }
            }
            memory.others[device] = noted
            audit.peers.append(SyncPeer(device: device.bytes, standing: standing, time: word.time))
        }
        // A memory of the first version does not say when: then it is now, and no false alarm.
        for (device, known) in memory.others where known.heardAt == 0 { memory.others[device]?.heardAt = present }
        audit.silentDevices = memory.others.keys.filter { !heard.contains($0) }.sorted()
        audit.isStale =
            !memory.others.isEmpty && memory.others.values.allSatisfy { present - $0.heardAt >= Self.staleTime }
    }

    /// A device by what it said last, where the server shows an older word of it.
    private func peer(
        _ device: UniqueID, lastSaying known: SyncMemory.Acknowledged, time: Int64, _ head: BlobName,
        _ memory: inout SyncMemory, in repository: VaultRepository
    ) throws(StorageError) -> SyncPeer {
        var standing: SyncPeer.Standing = known.head == head ? .upToDate : .behind
        if known.aheadSince != 0 {
            if try isMissing(known.head, from: head, in: repository) {
                standing = now() - known.aheadSince >= Self.withheldTime ? .withheld : .ahead
            } else {
                memory.others[device]?.aheadSince = 0
            }
        }
        return SyncPeer(device: device.bytes, standing: standing, time: time)
    }

    /// Whether what a device said that it has is still not here. Each word of a device that writes a lot may be ahead of
    /// what this one has just read; only what stays away from look to look was withheld.
    private func isMissing(
        _ word: BlobName, from head: BlobName, in repository: VaultRepository
    ) throws(StorageError) -> Bool {
        guard try repository.dot(ofCommit: word) != nil else { return true }
        return try !repository.isKnown(word, to: head)
    }

    /// A device's word, verified; nil if anything about it does not.
    func open(_ entry: Acknowledgements.Entry) -> Word? {
        guard let epoch = UInt32(bigEndianBytes: Array(entry.bytes.prefix(4))),
            let epochKeys = keys.keys(ofEpoch: epoch)
        else { return nil }
        let content = try? unsafe Envelope.open(
            Array(entry.bytes.dropFirst(4)), key: epochKeys.acknowledgementKey, context: .acknowledgementSeal,
            associatedData: keys.vaultID.bytes + entry.deviceID.bytes, fill: .none
        ) { bytes in unsafe Array(bytes) }
        guard let content, content.count == Self.contentByteCount,
            let byteCount = UInt32(bigEndianBytes: Array(content.prefix(4))),
            Int(byteCount) + 4 + signatureByteCount <= content.count
        else { return nil }
        let message = Array(content[4..<4 + Int(byteCount)])
        let signature = Array(content[(4 + message.count)..<(4 + message.count + signatureByteCount)])
        guard let parsed = try? withCBORDecoder(message, { (decoder) throws(CBORError) in try Self.read(&decoder) }),
            let context = try? CommitContext.decode(parsed.context, place: "acknowledgement"),
            context.deviceID == entry.deviceID.bytes, context.vaultID == keys.vaultID.bytes,
            signers.revocation(ofAuthorOf: context) == nil, let key = signers.verifyingKey(for: context),
            (try? key.verify(signature, .acknowledgement, scope: keys.vaultID.bytes, message: message)) != nil
        else { return nil }
        return Word(
            deviceID: entry.deviceID.bytes, head: parsed.head, versions: parsed.versions, counter: parsed.counter,
            time: parsed.time)
    }

    private static func read(
        _ decoder: inout CBORDecoder
    ) throws(CBORError) -> (context: [UInt8], head: BlobName, versions: VersionVector, counter: UInt64, time: Int64) {
        let malformed = CBORError(.unexpectedItem, byteOffset: decoder.byteOffset)
        try decoder.readArrayHeader(count: 6)
        guard try decoder.readUnsigned() == 1 else { throw malformed }
        let context = try decoder.readBytes(countMax: 512)
        guard let head = BlobName(bytes: try decoder.readBytes(count: 32)) else { throw malformed }
        var sequences: [UniqueID: UInt64] = [:]
        var map = try decoder.readMapHeader()
        guard map.remaining <= instanceCountMax else { throw malformed }
        while let key = try decoder.readKey(
            in: &map, { (decoder) throws(CBORError) in try decoder.readBytes(count: UniqueID.byteCount) })
        {
            guard let instance = UniqueID(bytes: key) else { throw malformed }
            sequences[instance] = try decoder.readUnsigned()
        }
        let counter = try decoder.readUnsigned()
        return (context, head, VersionVector(sequences), counter, try decoder.readSigned())
    }
}
