// The count of failed attempts at work, for every program that looks at a secret. Invariant: the count is on disk, one
// higher, before the secret is looked at, and only a right secret takes it back, or an end before anybody could know.

package import CoffretBase

/// Where attempts are counted, and by which clock.
///
/// Every program of the person counts in files, so that they share one count; the agent counts in its own records too,
/// which may lie behind a TPM. Each home that says to wait is obeyed.
package struct AttemptCounting: Sendable {
    private let homes: [any ProtectedRecords]
    private let bootID: [UInt8]
    private let now: @Sendable () -> BootInstant
    private let goesOnWithoutSpace: Bool

    /// - Parameters:
    ///   - homes: locked in this order, which is the same in all programs.
    ///   - goesOnWithoutSpace: whether a full or read-only disk lets attempts go uncounted, so that a person can still
    ///     read, and make room.
    package init(
        homes: [any ProtectedRecords], goesOnWithoutSpace: Bool = false, bootID: [UInt8],
        now: @escaping @Sendable () -> BootInstant
    ) {
        self.homes = homes
        self.goesOnWithoutSpace = goesOnWithoutSpace
        self.bootID = bootID
        self.now = now
    }

    /// The count of programs without a way to a TPM: files below the state directory.
    package static func files(
        stateDirectory: String, fileSystem: any FileSystem, random: any RandomSource
    ) -> AttemptCounting {
        AttemptCounting(
            homes: [FileRecords(stateDirectory: stateDirectory, fileSystem: fileSystem, random: random)],
            goesOnWithoutSpace: true, bootID: BootClock.bootID(fileSystem), now: { BootClock.now })
    }

    /// The count of a store's passphrase, recovery keys and PINs. It belongs to the store and not to its path.
    package func ledger(ofStore store: UniqueID) -> AttemptLedger { ledger("\(store.hex).attempts") }

    /// The count of one passphrase of locked notes: who knows another one does not set it back.
    package func ledger(ofStore store: UniqueID, noteRecord: UniqueID) -> AttemptLedger {
        ledger("\(store.hex).\(noteRecord.hex).attempts")
    }

    private func ledger(_ name: String) -> AttemptLedger {
        AttemptLedger(
            homes: homes, name: name, goesOnWithoutSpace: goesOnWithoutSpace, bootID: bootID, now: now)
    }
}

