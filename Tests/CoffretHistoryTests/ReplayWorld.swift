// A world of `Tests/Model/history_model.py`, as it is exported: accounts, links, entries, and what devices were given.

import CoffretBase
import CoffretCrypto
import CoffretStorage
import CoffretTestSupport
import Testing

@testable import CoffretHistory
@testable import CoffretTrust

extension JSONValue {
    /// A member that has to be there.
    func at(_ name: String) -> JSONValue { self[name] ?? .null }
    var list: [JSONValue] { elements ?? [] }
    var number: Int { Int(integer ?? 0) }
    var numbers: [Int] { list.map(\.number) }
    var isNull: Bool { if case .null = self { true } else { false } }
}

/// Everything that devices of one world share.
final class ReplayWorld {
    let json: JSONValue
    let seed: Int
    let vaultID = VaultID([UInt8](repeating: 7, count: 32))!
    private(set) var accountIDs: [ChainID] = []
    private(set) var instances: [EntryContext] = []
    private(set) var indices: [InstanceID: Int] = [:]
    private(set) var keys: [FactKey: Int] = [:]
    private(set) var entries: [Int: StoredEntry] = [:]
    private(set) var newer: Set<BlobName> = []
    private(set) var bareForms: [BlobName: VerifiedEntry] = [:]
    private(set) var trees: [BlobName: [FactKey: CurrentFacts]] = [:]
    /// For each side of a forked chain: the state of each beginning of it, by its count.
    private(set) var chains: [[MemberState]] = []
    private(set) var whole: [ChainID: AccountDevices] = [:]
    /// For each instance its place in the model's order: account, device, first link, nonce.
    private var orders: [Int] = []
    private var operations: [(cuts: [Int], branches: [[[String]]])] = []

    init(_ json: JSONValue) throws {
        self.json = json
        seed = json.at("seed").number
        for (index, account) in json.at("accounts").list.enumerated() {
            accountIDs.append(ChainID([UInt8](repeating: UInt8(index + 1), count: 32))!)
            operations.append(
                (
                    account.at("cuts").numbers,
                    account.at("branches").list.map { branch in branch.list.map { $0.list.map { $0.string ?? "" } } }
                ))
        }
        let all = operations.map { $0.branches.map(\.count) }
        whole = known(all)
        for (index, item) in json.at("instances").list.enumerated() {
            let context = context(instance: index, item, head: 0, link: (0, 0), epoch: 1)
            instances.append(context)
            indices[context.instance] = index
        }
        let names = json.at("instances").list.map(\.list)
        let sorted = names.indices.sorted { left, right in
            let (a, b) = (names[left], names[right])
            if a[0].number != b[0].number { return a[0].number < b[0].number }
            if a[1].string != b[1].string { return a[1].string ?? "" < b[1].string ?? "" }
            return a[2].number != b[2].number ? a[2].number < b[2].number : a[3].number < b[3].number
        }
        orders = names.indices.map { place in sorted.firstIndex(of: place) ?? 0 }
        for item in json.at("entries").list { try add(entry: item) }
        let links = json.at("links").list
        for chain in json.at("chains").list {
            var states = [MemberState()]
            for lid in chain.numbers {
                var state = states[states.count - 1]
                state.append(try link(links[lid], lid: lid, after: state))
                try check(state, links[lid])
                states.append(state)
            }
            chains.append(states)
        }
    }

    // MARK: Names

    static func name(_ id: Int) -> BlobName { BlobName(Bytes32(UInt64(bitPattern: Int64(id)), 0, 0, 0)) }
    static func bareName(_ id: Int) -> BlobName { BlobName(Bytes32(UInt64(bitPattern: Int64(id)), 1, 0, 0)) }
    static func linkHash(_ lid: Int) -> Bytes32 { Bytes32(UInt64(lid + 1), 2, 0, 0) }
    static func id(_ name: BlobName) -> Int { Int(Int64(bitPattern: name.value.word0)) }

    static func device(_ name: String) -> UniqueID {
        UniqueID(bytes: BLAKE2b.hash(Array(name.utf8), byteCount: 16))!
    }

    func key(_ number: Int) -> FactKey {
        let uuid = UniqueID(bytes: [UInt8](repeating: UInt8(number), count: 16))!
        let key = FactKey(entity: EntityID(kind: 110, uuid: uuid), attribute: Attribute("text"))
        keys[key] = number
        return key
    }

    /// A short form that the model writes too.
    static func short(_ text: String) -> String { Hex.encode(BLAKE2b.hash(Array(text.utf8), byteCount: 16)) }

    // MARK: Devices

    /// Device links by account and branch, as many of each as are known.
    func known(_ lengths: [[Int]]) -> [ChainID: AccountDevices] {
        var result: [ChainID: AccountDevices] = [:]
        for (account, counts) in lengths.enumerated() where counts.contains(where: { $0 > 0 }) {
            let branches = counts.enumerated().map { branch, count in self.branch(account, branch, count) }
            result[accountIDs[account]] = AccountDevices(accountID: accountIDs[account], branches: branches)
        }
        return result
    }

