// Words that a device keeps: its own, those of others, and own work that goes on. The one thing to keep true: a word
// takes nothing back that was heard before it.

package import CoffretBase
package import CoffretHistory
internal import CoffretStorage

/// The newest word of another device.
package struct HeardWord: Equatable, Sendable {
    package var counter: UInt64
    /// Since it was heard, by N1.
    package var heard: Waits.Wait
    /// Of the state that it said it has.
    package var digest: StateDigest
    /// The oldest of its words that is ahead, and since when.
    package var ahead: (word: AppliedWord, wait: Waits.Wait)?

    package static func == (left: HeardWord, right: HeardWord) -> Bool {
        left.counter == right.counter && left.heard == right.heard && left.digest == right.digest
            && left.ahead?.word == right.ahead?.word
            && left.ahead?.wait == right.ahead?.wait
    }
}

/// The statement of a device about another vault.
package struct WitnessReport: Hashable, Sendable {
    package let device: UniqueID
    package let head: WitnessedHead

    package init(device: UniqueID, head: WitnessedHead) {
        self.device = device
        self.head = head
    }
}

/// The statement of a device about this vault elsewhere, and since when it is known.
package struct LateWitness: Equatable, Sendable {
    package var head: WitnessedHead
    package var wait: Waits.Wait
}

/// An own log that another copy of the store writes, too.
package struct LeftLog: Hashable, Sendable {
    package let instance: InstanceID
    /// The newest entry that this copy wrote; nil: none.
    package let tip: EntryMark?
}

extension Waits.Wait {
    /// So often a wait that grows is stored.
    private static let step: Milliseconds = 3_600_000

    static func began(_ now: Milliseconds) -> Self { Self(passed: 0, lastClock: now) }

    /// Grown, if that is worth to be stored.
    func looked(at now: Milliseconds) -> Self {
        let (step, overflow) = now.subtractingReportingOverflow(lastClock)
        return !overflow && 0..<Self.step ~= step ? self : grown(to: now)
    }
}

// MARK: - The record

extension LogMemory {
    static let deviceCountMax = 256
    /// Of one account that is not the own one: nobody takes the room of others.
    static let deviceCountMaxPerAccount = 8
    /// Devices of which a whole word is kept.
    static let aheadCountMax = 6
    static let uncheckedCountMax = 32
    static let leftCountMax = 16
    static let collectedNameCountMax = 384

    static let serverByteCountMax = 1_024
    /// So many waiting files are remembered one by one.
    package static let waitingFileCountMax = 256

    /// Keys 10 to 27: `{10: [instance, counter], 11: {+ account ‖ device => [counter, wait, digest, ? word, ? wait]}, 12: [+ [device, heads]],
    /// 13: {+ device => [heads, wait]}, 14: word, 15: [+ left], 16: [+ left], 17: link, 18: server (text),
    /// 19: [+ [file, bytes, room / null, reason]], 20: true, 21: failed audits, 22: {+ instance => number}, 23: {+ instance => number}, 24: true,
    /// 25: [+ name], 26: count, 27: withheld links}`;
    /// wait = [passed, clock]; word = [base / null, {* instance => number}, digest]; heads as in a statement, of one; left =
    /// [instance, ? mark].
    func encodeWords(in map: inout CBORMapWriter) {
        if let acknowledged {
            map.put(10) { encoder in
                encoder.encodeArrayHeader(count: 2)
                encoder.encode(id: acknowledged.instance)
                encoder.encode(unsigned: acknowledged.counter)
            }
        }
        if !others.isEmpty {
            map.put(11) { encoder in
                encoder.encodeMapHeader(count: others.count)
                for (device, heard) in others.sorted(by: { $0.key < $1.key }) {
                    encoder.encode(bytes: device.bytes)
                    encoder.encodeArrayHeader(count: heard.ahead == nil ? 3 : 5)
                    encoder.encode(unsigned: heard.counter)
                    encoder.encode(wait: heard.heard)
                    encoder.encode(bytes32: heard.digest.bytes32)
                    if let ahead = heard.ahead {
                        encoder.encode(word: ahead.word)
                        encoder.encode(wait: ahead.wait)
                    }
                }
            }
        }
        if !unchecked.isEmpty {
            map.put(12) { encoder in
                encoder.encodeArrayHeader(count: unchecked.count)
                for stated in unchecked {
                    encoder.encodeArrayHeader(count: 2)
                    encoder.encode(id: stated.device)
                    encoder.encode(bytes: EntryStatement.encode([stated.head]))
                }
            }
        }
        if !stated.isEmpty {
            map.put(13) { encoder in
                encoder.encodeMapHeader(count: stated.count)
                for (device, late) in stated.sorted(by: { $0.key < $1.key }) {
                    encoder.encode(id: device)
                    encoder.encodeArrayHeader(count: 2)
                    encoder.encode(bytes: EntryStatement.encode([late.head]))
                    encoder.encode(wait: late.wait)
                }
            }
        }
        if let told { map.put(14) { $0.encode(word: told) } }
        if !copied.isEmpty { map.put(15) { $0.encode(left: copied) } }
        if !leftLogs.isEmpty { map.put(16) { $0.encode(left: leftLogs) } }
        if let collects { map.put(17) { $0.encode(unsigned: UInt64(collects)) } }
        encodeServer(in: &map)
    }

