// An item's title from a single value. Invariant: a value that is not text gives none.

package import CoffretStorage

package enum ItemTitle {
    /// - Returns: the title that stands under `title`, or the first line of what stands under `text`; nil for anything else.
    package static func of(_ value: [UInt8], under key: FactKey) -> String? {
        let text: String?
        if ItemTexts.isText(key) {
            text = String(validating: value, as: UTF8.self)
        } else if key.attribute == ItemAttribute.title || key.attribute == ItemAttribute.text {
            text = try? FactValue.text(value)
        } else {
            text = nil
        }
        guard let text else { return nil }
        let line = text.split(separator: "\n").first
        return line.map { String($0.trimmingPrefix { $0 == "#" || $0 == " " }) }
    }
}
