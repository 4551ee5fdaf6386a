// An item's title from a single value. Invariant: a value that is not text gives none.

package import CoffretStorage

package enum ItemTitle {
    /// - Returns: the title that stands under `title`, or the first line of what stands under `text`; nil for anything else.
    package static func of(_ value: [UInt8], under attribute: Attribute) -> String? {
        guard attribute == ItemAttribute.title || attribute == ItemAttribute.text,
            let text = try? FactValue.text(value)
        else { return nil }
        let line = text.split(separator: "\n").first
        return line.map { String($0.trimmingPrefix { $0 == "#" || $0 == " " }) }
    }
}
