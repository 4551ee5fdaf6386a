// Two devices that write in turn, and see each other's entries but for every eleventh. The one thing to keep true: what a
// third device takes was written, sealed, signed and synced by the product.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretHistory
internal import CoffretLogs
internal import CoffretServer
internal import CoffretStorage
internal import CoffretSync
package import CoffretTestSupport

/// A zone with the entries of two authors, one changed fact each.
package final class LogAuthors {
    private static let keyCount = 10_000

    package let person: LogPerson
    private var written = 0

    /// - Parameter folder: where stores lie on the machine's disk; nil: on disks in memory.
    package init(_ random: SeededGenerator, folder: String? = nil) throws {
        person = try LogPerson(random, server: LogServer(random: random), folder: folder.map { $0 + "/0" })
        try person.addDevice(folder: folder.map { $0 + "/1" })
        for device in person.devices {
            try device.sync()
            device.repository.policy = .longLived
        }
    }

    /// Writes entries until there are `count` of them, and pushes them: five by the first device, one by the second that has
    /// not seen these, and five by the second that has.
    package func write(upTo count: Int) throws {
        let (one, two) = (person.devices[0], person.devices[1])
        while written < count {
            try write(5, by: one, upTo: count)
            try write(1, by: two, upTo: count)
            for device in [one, two] { try device.sync() }
            try write(5, by: two, upTo: count)
            for device in [two, one] { try device.sync() }
        }
        try two.sync()
    }

    private func write(_ entryCount: Int, by device: LogDevice, upTo count: Int) throws {
        for _ in 0..<min(entryCount, count - written) {
            let key = LogDevice.text(written % Self.keyCount)
            let change = LogChange(key: key, value: person.random.bytes(count: 40))
            try device.repository.commit([change], time: device.now)
            written += 1
        }
    }

    /// A third device, before its first sync.
    package func join(folder: String? = nil) throws -> LogDevice {
        let device = try person.addDevice(folder: folder)
        device.repository.policy = .shortLived
        return device
    }
}
