// The history of two authors, taken by a third device: signatures, rules and state, with a store in memory. Processor time
// for each entry, and the most memory that the process had.

import CoffretBase
import CoffretCrypto
import CoffretHistory
import CoffretStorage
import CoffretTrust
import Glibc

enum MachineBench {
    /// `machine [COUNT ...]`: entries by two authors, every eleventh without having seen the other's newest.
    static func run(_ arguments: [String]) throws {
        let counts = arguments.isEmpty ? [1_000, 10_000, 100_000] : arguments.compactMap { Int($0) }
        print(row(["entries", "all, s", "first 1,024: µs each", "last 1,024: µs each", "memory, MiB", "state, bytes"]))
        print(row([String](repeating: "---", count: 6)))
        for count in counts { print(row(try measure(count))) }
    }

    private static let batchCount = 1_024
    private static let keyCount = 10_000

    private static func measure(_ count: Int) throws -> [String] {
        let vault = try BenchVault()
        let entries = vault.entries(count, keyCount: keyCount)
        let verifier = EntryVerifier(vaultID: vault.vaultID, authority: vault.view)
        let store = BenchHistoryStore(terms: vault.terms)
        var machine = HistoryMachine(store: store, account: vault.account, device: vault.devices[2].id)
        machine.follow(accounts: vault.view.accounts, chain: vault.view.chain)
        var newest: [InstanceID: VerifiedEntry] = [:]
        var times: [Double] = []
        for start in stride(from: 0, to: count, by: batchCount) {
            let batch = entries[start..<min(start + batchCount, count)]
            times.append(
                try measureCPUSeconds {
                    var names: [BlobName] = []
                    for content in batch {
                        let name = BlobName.derive(type: .entry, content: content.span)
                        let read = try UnverifiedEntry.decode(content, name: name) { vault.contexts[$0]! }
                        let signed = try verifier.verifySignature(of: read)
                        let before = newest[signed.context.instance]
                        let entry = try verifier.verify(signed, after: before.map { EntryPredecessor($0) })
                        newest[entry.instance] = entry
                        machine.store.put(StoredEntry(entry))
                        names.append(name)
                    }
                    machine.receive(names)
                    machine.settle(now: 0) { _ in false }
                    machine.flush()
                } / Double(batch.count))
        }
        let applied = machine.frontier.marks.values.reduce(0) { $0 + $1.number }
        precondition(Int(applied) == count && machine.summary.factCount == min(count, keyCount), "all is applied")
        let total = zip(times, stride(from: 0, to: count, by: batchCount)).reduce(0) {
            $0 + $1.0 * Double(min(batchCount, count - $1.1))
        }
        return [
            String(count), decimal(total, 2), decimal(times[0] * 1e6, 1), decimal(times[times.count - 1] * 1e6, 1),
            decimal(peakMiB(), 0), String(machine.suspend().encoded.count),
        ]
    }

    /// The most memory that this process had, by the kernel's count.
    private static func peakMiB() -> Double {
        var usage = rusage()
        guard unsafe getrusage(RUSAGE_SELF.rawValue, &usage) == 0 else { return 0 }
        return Double(usage.ru_maxrss) / 1_024
    }
}

/// One account with three devices and its vault, with real keys and links.
private struct BenchVault {
    struct Device {
        let id: UniqueID
        let signing: SigningKey
    }

    let vaultID: VaultID
    let account: ChainID
    let devices: [Device]
    let view: MemberView
    let terms: DigestTerms
    private let logs: [EntryContext]
    let contexts: [BlobName: EntryContext]