    private func encodeServer(in map: inout CBORMapWriter) {
        if !server.isEmpty { map.put(18) { $0.encode(text: server) } }
        if !waitingFiles.isEmpty {
            map.put(19) { encoder in
                encoder.encodeArrayHeader(count: waitingFiles.count)
                for file in waitingFiles { encoder.encode(waiting: file) }
            }
        }
        if hasMoreWaitingFiles { map.put(20) { $0.encode(bool: true) } }
        if failedAuditCount > 0 { map.put(21) { $0.encode(unsigned: failedAuditCount) } }
        if !settled.isEmpty { map.put(22) { $0.encode(numbers: settled) } }
        if !unjudged.isEmpty { map.put(23) { $0.encode(numbers: unjudged) } }
        if lacksTree { map.put(24) { $0.encode(bool: true) } }
        if !collectsNames.isEmpty {
            map.put(25) { encoder in
                encoder.encodeArrayHeader(count: collectsNames.count)
                for name in collectsNames { encoder.encode(bytes: name.bytes) }
            }
        }
        if namedCount > 0 { map.put(26) { $0.encode(unsigned: UInt64(namedCount)) } }
        if !withheld.isEmpty { map.put(27) { withheld.encode(to: &$0) } }
    }

    mutating func readWords(_ key: UInt64, from decoder: inout CBORDecoder) throws(CBORError) {
        switch key {
        case 10:
            try decoder.readArrayHeader(count: 2)
            acknowledged = (try decoder.readID(), try decoder.readUnsigned())
        case 11:
            var map = try decoder.readMapHeader()
            while let device = try decoder.readKey(
                in: &map, { (decoder) throws(CBORError) in try decoder.readMemberDevice() })
            {
                let count = try decoder.readArrayHeader()
                var heard = HeardWord(
                    counter: try decoder.readUnsigned(), heard: try decoder.readWait(),
                    digest: StateDigest(try decoder.readBytes32()))
                if count == 5 { heard.ahead = (try decoder.readWord(), try decoder.readWait()) }
                others[device] = heard
            }
        case 12:
            for _ in 0..<(try decoder.readArrayHeader()) {
                try decoder.readArrayHeader(count: 2)
                unchecked.append(WitnessReport(device: try decoder.readID(), head: try decoder.readWitness()))
            }
        case 13:
            var map = try decoder.readMapHeader()
            while let id = try decoder.readKey(in: &map, { (decoder) throws(CBORError) in try decoder.readID() }) {
                try decoder.readArrayHeader(count: 2)
                stated[id] = LateWitness(head: try decoder.readWitness(), wait: try decoder.readWait())
            }
        case 14: told = try decoder.readWord()
        case 15: copied = try decoder.readLeft()
        case 16: leftLogs = try decoder.readLeft()
        case 17: collects = try decoder.readUnsigned(as: UInt32.self)
        case 18: server = try decoder.readText(byteCountMax: Self.serverByteCountMax)
        case 19: for _ in 0..<(try decoder.readArrayHeader()) { waitingFiles.append(try decoder.readWaiting()) }
        case 20: hasMoreWaitingFiles = try decoder.readBool()
        case 21: failedAuditCount = try decoder.readUnsigned()
        case 22: settled = try decoder.readNumbers()
        case 23: unjudged = try decoder.readNumbers()
        case 24: lacksTree = try decoder.readBool()
        case 25:
            for _ in 0..<(try decoder.readArrayHeader()) {
                if let name = BlobName(bytes: try decoder.readBytes(count: 32)) { collectsNames.append(name) }
            }
        case 26: namedCount = Int(try decoder.readUnsigned(as: UInt32.self))
        case 27: withheld = try WithheldLinks(from: &decoder)
        default: throw CBORError(.unexpectedKey, byteOffset: decoder.byteOffset)
        }
    }
}

