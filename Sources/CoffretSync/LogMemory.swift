// A sync's knowledge of the server from one time to the next. The one thing to keep true: it is durable together with what
// it speaks of, and what it forgets costs a question and no word.

package import CoffretBase
package import CoffretHistory
package import CoffretLogs
package import CoffretStorage

/// The bytes of `LogRepository.syncMemory`.
///
/// Layout, deterministic CBOR: {0: cursor, ? 1: cursor before what was left, ? 2: cursor of the past, ? 3: newest head
/// (name), ? 4: own full frontier (name), ? 5: {+ instance => number}, ? 6: time of the last replaced head, ? 7: true,
/// ? 8: time, ? 9: true, and what LogMemory+Words.swift says}.
/// Spec: Spec/sync.md section 2.
package struct LogMemory: Sendable {
    package static let servedCountMax = 1_000
    private static let byteCountMax = 64 << 10
    static let unjudgedCountMax = 256

    /// Objects before it came.
    package var cursor: [UInt8] = []
    /// Before it lies the oldest object that was left, and that may be wanted when links, keys or room came.
    package var left: [UInt8]?
    /// A new device: entries of before are listed from here on; nil: all were.
    package var past: [UInt8]?
    /// The frontier that the server showed or took last.
    package var head: BlobName?
    /// The full frontier that this device wrote last (F1).
    package var full: BlobName?
    /// Numbers up to which the server has a log, where that is not all that is applied here: own logs, and logs that a
    /// server which was put back has lost.
    package var served: [InstanceID: EntryNumber] = [:]
    /// When this device put its head over a refused one (F6), by its clock.
    package var replacedAt: Milliseconds?
    /// An entry came that this program cannot read (E7).
    package var hasUnreadable = false

    /// When this device writes a link that is due: others find it due at the same time.
    package var linkAt: Milliseconds?

    /// Numbers that logs had here before what came since the head was judged.
    package var unjudged: [InstanceID: EntryNumber] = [:]
    /// The base's tree is not known to be at this server: it goes there with the next root.
    package var lacksTree = false
    /// Something came since the head was judged.
    package var isUnjudged = false

    // Words of devices (LogMemory+Words.swift).
    /// This device's last acknowledgement, by the log that counted it.
    package var acknowledged: (instance: InstanceID, counter: UInt64)?
    package var others: [MemberDevice: HeardWord] = [:]
    /// Statements of other devices about other vaults, which were not handed to these.
    package var unchecked: [WitnessReport] = []
    /// Heads of this vault that were stated in others, and are not here.
    package var stated: [UniqueID: LateWitness] = [:]
    /// The word that let this device in, until all of it is here (R7).
    package var told: AppliedWord?

    // Own work that goes on (LogMemory+Words.swift).
    /// I2: logs that another copy writes, too, and the newest entry here in each; until what is lost is written again.
    package var copied: [LeftLog] = []
    /// Logs that were left like that; what an end takes of them is written again (I4).
    package var leftLogs: [LeftLog] = []
    /// The link below which the server is to collect.
    package var collects: UInt32?
    /// Blobs that it is to collect and that are gone here.
    package var collectsNames: [BlobName] = []

    // The server and its files (LogMemory+Words.swift).
    /// The address under which the person knows the server; empty before the first sync.
    package var server = ""
    /// Files that a head at the server names, and that are not there yet: they found no room, or could not be read here.
    package var waitingFiles: [WaitingFile] = []
    /// There are more of those than are remembered: they are found by looking at all.
    package var hasMoreWaitingFiles = false
    /// How often in a row the server did not let this device see what the others say.
    package var failedAuditCount: UInt64 = 0
    /// Logs of revoked devices up to which a person has decided about what does not count.
    package var settled: [InstanceID: EntryNumber] = [:]
    /// Items in entries that do not count, as a person was told of them.
    package var namedCount = 0
    /// Links that somebody states and the server does not give.
    var withheld = WithheldLinks()

    package init() {}

    /// The memory of a repository; a new one where there is none that can be read.
    package init(of repository: LogRepository) { self = LogMemory(decoding: repository.syncMemory) ?? LogMemory() }

    /// Bytes to be remembered, with what other processes asked for since this was read.
    func merged(in repository: LogRepository) -> [UInt8] {
        guard let asked = LogMemory(decoding: repository.syncMemory), asked.collects ?? 0 > collects ?? 0 else {
            return encoded
        }
        var memory = self
        (memory.collects, memory.collectsNames) = (asked.collects, asked.collectsNames)
        return memory.encoded
    }

    /// Notes how far logs are here, before more of them comes.
    mutating func noteUnjudged(_ instances: Set<InstanceID>, before frontier: Frontier) {
        isUnjudged = true
        for instance in instances.sorted() where unjudged[instance] == nil && unjudged.count < Self.unjudgedCountMax {
            unjudged[instance] = frontier.number(of: instance)
        }
    }

    /// The memory of another server, which has nothing of this vault that is known.
    func begun(at server: String, in repository: LogRepository) throws(StorageError) -> LogMemory {
        var memory = LogMemory()
        memory.server = server
        // Which files it has is not known.
        (memory.hasMoreWaitingFiles, memory.lacksTree) = (true, true)
        (memory.copied, memory.leftLogs) = (copied, leftLogs)
        (memory.acknowledged, memory.told, memory.settled) = (acknowledged, told, settled)
        let marks = try repository.ask { (machine) in machine.frontier.marks }
        for instance in marks.keys.sorted().prefix(Self.servedCountMax) { memory.served[instance] = 0 }
        return memory
    }

    package var encoded: [UInt8] {
        let bytes = encodedWhole
        guard bytes.count > Self.byteCountMax else { return bytes }
        var shorter = self
        (shorter.unjudged, shorter.collectsNames) = ([:], [])
        return shorter.encodedWhole
    }

    private var encodedWhole: [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeMap { map in
                map.put(0) { $0.encode(bytes: cursor) }
                if let left { map.put(1) { $0.encode(bytes: left) } }
                if let past { map.put(2) { $0.encode(bytes: past) } }
                if let head { map.put(3) { $0.encode(bytes: head.bytes) } }
                if let full { map.put(4) { $0.encode(bytes: full.bytes) } }
                if !served.isEmpty {
                    let kept = served.sorted { $0.key < $1.key }.prefix(Self.servedCountMax)
                    map.put(5) { $0.encode(numbers: Dictionary(uniqueKeysWithValues: Array(kept))) }
                }
                if let replacedAt { map.put(6) { $0.encode(signed: replacedAt) } }
                if hasUnreadable { map.put(7) { $0.encode(bool: true) } }
                if let linkAt { map.put(8) { $0.encode(signed: linkAt) } }
                if isUnjudged { map.put(9) { $0.encode(bool: true) } }
                encodeWords(in: &map)
            }
        }
    }

    /// Reads what this device wrote; nil for anything else, and the zone is then listed from its beginning.
    package init?(decoding bytes: [UInt8]) {
        let read = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in try LogMemory(from: &decoder) }
        guard let read else { return nil }
        self = read
    }

    private init(from decoder: inout CBORDecoder) throws(CBORError) {
        var map = try decoder.readMapHeader()
        try decoder.expectKey(0, in: &map)
        cursor = try decoder.readBytes(countMax: MemberDetails.cursorByteCountMax)
        while let key = try decoder.readUnsignedKey(in: &map) {
            switch key {
            case 1: left = try decoder.readBytes(countMax: MemberDetails.cursorByteCountMax)
            case 2: past = try decoder.readBytes(countMax: MemberDetails.cursorByteCountMax)
            case 3: head = BlobName(bytes: try decoder.readBytes(count: 32))
            case 4: full = BlobName(bytes: try decoder.readBytes(count: 32))
            case 5: served = try decoder.readNumbers()
            case 6: replacedAt = try decoder.readSigned()
            case 7: hasUnreadable = try decoder.readBool()
            case 8: linkAt = try decoder.readSigned()
            case 9: isUnjudged = try decoder.readBool()
            default: try readWords(key, from: &decoder)
            }
        }
    }
}
