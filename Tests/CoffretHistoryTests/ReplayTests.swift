// Worlds of the model, played again by the rules of this program: after each step every device has to conclude the same.

import CoffretBase
import CoffretCrypto
import CoffretHistorySupport
import CoffretStorage
import CoffretTestSupport
import CoffretTrust
import Foundation
import Testing

@testable import CoffretHistory

/// One device of a world.
struct ReplayDevice {
    var machine: HistoryMachine<MemoryHistoryStore>
    var saved: HistoryMachine<MemoryHistoryStore>?
    var expected: [String: JSONValue] = [:]

    init(_ world: ReplayWorld, account: Int, device: String) {
        var store = MemoryHistoryStore(rootName: { [unowned world] in world.rootName($0) })
        store.bareForms = world.bareForms
        store.trees = world.trees
        let hour: Milliseconds = 3_600_000
        machine = HistoryMachine(
            store: store, account: world.accountIDs[account], device: ReplayWorld.device(device),
            times: HistoryTimes(entries: 24 * hour, belief: 40 * hour, objection: 168 * hour))
    }
}

/// Plays a world's events.
struct Replay {
    let world: ReplayWorld
    var devices: [Int: ReplayDevice] = [:]
    /// The first difference of each kind: event, field, what the model says, what came of it here.
    private(set) var differences: [String] = []
    private(set) var stepCount = 0
    /// Whether each machine is stored and read back after each of its steps.
    let resumes: Bool

    init(world: ReplayWorld) {
        self.world = world
        resumes = world.seed % 2 == 0
    }

    mutating func run() {
        for (index, event) in world.json.at("events").list.enumerated() {
            let (tid, what, given) = (event.list[0].number, event.list[1].string ?? "", event.list[2])
            switch what {
            case "device":
                devices[tid] = ReplayDevice(
                    world, account: given.at("account").number, device: given.at("device").string ?? "")
                continue
            case "copy":
                devices[tid] =
                    devices[given.at("of").number]
                    ?? ReplayDevice(world, account: given.at("account").number, device: given.at("device").string ?? "")
                continue
            default: break
            }
            guard var device = devices[tid] else { continue }
            devices[tid] = nil
            step(what, given, &device)
            if resumes, device.saved == nil { resume(&device, "event \(index), device \(tid), \(what)") }
            compare(event.list[3], &device, "event \(index), device \(tid), \(what)")
            devices[tid] = device
            stepCount += 1
            if !differences.isEmpty { return }
        }
    }

    private func names(_ list: JSONValue) -> [BlobName] { list.numbers.map(ReplayWorld.name) }

