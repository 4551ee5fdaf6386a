// Two devices that write in turn, and see each other's entries at once but for every eleventh. The one thing to keep true:
// what a third device takes was written, sealed and signed by the product.

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
    private static let syncedCount = 1_000

    package let person: LogPerson
    private var written = 0
    /// Entries that the other one has not seen yet, by author.
    private var unseen: [[VerifiedEntry]] = [[], []]

    /// - Parameter folder: where stores lie on the machine's disk; nil: on disks in memory.
    package init(_ random: SeededGenerator, folder: String? = nil) throws {
        person = try LogPerson(random, server: LogServer(random: random), folder: folder.map { $0 + "/0" })
        try person.addDevice(folder: folder.map { $0 + "/1" })
        for device in person.devices {
            try device.sync()
            device.repository.policy = .longLived
        }
    }

    /// Writes entries until there are `count` of them, and pushes them.
    package func write(upTo count: Int) throws {
        while written < count {
            let author = written % 2
            let (own, other) = (person.devices[author], person.devices[1 - author])
            if written % 11 != 0 {
                try hand(unseen[1 - author], from: other.repository, to: own.repository)
                unseen[1 - author] = []
            }
            let key = LogDevice.text(written % Self.keyCount)
            let change = LogChange(key: key, value: person.random.bytes(count: 40))
            if let entry = try own.repository.commit([change], time: own.now) { unseen[author].append(entry) }
            written += 1
            // Alternately, so that both logs are at the server before they grow.
            if written % Self.syncedCount == 0 { for device in person.devices { try device.sync() } }
        }
        for device in person.devices + person.devices { try device.sync() }
        unseen = [[], []]
    }

    /// A third device, before its first sync.
    package func join(folder: String? = nil) throws -> LogDevice { try person.addDevice(folder: folder) }

    private func hand(_ entries: [VerifiedEntry], from: LogRepository, to: LogRepository) throws {
        guard !entries.isEmpty else { return }
        let verifier = EntryVerifier(
            vaultID: person.vaultID, authority: try to.ask { (machine) in machine.members })
        let batch = try to.beginReceiving()
        do {
            for entry in entries {
                var content: [UInt8] = []
                for name in try from.blobNames(of: entry) {
                    let blob = try from.exchange.sealedBlob(name)
                    _ = try to.exchange.openSealed(blob) { (_, _, bytes) in
                        if name == entry.name { content = unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) } }
                    }
                    try batch.write(blob, name: name)
                }
                let signed = try verifier.verifySignature(of: batch.read(content, name: entry.name))
                if try batch.takes(signed, byteCount: content.count) {
                    try batch.take(signed, byteCount: content.count)
                }
            }
            try batch.finish()
        } catch {
            batch.cancel()
            throw error
        }
    }
}
