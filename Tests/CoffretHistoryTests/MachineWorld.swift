// A small vault without signatures, for tables of rules: entries and links are made by hand.

import CoffretBase
import CoffretCrypto
import CoffretHistorySupport
import CoffretStorage

@testable import CoffretHistory
@testable import CoffretTrust

/// Accounts with devices, one member chain, and entries by these devices.
final class MachineWorld {
    typealias Machine = HistoryMachine<MemoryHistoryStore>

    let vaultID = VaultID([UInt8](repeating: 7, count: 32))!
    private(set) var chain = MemberState()
    /// For each account, its devices: when each was added and revoked.
    private(set) var stays: [[(name: String, added: Int, revoked: Int?)]] = []
    private var linkCounts: [Int] = []
    private var nextID: UInt64 = 1
    private(set) var entries: [BlobName: StoredEntry] = [:]
    var trees: [BlobName: [FactKey: CurrentFacts]] = [:]
    var bareForms: [BlobName: VerifiedEntry] = [:]

    init(devices: [[String]]) {
        for names in devices {
            stays.append(names.enumerated().map { ($1, $0, nil) })
            linkCounts.append(names.count)
        }
        link(roles: [0: .owner])
        for account in devices.indices.dropFirst() { link(roles: [account: .writer]) }
    }

    func account(_ index: Int) -> ChainID { ChainID([UInt8](repeating: UInt8(index + 1), count: 32))! }
    func device(_ name: String) -> UniqueID { UniqueID(bytes: BLAKE2b.hash(Array(name.utf8), byteCount: 16))! }
    func headHash(_ account: Int, _ number: Int) -> Bytes32 { Bytes32(UInt64(account), UInt64(number), 3, 0) }

    var accounts: [ChainID: AccountDevices] { known(linkCounts) }

    /// Device links, as many of each account as are known.
    func known(_ counts: [Int]) -> [ChainID: AccountDevices] {
        var result: [ChainID: AccountDevices] = [:]
        for (index, count) in counts.enumerated() {
            var members: [UniqueID: AccountDevices.Stay] = [:]
            for stay in stays[index] where stay.added < count {
                members[device(stay.name)] = .init(
                    signingKey: Array(stay.name.utf8), addedAt: stay.added,
                    revokedAt: stay.revoked.flatMap { $0 < count ? $0 : nil })
            }
            let branch = AccountDevices.Branch(
                hashes: (0..<count).map { headHash(index, $0) }, stays: members,
                takingAway: stays[index].compactMap(\.revoked).filter { $0 < count }.sorted())
            result[account(index)] = AccountDevices(accountID: account(index), branches: [branch])
        }
        return result
    }

    var deviceLinkCounts: [Int] { linkCounts }

    func revoke(_ name: String) {
        for account in stays.indices {
            for place in stays[account].indices where stays[account][place].name == name {
                stays[account][place].revoked = linkCounts[account]
                linkCounts[account] += 1
            }
        }
    }

    private func accountIndex(of name: String) -> Int { stays.firstIndex { $0.contains { $0.name == name } } ?? 0 }

    @discardableResult
    func link(
        by name: String? = nil, roles: [Int: MemberRole] = [:], removing: [Int] = [], confirms: [Int] = [],
        opens: Bool = false,
        head: Int? = nil, heads: [Int] = [], checkpoint: Checkpoint? = nil, time: Milliseconds? = nil
    ) -> Int {
        let signer = name ?? stays[0][0].name
        let own = accountIndex(of: signer)
        var stated = [account(own): headHash(own, head ?? linkCounts[own] - 1)]
        for other in heads + roles.keys where other != own {
            stated[account(other)] = headHash(other, linkCounts[other] - 1)
        }
        let before = chain.states.last
        let devices = accounts
        let ends = stated.contains { account, head in
            guard before?.members[account] != nil, let now = devices[account]?.position(of: head),
                let was = before?.heads[account].flatMap({ devices[account]?.position(of: $0) })
            else { return false }
            return devices[account]!.takesAway(from: was, to: now)
        }
        var changes: [ChainID: MemberRole?] = [:]
        for (index, role) in roles { changes[account(index)] = .some(role) }
        for index in removing { changes[account(index)] = .some(nil) }
        let added = roles.keys.map(account).filter { before?.members[$0] == nil }
        chain.append(
            VerifiedMemberLink(
                MemberEffect(
                    number: chain.count, hash: Bytes32(UInt64(chain.count + 1), 2, 0, 0), accountID: account(own),
                    deviceID: device(signer), roleChanges: changes, accepts: Set(added),
                    confirms: Set(confirms.map(account)), heads: stated, opensEpoch: opens, keyCommitment: nil,
                    splitKeyCommitment: nil, endsReading: ends || !removing.isEmpty),
                checkpoint: checkpoint, details: time.map { MemberDetails(time: $0) }))
        return chain.count - 1
    }

