// The count of failed attempts at work. The one thing to keep true: the count is on disk, one higher, before the
// secret is looked at, and only a right secret takes it back.

internal import CoffretBase
package import CoffretKeys
package import CoffretWire

/// An attempt that was not made, or not paid for.
package struct AttemptRefusal: Error, Equatable, Sendable {
    package let code: AgentErrorCode
    package let remaining: Duration?

    package init(_ code: AgentErrorCode, remaining: Duration? = nil) {
        self.code = code
        self.remaining = remaining
    }

    /// Whole seconds to wait, rounded up.
    package var waitSeconds: UInt64? {
        remaining.map { remaining in
            let (seconds, attoseconds) = remaining.components
            return UInt64(max(0, seconds)) + (attoseconds > 0 ? 1 : 0)
        }
    }
}

/// Judges secrets of one store, counting.
package struct AttemptLedger: Sendable {
    private let records: any ProtectedRecords
    private let name: String
    private let bootID: [UInt8]
    private let now: @Sendable () -> BootInstant

    /// - Parameter store: the store's id in hex, so that the count belongs to the store and not to its path.
    package init(
        records: any ProtectedRecords, store: String, bootID: [UInt8], now: @escaping @Sendable () -> BootInstant
    ) {
        self.records = records
        name = store + ".attempts"
        self.bootID = bootID
        self.now = now
    }

    /// Counts an attempt, makes it, and takes the count back if it went well.
    ///
    /// Attempts of several processes follow one another.
    /// - Parameter isWrong: whether an error of `body` means that the secret was wrong; others do not count.
    /// - Throws: `AttemptRefusal` without running `body`; what `body` throws.
    package func attempt<Result>(isWrong: (any Error) -> Bool, _ body: () throws -> Result) throws -> Result {
        do {
            return try records.exclusively(name) { try attemptAlone(isWrong: isWrong, body) }
        } catch is FileSystemError {
            throw AttemptRefusal(.recordsUnwritable)
        }
    }

    /// Throws the refusal that an attempt would meet now, so that nobody types in vain.
    package func checkPause() throws {
        do {
            try records.exclusively(name) { _ = try recordOutsideOfPauses() }
        } catch is FileSystemError {
            throw AttemptRefusal(.recordsUnwritable)
        }
    }

    /// The record, unless it says to wait.
    ///
    /// A pause whose beginning nobody knows, after a restart of the machine or because the record was altered,
    /// begins now; that is written down, or it would never end.
    private func recordOutsideOfPauses() throws -> AttemptRecord {
        let found = record
        let remaining = AttemptPolicy.remaining(found, bootID: bootID, now: now())
        guard remaining > .zero else { return found }
        if found.bootID != bootID || found.lastAttempt > now() {
            try write(AttemptRecord(failedCount: found.failedCount, bootID: bootID, lastAttempt: now()))
        }
        throw AttemptRefusal(.attemptsPausing, remaining: remaining)
    }

    private func attemptAlone<Result>(isWrong: (any Error) -> Bool, _ body: () throws -> Result) throws -> Result {
        let before = try recordOutsideOfPauses()
        try write(AttemptPolicy.counting(before, bootID: bootID, now: now()))
        do {
            let result = try body()
            try write(.none)
            return result
        } catch {
            if !isWrong(error) { try write(before) }
            throw error
        }
    }

    /// The count as it stands. One that was altered counts as so many wrong attempts that there is a pause.
    package var record: AttemptRecord {
        switch records.read(name) {
        case .missing: .none
        case .altered: AttemptRecord(failedCount: AttemptPolicy.freeCount, bootID: [], lastAttempt: now())
        case .present(let bytes):
            AttemptRecord(decoding: bytes)
                ?? AttemptRecord(failedCount: AttemptPolicy.freeCount, bootID: [], lastAttempt: now())
        }
    }

    private func write(_ record: AttemptRecord) throws {
        do {
            try records.write(name, record.encoded)
        } catch {
            throw AttemptRefusal(.recordsUnwritable)
        }
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