    private func hash(_ account: Int, _ branch: Int, _ count: Int) -> Bytes32 {
        var branch = branch
        while branch > 0, count <= operations[account].cuts[branch] { branch -= 1 }
        return Bytes32(UInt64(account) << 32 | UInt64(branch) << 16 | UInt64(count), 3, 0, 0)
    }

    private func branch(_ account: Int, _ branch: Int, _ count: Int) -> AccountDevices.Branch {
        var stays: [UniqueID: AccountDevices.Stay] = [:]
        var takingAway: [Int] = []
        func revoke(_ id: UniqueID, at number: Int) {
            guard let stay = stays[id], stay.revokedAt == nil else { return }
            stays[id] = .init(signingKey: stay.signingKey, addedAt: stay.addedAt, revokedAt: number)
        }
        for (number, operation) in operations[account].branches[branch].prefix(count).enumerated() {
            let named = operation.dropFirst().map(Self.device)
            switch operation[0] {
            case "add": stays[named[0]] = .init(signingKey: named[0].bytes, addedAt: number, revokedAt: nil)
            case "revoke":
                revoke(named[0], at: number)
                takingAway.append(number)
            default:
                for id in stays.keys where !named.contains(id) { revoke(id, at: number) }
                takingAway.append(number)
            }
        }
        return .init(
            hashes: (0..<count).map { hash(account, branch, $0 + 1) }, stays: stays, takingAway: takingAway)
    }

    private func head(_ account: Int, _ stated: [Int]) -> Bytes32 { hash(account, stated[0], stated[1]) }

    // MARK: Entries

    private func context(
        instance index: Int, _ item: JSONValue, head: Bytes32, number: Int, link: (Int, Int), epoch: Int
    ) -> EntryContext {
        var nonce = [UInt8](repeating: 0, count: 16)
        nonce[14] = UInt8(index >> 8)
        nonce[15] = UInt8(index & 255)
        return EntryContext(
            vaultID: vaultID, accountID: accountIDs[item.list[0].number],
            deviceID: Self.device(item.list[1].string ?? ""), nonce: UniqueID(bytes: nonce)!,
            firstLink: UInt32(max(item.list[2].number, 0)),
            deviceHead: ChainPosition(number: UInt64(number), hash: head),
            memberHead: ChainPosition(number: UInt64(link.0), hash: Self.linkHash(link.1)), epoch: UInt32(epoch))
    }

    private func context(
        instance index: Int, _ item: JSONValue, head: Int, link: (Int, Int), epoch: Int
    ) -> EntryContext {
        context(instance: index, item, head: Bytes32(0, 0, 0, 0), number: head, link: link, epoch: epoch)
    }

    func marks(_ list: JSONValue) -> Frontier {
        var marks: [InstanceID: EntryMark] = [:]
        for item in list.list {
            let numbers = item.numbers
            marks[instances[numbers[0]].instance] = EntryMark(
                number: UInt64(numbers[1]), name: Self.name(numbers[2]))
        }
        return Frontier(marks)
    }

    private func add(entry item: JSONValue) throws {
        let (id, index) = (item.at("id").number, item.at("instance").number)
        let instance = json.at("instances").list[index]
        let (account, stated, link) = (instance.list[0].number, item.at("head").numbers, item.at("link").numbers)
        let context = context(
            instance: index, instance, head: head(account, stated), number: stated[1] - 1, link: (link[0], link[1]),
            epoch: item.at("epoch").number)
        let before = item.at("before").number
        let changes = item.at("changes").list.map { change in
            Change(
                key: key(change.list[0].number),
                content: change.list[1].string.map { .inPlace(Array($0.utf8)) } ?? .retraction,
                replaces: change.list[2].list.map {
                    Dot(instances[$0.numbers[0]].instance, EntryNumber($0.numbers[1]))
                })
        }
        let body = EntryBody(
            context: Self.name(0), number: EntryNumber(item.at("number").number),
            before: before == 0 ? nil : Self.name(before), height: Height(item.at("height").number), time: 0,
            seen: marks(item.at("seen")), changes: .list(changes, salt: []))
        let entry = VerifiedEntry.assumedForReplay(name: Self.name(id), body, context)
        entries[id] = StoredEntry(entry)
        if item.at("new").bool == true { newer.insert(entry.name) }
        bareForms[Self.bareName(id)] = entry
    }

    // MARK: Links

    private func heads(_ list: JSONValue) -> [ChainID: Bytes32] {
        var heads: [ChainID: Bytes32] = [:]
        for item in list.list {
            let numbers = item.numbers
            heads[accountIDs[numbers[0]]] = hash(numbers[0], numbers[1], numbers[2])
        }
        return heads
    }

