// Devices tell each other through a zone which entries they have. The one thing to keep true: a word of another device
// counts only with its signature, and one that is older than a word that was heard takes nothing back.

package import CoffretBase
internal import CoffretCrypto
package import CoffretHistory
package import CoffretLogs
internal import CoffretStorage
package import CoffretTrust
internal import CoffretWire

/// The sum of the words of all devices of a vault.
package struct LogAudit: Sendable {
    package struct Peer: Sendable {
        package let account: ChainID
        package let device: UniqueID
        package let standing: WordVerdict
        /// It has been ahead for a day: what it has is withheld (R4).
        package let isWithheld: Bool
        /// By that device's clock.
        package let time: Milliseconds
    }

    package internal(set) var peers: [Peer] = []
    /// Devices of which the server showed an older word than before.
    package internal(set) var olderWords: [MemberDevice] = []
    /// Devices that spoke before and of which the server shows nothing.
    package internal(set) var silentDevices: [MemberDevice] = []
    /// No other device has said anything new for 14 days.
    package internal(set) var isStale = false
    /// This device's log has said more than this copy of the store remembers: it was copied or put back (I2).
    package internal(set) var isCopy = false
    /// The server took this device's word.
    package internal(set) var hasSpoken = false
    /// Heads of this vault that are stated in others, and are not here (E9).
    package internal(set) var stated: [LogStatements.Late] = []
    /// Words by who said them, for G5.
    var words: [MemberDevice: AppliedWord] = [:]
}

extension LogAudit {
    /// What concerns devices of other accounts: a member's word is his own, so it accuses nobody alone and stops nothing.
    package func findings(besides own: ChainID) -> [SyncFinding] {
        silentDevices.filter { $0.account != own }.map { SyncFinding(.auditFailed, by: $0, mayBeServer: true) }
            + peers.filter { $0.isWithheld && $0.account != own }.map { peer in
                SyncFinding(
                    .entryWithheld, by: MemberDevice(account: peer.account, device: peer.device), mayBeServer: true)
            }
    }
}

