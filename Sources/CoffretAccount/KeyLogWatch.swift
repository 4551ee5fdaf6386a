// The log of the server's links, as this device reads it. Invariant: what is kept of it moves forward only when it was in order.

package import CoffretBase
package import CoffretCore
internal import CoffretCrypto
internal import CoffretHTTP
package import CoffretKeyLog
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretTrust

/// The file `key-log` of a store: ENV(head record key, "heads/record", account id ‖ 04, view). Spec: Spec/log.md section 5.
package struct KeyLogFile {
    private static let name = "key-log"
    private static let kind: UInt8 = 4

    private let path: String
    private let key: HeadsKey
    private let associatedData: [UInt8]
    private let fileSystem: any FileSystem
    private let random: any RandomSource

    package init(of store: Store) throws {
        path = PathText.join(store.layout.path, Self.name)
        key = try inAccount(store.keyring.headRecordKey())
        associatedData = try inAccount(store.keyring.accountID()).bytes + [Self.kind]
        (fileSystem, random) = (store.fileSystem, store.environment.random)
    }

    /// Nil for a file that is missing, damaged or of another store.
    package func read() -> KeyLogView? {
        guard let sealed = try? fileSystem.readFile(path, byteCountMax: KeyLogView.byteCountMax),
            let content = unsafe try? Envelope.open(
                sealed, key: key, context: .headRecord, associatedData: associatedData,
                { content in unsafe [UInt8](content) })
        else { return nil }
        return KeyLogView(decoding: content)
    }

    /// Keeps what was read, instead of what was known when the reading began: one process at a time (`KeyLogView.kept(over:since:)`).
    ///
    /// - Returns: the view that is kept.
    package func keep(_ view: KeyLogView, insteadOf known: KeyLogView?) throws -> KeyLogView {
        let lock = try inAccount(fileSystem.open(path + ".lock", .createIfAbsent))
        try inAccount(lock.lock(.exclusive, waits: true))
        defer { withExtendedLifetime(lock) {} }
        let current = read()
        let next = view.kept(over: current, since: known)
        if next != current { try write(next) }
        return next
    }

    private func write(_ view: KeyLogView) throws {
        let sealed = Envelope.seal(
            view.encoded, key: key, context: .headRecord, associatedData: associatedData, random: random)
        try inAccount(fileSystem.replaceFile(path, with: sealed, isLocked: true))
    }

    package func remove() { try? fileSystem.remove(path) }

    /// Writes the notes of a log that differ, in clear: everybody can check them with the log's key.
    ///
    /// - Returns: an error that says where.
    func failure(_ error: KeyLogError, _ notes: [[UInt8]?], key: String) throws -> AccountError {
        let evidence = path + "-evidence.txt"
        let text = Array((key + "\n\n").utf8) + notes.compactMap(\.self).joined(separator: Array("\n".utf8))
        try inAccount(fileSystem.replaceFile(evidence, with: Array(text)))
        return AccountError(.failed, at: evidence, cause: error)
    }
}

extension Account {
    /// How long a log is not read where nothing new was learned of any chain.
    private static let keyLogRestMilliseconds: Milliseconds = 86_400_000