    private mutating func step(_ what: String, _ given: JSONValue, _ device: inout ReplayDevice) {
        let now = given.at("clock").integer ?? 0
        let chain = world.chains[given.at("side").number]
        let old = given.at("old").bool == true
        let unsupported = old ? world.newer : []
        if device.machine.store.unsupported != unsupported {
            device.machine.store.unsupported = unsupported
            device.machine.programChanged()
        }
        var lengths = world.accountIDs.map { _ in [Int]() }
        for known in given.at("known").list {
            while lengths[known.numbers[0]].count <= known.numbers[1] { lengths[known.numbers[0]].append(0) }
            lengths[known.numbers[0]][known.numbers[1]] = known.numbers[2]
        }
        let accounts = world.known(lengths)
        if what != "follow" { device.machine.learn(accounts: accounts) }
        switch what {
        case "follow":
            let end = max(given.at("links").number, device.machine.members.takenCount)
            device.machine.follow(accounts: accounts, chain: verifiable(chain, end, accounts, device.machine))
        case "receive":
            let tips = device.machine.tips
            var kept: [BlobName] = []
            for id in given.at("entries").numbers {
                guard let stored = world.entries[id] else { continue }
                device.machine.store.here[stored.entry.name] = stored.entry.dot
                guard device.machine.takes(stored.entry, tips: tips) else { continue }
                device.machine.store.put(stored)
                kept.append(stored.entry.name)
            }
            device.machine.receive(kept)
        case "settle":
            let gone = Set(given.at("gone").numbers)
            device.machine.settle(now: now) { gone.contains($0) }
        case "write":
            guard let stored = world.entries[given.at("entry").number] else { return }
            device.machine.store.put(stored)
            device.machine.write(stored.entry)
        case "post":
            let next = chain[device.machine.members.takenCount + 1]
            checkPlan(
                of: next, isRoot: given.at("root").bool == true, covers: given.at("covers").bool == true, device.machine
            )
            device.machine.takeOwn(accounts: accounts, chain: next, isRoot: given.at("root").bool == true)
        case "leave":
            let instance = world.instances[given.at("instance").number].instance
            device.machine.leave(
                names(given.at("entries")), of: instance, isForked: given.at("forked").bool == true)
        case "keep":
            for id in given.at("entries").numbers { world.entries[id].map { device.machine.store.put($0) } }
        case "forget":
            for name in names(given.at("entries")) { device.machine.store.drop(name) }
        case "show":
            device.saved = device.machine
            device.machine.members.learn(accounts: accounts, chain: chain[given.at("links").number])
            device.machine.takeAll(heldFrom: given.at("held").isNull ? nil : given.at("held").number)
        case "take": device.machine.takeUnspoken(Set(given.at("shown").numbers))
        case "shown":
            if given.at("back").bool == true {
                device.saved.map { device.machine = $0 }
            } else {
                device.machine.release()
            }
            device.saved = nil
        case "drop": device.machine.drop(unacknowledged: Set(names(given.at("unsent"))))
        case "purge":
            device.machine.purge(
                unacknowledged: Set(names(given.at("unsent"))), refused: Set(given.at("refused").numbers), now: now)
        default: Issue.record("the model exports \(what), which is not played")
        }
    }

    /// Stops a program behind a step and starts it again (L1).
    private mutating func resume(_ device: inout ReplayDevice, _ place: String) {
        let machine = device.machine
        do {
            let state = try MachineState(decoding: device.machine.suspend().encoded)
            device.machine = try HistoryMachine.resumed(
                from: state, store: device.machine.store, account: machine.account, device: machine.device,
                accounts: machine.members.accounts, chain: machine.members.chain, times: machine.times
            ).get()
        } catch {
            differences.append("world \(world.seed), \(place): resumed\n  here  \(error)")
        }
    }

    /// What a link of an honest device says has to be what its author plans here.
    private mutating func checkPlan(
        of chain: MemberState, isRoot: Bool, covers: Bool, _ machine: HistoryMachine<MemoryHistoryStore>
    ) {
        guard let link = chain.links.last, let written = link.checkpoint else { return }
        let plan = machine.plan(
            for: link, purges: written.purges, writesRoot: isRoot, covers: covers, room: world.json.at("room").number,
            order: world.isBefore)
        func text(_ ends: [InstanceID: LogEnd]) -> String {
            ends.map { "\(world.indices[$0.key] ?? -1):\($0.value)" }.sorted().joined(separator: ",")
        }
        let bare = plan.purgedTips.mapValues { ReplayWorld.bareName(ReplayWorld.id($0)) }
        for (field, here, model) in [
            ("base", "\(plan.base.map { Int($0) } ?? -1)", "\(written.base.map { Int($0) } ?? -1)"),
            ("accept", world.text(plan.accepted), world.text(chain.states[link.number].accepted)),
            ("root", plan.root?.description ?? "", written.root?.description ?? ""),
            ("ends", text(plan.ends), text(written.ends)), ("refutes", "\(plan.refutes)", "\(written.refutes)"),
            ("bare", "\(bare == written.bareTips)", "true"),
        ] where here != model {
            differences.append(
                "world \(world.seed), plan of link \(link.number): \(field)\n  here  \(here)\n  model \(model)")
        }
    }