/// Reads the words of other devices, and says this one's. Gives requests and takes replies, as `LogSync` does; it runs
/// behind a sync of the same repository.
///
/// Layout: epoch (4) ‖ ENV(KDF(vault key, "acknowledgement/key", vault id ‖ epoch), "acknowledgement/seal",
/// vault id ‖ device id, length (4) ‖ message ‖ signature ‖ zeros); message = CBOR [2, context, base / null,
/// {* instance => number}, digest, counter, time]. Spec: Spec/sync.md section 9.
package final class LogAcknowledger {
    /// The message and its signature are filled with zeros to this, so that all acknowledgements are one size.
    private static let contentByteCount = 2_048
    private static let withheldTime: Milliseconds = 24 * 3_600_000
    private static let staleTime: Milliseconds = 14 * 24 * 3_600_000
    /// A word that says the same is not left anew before.
    private static let youngTime: Milliseconds = 3_600_000

    private enum Stage { case asking, speaking, done }

    private struct Word {
        let context: EntryContext
        let applied: AppliedWord
        let counter: UInt64
        let time: Milliseconds
    }

    private let repository: LogRepository
    private var memory: LogMemory
    private var stage = Stage.asking
    private var isOwnShown = false
    private var isOwnYoung = false
    private let speaksAnew: Bool
    package private(set) var audit = LogAudit()

    /// - Parameter speaksAnew: says its word also where the server shows it, unless it is less than an hour old, so that silence
    ///   means something (R4).
    package init(repository: LogRepository, speaksAnew: Bool = false) {
        self.speaksAnew = speaksAnew
        self.repository = repository
        memory = LogMemory(of: repository)
    }

    /// The next request; nil: all is said, and `audit` is whole.
    package func next(now: Milliseconds) throws(SyncError) -> LogRequest? {
        do {
            switch stage {
            case .asking: return .acknowledgements
            case .speaking:
                stage = .done
                if let bytes = try speak(now: now) { return .acknowledge(bytes) }
                return nil
            case .done: return nil
            }
        } catch { throw SyncError.translating(error) }
    }

    /// Takes a reply to the last request.
    ///
    /// - Throws: `.refused`, `.unreachable`, `.answerMalformed`: an audit that failed (R8).
    package func take(_ reply: LogReply, now: Milliseconds) throws(SyncError) {
        switch reply {
        case .unreachable: throw SyncError(.unreachable)
        case .refused(let code): throw SyncError(refusal: code)
        case .acknowledgements(let list) where stage == .asking:
            do { try inspect(list, now: now) } catch { throw SyncError.translating(error) }
            stage = audit.isCopy ? .done : .speaking
        case .acknowledged where stage == .done: audit.hasSpoken = true
        default: throw SyncError(.answerMalformed)
        }
    }

    /// Asks and speaks to the end.
    package func run(through transport: any LogTransport, now: () -> Milliseconds) throws(SyncError) -> LogAudit {
        while let request = try next(now: now()) {
            try take(transport.send(request) { (_) throws(SyncError) in }, now: now())
        }
        return audit
    }

    // MARK: The own word

    /// - Returns: nil where the server shows this word, where something is to be pushed first, or where this device may say
    ///   nothing.
    private func speak(now: Milliseconds) throws -> [UInt8]? {
        guard !isOwnShown || speaksAnew && !isOwnYoung, let signingKey = repository.author.signingKey,
            try ServedLogs(memory, in: repository).unacknowledged(in: repository).isEmpty,
            let context = try repository.ownContext(), let own = memory.acknowledged
        else { return nil }
        let counter = own.counter + 1
        // Durable before it is said: an old copy is found out by it.
        memory.acknowledged = (context.instance, counter)
        try repository.remember(memory.merged(in: repository))
        let word = try repository.ask { (machine) in machine.word }
        let message = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 7)
            encoder.encode(unsigned: 2)
            encoder.encode(bytes: context.encode())
            word.encode(to: &encoder)
            encoder.encode(unsigned: counter)
            encoder.encode(signed: now)
        }
        let (keys, vaultID) = (repository.keys, repository.keys.vaultID.bytes)
        let signature = signingKey.sign(.acknowledgement, scope: vaultID, message: message)
        var content = UInt32(message.count).bigEndianBytes + message + signature
        guard content.count <= Self.contentByteCount else { return nil }
        content += [UInt8](repeating: 0, count: Self.contentByteCount - content.count)
        let sealed = unsafe content.withUnsafeBytes { bytes in
            unsafe Envelope.seal(
                bytes, key: keys.current.acknowledgementKey, context: .acknowledgementSeal,
                associatedData: vaultID + context.deviceID.bytes, fill: .none, random: repository.sealingRandom)
        }
        return keys.currentEpoch.bigEndianBytes + sealed
    }

    // MARK: Words of others

    private func inspect(_ list: [Acknowledgements.Entry], now: Milliseconds) throws {
        let members = try repository.ask { (machine) in machine.members }
        let author = repository.author.device
        // The own account first: nobody else takes the room of its devices.
        let words = list.compactMap { entry in open(entry, members).map { ($0.context.author, $0) } }
            .sorted { ($0.0.account == author.account ? 0 : 1, $0.0) < ($1.0.account == author.account ? 0 : 1, $1.0) }
        try inspectOwn(words.first { $0.0 == author }?.1, now: now)
        guard !audit.isCopy else { return }
        memory.others = memory.others.filter { device, _ in
            members.newestState.members[device.account] != nil
                && members.accounts[device.account]?.isTrusted(device.device) == true
        }
        var heard: Set<MemberDevice> = []
        for (device, word) in words where device != author {
            let known = memory.others[device]
            guard known != nil || hasRoom(for: device) else { continue }
            heard.insert(device)
            if let known, word.counter < known.counter {
                // No word of today: what it said last goes on counting.
                audit.olderWords.append(device)
                try hear(known, word, of: device, isNew: false, now: now)
                continue
            }
            audit.words[device] = word.applied
            var next = known ?? HeardWord(counter: word.counter, heard: .began(now), digest: word.applied.digest)
            let isNew = known?.counter != word.counter
            (next.counter, next.digest) = (word.counter, word.applied.digest)
            next.heard = isNew ? .began(now) : next.heard.looked(at: now)
            try hear(next, word, of: device, isNew: true, now: now)
        }
        for (device, word) in memory.others where !heard.contains(device) {
            memory.others[device]?.heard = word.heard.looked(at: now)
        }
        audit.silentDevices = memory.others.keys.filter { !heard.contains($0) }.sorted()
        audit.isStale =
            !memory.others.isEmpty && memory.others.values.allSatisfy { $0.heard.passed >= Self.staleTime }
        audit.stated = try LogStatements.look(&memory, in: repository, now: now)
        try repository.remember(memory.merged(in: repository))
    }

    /// The own word is the only witness of what this device read where it wrote nothing.
    private func inspectOwn(_ own: Word?, now: Milliseconds) throws {
        guard let context = try repository.ownContext() else { return }
        if let own, own.counter > memory.acknowledged?.counter ?? 0 {
            // A log that this copy left says nothing of the one that it writes now.
            if let known = memory.acknowledged, known.instance == own.context.instance,
                known.instance == context.instance
            {
                audit.isCopy = true
                return
            }
            // A new log, or a memory that begins anew, goes on above what was said before.
            memory.acknowledged = (context.instance, own.counter)
        }
        let counter = memory.acknowledged?.counter ?? 0
        memory.acknowledged = (context.instance, counter)
        let word = try repository.ask { (machine) in machine.word }
        isOwnShown = own.map { $0.counter == counter && $0.applied == word && $0.context == context } ?? false
        isOwnYoung = own.map { 0..<Self.youngTime ~= now &- $0.time } ?? false
    }

    private func hasRoom(for device: MemberDevice) -> Bool {
        guard memory.others.count < LogMemory.deviceCountMax else { return false }
        return device.account == repository.author.accountID
            || memory.others.keys.count { $0.account == device.account } < LogMemory.deviceCountMaxPerAccount
    }

    /// Whether the oldest word of a device that is ahead is kept: of other accounts one for each.
    private func hasRoom(forAheadOf device: MemberDevice) -> Bool {
        let ahead = memory.others.filter { $0.value.ahead != nil }.keys
        return ahead.count < LogMemory.aheadCountMax
            && (device.account == repository.author.accountID || !ahead.contains { $0.account == device.account })
    }

    private func hear(
        _ known: HeardWord, _ word: Word, of device: MemberDevice, isNew: Bool, now: Milliseconds
    ) throws {
        var known = known
        let link = Int(clamping: word.context.memberHead.number)
        let applied = word.applied
        var standing = try repository.ask { (machine) throws(StorageError) in
            try machine.standing(of: applied, at: link)
        }
        if let ahead = known.ahead {
            // Each word of a device that writes a lot may be ahead; only what stays away was withheld.
            let old = try repository.ask { (machine) throws(StorageError) in
                try machine.standing(of: ahead.word, at: link)
            }
            known.ahead = old == .ahead ? (ahead.word, ahead.wait.looked(at: now)) : nil
        }
        if standing == .ahead, isNew, known.ahead == nil, hasRoom(forAheadOf: device) {
            known.ahead = (applied, .began(now))
        }
        if !isNew { standing = known.ahead == nil ? .behind : .ahead }
        memory.others[device] = known
        let isWithheld = known.ahead.map { $0.wait.passed >= Self.withheldTime } ?? false
        audit.peers.append(
            LogAudit.Peer(
                account: device.account, device: device.device, standing: standing, isWithheld: isWithheld,
                time: word.time))
    }

    /// A device's word, verified; nil if anything about it does not.
    private func open(_ entry: Acknowledgements.Entry, _ members: MemberView) -> Word? {
        let vaultID = repository.keys.vaultID
        guard let epoch = UInt32(bigEndianBytes: Array(entry.bytes.prefix(4))),
            let account = ChainID(entry.accountID), members.newestState.members[account] != nil
        else { return nil }
        guard let keys = repository.keys.keys(ofEpoch: epoch) else {
            memory.withheld.note(epoch: epoch)
            return nil
        }
        let content = try? unsafe Envelope.open(
            Array(entry.bytes.dropFirst(4)), key: keys.acknowledgementKey, context: .acknowledgementSeal,
            associatedData: vaultID.bytes + entry.deviceID.bytes, fill: .none
        ) { bytes in unsafe Array(bytes) }
        guard let content, content.count == Self.contentByteCount,
            let byteCount = UInt32(bigEndianBytes: Array(content.prefix(4))),
            Int(byteCount) + 4 + signatureByteCount <= content.count
        else { return nil }
        let message = Array(content[4..<4 + Int(byteCount)])
        let signature = Array(content[(4 + message.count)..<(4 + message.count + signatureByteCount)])
        let name = BlobName.derive(type: .entryContext, content: message.span)
        guard
            let word = try? withCBORDecoder(message, { (decoder) throws(CBORError) in try Self.read(&decoder, name) }),
            word.context.accountID.bytes == entry.accountID,
            word.context.deviceID == entry.deviceID, word.context.vaultID == vaultID,
            word.counter <= HistoryLimits.numberMax, let trusted = members.trustedKey(of: word.context.author),
            (try? trusted.verify(signature, .acknowledgement, scope: vaultID.bytes, message: message)) != nil
        else { return nil }
        do throws(HistoryError) { _ = try members.signerKey(for: word.context, of: name) } catch {
            if error.code == .membersWithheld, members.standing(of: word.context) == .withheld {
                memory.withheld.note(word.context)
            }
            return nil
        }
        return word
    }

    private static func read(_ decoder: inout CBORDecoder, _ name: BlobName) throws(CBORError) -> Word {
        let malformed = CBORError(.unexpectedItem, byteOffset: decoder.byteOffset)
        try decoder.readArrayHeader(count: 7)
        guard try decoder.readUnsigned() == 2,
            let context = try? EntryContext.decode(decoder.readBytes(countMax: 1_024), name: name)
        else { throw malformed }
        return Word(
            context: context, applied: try AppliedWord(from: &decoder), counter: try decoder.readUnsigned(),
            time: try decoder.readSigned())
    }
}