    /// A log of one device.
    func context(
        _ name: String, firstLink: Int = 0, nonce: UInt8 = 0, link: Int? = nil, head: Int? = nil, epoch: UInt32? = nil
    ) -> EntryContext {
        let own = accountIndex(of: name)
        let stated = link ?? chain.count - 1
        let place = head ?? linkCounts[own] - 1
        return EntryContext(
            vaultID: vaultID, accountID: account(own), deviceID: device(name),
            nonce: UniqueID(bytes: [UInt8](repeating: nonce, count: 16))!, firstLink: UInt32(firstLink),
            deviceHead: ChainPosition(number: UInt64(place), hash: headHash(own, place)),
            memberHead: ChainPosition(number: UInt64(stated), hash: chain.links[stated].hash),
            epoch: epoch ?? chain.states[stated].epoch)
    }

    static func key(_ number: Int) -> FactKey {
        var uuid = [UInt8](repeating: 0, count: 16)
        for place in 0..<4 { uuid[15 - place] = UInt8(number >> (8 * place) & 255) }
        return FactKey(
            entity: EntityID(kind: 110, uuid: UniqueID(bytes: uuid)!), attribute: Attribute("text"))
    }

    func entry(
        _ context: EntryContext, _ number: EntryNumber, after before: VerifiedEntry? = nil, height: Height? = nil,
        seen: [VerifiedEntry] = [], changes: [Change] = [], tree: BlobName? = nil
    ) -> VerifiedEntry {
        nextID += 1
        let body = EntryBody(
            context: BlobName(Bytes32(0, 0, 0, 0)), number: number, before: before?.name,
            height: height ?? 1 + (([before].compactMap { $0 } + seen).map(\.height).max() ?? 0), time: 0,
            seen: Frontier(Dictionary(uniqueKeysWithValues: seen.map { ($0.instance, $0.mark) })),
            changes: tree.map { .tree($0, salt: []) } ?? .list(changes, salt: []))
        let entry = VerifiedEntry.assumedForReplay(name: BlobName(Bytes32(nextID, 9, 0, 0)), body, context)
        entries[entry.name] = StoredEntry(entry)
        return entry
    }

    /// A change that puts a text under a key.
    static func put(_ number: Int, _ text: String?, replacing dots: [VerifiedEntry] = []) -> Change {
        Change(
            key: key(number), content: text.map { .inPlace(Array($0.utf8)) } ?? .retraction, replaces: dots.map(\.dot))
    }

    func machine(_ name: String, times: HistoryTimes = HistoryTimes()) -> Machine {
        var store = MemoryHistoryStore(rootName: Self.rootName)
        store.trees = trees
        store.bareForms = bareForms
        return Machine(store: store, account: account(accountIndex(of: name)), device: device(name), times: times)
    }

    static func rootName(_ facts: [FactKey: CurrentFacts]) -> BlobName {
        let lines = facts.flatMap { key, facts in
            facts.map { "\(key)|\($0.key)|\($0.value.height)|\($0.value.content)" }
        }
        return BlobName(Bytes32(BLAKE2b.hash(Array(lines.sorted().joined(separator: ";").utf8)))!)
    }
}

extension HistoryMachine where Store == MemoryHistoryStore {
    /// One sync: links, entries, then the state.
    mutating func sync(
        _ world: MachineWorld, links: Int? = nil, known: [Int]? = nil, _ entries: [VerifiedEntry] = [],
        now: Milliseconds = 0, collected: Set<Int> = []
    ) {
        var chain = MemberState()
        for link in world.chain.links.prefix(links ?? world.chain.count) { chain.append(link) }
        if chain.count < members.takenCount { chain = members.chain }
        follow(accounts: world.known(known ?? world.deviceLinkCounts), chain: chain)
        let tips = tips
        for entry in entries where takes(entry, tips: tips) { store.put(StoredEntry(entry)) }
        receive(entries.map(\.name))
        settle(now: now) { collected.contains($0) }
    }

    /// Texts under a key, ascending.
    func texts(_ number: Int) -> [String] {
        facts(under: MachineWorld.key(number)).values.compactMap { fact in
            if case .inPlace(let bytes) = fact.content { String(decoding: bytes, as: UTF8.self) } else { nil }
        }.sorted()
    }
}