    /// Links up to the first one of which a device chain is not known: a reader cannot check it.
    private func verifiable(
        _ chain: [MemberState], _ end: Int, _ accounts: [ChainID: AccountDevices],
        _ machine: HistoryMachine<MemoryHistoryStore>
    ) -> MemberState {
        let whole = chain[end]
        for number in machine.members.takenCount..<max(end, machine.members.takenCount) {
            let known = whole.links[number].heads.allSatisfy { accounts[$0.key]?.position(of: $0.value) != nil }
            if !known { return chain[number] }
        }
        return whole
    }

    private mutating func compare(_ now: JSONValue, _ device: inout ReplayDevice, _ place: String) {
        if case .object(let members) = now {
            for member in members { device.expected[member.name] = member.value }
        }
        let machine = device.machine
        func differs(_ field: String, _ found: String, _ expected: String) {
            differences.append("world \(world.seed), \(place): \(field)\n  here  \(found)\n  model \(expected)")
        }
        func check(_ field: String, _ found: String, _ expected: String, isShort: Bool = false) {
            guard found != expected else { return }
            if isShort, ReplayWorld.short(found) == expected { return }
            differs(field, found, expected)
        }
        func numbers(_ field: String, _ found: some Sequence<Int>) {
            let expected = device.expected[field]?.numbers ?? []
            if found.sorted() != expected { differs(field, "\(found.sorted())", "\(expected)") }
        }
        let expected = device.expected
        check("m", "\(machine.members.takenCount)", "\(expected["m"]?.number ?? -1)")
        if place.hasSuffix("follow") {
            check(
                "stuck", "\(machine.members.waitingForWord ?? -1)",
                "\(expected["stuck"].flatMap { $0.isNull ? nil : $0.number } ?? -1)")
        }
        check("base", "\(machine.base ?? -1)", "\(expected["base"]?.number ?? -1)")
        let baseTrust =
            machine.base == nil ? 0 : machine.baseTrust == .verified ? 1 : machine.baseTrust == .believed ? 2 : 3
        check("trust", "\(baseTrust)", "\(expected["trust"]?.number ?? -1)")
        numbers("void", machine.refuted)
        check(
            "passed", "\(machine.passedOver ?? -1)",
            "\(expected["passed"].flatMap { $0.isNull ? nil : $0.number } ?? -1)")
        numbers("forks", machine.forked.map { world.indices[$0] ?? -1 })
        let text = { (name: String) in expected[name]?.string ?? "" }
        check(
            "store", machine.store.kept.keys.map(ReplayWorld.id).sorted().map(String.init).joined(separator: ","),
            text("store"), isShort: true)
        check("frontier", world.text(machine.frontier), text("frontier"), isShort: true)
        var facts = machine.store.present
        facts.merge(machine.overlay) { $1 }
        check("state", world.text(facts), text("state"), isShort: true)
        let summary = machine.store.summary(of: facts)
        if machine.summary != summary { differs("summary", "\(machine.summary)", "\(summary)") }
        guard machine.members.takenCount > 0 else { return }
        var asked = machine
        let above = machine.store.kept.filter {
            $0.value.entry.number > machine.accepted.number(of: $0.value.entry.instance)
        }
        let verdicts = above.sorted { ReplayWorld.id($0.key) < ReplayWorld.id($1.key) }.map { name, _ in
            let stored = machine.store.entry(named: name)!
            let letter =
                switch asked.verdict(on: stored) {
                case .counts: "T"
                case .excluded: "F"
                case .waits: "N"
                }
            return "\(ReplayWorld.id(name))\(letter)"
        }
        check("verdicts", verdicts.joined(), text("verdicts"), isShort: true)
        numbers("due", machine.members.accountsDue.map { world.accountIDs.firstIndex(of: $0) ?? -1 })
        numbers(
            "proven",
            (0..<machine.members.takenCount).filter {
                machine.members.chain.links[$0].checkpoint?.root != nil && machine.isProven($0)
            })
        numbers("purged", machine.purged)
    }
}