extension CBOREncoder {
    fileprivate mutating func encode(wait: Waits.Wait) {
        encodeArrayHeader(count: 2)
        encode(signed: wait.passed)
        encode(signed: wait.lastClock)
    }

    mutating func encode(word: AppliedWord) {
        encodeArrayHeader(count: 3)
        word.encode(to: &self)
    }

    mutating func encode(numbers: [InstanceID: EntryNumber]) {
        encodeMapHeader(count: numbers.count)
        for (instance, number) in numbers.sorted(by: { $0.key < $1.key }) {
            encode(id: instance)
            encode(unsigned: number)
        }
    }

    fileprivate mutating func encode(waiting file: WaitingFile) {
        encodeArrayHeader(count: 4)
        encode(bytes: file.fileID.bytes)
        encode(unsigned: UInt64(file.byteCount))
        if let room = file.roomByteCount { encode(unsigned: UInt64(room)) } else { encodeNull() }
        encode(unsigned: file.reason.rawValue)
    }

    fileprivate mutating func encode(left logs: [LeftLog]) {
        encodeArrayHeader(count: logs.count)
        for log in logs {
            encodeArrayHeader(count: log.tip == nil ? 1 : 2)
            encode(id: log.instance)
            if let tip = log.tip { encode(mark: tip) }
        }
    }
}

extension CBORDecoder {
    mutating func readNumbers() throws(CBORError) -> [InstanceID: EntryNumber] {
        var numbers: [InstanceID: EntryNumber] = [:]
        var map = try readMapHeader()
        while let id = try readKey(in: &map, { (decoder) throws(CBORError) in try decoder.readID() }) {
            numbers[id] = try readUnsigned()
        }
        return numbers
    }

    fileprivate mutating func readWait() throws(CBORError) -> Waits.Wait {
        try readArrayHeader(count: 2)
        return Waits.Wait(passed: try readSigned(), lastClock: try readSigned())
    }

    mutating func readWord() throws(CBORError) -> AppliedWord {
        try readArrayHeader(count: 3)
        return try AppliedWord(from: &self)
    }

    fileprivate mutating func readWitness() throws(CBORError) -> WitnessedHead {
        let start = byteOffset
        guard let head = EntryStatement.decode(try readBytes(countMax: 512))?.first else {
            throw CBORError(.unexpectedItem, byteOffset: start)
        }
        return head
    }

    fileprivate mutating func readWaiting() throws(CBORError) -> WaitingFile {
        let malformed = CBORError(.unexpectedItem, byteOffset: byteOffset)
        try readArrayHeader(count: 4)
        let file = UniqueID(bytes: try readBytes(count: UniqueID.byteCount))
        let byteCount = Int(clamping: try readUnsigned())
        var room: Int?
        if isNextNull { try readNull() } else { room = Int(clamping: try readUnsigned()) }
        guard let file, let reason = WaitingFile.Reason(rawValue: try readUnsigned()) else { throw malformed }
        return WaitingFile(fileID: file, byteCount: byteCount, roomByteCount: room, reason: reason)
    }

    fileprivate mutating func readLeft() throws(CBORError) -> [LeftLog] {
        var logs: [LeftLog] = []
        for _ in 0..<(try readArrayHeader()) {
            let count = try readArrayHeader()
            logs.append(LeftLog(instance: try readID(), tip: count == 2 ? try readMark() : nil))
        }
        return logs
    }
}
