// What was applied, log by log. The one thing to keep true: a frontier has one mark for each instance, and numbers of one
// instance never go down.

package import CoffretStorage

/// {instance → (number, name)}: of each log the newest entry that was applied, accepted or seen.
package struct Frontier: Hashable, Sendable {
    package private(set) var marks: [InstanceID: EntryMark]

    package init(_ marks: [InstanceID: EntryMark] = [:]) { self.marks = marks }

    package var isEmpty: Bool { marks.isEmpty }
    package var count: Int { marks.count }

    package subscript(instance: InstanceID) -> EntryMark? {
        get { marks[instance] }
        set { marks[instance] = newValue }
    }

    /// The newest number of the instance; 0 if it has none here.
    package func number(of instance: InstanceID) -> EntryNumber { marks[instance]?.number ?? 0 }

    package func covers(_ dot: Dot) -> Bool { dot.number <= number(of: dot.instance) }

    /// Whether every number of `other` is covered. Names are not compared: another name under a covered number is a
    /// fork, and evidence for who looks for one (K6).
    package func covers(_ other: Frontier) -> Bool {
        other.marks.allSatisfy { $0.value.number <= number(of: $0.key) }
    }

    /// Takes the mark in, if it is newer than what stands here of its instance.
    package mutating func advance(_ instance: InstanceID, to mark: EntryMark) {
        if mark.number > number(of: instance) { marks[instance] = mark }
    }

    /// Takes in all marks that are newer.
    package mutating func merge(_ other: Frontier) {
        for (instance, mark) in other.marks { advance(instance, to: mark) }
    }

    /// What stands here and not, or differently, in `other`.
    package func differing(from other: Frontier) -> Frontier {
        Frontier(marks.filter { other.marks[$0.key] != $0.value })
    }

    /// Ascending by instance.
    package var sorted: [(instance: InstanceID, mark: EntryMark)] {
        marks.sorted { $0.key < $1.key }.map { (instance: $0.key, mark: $0.value) }
    }
}
