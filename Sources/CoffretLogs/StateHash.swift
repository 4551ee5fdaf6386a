// What a vault says, in 32 bytes. The one thing to keep true: dots, salts and history stay out of it, so that an export and
// its re-import have the same hash.

internal import CoffretBase
internal import CoffretCrypto
package import CoffretStorage

extension LogSnapshot {
    /// A hash over what the vault says, without who said it and when (U19): two vaults with the same facts have the same,
    /// whatever their histories.
    ///
    /// BLAKE2b-256 over "coffret/state/1" and, per different value in ascending order of (key, value), lp(entity) ‖
    /// lp(attribute) ‖ lp(element) ‖ lp(value), where lp(x) = length (4) ‖ x.
    /// - Parameter values: what counts of the facts under a key, and the form in which it does; nil: all values as they are.
    /// - Complexity: reads everything.
    package func stateHash(
        _ values: ((FactKey, [Fact]) throws(StorageError) -> [[UInt8]])? = nil
    ) throws(StorageError) -> [UInt8] {
        var hasher = BLAKE2bHasher(byteCount: 32)
        hasher.update(Array("coffret/state/1".utf8))
        var walk = try walk(withPrefix: [])
        var siblings: [Fact] = []
        while true {
            let fact = try walk.next()
            if let key = siblings.first?.key, fact?.key != key {
                var found: [[UInt8]] = []
                if let values {
                    found = try values(key, siblings)
                } else {
                    for sibling in siblings { found.append(try value(of: sibling)) }
                }
                hasher.update(key: key, values: found)
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
