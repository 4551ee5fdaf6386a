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
    /// - Parameter form: what stands for a value, if not the value; for values that are different in each store.
    /// - Complexity: reads everything.
    package func stateHash(
        _ form: (FactKey, [UInt8]) -> [UInt8] = { $1 }
    ) throws(StorageError) -> [UInt8] {
        var hasher = BLAKE2bHasher(byteCount: 32)
        hasher.update(Array("coffret/state/1".utf8))
        var cursor = try cursor()
        var key: FactKey?
        var values: [[UInt8]] = []
        while let fact = try cursor.next() {
            if let key, key != fact.key {
                hasher.update(key: key, values: values)
                values = []
            }
            key = fact.key
            values.append(form(fact.key, try value(of: fact)))
        }
        if let key { hasher.update(key: key, values: values) }
        return hasher.finish()
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
