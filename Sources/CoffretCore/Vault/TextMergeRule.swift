// How texts that two devices wrote at the same time become one. Invariant: a line that either wrote is in the result,
// or both texts stay.

internal import CoffretBase
package import CoffretStorage

/// Merges the texts of items by lines over what both grew from.
package struct TextMergeRule: ValueMergeRule {
    package init() {}

    package func mergesValues(under key: FactKey) -> Bool {
        key.attribute == ItemAttribute.text && ItemKind(key.entity) != nil
    }

    package func merge(base: [UInt8], _ first: [UInt8], _ second: [UInt8]) -> [UInt8]? {
        guard let base = try? FactValue.text(base), let first = try? FactValue.text(first),
            let second = try? FactValue.text(second),
            let merged = LineMerge(base: base, first: first, second: second).text,
            merged.utf8.count <= Item.textByteCountMax
        else { return nil }
        return FactValue.encode(merged)
    }
}
