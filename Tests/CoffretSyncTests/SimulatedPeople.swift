// Devices that have several vaults in common. The one thing to keep true: a device is one author in all of them.

import CoffretSimulation
import CoffretSync
import CoffretTestSupport
import CoffretWire

/// Devices with several vaults of one person.
struct SimulatedPeople {
    let random: SeededGenerator
    let signers = SimulatedSigners()
    let zones: [SimulatedZone]
    /// By device, then by vault.
    var devices: [[SimulatedDevice]] = []
    private let keys: [SimulatedKeys]

    init(devices count: Int, vaults: Int, seed: UInt64 = 31) throws {
        random = SeededGenerator(seed: seed)
        zones = (0..<vaults).map { _ in SimulatedZone() }
        var keys: [SimulatedKeys] = []
        for _ in 0..<vaults { keys.append(SimulatedKeys(random, ofSamePersonAs: keys.first)) }
        self.keys = keys
        for _ in 0..<count { try addDevice() }
        for zone in 0..<vaults {
            try devices[0][zone].addLine("base", to: SimulatedDevice.key(1))
            for device in devices + devices { try device[zone].sync(Self.talk) }
        }
    }

    mutating func addDevice() throws {
        let heads = SimulatedHeads(random)
        var own: [SimulatedDevice] = []
        for (keys, zone) in zip(keys, zones) {
            let device = try SimulatedDevice(
                keys: keys, signers: signers, zone: zone, random: random, author: own.first?.author)
            heads.add(device)
            own.append(device)
        }
        devices.append(own)
    }

    static func talk(_ options: inout SyncEngine.Options) {
        options.acknowledges = true
        options.acknowledgesAnew = true
    }

    /// All devices sync all vaults, in this order.
    func syncAll(_ order: [Int]? = nil) throws {
        for device in devices {
            for vault in order ?? Array(device.indices) { try device[vault].sync(Self.talk) }
        }
    }

    func copy(of zone: SimulatedZone) -> SimulatedZone {
        let copy = SimulatedZone()
        _ = copy.push(ZonePush(expectedHead: nil, newHead: zone.head, epoch: zone.epoch, objects: zone.objects))
        copy.acknowledgements = zone.acknowledgements
        return copy
    }

    func time(_ now: Int64) { for vault in devices.flatMap(\.self) { vault.now = now } }
}
