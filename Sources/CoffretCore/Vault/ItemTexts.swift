// Which values of items are texts. Invariant: it is the same for all programs that open a vault: such values are kept as
// plain UTF-8, compressed, and merged by lines when they are read.

internal import CoffretHistory
package import CoffretStorage

/// Keys whose values are texts (Spec/history.md section 5, T1).
package enum ItemTexts {
    package static func isText(_ key: FactKey) -> Bool {
        key.attribute == ItemAttribute.text && ItemKind(key.entity) != nil
    }

    /// Two edits of one text, put together by lines; nil if they contradict each other.
    package static func merged(_ first: String, _ second: String, over base: String) -> String? {
        TextMerge.merged(Array(first.utf8), Array(second.utf8), over: Array(base.utf8))
            .map { String(decoding: $0, as: UTF8.self) }
    }
}
