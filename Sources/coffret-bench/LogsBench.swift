// Histories on disk beside histories of commits, in one run. Invariant: both write the same changes in turn, so that what
// else the machine does meets both alike.

import CoffretBase
import CoffretCrypto
import CoffretHistory
import CoffretLogs
import CoffretStorage
import CoffretTrust

enum LogsBench {
    fileprivate static let time: Milliseconds = 1_700_000_000_000

    /// `logs DIRECTORY [COUNT [ENTRIES]]`: COUNT one-fact commits over 10,000 facts (2,000), and edits of a note of 9 KiB;
    /// then the history of a note with 500 versions among ENTRIES (0: not at all).
    static func run(_ arguments: [String]) throws {
        guard (1...3).contains(arguments.count), let count = Int(arguments.count > 1 ? arguments[1] : "2000"),
            let entryCount = Int(arguments.count > 2 ? arguments[2] : "0")
        else {
            print("usage: coffret-bench logs DIRECTORY [COUNT [ENTRIES]]")
            return
        }
        try PosixFileSystem().removeTree(arguments[0])
        let pair = try RepositoryPair(directory: arguments[0])
        try pair.fill(10_000)
        try pair.commitFacts(count)
        try pair.editNote(min(count, 400))
        pair.logs.close()
        pair.commits.close()
        if entryCount > 0 { try pair.readHistory(versionCount: 500, entryCount: entryCount) }
    }
}

/// A vault of logs and one of commits with the same facts.
private final class RepositoryPair {
    let logs: LogRepository
    let commits: VaultRepository
    private let directory: String
    private let keys: VaultKeys
    private let author: LogAuthor
    private let chains: VaultChains
    private let environment: StorageEnvironment
    private let random = SystemRandomSource()
    private var notes = NoteGenerator(seed: 7)
    private var state: UInt64 = 42

    init(directory: String) throws {
        self.directory = directory
        environment = StorageEnvironment(fileSystem: PosixFileSystem(), random: random, clock: SystemWallClock())
        let (device, signing) = (UniqueID.generate(from: random), SigningKey.generate(from: random))
        let deviceKeys = DeviceKeys(
            signing: signing.verifyingKey, box: AgreementKey.generate(from: random).publicKey,
            noise: AgreementKey.generate(from: random).publicKey)
        let chain = try VerifiedDeviceChain.verify([
            VerifiedDeviceChain.found(deviceID: device, keys: deviceKeys, details: [], with: signing)
        ])
        let account = AccountDevices(chain)
        let foundation = VaultFoundation(
            random: random.bytes(count: 32), accountID: chain.accountID, deviceChainHead: chain.head.linkHash,
            keyCommitment: random.bytes(count: 32))
        let members = try VerifiedMembers(
            founding: VerifiedMemberChain.found(foundation, details: [], with: signing), founder: account, chain: chain)
        guard let head = ChainPosition(chain.head) else { preconditionFailure("a hash has 32 bytes") }
        author = LogAuthor(accountID: chain.accountID, deviceID: device, deviceHead: head, signingKey: signing)
        chains = VaultChains(accounts: [chain.accountID: account], members: members.state)
        keys = VaultKeys.generate(vaultID: members.vaultID, from: random)
        logs = try LogRepository.create(
            directory: directory + "/logs", keys: keys, author: author, chains: chains, environment: environment,
            isText: { $0.attribute == "text" })
        commits = try VaultRepository.create(
            directory: directory + "/commits", keys: keys,
            author: CommitAuthor(
                signingKey: signing, deviceID: device.bytes, instanceID: .generate(from: random),
                accountID: chain.accountID.bytes, deviceChainHead: chain.head.linkHash,
                memberChainHead: random.bytes(count: 32)),
            environment: environment)
    }

    private func key(_ number: Int, _ attribute: Attribute = "title") -> FactKey {
        let bytes = BLAKE2b.hash(UInt64(number).bigEndianBytes, byteCount: 16)
        guard let id = UniqueID(bytes: bytes) else { preconditionFailure("an id has 16 bytes") }
        return FactKey(entity: EntityID(kind: UInt8(ascii: "n"), uuid: id), attribute: attribute)
    }

    private func below(_ bound: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(state >> 33) % bound
    }