    /// Reads what is new in the server's log.
    ///
    /// - Parameters:
    ///   - isFollowed: all chains were followed just now, so that what the log has more was withheld. It is read then only where a
    ///     chain has a link that was not looked for, and once a day; else always.
    ///   - isRestored: the server was put back: what was known of its log is forgotten, and its key is kept.
    ///   - stated: checkpoints in entries of others that came since the last reading, with the times of these. What is none of this
    ///     log, or older than the first reading here, says nothing.
    /// - Returns: nil where it was not read.
    /// - Throws: a `KeyLogError`, after both notes were written down; an `AccountError`.
    @discardableResult
    package func checkKeyLog(
        isFollowed: Bool, isRestored: Bool = false, stated: [[UInt8]: Milliseconds] = [:]
    ) throws -> KeyLogView? {
        let file = try KeyLogFile(of: store)
        let chains = try keyLogChains()
        var known = file.read()
        if isRestored || !stated.isEmpty, let before = known {
            var view = isRestored ? before.begunAnew(at: clock.now) : before
            // Kept until they were compared.
            view.take(stated: stated)
            known = try file.keep(view, insteadOf: before)
        }
        if isFollowed, let known, !known.isDue(for: chains, rest: Self.keyLogRestMilliseconds, now: clock.now) {
            return nil
        }
        let response = try connection.send("GET", "/v1/log/checkpoint", accepted: [200, 404])
        // A server of before has no log.
        if response.status == 404, known == nil { return nil }
        let key = try connection.send("GET", "/v1/log/key").body
        let verifier = try KeyLogVerifier(
            text: String(decoding: key.last == 0x0A ? key.dropLast() : key, as: UTF8.self))
        let view = known ?? KeyLogView(verifier: verifier, begunAt: clock.now)
        guard view.verifier == verifier else { throw KeyLogError(.keyDiffers, at: verifier.name) }
        do {
            var reading = try KeyLogReading(view, note: response.body, chains: chains)
            while let tile = reading.wanted {
                try reading.take(try connection.send("GET", "/v1/log/tile/" + tile.path).body)
            }
            var read = try reading.finished(now: clock.now, isFollowed: isFollowed)
            for note in read.stated {
                try compare(note, with: read, file)
                read.forget(stated: note)
            }
            let kept = try file.keep(read, insteadOf: known)
            try inAccount(store.noteKeyLog(response.body))
            return kept
        } catch let error as KeyLogError {
            throw try file.failure(error, [view.checkpoint?.note, response.body], key: view.verifier.text)
        }
    }

    /// Compares a checkpoint that another device states with what was read here.
    ///
    /// - Throws: an `AccountError`, after both notes were written down.
    private func compare(_ note: [UInt8], with view: KeyLogView, _ file: KeyLogFile) throws {
        do {
            guard var comparison = try KeyLogComparison(of: note, with: view) else { return }
            while let tile = comparison.wanted {
                try comparison.take(try connection.send("GET", "/v1/log/tile/" + tile.path).body)
            }
        } catch let error as KeyLogError {
            throw try file.failure(error, [note, view.checkpoint?.note], key: view.verifier.text)
        }
    }

    /// All chains that this device follows, with the names that a person knows them by.
    private func keyLogChains() throws -> [KeyLogChain] {
        let own = try inAccount(store.keyring.accountID())
        var accounts: [ChainID: FollowedAccount] = [:]
        var chains: [KeyLogChain] = []
        for record in try store.allVaults where record.kind == .synced {
            let followed = try store.followedChains(of: record.vaultID)
            accounts.merge(followed.accounts) { $0.chain.links.count >= $1.chain.links.count ? $0 : $1 }
            let id = ChainID(record.vaultID.bytes)
            let hashes = followed.links.map { $0.hash(inChain: $0.sequenceNumber == 0 ? nil : id) }
            chains.append(
                KeyLogChain(
                    kind: ChainKind.member.rawValue, chainID: record.vaultID.bytes,
                    name: record.isAccountVault ? "your contacts" : "\"\(record.name)\"",
                    links: hashes.compactMap { Bytes32($0) }))
        }
        if accounts[own] == nil {
            let chain = try inAccount(store.keyring.deviceChain())
            chains.append(Self.keyLogChain(chain, replaced: [], isOwn: true))
        }
        for (id, account) in accounts {
            chains.append(Self.keyLogChain(account.chain, replaced: account.branches, isOwn: id == own))
        }
        return chains
    }

    private static func keyLogChain(
        _ chain: VerifiedDeviceChain, replaced: [VerifiedDeviceChain], isOwn: Bool
    ) -> KeyLogChain {
        KeyLogChain(
            kind: ChainKind.device.rawValue, chainID: chain.accountID.bytes,
            name: isOwn ? "your devices" : "the devices of \(AccountName(chain.accountID).text)",
            links: chain.links.compactMap { Bytes32($0.hash) },
            replaced: Set(replaced.flatMap { $0.links.compactMap { Bytes32($0.hash) } }))
    }
}
