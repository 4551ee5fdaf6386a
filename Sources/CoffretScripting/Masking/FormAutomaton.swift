// Finds many texts in one pass (Aho and Corasick, 1975). Invariant: the state after a byte knows the longest end of
// the input that some text begins with, so nothing that may still become a match is let go.

internal import CoffretBase

/// The texts to find, as a tree with the links that a mismatch follows. Zeroes its copy of them.
package final class FormAutomaton {
    package typealias State = Int

    private struct Node {
        /// The first child and the next node with the same parent; 0 for none, as the root is nobody's child.
        var child: Int32 = 0
        var sibling: Int32 = 0
        /// The node for the longest proper end of this node's text that is in the tree.
        var fallback: Int32 = 0
        var depth: Int32 = 0
        /// The length of the longest text that ends here, itself or an end of it; 0 for none.
        var matchCount: Int32 = 0
    }

    /// The state before any byte.
    package static let start: State = 0

    private var nodes: [Node] = [Node()]
    /// The byte that leads to each node; apart, so that it can be zeroed.
    private var bytes: [UInt8] = [0]
    /// The children of the root by byte: most bytes of most output are looked up here.
    private var first: [Int32] = Array(repeating: 0, count: 256)

    package init(_ texts: [[UInt8]]) {
        for text in texts where !text.isEmpty { add(text) }
        link()
    }

    deinit {
        bytes.zero()
    }

    /// Whether there is nothing to find.
    package var isEmpty: Bool { nodes.count == 1 }

    private func child(of state: State, _ byte: UInt8) -> State {
        if state == Self.start { return State(first[Int(byte)]) }
        var next = nodes[state].child
        while next != 0, bytes[Int(next)] != byte { next = nodes[Int(next)].sibling }
        return State(next)
    }

    private func add(_ text: [UInt8]) {
        var state = Self.start
        for byte in text {
            var next = child(of: state, byte)
            if next == 0 {
                next = nodes.count
                nodes.append(Node(sibling: nodes[state].child, depth: nodes[state].depth + 1))
                bytes.append(byte)
                nodes[state].child = Int32(next)
                if state == Self.start { first[Int(byte)] = Int32(next) }
            }
            state = next
        }
        nodes[state].matchCount = Int32(text.count)
    }

    /// Sets the fallbacks, parents before children.
    private func link() {
        var queue: [State] = [Self.start]
        var index = 0
        while index < queue.count {
            let state = queue[index]
            index += 1
            var next = State(nodes[state].child)
            while next != 0 {
                if state != Self.start { nodes[next].fallback = Int32(step(State(nodes[state].fallback), bytes[next])) }
                if nodes[next].matchCount == 0 {
                    nodes[next].matchCount = nodes[Int(nodes[next].fallback)].matchCount
                }
                queue.append(next)
                next = State(nodes[next].sibling)
            }
        }
    }

    /// The state after one more byte.
    ///
    /// - Complexity: amortised constant, times the number of texts that part at one place.
    package func step(_ state: State, _ byte: UInt8) -> State {
        var state = state
        while true {
            let next = child(of: state, byte)
            if next != 0 { return next }
            if state == Self.start { return Self.start }
            state = State(nodes[state].fallback)
        }
    }

    /// How many of the last bytes a text begins with that goes on behind them.
    package func openCount(_ state: State) -> Int {
        var state = state
        // Where a text ends and no other goes on, a shorter end of the input may still be the beginning of one.
        while nodes[state].child == 0, state != Self.start { state = State(nodes[state].fallback) }
        return Int(nodes[state].depth)
    }

    /// The length of the longest text that ends with the last byte; 0 for none.
    package func matchCount(_ state: State) -> Int { Int(nodes[state].matchCount) }
}
