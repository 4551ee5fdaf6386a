// A device of a world that is revoked, in the middle of whatever goes on. The one thing to keep true: what the others
// wrote stays, whatever of the revoked device's commits it was written on.

internal import CoffretBase
internal import CoffretStorage
internal import CoffretSync
internal import CoffretTestSupport

/// Who was revoked in a world, and by whom; at most one.
final class SimulatedRevocation {
    private(set) var revoked: SimulatedDevice?
    private var revoker: SimulatedDevice?
    /// Lines of the revoked device that nobody has to keep.
    private(set) var forgotten: Set<String> = []

    /// One of `devices` revokes another one: from now on everybody knows, and that one takes part no more.
    func begin(_ devices: [SimulatedDevice], _ signers: SimulatedSigners, _ random: SeededGenerator) {
        let number = random.int(in: 0...devices.count - 1)
        let other = (number + random.int(in: 1...devices.count - 1)) % devices.count
        revoked = devices[number]
        revoker = devices[other]
        signers.revoked[devices[number].author.deviceID] = 0
    }

    /// Whether a device has to say, before it syncs, where the revocation takes effect.
    func isRevoker(_ device: SimulatedDevice) -> Bool { device === revoker }

    /// Says where it takes effect, if nobody has as far as this device knows.
    ///
    /// - Parameter lines: what the revoked device acknowledged.
    func writeCut(_ device: SimulatedDevice, lines: [FactKey: Set<String>]) throws {
        guard revoked != nil else { return }
        let keys = device.keys
        guard try !device.repository.hasCut(at: 0, account: keys.accountID, signers: device.signers) else { return }
        // What it has not seen does not count; so it is, whether the commit comes about or not.
        for (key, lines) in lines {
            let texts = try device.texts(key).flatMap { $0.split(separator: "\n").map(String.init) }
            forgotten.formUnion(lines.subtracting(texts))
        }
        try device.repository.commitEpoch(time: device.now)
    }

    /// Whether a sync may end with this: until the revoking device was at the server nobody knows what counts.
    static func mayEnd(with error: SyncError) -> Bool {
        (error.cause as? StorageError)?.code == .commitRevokedSigner
    }
}