@Suite("Replays of the model of histories")
struct ReplayTests {
    static let model = SharedData.ownVectors("../Model/history_model.py").standardizedFileURL.path

    /// With full states a difference is easier to read.
    static var isFull: Bool { ProcessInfo.processInfo.environment["COFFRET_REPLAY_FULL"] != nil }

    static var hasPython: Bool {
        (try? ProcessRunner.run("/usr/bin/env", ["python3", "-c", ""]))?.exitCode == 0
    }

    /// Plays worlds of the model; the first differences.
    static func differences(first: Int, count: Int, mode: String) throws -> (worlds: Int, steps: Int, found: [String]) {
        let run = try ProcessRunner.run(
            "/usr/bin/env",
            ["python3", model, "\(first)", "\(count)", "--mode", mode, "--export", "/dev/stdout"]
                + (isFull ? ["--full"] : []))
        guard run.exitCode == 0 else { return (0, 0, ["the model failed: \(run.errorText)"]) }
        var (worlds, steps, found) = (0, 0, [String]())
        for line in run.standardOutput.split(separator: UInt8(ascii: "\n")) {
            guard line.first == UInt8(ascii: "{") else { continue }
            var replay = Replay(world: try ReplayWorld(JSONValue(parsing: Array(line))))
            replay.run()
            worlds += 1
            steps += replay.stepCount
            found += replay.differences.prefix(1)
        }
        return (worlds, steps, found)
    }

    private func play(first: Int, count: Int, mode: String) throws {
        let result = try Self.differences(first: first, count: count, mode: mode)
        #expect(result.found.prefix(3).joined(separator: "\n") == "", "\(result.found.count) worlds differ")
        #expect(result.worlds == count && result.steps > 20 * count)
    }

    @Test(
        "honest worlds end alike in the model and here, step by step",
        .enabled(if: hasPython && asked.isEmpty, "python3 is not here, or other worlds were asked for"))
    func honest() throws { try play(first: 1, count: 100, mode: "honest") }

    @Test(
        "lying worlds end alike in the model and here, step by step",
        .enabled(if: hasPython && asked.isEmpty, "python3 is not here, or other worlds were asked for"))
    func lying() throws { try play(first: 1_001, count: 100, mode: "lying") }

    @Test(
        "K8a: links that nobody can confirm any more are taken alike in the model and here",
        .enabled(if: hasPython && asked.isEmpty, "python3 is not here, or other worlds were asked for"))
    func unspoken() throws {
        let result = try Self.differences(first: 20_730, count: 1, mode: "any")
        #expect(result.found.isEmpty && result.worlds == 1, "\(result.found)")
    }

    @Test(
        "I2, C4: an own entry that left its log still proves the checkpoints that name it",
        .enabled(if: hasPython && asked.isEmpty, "python3 is not here, or other worlds were asked for"))
    func left() throws {
        let result = try Self.differences(first: 1_401, count: 1, mode: "any")
        #expect(result.found.isEmpty && result.worlds == 1, "\(result.found)")
    }

    /// `COFFRET_REPLAYS="FIRST COUNT"`, as `Scripts/replay-histories` sets it.
    static let asked = (ProcessInfo.processInfo.environment["COFFRET_REPLAYS"] ?? "").split(separator: " ").compactMap {
        Int($0)
    }

    @Test("as many worlds as were asked for end alike", .enabled(if: asked.count == 2, "only if they are asked for"))
    func many() throws {
        let (first, end) = (Self.asked[0], Self.asked[0] + Self.asked[1])
        for start in stride(from: first, to: end, by: 50) {
            try play(
                first: start, count: min(50, end - start),
                mode: ProcessInfo.processInfo.environment["COFFRET_REPLAY_MODE"] ?? "any")
            if (start - first) % 1_000 == 0 { print("replayed \(start - first + min(50, end - start)) worlds") }
        }
    }
}
