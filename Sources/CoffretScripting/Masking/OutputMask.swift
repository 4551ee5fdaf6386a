// Replaces secrets in a stream of bytes. Invariant: what comes out does not depend on how the stream was cut into
// writes, and no byte of a secret leaves while the rest of it may still come (R33).

internal import CoffretBase

/// A filter for one stream. Takes bytes, gives bytes, does nothing else.
///
/// Every byte that belongs to a match is left out, and each run of overlapping matches becomes one mark. The bytes at the
/// end that a secret begins with are held back until more comes, or the end.
package struct OutputMask {
    /// The mark in the place of a secret.
    package static let mark = Array("<masked by coffret>".utf8)

    private enum Cover: UInt8 {
        /// Not part of a match.
        case none
        /// The first byte of a match, or of several that overlap.
        case begins
        /// A later byte of a match.
        case goesOn
    }

    private let automaton: FormAutomaton
    private var state = FormAutomaton.start
    /// From `head` on, the bytes that have not been decided, and what is known of each.
    private var held: [UInt8] = []
    private var covers: [Cover] = []
    private var head = 0
    /// How many bytes of the stream came before `held[0]`.
    private var droppedCount = 0
    /// The last run of overlapping matches, as places in the whole stream.
    private var lastRun = 0..<0

    package init(_ automaton: FormAutomaton) {
        self.automaton = automaton
    }

    /// Takes the next bytes, and returns what may be shown by now.
    package mutating func add(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var shown: [UInt8] = []
        for byte in bytes {
            // Where no text begins, which is almost everywhere, the byte passes at once.
            let next = automaton.step(state, byte)
            if next == FormAutomaton.start, held.isEmpty {
                shown.append(byte)
                droppedCount += 1
                state = next
                continue
            }
            held.append(byte)
            covers.append(.none)
            state = next
            let count = automaton.matchCount(state)
            if count > 0 { cover(count) }
            release(upTo: held.count - automaton.openCount(state), into: &shown)
        }
        return shown
    }

    /// The rest. A beginning of a secret that never went on is shown: it is not the secret.
    package mutating func finish() -> [UInt8] {
        var shown: [UInt8] = []
        release(upTo: held.count, into: &shown)
        state = FormAutomaton.start
        return shown
    }

    /// Marks the last `count` bytes as a match, merging it with matches that it overlaps.
    private mutating func cover(_ count: Int) {
        let end = droppedCount + held.count
        let start = end - count
        // The usual long case, a text repeated into itself, marks each byte once.
        let isOverlapping = start < lastRun.upperBound && start >= lastRun.lowerBound
        let from = isOverlapping ? lastRun.upperBound : start
        for place in from..<end {
            let index = place - droppedCount
            if place == start { if covers[index] == .none { covers[index] = .begins } } else { covers[index] = .goesOn }
        }
        lastRun = (isOverlapping ? lastRun.lowerBound : start)..<end
    }

    /// Shows what is held before an index, or its marks.
    private mutating func release(upTo end: Int, into shown: inout [UInt8]) {
        for index in head..<max(head, end) {
            switch covers[index] {
            case .none: shown.append(held[index])
            case .begins: shown += Self.mark
            case .goesOn: break
            }
            held[index] = 0
        }
        head = max(head, end)
        // Moving the rest to the front only now and then keeps long texts linear.
        guard head == held.count || head > 4096 && head > held.count / 2 else { return }
        held.removeFirst(head)
        covers.removeFirst(head)
        droppedCount += head
        head = 0
    }
}
