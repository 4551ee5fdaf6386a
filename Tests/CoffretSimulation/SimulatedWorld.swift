// Devices, a server and a network in one process, from a seed. The one thing to keep true: nothing but the seed
// decides, so that a world that failed fails again.

internal import CoffretBase
internal import CoffretStorage
internal import CoffretSync
package import CoffretTestSupport

/// One world: its devices, and every line that a device acknowledged to its person.
package final class SimulatedWorld {
    static let deviceCountMax = 7

    let random: SeededGenerator
    let zone = SimulatedZone()
    let keys: SimulatedKeys
    let signers = SimulatedSigners()
    /// Of the network of each device; 0 for none.
    private var faultRate = 0
    package private(set) var devices: [SimulatedDevice] = []
    /// A second vault of the same devices, in some worlds, with a randomness of its own: each says of the other what was seen.
    private var beside: SimulatedSecondVault?
    var acknowledged: [FactKey: Set<String>] = [:]
    let compactions = SimulatedCompactions()
    private let acknowledges: Bool
    private let droppers: HistoryDroppers
    /// Nil in a world in which nobody is revoked.
    private let revocation: SimulatedRevocation?
    /// What each device acknowledged, where one may be revoked.
    private var linesOf: [ObjectIdentifier: [FactKey: Set<String>]] = [:]
    private var lineCount = 0
    private let isTold: Bool
    private var stepCount = 0
    private var isSettling = false
    /// Of nobody; each device's own clock is off by some seconds.
    private var now: Int64 = 1_000_000
    private var skews: [Int64] = []
    /// Until which step each device does not reach the server.
    private var awayUntil: [Int] = []
    /// Until which step each device, which has the present, does not get at its history.
    private var historyFrom: [Int] = []

    /// - Parameter isTold: whether each step is printed, for a seed that is run again.
    /// - Parameter revokes: whether a device may be revoked.
    package init(
        _ random: SeededGenerator, isTold: Bool = false, droppers: HistoryDroppers = .none, revokes: Bool = false
    ) throws {
        self.random = random
        revocation = revokes ? SimulatedRevocation() : nil
        self.droppers = droppers
        self.isTold = isTold
        keys = SimulatedKeys(random)
        acknowledges = random.bool()
        // A revocation takes effect in each vault by itself; one is enough here.
        beside = random.seed & 1 == 1 && !revokes ? SimulatedSecondVault(keys, signers, seed: random.seed) : nil
        for _ in 0..<random.int(in: 2...5) { try addDevice() }
    }

    private func addDevice() throws {
        let device = try SimulatedDevice(keys: keys, signers: signers, zone: zone, random: random)
        device.network.faultRate = faultRate
        try beside?.add(device)
        signers.chain.append(device.author.deviceChainHead)
        devices.append(device)
        skews.append(Int64(random.int(in: -5_000...5_000)))
        awayUntil.append(0)
        historyFrom.append(0)
    }

    /// One more device, let in by one of the others.
    private func join() throws {
        let approver = random.element(of: trusted)
        try addDevice()
        let (number, device) = (devices.count - 1, devices[devices.count - 1])
        var present: PresentMark?
        if random.int(in: 0...3) > 0 { try attempt(approver) { present = try approver.offerPresent() } }
        // What the approver told stands before anything else happens to the new one.
        let head = try approver.toldHead()
        try device.join(toldOf: head, present: present?.head == head?.head ? present : nil)
        if random.bool() { historyFrom[number] = stepCount + random.int(in: 1...25) }
        device.network.onRequest = { [unowned self, unowned device] request in
            guard case .changes = request, !isSettling, historyFrom[number] > stepCount,
                (try? device.repository.presentStanding) == .ahead
            else { return nil }
            return .unreachable
        }
        let toldHead = head.map { "\($0.head)".prefix(6) } ?? "no head"
        tell("joins, told \(toldHead) and " + (present == nil ? "no present" : "a present"), device)
        try attempt(device) { try sync(device) }
    }

    private func tell(_ what: String, _ device: SimulatedDevice) {
        guard isTold else { return }
        let number = devices.firstIndex { $0 === device } ?? 0
        let (own, server) = (device.head?.description.prefix(8) ?? "-", zone.head.map { Hex.encode($0).prefix(8) })
        print("device \(number) at \(own), zone at \(server ?? "-") with \(zone.objects.count) blobs: \(what)")
    }

    /// Runs what may meet a fault; a device whose disk failed or whose power went starts again.
    private func attempt(_ device: SimulatedDevice, _ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as StorageError {
            tell("\(error)", device)
            try require(Self.isDisk(error), "\(error)")
            device.disk.setPlan(nil)
            try device.crash()
        } catch let error as SyncError {
            tell("\(error)", device)
            let isDisk = (error.cause as? StorageError).map(Self.isDisk) ?? false
            // Words that were lost three times in a row on a network that loses are no lie either.
            let isLost = error.code == .auditFailed && faultRate > 0
            try require(
                error.isTransient || isDisk || isLost || isUncut(error),
                "\(error) because of \(String(describing: error.cause))")
            if isDisk {
                device.disk.setPlan(nil)
                try device.crash()
            }
        }
    }

    private func isUncut(_ error: SyncError) -> Bool {
        revocation?.revoked != nil && SimulatedRevocation.mayEnd(with: error)
    }

    /// All that still take part.
    package var trusted: [SimulatedDevice] { devices.filter { $0 !== revocation?.revoked } }

    private func revoke() throws {
        revocation?.begin(devices, signers, random)
        guard let revocation, let device = trusted.first(where: revocation.isRevoker) else { return }
        tell("revokes device \(devices.firstIndex { $0 === revocation.revoked } ?? 0)", device)
        // It may hear of what was sent by then; it need not.
        if random.bool() { try attempt(device) { try sync(device) } }
        try attempt(device) { try writeCut(device) }
    }

    private func writeCut(_ device: SimulatedDevice) throws {
        guard let revocation, let revoked = revocation.revoked else { return }
        try revocation.writeCut(device, lines: linesOf[ObjectIdentifier(revoked)] ?? [:])
    }

    private static func isDisk(_ error: StorageError) -> Bool {
        [.diskFull, .fileFailed, .unusable, .readOnly].contains(error.code)
    }

    package func step() throws {
        if let beside { try attempt(beside.next()) { try beside.step() } }
        let number = random.int(in: 0...devices.count - 1)
        let device = devices[number]
        stepCount += 1
        now += Int64(random.int(in: 1...1_000))
        device.now = now + skews[number]
        if let revocation {
            if revocation.revoked === device { return }
            if revocation.revoked == nil, devices.count > 2, random.int(in: 0...15) == 0 { return try revoke() }
        }
        if random.int(in: 0...9) == 0 {
            let operation = device.disk.operationCount + random.int(in: 1...12)
            device.disk.setPlan(
                FailurePlan(at: operation, random.bool() ? .powerCut : .fail(random.bool() ? .noSpace : .inputOutput)))
        }
        let choice = random.int(in: 0...11)
        tell(Self.choices[min(choice, Self.choices.count - 1)], device)
        switch choice {
        case 0:
            device.disk.setPlan(nil)
            try random.bool() ? device.crash() : device.start()
        case 1:
            let key = SimulatedDevice.key(random.int(in: 0...3), "title")
            try attempt(device) {
                let value = random.int(in: 0...3) == 0 ? nil : random.bytes(count: 1...30)
                try device.repository.commit([FactChange(key: key, value: value)], time: device.now)
            }
        case 2...5:
            let key = SimulatedDevice.key(random.int(in: 0...3))
            lineCount += 1
            let size = random.element(of: [1, 40, 700, 5_000, 18_000])
            let line = "\(lineCount) " + String(repeating: "x", count: size)
            try attempt(device) {
                try device.addLine(line, to: key, time: device.now)
                acknowledged[key, default: []].insert(line)
                linesOf[ObjectIdentifier(device), default: [:]][key, default: []].insert(line)
                if let commit = device.head { compactions.note(line, under: key, in: commit) }
            }
        case 6 where random.int(in: 0...3) == 0:
            keys.rotate()
            for device in devices {
                device.disk.setPlan(nil)
                try device.start()
            }
        case 7:
            if random.int(in: 0...2) == 0 {
                // Somebody else is away meanwhile, and for a while after it.
                awayUntil[random.int(in: 0...devices.count - 1)] = stepCount + random.int(in: 5...30)
            }
            // A device may drop history, whatever it and the others have not sent; all follow.
            guard try device.repository.presentStanding != .ahead else { return try requireRefusal(device) }
            try attempt(device) {
                try compactions.compact(device, dropsHistory: droppers.contains(number), random)
            }
        case 8 where devices.count < Self.deviceCountMax && random.int(in: 0...1) == 0: try join()
        default:
            if awayUntil[number] <= stepCount { try attempt(device) { try sync(device) } }
        }
    }

    /// Before its history has come a device packs nothing.
    private func requireRefusal(_ device: SimulatedDevice) throws {
        device.disk.setPlan(nil)
        do {
            try device.compact()
        } catch let error as StorageError where error.code == .historyPending {
            return
        }
        try require(false, "a device packs before its history has come")
    }

    private static let choices = [
        "starts again", "title", "line", "line", "line", "line", "keys or syncs", "compacts", "joins or syncs", "syncs",
    ]

    /// A sync as the product makes it: what another device's compaction removed goes here too, and what that makes necessary is
    /// sent.
    private func sync(_ device: SimulatedDevice) throws {
        func change(_ options: inout SyncEngine.Options) { options.acknowledges = acknowledges }
        do {
            // Who revoked says what counts before anything else, the others where nobody else has.
            if revocation?.isRevoker(device) ?? false { try writeCut(device) }
            try device.sync(change)
            if revocation?.revoked != nil { try writeCut(device) }
        } catch {
            tell("\(error) because of \(String(describing: (error as? SyncError)?.cause))", device)
            throw error
        }
        // Now and then it ends just then, and what is due is done after another sync.
        guard isSettling || random.int(in: 0...3) > 0, try device.followRemovals() else { return }
        try device.sync(change)
    }

    /// Faults end; devices sync until nobody has news.
    package func settle() throws {
        isSettling = true
        if let revocation, let revoker = devices.first(where: revocation.isRevoker) {
            // Nobody else can go on before its word is at the server.
            revoker.network.faultRate = 0
            revoker.disk.setPlan(nil)
            try revoker.start()
            tell("settles first", revoker)
            try sync(revoker)
        }
        for device in trusted {
            device.network.faultRate = 0
            device.disk.setPlan(nil)
            try device.start()
        }
        try syncAll(2)
        // In some worlds everybody packs in the end, and has to fall silent after that as well.
        if random.bool() {
            for device in trusted {
                tell("packs", device)
                try device.compact()
            }
            try syncAll(2)
        }
        // Each record of what was lost by following others is one more round.
        if !compactions.isEmpty { try syncAll(devices.count) }
        let pushes = zone.pushCount
        try syncAll(1)
        try require(zone.pushCount == pushes, "they do not fall silent")
    }

    private func syncAll(_ roundCount: Int) throws {
        for _ in 0..<roundCount {
            for (number, device) in devices.enumerated() where device !== revocation?.revoked {
                tell("settles", device)
                now += 1
                device.now = now + skews[number]
                try sync(device)
            }
        }
    }

    package func check() throws {
        let devices = trusted
        for device in devices { try require(device.repository.presentStanding == .whole, "a history did not come") }
        try require(Set(devices.map(\.head)).count == 1, "several heads")
        let roots = try Set(devices.map { try $0.repository.present.rootName() })
        try require(roots.count == 1, "several roots")
        let forgotten = revocation?.forgotten ?? []
        for device in devices {
            for (key, lines) in acknowledged {
                let texts = try device.texts(key).map { $0.split(separator: "\n").map(String.init) }
                for text in texts { try require(Set(text).count == text.count, "a line is doubled") }
                let lost = lines.subtracting(texts.flatMap(\.self)).subtracting(forgotten)
                try require(lost.isEmpty, "\(lost.count) acknowledged lines are lost")
            }
        }
        for device in devices {
            let report = device.repository.fsck(signers: signers)
            try require(report.allProblems.isEmpty, "\(report.allProblems)")
        }
        // What was written on a revoked device's commits was written again, and the first time lies beside the history.
        var aside: Set<BlobName> = []
        for device in devices { aside.formUnion(try device.repository.setAsideSummaries().map(\.name)) }
        for device in devices { try compactions.check(device, random, except: aside, forgotten) }
        try beside?.check(with: devices)
    }

    /// The whole life of a world: faults and edits, then peace; all devices come to one state, and nothing
    /// acknowledged is lost or doubled.
    package static func run(
        _ random: SeededGenerator, isTold: Bool = false, droppers: HistoryDroppers = .none, revokes: Bool = false
    ) throws {
        let world = try SimulatedWorld(random, isTold: isTold, droppers: droppers, revokes: revokes)
        world.faultRate = random.element(of: [0, 3, 6, 15])
        for device in world.devices { device.network.faultRate = world.faultRate }
        do {
            for _ in 0..<random.int(in: 10...60) { try world.step() }
            try world.settle()
            try world.check()
        } catch {
            if isTold {
                for (number, device) in world.devices.enumerated() {
                    print("device \(number) has\n\(device.historyText)", terminator: "")
                }
            }
            throw error
        }
    }
}
