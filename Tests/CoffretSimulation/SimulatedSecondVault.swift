// A second vault of the devices of a world. The one thing to keep true: whatever the honest server of a world goes through,
// no vault ever accuses it of what it did in the other.

internal import CoffretBase
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTestSupport

/// Written and synced beside the first, with a randomness of its own, so that what happens in the first stays the same.
final class SimulatedSecondVault {
    private let random: SeededGenerator
    private let keys: SimulatedKeys
    private let signers: SimulatedSigners
    private let zone = SimulatedZone()
    private var devices: [SimulatedDevice] = []
    private var lineCount = 0
    private var number = 0

    init(_ first: SimulatedKeys, _ signers: SimulatedSigners, seed: UInt64) {
        random = SeededGenerator(seed: ~seed)
        keys = SimulatedKeys(random, ofSamePersonAs: first)
        self.signers = signers
    }

    func add(_ first: SimulatedDevice) throws {
        let device = try SimulatedDevice(
            keys: keys, signers: signers, zone: zone, random: random, author: first.author)
        let heads = SimulatedHeads(random)
        heads.add(first)
        heads.add(device)
        devices.append(device)
    }

    /// Whose turn it is.
    func next() -> SimulatedDevice {
        number = random.int(in: 0...devices.count - 1)
        return devices[number]
    }

    /// Half of the time something happens; the device is the one that `next` gave.
    func step() throws {
        let device = devices[number]
        switch random.int(in: 0...7) {
        case 0:
            lineCount += 1
            try device.addLine("\(lineCount)", to: SimulatedDevice.key(1))
        case 1: try device.crash()
        case 2...3: try sync(device)
        default: break
        }
    }

    private func sync(_ device: SimulatedDevice) throws {
        try device.sync { $0.acknowledges = true }
        if try device.followRemovals() { try device.sync { $0.acknowledges = true } }
    }

    /// Nothing that was said in one vault is missing in the other, for a server that delivered all.
    func check(with first: [SimulatedDevice]) throws {
        for _ in 0..<3 {
            for device in devices { try sync(device) }
        }
        try require(Set(devices.map(\.head)).count == 1, "several heads in the second vault")
        for _ in 0..<2 {
            for device in first {
                try device.sync { $0.acknowledges = true }
                if try device.followRemovals() { try device.sync { $0.acknowledges = true } }
            }
        }
        for device in first + devices {
            let memory = try VaultSync.memory(of: device.repository)
            try require(memory?.stated.isEmpty ?? true, "a head that was stated has not come")
            try require(memory?.unchecked.isEmpty ?? true, "a statement was not looked at")
        }
    }
}