    func fill(_ count: Int) throws {
        let values = (0..<count).map { (key($0), Array("the title of note \($0)".utf8)) }
        try logs.commit(values.map { LogChange(key: $0.0, value: $0.1) }, time: LogsBench.time)
        try commits.commit(values.map { FactChange(key: $0.0, value: $0.1) }, time: LogsBench.time)
        // Both begin with no tail.
        try commits.checkpoint()
        logs.policy = .longLived
        commits.checkpointPolicy = .resident
    }

    /// One fact at a time, in turn.
    func commitFacts(_ count: Int) throws {
        var (mine, theirs) = ([Double](), [Double]())
        var byteCounts: [Int] = []
        var (mineCPU, theirsCPU) = (0.0, 0.0)
        for index in 0..<count {
            let (key, value) = (key(below(10_000)), Array("changed for the \(index)th time".utf8))
            let before = logs.journalByteCount
            mineCPU += try measureCPUSeconds {
                mine.append(
                    try measureSeconds {
                        try logs.commit([LogChange(key: key, value: value)], time: LogsBench.time)
                    })
            }
            byteCounts.append(logs.journalByteCount - before)
            theirsCPU += try measureCPUSeconds {
                theirs.append(
                    try measureSeconds {
                        try commits.commit([FactChange(key: key, value: value)], time: LogsBench.time)
                    })
            }
        }
        for (name, times, cpu) in [("logs", mine, mineCPU), ("commits", theirs, theirsCPU)] {
            let mean = decimal(cpu / Double(count) * 1e6, 1)
            print("one fact, \(name): \(decimal(median(times) * 1e6, 1)) us median, \(mean) us CPU with checkpoints")
        }
        print("ratio: \(decimal(median(mine) / median(theirs))) of medians, \(decimal(mineCPU / theirsCPU)) of CPU")
        let (middle, mean) = (byteCounts.sorted()[count / 2], byteCounts.reduce(0, +) / count)
        print("bytes in the journal: \(middle) median, \(mean) mean with checkpoints")
    }

    /// Edits of one note of 9 KiB: a few words of a line.
    func editNote(_ count: Int) throws {
        var text = ""
        while text.utf8.count < 9 << 10 { text += notes.next().body + "\n" }
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let key = key(1, "text")
        try logs.commit([LogChange(key: key, value: Array(text.utf8))], time: LogsBench.time)
        try logs.checkpoint()
        var sum = 0
        for index in 0..<count {
            let place = below(lines.count)
            lines[place] = "edited \(index): " + lines[place].prefix(60)
            let before = logs.journalByteCount
            try logs.commit(
                [LogChange(key: key, value: Array(lines.joined(separator: "\n").utf8))], time: LogsBench.time)
            sum += logs.journalByteCount - before
        }
        print("edit of a note of 9 KiB: \(sum / count) bytes in the journal, mean of \(count)")
    }

    /// A store of its own, that is opened again before it is asked.
    func readHistory(versionCount: Int, entryCount: Int) throws {
        let folder = directory + "/many"
        func open(_ mode: BlobStore.Mode) throws -> LogRepository {
            try LogRepository.open(
                directory: folder, keys: keys, author: author, chains: chains, mode: mode, environment: environment,
                isText: { $0.attribute == "text" })
        }
        let writer = try LogRepository.create(
            directory: folder, keys: keys, author: author, chains: chains, environment: environment,
            isText: { $0.attribute == "text" })
        writer.policy = .longLived
        let note = key(-1, "text")
        for index in 0..<entryCount {
            let isVersion = index % max(entryCount / versionCount, 1) == 0
            let changed = isVersion ? note : key(below(10_000))
            try writer.commit([LogChange(key: changed, value: Array("version \(index)".utf8))], time: LogsBench.time)
        }
        try writer.checkpoint()
        writer.close()
        var reader: LogRepository?
        let opening = try measureSeconds {
            reader = try open(.readOnly)
            _ = try reader?.present()
        }
        var found = 0
        let seconds = try measureSeconds { found = try reader?.history(of: note.entity).count ?? 0 }
        print("opening among \(entryCount) entries: \(decimal(opening * 1e3)) ms")
        print("history of \(found) versions among \(entryCount) entries: \(decimal(seconds * 1e3)) ms")
        print("journal and packs: \(writer.journalByteCount / entryCount) bytes for each entry")
    }

    private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
}