    init() throws {
        let random = SystemRandomSource()
        var devices: [Device] = []
        var keys: [DeviceKeys] = []
        for _ in 0..<3 {
            let signing = SigningKey.generate(from: random)
            devices.append(Device(id: .generate(from: random), signing: signing))
            keys.append(
                DeviceKeys(
                    signing: signing.verifyingKey, box: AgreementKey.generate(from: random).publicKey,
                    noise: AgreementKey.generate(from: random).publicKey))
        }
        var chain = try VerifiedDeviceChain.verify([
            VerifiedDeviceChain.found(deviceID: devices[0].id, keys: keys[0], details: [], with: devices[0].signing)
        ])
        for index in 1..<3 {
            let proof = DeviceOperation.countersign(
                id: devices[index].id, keys: keys[index], chainID: chain.accountID,
                sequenceNumber: UInt64(chain.links.count), with: devices[index].signing)
            let link = chain.sign(
                .add(id: devices[index].id, kind: .ordinary, keys: keys[index], countersignature: proof), details: [],
                with: devices[0].signing)
            chain = try chain.following([link]).chain
        }
        let (key, seed) = (VaultKey.generate(from: random), random.bytes(count: 32))
        guard let head = ChainPosition(chain.head) else { preconditionFailure("a link's hash has 32 bytes") }
        let foundation = VaultFoundation(
            random: seed, accountID: chain.accountID, deviceChainHead: head.hash.bytes,
            keyCommitment: EpochKeys.deriveCommitment(to: key, scope: seed, epoch: 1))
        let known = AccountDevices(chain)
        let members = try VerifiedMembers(
            founding: VerifiedMemberChain.found(foundation, details: [], with: devices[0].signing), founder: known,
            chain: chain)
        self.devices = devices
        vaultID = members.vaultID
        account = chain.accountID
        view = MemberView(accounts: [account: known], chain: members.state, takenCount: 1)
        terms = DigestTerms(splitKey: .generate(from: random), vaultID: vaultID)
        let vaultID = members.vaultID
        logs = devices.prefix(2).map { device in
            EntryContext(
                vaultID: vaultID, accountID: chain.accountID, deviceID: device.id, nonce: .generate(from: random),
                firstLink: 0, deviceHead: head,
                memberHead: ChainPosition(number: 0, hash: members.state.links[0].hash), epoch: 1)
        }
        contexts = Dictionary(uniqueKeysWithValues: logs.map { ($0.name, $0) })
    }

    /// Signed entries in the order in which they were written.
    func entries(_ count: Int, keyCount: Int) -> [[UInt8]] {
        let random = SystemRandomSource()
        var (marks, said) = ([EntryMark?](repeating: nil, count: 2), [EntryMark?](repeating: nil, count: 2))
        var written: [[UInt8]] = []
        var last = [Dot?](repeating: nil, count: keyCount)
        for number in 0..<count {
            let (author, context) = (number % 2, logs[number % 2])
            var seen = Frontier()
            if number % 11 != 0, let other = marks[1 - author], other != said[author] {
                seen[logs[1 - author].instance] = other
                said[author] = other
            }
            var uuid = [UInt8](repeating: 0, count: 16)
            let key = number % keyCount
            (uuid[14], uuid[15]) = (UInt8(key >> 8), UInt8(key & 255))
            guard let id = UniqueID(bytes: uuid) else { preconditionFailure("an id has 16 bytes") }
            let dot = Dot(context.instance, (marks[author]?.number ?? 0) + 1)
            let change = Change(
                key: FactKey(entity: EntityID(kind: 78, uuid: id), attribute: "text"),
                content: .inPlace([0] + random.bytes(count: 40)), replaces: last[key].map { [$0] } ?? [])
            last[key] = dot
            let body = EntryBody(
                context: context.name, number: dot.number, before: marks[author]?.name, height: UInt64(number + 1),
                time: 1_800_000_000_000, seen: seen, changes: .list([change], salt: random.bytes(count: 16)))
            let content = body.sign(in: context, with: devices[author].signing).content
            marks[author] = EntryMark(
                number: dot.number, name: BlobName.derive(type: .entry, content: content.span))
            written.append(content)
        }
        return written
    }
}
