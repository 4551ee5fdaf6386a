// One edit on its way to another device, through real agents and a real server. Invariant: an edit counts as visible
// when a reader of the other vault finds its text, and not before.

import CoffretAccount
import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretHTTP
import CoffretKeys
import CoffretLogs
import CoffretStorage
import CoffretSync
import Glibc

enum EditBench {
    private static let title = "An edit that travels"

    /// One device: its store, unlocked here besides in its agent.
    fileprivate struct Device {
        let store: Store
        let vault: Vault

        /// - Parameters:
        ///   - folder: with `store`, `passphrase` and the home of the state folder, as Benchmarks/compare.py makes them.
        init(_ folder: String) throws {
            let fileSystem = PosixFileSystem()
            var secret = try fileSystem.readFile(PathText.join(folder, "passphrase"), byteCountMax: 1_024)
            while secret.last == UInt8(ascii: "\n") { secret.removeLast() }
            let environment = StoreEnvironment(
                stateDirectory: PathText.join(folder, "state/coffret"), fileSystem: fileSystem,
                random: SystemRandomSource(), clock: SystemWallClock())
            store = try Store.open(
                at: PathText.join(folder, "store"), with: .passphrase(Passphrase(typed: &secret)),
                environment: environment)
            vault = try store.openVault(isWritable: false)
        }

        /// Writes, and gives the lock back at once.
        func write(_ text: String, to id: EntityID) throws -> Double {
            let vault = try store.openVault(isWritable: true)
            defer { vault.close() }
            try vault.update(id) { item in item.text = text }
            return nowSeconds()
        }

        func waitFor(_ text: String, in id: EntityID) throws -> Double {
            let deadline = nowSeconds() + 30
            while nowSeconds() < deadline {
                if try vault.repository.refresh(), try vault.item(id).text == text { return nowSeconds() }
                usleep(300)
            }
            throw BenchFailure(text: "an edit did not arrive within 30 s")
        }
    }

    fileprivate struct BenchFailure: Error, CustomStringConvertible {
        let text: String
        var description: String { text }
    }

    /// `edits FOLDER-A FOLDER-B COUNT`: edits in turn on both; prints `there`, `back` or `nothing` and milliseconds, a
    /// line each.
    static func run(_ arguments: [String]) throws {
        guard arguments.count == 3, let count = Int(arguments[2]) else {
            print("usage: coffret-bench edits FOLDER-A FOLDER-B COUNT")
            return
        }
        let devices = [try Device(arguments[0]), try Device(arguments[1])]
        let writer = try devices[0].store.openVault(isWritable: true)
        let id = try writer.create(ItemDraft(title: title, text: "round 0"))
        writer.close()
        _ = try devices[1].waitForItem(id)
        for round in 1...count {
            for (index, direction) in ["there", "back"].enumerated() {
                // Edits of a person come one by one: what follows an edit is done by then.
                usleep(120_000)
                let text = "round \(round) \(direction) " + String(repeating: "words ", count: 150)
                let written = try devices[index].write(text, to: id)
                let seen = try devices[1 - index].waitFor(text, in: id)
                print("\(direction) \(decimal((seen - written) * 1e3, 3))")
            }
        }
        // The words about what each device has follow 2 s later.
        usleep(4_000_000)
        try nothingNew(devices[0], count: count)
    }

    /// `nothing FOLDER COUNT`: syncs of a vault that has nothing new, as at the end of `edits`; for looking closer.
    static func runNothing(_ arguments: [String]) throws {
        guard arguments.count == 2, let count = Int(arguments[1]) else {
            print("usage: coffret-bench nothing FOLDER COUNT")
            return
        }
        try nothingNew(Device(arguments[0]), count: count)
    }

    private static func nothingNew(_ device: Device, count: Int) throws {
        let account = try Account(device.store, random: SystemRandomSource(), clock: SystemWallClock())
        defer { account.connection.logOut() }
        let record = try device.store.vaultRecord(nil)
        let transport = HTTPZoneTransport(
            client: account.connection.client, zone: record.vaultID.bytes,
            device: try device.store.keyring.deviceID().bytes,
            fields: { account.connection.fields }, renew: { false })
        let syncer = try VaultSyncer(
            device.store, record, server: account.connection.settings.address.url, transport: transport,
            clock: SystemWallClock(), sendKeys: { _ in })
        for acknowledges in [true, false] {
            var options = SyncOptions()
            options.acknowledges = acknowledges
            for round in 0...count {
                let start = nowSeconds()
                let report = try syncer.sync(options)
                guard round > 0 else { continue }
                guard report.receivedEntryCount + report.sentEntryCount == 0 else {
                    throw BenchFailure(text: "there was something new")
                }
                print("\(acknowledges ? "nothing" : "head") \(decimal((nowSeconds() - start) * 1e3, 3))")
            }
        }
    }
}

extension EditBench.Device {
    /// The first sync of a vault may take its time.
    func waitForItem(_ id: EntityID) throws -> Double {
        for _ in 0..<30_000 {
            try vault.repository.refresh()
            if (try? vault.item(id)) != nil { return 0 }
            usleep(1_000)
        }
        throw EditBench.BenchFailure(text: "the first edit did not arrive within 30 s")
    }
}
