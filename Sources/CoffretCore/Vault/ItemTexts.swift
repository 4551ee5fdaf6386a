// Which values of items are texts. Invariant: it is the same for all programs that open a vault: such values are kept as
// plain UTF-8, compressed, and merged by lines when they are read.

package import CoffretStorage

/// Keys whose values are texts (Spec/history.md section 5, T1).
package enum ItemTexts {
    package static func isText(_ key: FactKey) -> Bool {
        key.attribute == ItemAttribute.text && ItemKind(key.entity) != nil
    }
}
