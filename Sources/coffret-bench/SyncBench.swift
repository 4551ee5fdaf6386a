// A vault between two devices over a real server. Invariant: what is timed is what `coffret sync` does, from opening
// the vault to the acknowledgement, with everything verified.

import CoffretAccount
import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretHTTP
import CoffretKeys
import CoffretStorage
import CoffretSync

enum SyncBench {
    private static let usage =
        "usage: coffret-bench sync NOTES ROUNDS PASSPHRASE STORE STATE STORE STATE   (two paired stores of one account)"

    /// One of the two devices.
    private struct Device {
        let store: Store
        let account: Account
        let clock = SystemWallClock()

        init(_ path: String, state: String, passphrase: String) throws {
            var secret = Array(passphrase.utf8)
            store = try Store.open(
                at: path, with: .passphrase(Passphrase(typed: &secret)),
                environment: StoreEnvironment(
                    stateDirectory: PathText.join(state, "coffret"), fileSystem: PosixFileSystem(),
                    random: SystemRandomSource(), clock: clock))
            account = try Account(store, random: SystemRandomSource(), clock: clock)
        }

        func transport(_ record: VaultRecord) throws -> HTTPZoneTransport {
            HTTPZoneTransport(
                client: account.connection.client, zone: record.vaultID.bytes,
                device: try store.keyring.deviceID().bytes,
                fields: { account.connection.fields },
                renew: { (try? account.renewSession()) != nil })
        }

        /// The vault as the agent and one command hold it: open for reading between syncs.
        func syncer(_ record: VaultRecord) throws -> VaultSyncer {
            try VaultSyncer(
                store, record, server: account.connection.settings.address.url, transport: transport(record),
                clock: clock, sendKeys: { _ in })
        }
    }

    private static func sync(_ syncer: VaultSyncer) throws -> (seconds: Double, report: SyncReport) {
        let start = nowSeconds()
        let report = try syncer.sync()
        return (nowSeconds() - start, report)
    }

    static func run(_ arguments: [String]) throws {
        guard arguments.count == 7, let count = Int(arguments[0]), let rounds = Int(arguments[1]), rounds > 0 else {
            print(usage)
            return
        }
        let first = try Device(arguments[3], state: arguments[4], passphrase: arguments[2])
        let second = try Device(arguments[5], state: arguments[6], passphrase: arguments[2])
        var times: [String: [Double]] = [:]
        func note(_ name: String, _ seconds: Double) { times[name, default: []].append(seconds) }
        var bytesUp = 0
        var bytesDown = 0
        for round in 0..<rounds {
            let id = try first.store.addVault(
                named: "bench \(count) \(round) \(Hex.encode(SystemRandomSource().bytes(count: 4)))")
            let ids = try fill(first, id, count: count)
            try first.account.makeZone(for: first.store.vaultRecord(id.hex))
            try first.store.changeKeyring { keyring in try keyring.setVaultKind(id, .synced) }
            try first.account.sendKeys()
            let here = try first.syncer(first.store.vaultRecord(id.hex))
            let up = try sync(here)
            note("1 first sync up", up.seconds)
            _ = try second.account.receiveKeys()
            let record = try second.store.vaultRecord(id.hex)
            let there = try second.syncer(record)
            let down = try sync(there)
            note("2 first sync down", down.seconds)
            print("first sync: \(up.report.sentEntryCount) entries, \(up.report.sentByteCount) bytes up;")
            print(
                "            \(down.report.receivedByteCount) bytes down, \(down.report.requestCount) requests"
            )
            let vault = try second.store.openVault(id.hex, isWritable: false)
            let listing = try measureSeconds {
                let page =
                    try vault.isIndexFarOff()
                    ? vault.pageByReading(limit: 50) : vault.page(ItemFilter(), limit: 50)
                let listed = page.items
                precondition(listed.count == min(50, count), "everything arrived")
            }
            note("3 then the first list of 50", listing)
            note(
                "3 then the index, where the list did not need it", try measureSeconds { try vault.synchronizeIndex() })
            let search = try measureSeconds { _ = try vault.search("area3", limit: 20) }
            note("4 then the first search", search)
            vault.close()
            for _ in 0..<20 {
                note("5 nothing new", try sync(there).seconds)
                note("6 nothing new, the request alone", try request(second, record))
            }
            for index in 0..<20 {
                let vault = try first.store.openVault(id.hex, isWritable: true)
                try vault.update(ids[index * 7 % ids.count]) { item in
                    item.text += "\nedit \(index)"
                }
                vault.close()
                let up = try sync(here)
                let down = try sync(there)
                note("7 one edit up", up.seconds)
                note("8 one edit down", down.seconds)
                bytesUp = max(bytesUp, up.report.sentByteCount)
                bytesDown = max(bytesDown, down.report.receivedByteCount)
            }
        }
        report(times, count: count)
        print("one edit: at most \(bytesUp) bytes up, \(bytesDown) bytes down")
    }

    private static func report(_ times: [String: [Double]], count: Int) {
        print(row(["what, \(count) notes of 1 KiB", "median", "best", "worst"]))
        print(row(["---", "---", "---", "---"]))
        for (name, values) in times.sorted(by: { $0.key < $1.key }) {
            let samples = Samples(values)
            print(
                row([
                    String(name.dropFirst(2)), milliseconds(samples.median), milliseconds(samples.sorted[0]),
                    milliseconds(samples.sorted[samples.sorted.count - 1]),
                ]))
        }
    }

    private static func milliseconds(_ seconds: Double) -> String { "\(decimal(seconds * 1_000, 1)) ms" }

    /// The head, as a device asks that keeps its session and its vault open.
    private static func request(_ device: Device, _ record: VaultRecord) throws -> Double {
        let transport = try device.transport(record)
        return try measureSeconds { _ = try transport.send(.head) { _ in } }
    }

    private static func fill(_ device: Device, _ id: VaultID, count: Int) throws -> [EntityID] {
        let vault = try device.store.openVault(id.hex, isWritable: true)
        defer { vault.close() }
        var generator = NoteGenerator(seed: 7)
        var ids: [EntityID] = []
        while ids.count < count {
            ids += try vault.batch { batch in
                var made: [EntityID] = []
                for _ in 0..<min(10_000, count - ids.count) {
                    let note = generator.next()
                    var text = note.body
                    while text.utf8.count < 1_024 { text += "\n" + generator.next().body }
                    text = String(decoding: Array(text.utf8).prefix(1_024), as: UTF8.self)
                    made.append(try batch.create(ItemDraft(title: note.title, text: text)))
                }
                return made
            }
        }
        return ids
    }
}
