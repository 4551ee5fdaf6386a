// Who wrote a fact. The one thing to keep true: a dot belongs to one entry for ever, so that "was this seen" needs no clock.

package import CoffretBase

/// The entry that wrote a fact: the writing instance and the entry's number in its log (Spec/history.md section 2).
package struct Dot: Hashable, Sendable, Comparable, CustomStringConvertible {
    package let instance: UniqueID
    package let sequence: UInt64

    package init(instance: UniqueID, sequence: UInt64) {
        self.instance = instance
        self.sequence = sequence
    }

    package var description: String { "\(instance.hex):\(sequence)" }

    /// The order in which siblings are stored.
    package static func < (left: Dot, right: Dot) -> Bool {
        left.instance != right.instance ? left.instance < right.instance : left.sequence < right.sequence
    }
}
