// What a vault says, in 32 bytes. The one thing to keep true: dots, salts and history stay out of it, so
// that an export and its re-import have the same hash.

internal import CoffretBase
internal import CoffretCrypto

extension Snapshot {
    /// A hash over what the vault says, without who said it and when (U19): two vaults with the same
    /// facts have the same, whatever their histories.
    ///
    /// BLAKE2b-256 over "coffret/state/1" and, per different fact in ascending order of (key, value),
    /// lp(entity) ‖ lp(attribute) ‖ lp(element) ‖ lp(value), where lp(x) = length (4) ‖ x.
    /// - Parameters:
    ///   - choose: which of several concurrent facts count; all of them, if nothing else is said.
    ///   - form: what stands for a value, if not the value; for values that are different in each store.
    /// - Complexity: reads everything.
    package func stateHash(
        choosing choose: ([Fact]) throws(StorageError) -> [Fact] = { $0 },
        _ form: (FactKey, [UInt8]) -> [UInt8] = { $1 }
    ) throws(StorageError) -> [UInt8] {
        var hasher = BLAKE2bHasher(byteCount: 32)
        hasher.update(Array("coffret/state/1".utf8))
        var cursor = try cursor()
        var siblings: [Fact] = []
        while true {
            let fact = try cursor.next()
            if let key = siblings.first?.key, fact?.key != key {
                var values: [[UInt8]] = []
                for sibling in try choose(siblings) { values.append(form(key, try value(of: sibling))) }
                hasher.update(key: key, values: values)
                siblings = []
            }
            guard let fact else { return hasher.finish() }
            siblings.append(fact)
        }
    }
}

extension BLAKE2bHasher {
    fileprivate mutating func update(key: FactKey, values: [[UInt8]]) {
        var previous: [UInt8]?
        for value in values.sorted(by: { $0.lexicographicallyPrecedes($1) }) where value != previous {
            updateLengthPrefixed(key.entity.bytes)
            updateLengthPrefixed(Array(key.attribute.name.utf8))
            updateLengthPrefixed(key.element)
            updateLengthPrefixed(value)
            previous = value
        }
    }
}