/// Judges secrets of one kind, counting.
package struct AttemptLedger: Sendable {
    fileprivate let homes: [any ProtectedRecords]
    fileprivate let name: String
    fileprivate let goesOnWithoutSpace: Bool
    fileprivate let bootID: [UInt8]
    fileprivate let now: @Sendable () -> BootInstant

    /// Counts an attempt, makes it, and takes the count back if it went well.
    ///
    /// Attempts of several processes follow one another. One that a signal ends while the secret is stretched was none.
    /// - Parameters:
    ///   - isWrong: whether an error of `body` means that the secret was wrong; others do not count.
    ///   - refusal: an attempt that was not made, as an error of `body`'s kind.
    /// - Throws: `.attemptsPausing`, `.attemptsUncounted` without running `body`; what `body` throws.
    package func attempt<Value, Failure: Error>(
        isWrong: (Failure) -> Bool, refusal: (KeyError) -> Failure, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        var outcome: Result<Value, Failure>?
        do throws(KeyError) {
            try exclusively { () throws(KeyError) in outcome = try judge(isWrong, body) }
        } catch {
            if outcome == nil { throw refusal(error) }
        }
        guard let outcome else { preconditionFailure("without a refusal the attempt was made") }
        return try outcome.get()
    }

    /// As above, for secrets of a store.
    package func attempt<Value>(_ body: () throws(KeyError) -> Value) throws(KeyError) -> Value {
        try attempt(isWrong: { (error: KeyError) in error.code == .unlockFailed }, refusal: { $0 }, body)
    }

    /// Throws the refusal that an attempt would meet now, so that nobody types in vain.
    ///
    /// - Throws: `.attemptsPausing`, `.attemptsUncounted`.
    package func checkPause() throws(KeyError) {
        try exclusively { () throws(KeyError) in _ = try recordsOutsideOfPauses() }
    }

    /// The count as it stands: the highest of all homes.
    package var record: AttemptRecord {
        homes.map(read).max { $0.failedCount < $1.failedCount } ?? .none
    }

    private func judge<Value, Failure: Error>(
        _ isWrong: (Failure) -> Bool, _ body: () throws(Failure) -> Value
    ) throws(KeyError) -> Result<Value, Failure> {
        let before = try recordsOutsideOfPauses()
        let window = StretchingWindow()
        defer { window.end() }
        for (home, record) in before {
            try write(AttemptPolicy.counting(record, bootID: bootID, now: now()), to: home)
        }
        window.open { for (home, record) in before { _ = try? write(record, to: home) } }
        do throws(Failure) {
            let value = try body()
            window.end()
            // The secret was right, and who gave it gets what it opens, whatever becomes of the count.
            for (home, _) in before { _ = try? write(.none, to: home) }
            return .success(value)
        } catch {
            window.end()
            if !isWrong(error) { for (home, record) in before { _ = try? write(record, to: home) } }
            return .failure(error)
        }
    }

    /// Each home's record, unless one says to wait.
    ///
    /// A pause whose beginning nobody knows, after a restart of the machine or because the record was altered,
    /// begins now; that is written down, or it would never end.
    private func recordsOutsideOfPauses() throws(KeyError) -> [(home: any ProtectedRecords, record: AttemptRecord)] {
        let found = homes.map { ($0, read($0)) }
        var longest = Duration.zero
        for (home, record) in found {
            let remaining = AttemptPolicy.remaining(record, bootID: bootID, now: now())
            guard remaining > .zero else { continue }
            if record.bootID != bootID || record.lastAttempt > now() {
                let begun = AttemptRecord(failedCount: record.failedCount, bootID: bootID, lastAttempt: now())
                guard try write(begun, to: home) else { continue }
            }
            longest = max(longest, remaining)
        }
        guard longest > .zero else { return found }
        let (seconds, attoseconds) = longest.components
        throw KeyError(.attemptsPausing, waitSeconds: UInt32(clamping: seconds + (attoseconds > 0 ? 1 : 0)))
    }

    /// A record that was altered counts as so many wrong attempts that there is a pause.
    private func read(_ home: any ProtectedRecords) -> AttemptRecord {
        let altered = AttemptRecord(failedCount: AttemptPolicy.freeCount, bootID: [], lastAttempt: now())
        return switch home.read(name) {
        case .missing: .none
        case .altered: altered
        case .present(let bytes): AttemptRecord(decoding: bytes) ?? altered
        }
    }

    /// - Returns: false if there was no space, and that is forgiven.
    @discardableResult
    private func write(_ record: AttemptRecord, to home: any ProtectedRecords) throws(KeyError) -> Bool {
        do {
            try home.write(name, record.encoded)
            return true
        } catch {
            guard isForgiven(error) else {
                // A TPM that is gone is called by its name.
                if let error = error as? KeyStoreError { throw KeyError(.keyStoreFailed, cause: error) }
                throw KeyError(.attemptsUncounted, cause: error)
            }
            return false
        }
    }

    /// Runs `body` while no other process counts in any of the homes.
    private func exclusively(_ body: () throws(KeyError) -> Void) throws(KeyError) {
        try exclusively(homes[...], body)
    }

    private func exclusively(
        _ homes: ArraySlice<any ProtectedRecords>, _ body: () throws(KeyError) -> Void
    ) throws(KeyError) {
        guard let home = homes.first else { return try body() }
        var outcome: Result<Void, KeyError>?
        do {
            try home.exclusively(name) {
                do throws(KeyError) {
                    outcome = .success(try exclusively(homes.dropFirst(), body))
                } catch {
                    outcome = .failure(error)
                }
            }
        } catch {
            if outcome == nil {
                guard isForgiven(error) else { throw KeyError(.attemptsUncounted, cause: error) }
                return try exclusively(homes.dropFirst(), body)
            }
        }
        try outcome?.get()
    }

    private func isForgiven(_ error: any Error) -> Bool {
        guard goesOnWithoutSpace, let error = error as? FileSystemError else { return false }
        return error.code == .noSpace || error.code == .readOnly
    }
}

extension AttemptRecord {
    /// Layout, deterministic CBOR: [count, boot id, nanoseconds on the boot clock].
    var encoded: [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 3)
            encoder.encode(unsigned: UInt64(failedCount))
            encoder.encode(bytes: bootID)
            encoder.encode(unsigned: lastAttempt.nanoseconds)
        }
    }

    init?(decoding bytes: [UInt8]) {
        let record = try? withCBORDecoder(bytes) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 3)
            let count = try decoder.readUnsigned(as: UInt32.self)
            let bootID = try decoder.readBytes(countMax: 64)
            return AttemptRecord(
                failedCount: count, bootID: bootID,
                lastAttempt: BootInstant(nanoseconds: try decoder.readUnsigned()))
        }
        guard let record else { return nil }
        self = record
    }
}