    private func link(_ item: JSONValue, lid: Int, after state: MemberState) throws -> VerifiedMemberLink {
        let number = item.at("number").number
        var changes: [ChainID: MemberRole?] = [:]
        var accepts: Set<ChainID> = []
        let before = state.states.last?.members ?? [:]
        for change in item.at("changes").list {
            let account = accountIDs[change.list[0].number]
            changes[account] = .some(change.list[1].isNull ? nil : MemberRole(rawValue: UInt8(change.list[1].number)))
            if before[account] == nil { accepts.insert(account) }
        }
        let heads = heads(item.at("heads"))
        let takesAway = heads.contains { account, head in
            guard before[account] != nil, let devices = whole[account], let now = devices.position(of: head),
                let was = state.states.last?.heads[account].flatMap({ devices.position(of: $0) })
            else { return false }
            return devices.takesAway(from: was, to: now)
        }
        let effect = MemberEffect(
            number: number, hash: Self.linkHash(lid), accountID: accountIDs[item.at("account").number],
            deviceID: Self.device(item.at("device").string ?? ""), roleChanges: changes, accepts: accepts,
            confirms: Set(item.at("confirms").numbers.map { accountIDs[$0] }), heads: heads,
            opensEpoch: item.at("opens").bool == true, keyCommitment: nil, splitKeyCommitment: nil,
            endsReading: takesAway || changes.values.contains(nil))
        return VerifiedMemberLink(
            effect, checkpoint: item.at("checkpoint").bool == true ? try checkpoint(item, number) : nil)
    }

    private func checkpoint(_ item: JSONValue, _ number: Int) throws -> Checkpoint {
        let base = item.at("base").number
        var root: BlobName?
        if !item.at("root").isNull {
            var tree: [FactKey: CurrentFacts] = [:]
            for fact in item.at("root").list {
                let numbers = fact.numbers
                tree[key(numbers[0]), default: [:]][Dot(instances[numbers[1]].instance, EntryNumber(numbers[2]))] =
                    CurrentFact(
                        height: Height(numbers[3]), content: .inPlace(Array((fact.list[4].string ?? "").utf8)))
            }
            let name = rootName(tree)
            #expect(Self.short(text(tree)) == item.at("root_text").string)
            trees[name] = tree
            root = name
        }
        var ends: [InstanceID: LogEnd] = [:]
        for end in item.at("ended").list {
            ends[instances[end.numbers[0]].instance] = LogEnd(
                lastCommonNumber: EntryNumber(end.numbers[1]), first: Self.name(end.numbers[2]),
                second: Self.name(end.numbers[3]))
        }
        var bare: [InstanceID: BlobName] = [:]
        for item in item.at("bare").list {
            bare[instances[item.numbers[0]].instance] = Self.bareName(item.numbers[1])
        }
        return Checkpoint(
            base: base < 0 ? nil : UInt32(base), accepted: marks(item.at("accept")), root: root,
            digest: Bytes32(0, 0, 0, 0), factCount: 0, ends: ends,
            purges: item.at("purges").numbers.map { key($0).entity }, bareTips: bare,
            refutes: item.at("refutes").numbers.map { UInt32($0) })
    }

    /// The folded state has to be the model's.
    private func check(_ state: MemberState, _ item: JSONValue) throws {
        let folded = try #require(state.states.last)
        let place: Comment = "world \(seed), link \(item.at("number").number)"
        #expect(Int(folded.epoch) == item.at("epoch").number, place)
        #expect(Int(folded.oldestEpoch) == item.at("since").number, place)
        #expect(folded.heads == heads(item.at("heads")), place)
        #expect(folded.headsAtEpoch == heads(item.at("keyed")), place)
        #expect(folded.accepted == marks(item.at("accept")), place)
    }

    // MARK: Texts that both programs write

    func text(_ facts: [FactKey: CurrentFacts]) -> String {
        var text = ""
        for (number, key) in facts.keys.map({ (keys[$0] ?? -1, $0) }).sorted(by: { $0.0 < $1.0 }) {
            let sorted = (facts[key] ?? [:]).sorted { left, right in
                let (a, b) = (indices[left.key.instance] ?? -1, indices[right.key.instance] ?? -1)
                return a != b ? a < b : left.key.number < right.key.number
            }
            for (dot, fact) in sorted {
                guard case .inPlace(let bytes) = fact.content else { continue }
                let value = String(decoding: bytes, as: UTF8.self)
                text += "\(number)|\(indices[dot.instance] ?? -1).\(dot.number)|\(fact.height)|\(value);"
            }
        }
        return text
    }

    /// The model's order of instances.
    func isBefore(_ left: InstanceID, _ right: InstanceID) -> Bool {
        guard let a = indices[left], let b = indices[right] else { return false }
        return orders[a] < orders[b]
    }

    func text(_ frontier: Frontier) -> String {
        frontier.marks.map { (indices[$0.key] ?? -1, $0.value.number, Self.id($0.value.name)) }
            .sorted { $0 < $1 }.map { "\($0.0):\($0.1):\($0.2);" }.joined()
    }

    func rootName(_ facts: [FactKey: CurrentFacts]) -> BlobName {
        BlobName(Bytes32(BLAKE2b.hash(Array(text(facts).utf8)))!)
    }
}
