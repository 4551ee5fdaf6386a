// Devices, a server and a network in one process, from a seed. The one thing to keep true: nothing but the seed
// decides, so that a world that failed fails again.

internal import CoffretBase
internal import CoffretStorage
internal import CoffretSync
package import CoffretTestSupport

/// One world: its devices, and every line that a device acknowledged to its person.
package final class SimulatedWorld {
    let random: SeededGenerator
    let zone = SimulatedZone()
    let keys: SimulatedKeys
    let signers = SimulatedSigners()
    package private(set) var devices: [SimulatedDevice] = []
    var acknowledged: [FactKey: Set<String>] = [:]
    private var lineCount = 0
    private let isTold: Bool

    /// - Parameter isTold: whether each step is printed, for a seed that is run again.
    package init(_ random: SeededGenerator, isTold: Bool = false) throws {
        self.random = random
        self.isTold = isTold
        keys = SimulatedKeys(random)
        for _ in 0..<random.int(in: 2...5) {
            devices.append(try SimulatedDevice(keys: keys, signers: signers, zone: zone, random: random))
        }
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
            try require(error.isTransient || isDisk, "\(error) because of \(String(describing: error.cause))")
            if isDisk {
                device.disk.setPlan(nil)
                try device.crash()
            }
        }
    }

    private static func isDisk(_ error: StorageError) -> Bool {
        [.diskFull, .fileFailed, .unusable, .readOnly].contains(error.code)
    }

    package func step() throws {
        let device = random.element(of: devices)
        if random.int(in: 0...9) == 0 {
            let number = device.disk.operationCount + random.int(in: 1...12)
            device.disk.setPlan(
                FailurePlan(at: number, random.bool() ? .powerCut : .fail(random.bool() ? .noSpace : .inputOutput)))
        }
        let choice = random.int(in: 0...9)
        tell(choice < 6 ? ["starts again", "title", "line", "line", "line", "line"][choice] : "syncs", device)
        switch choice {
        case 0:
            device.disk.setPlan(nil)
            try random.bool() ? device.crash() : device.start()
        case 1:
            let key = SimulatedDevice.key(random.int(in: 0...3), "title")
            try attempt(device) {
                let value = random.int(in: 0...3) == 0 ? nil : random.bytes(count: 1...30)
                try device.repository.commit([FactChange(key: key, value: value)], time: 1)
            }
        case 2...5:
            let key = SimulatedDevice.key(random.int(in: 0...3))
            lineCount += 1
            let size = random.element(of: [1, 40, 700, 5_000, 18_000])
            let line = "\(lineCount) " + String(repeating: "x", count: size)
            try attempt(device) {
                try device.addLine(line, to: key)
                acknowledged[key, default: []].insert(line)
            }
        case 6 where random.int(in: 0...3) == 0:
            keys.rotate()
            for device in devices {
                device.disk.setPlan(nil)
                try device.start()
            }
        default:
            try attempt(device) { try device.sync() }
        }
    }

    /// Faults end; devices sync until nobody has news.
    package func settle() throws {
        for device in devices {
            device.network.faultRate = 0
            device.disk.setPlan(nil)
            try device.start()
        }
        for _ in 0..<2 {
            for device in devices {
                tell("settles", device)
                try device.sync()
            }
        }
        let pushes = zone.pushCount
        for device in devices { try device.sync() }
        try require(zone.pushCount == pushes, "they do not fall silent")
    }

    package func check() throws {
        try require(Set(devices.map(\.head)).count == 1, "several heads")
        let roots = try Set(devices.map { try $0.repository.present.rootName() })
        try require(roots.count == 1, "several roots")
        for device in devices {
            for (key, lines) in acknowledged {
                let texts = try device.texts(key).map { $0.split(separator: "\n").map(String.init) }
                for text in texts { try require(Set(text).count == text.count, "a line is doubled") }
                let lost = lines.subtracting(texts.flatMap(\.self))
                try require(lost.isEmpty, "\(lost.count) acknowledged lines are lost")
            }
        }
        let report = devices[0].repository.fsck(signers: signers)
        try require(report.allProblems.isEmpty, "\(report.allProblems)")
    }

    /// The whole life of a world: faults and edits, then peace; all devices come to one state, and nothing
    /// acknowledged is lost or doubled.
    package static func run(_ random: SeededGenerator, isTold: Bool = false) throws {
        let world = try SimulatedWorld(random, isTold: isTold)
        let faultRate = random.element(of: [0, 3, 6, 15])
        for device in world.devices { device.network.faultRate = faultRate }
        for _ in 0..<random.int(in: 10...60) { try world.step() }
        try world.settle()
        try world.check()
    }
}
