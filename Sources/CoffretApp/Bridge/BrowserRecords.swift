// Where a store's browsers are kept. Invariant: a change sees what others have written, and an altered record is no empty one.

package import CoffretBase
package import CoffretBridge
package import CoffretKeys

/// The browsers of a store in the agent's home for records.
package struct BrowserRecords {
    private let records: any ProtectedRecords
    private let name: String

    package init(_ records: any ProtectedRecords, store: UniqueID) {
        self.records = records
        name = store.hex + ".browsers"
    }

    /// - Throws: `BridgeError` `.recordAltered`.
    package func read() throws(BridgeError) -> Pairings {
        switch records.read(name) {
        case .missing: return Pairings()
        case .altered: throw BridgeError(.recordAltered)
        case .present(var bytes):
            defer { bytes.zero() }
            return try Pairings(decoding: bytes)
        }
    }

    /// Changes them while no other process does.
    ///
    /// - Throws: what `body` throws; when the record is not surely kept.
    package func change<Result>(_ body: (inout Pairings) throws -> Result) throws -> Result {
        try records.exclusively(name) {
            var pairings = try read()
            let result = try body(&pairings)
            try write(pairings)
            return result
        }
    }

    /// Forgets all, also where the record was altered.
    package func removeAll() throws {
        try records.exclusively(name) { try write(Pairings()) }
    }

    private func write(_ pairings: Pairings) throws {
        var bytes = pairings.encoded
        defer { bytes.zero() }
        try records.write(name, bytes)
    }
}
