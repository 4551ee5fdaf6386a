// The newest generation of a store's keyring, remembered where a backup of the disk does not reach: behind a TPM's
// counter, or in the desktop's keyring. Invariant: what is remembered only goes up.

package import CoffretBase

/// The result of reading a record by its name.
package enum ProtectedRecord: Equatable, Sendable {
    case present([UInt8])
    case missing
    /// There is something, and it is not what was written last; or something was taken away.
    case altered
}

/// A home of small records that outlive programs, and that nobody else should set.
package protocol ProtectedRecords: Sendable {
    func read(_ name: String) -> ProtectedRecord
    /// - Throws: when the record is not surely kept.
    func write(_ name: String, _ bytes: [UInt8]) throws
    /// Runs `body` while no other process reads or writes records of this name.
    func exclusively<Result>(_ name: String, _ body: () throws -> Result) throws -> Result
}

/// Remembers a keyring's generation beside the marker, and other counts that only go up.
///
/// Record `<store id in hex>.generation`, or `.tokens`: 8 bytes, big-endian. Source: protocol decision 5.
package struct GenerationMemory: Sendable {
    private let records: @Sendable () -> (any ProtectedRecords)?
    /// Whether an opening waits for what is remembered; else only changes are written down.
    let isAsked: Bool

    /// For a program that opens with a secret.
    package init(records: any ProtectedRecords) {
        self.records = { records }
        isAsked = true
    }

    /// For a program that holds the storage key: the keyring was opened with a secret before, and asking a TPM with
    /// every command would be slow.
    ///
    /// - Parameter records: called when a change is to be remembered; nil where there is no home for it.
    package init(forChanges records: @escaping @Sendable () -> (any ProtectedRecords)?) {
        self.records = records
        isAsked = false
    }

    /// nil if nothing is known: no record, one that was altered, or a home that does not answer. The marker and the
    /// vaults remember too.
    func generation(of storeID: UniqueID) -> UInt64? { count(Self.generation, of: storeID) }

    /// A generation that could not be written down is caught up with at the next opening.
    func remember(_ generation: UInt64, of storeID: UniqueID) { remember(generation, Self.generation, of: storeID) }

    private static let generation = "generation"

    /// A count of another kind that is remembered in the same way.
    package func count(_ kind: String, of storeID: UniqueID) -> UInt64? {
        records().flatMap { read(name(kind, storeID), in: $0) }
    }

    /// Remembers a count unless a higher one is known.
    package func remember(_ count: UInt64, _ kind: String, of storeID: UniqueID) {
        guard let records = records() else { return }
        let name = name(kind, storeID)
        try? records.exclusively(name) {
            if let known = read(name, in: records), known >= count { return }
            try records.write(name, count.bigEndianBytes)
        }
    }

    private func read(_ name: String, in records: any ProtectedRecords) -> UInt64? {
        guard case .present(let bytes) = records.read(name), bytes.count == 8 else { return nil }
        return bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }

    private func name(_ kind: String, _ storeID: UniqueID) -> String { "\(storeID.hex).\(kind)" }
}
