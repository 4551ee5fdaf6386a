// Many chains, asked for together. Invariant: answers have the chains of the question in its order, each once, and an answer
// that brings nothing new ends the asking.

/// A chain that is asked for, and what came of it. Nothing of it is verified.
package struct AskedChain: Sendable {
    /// Links and branches of one chain in one question and its answers, in bytes.
    fileprivate static let byteCountMax = 8 << 20

    package let kind: UInt8
    package let id: [UInt8]
    /// How many links of it are known. The newest of them is asked for again, so that a chain that was put back is noticed.
    package let knownCount: Int
    /// nil: a chain of a kind whose links are never replaced.
    private let knownBranchCount: Int?
    /// The number of the first of the links that came.
    package private(set) var start: Int
    package private(set) var links: [[UInt8]] = []
    package private(set) var branches: [ChainUpdates.Branch] = []
    private var byteCount = 0
    /// Nothing of it came in the last answer, so nothing more is to come.
    fileprivate var isComplete = false

    /// - Parameter branches: how many branches of it are known; nil: nothing ever replaces a link of it.
    package init(kind: UInt8, id: [UInt8], known: Int = 0, branches: Int? = nil) {
        (self.kind, self.id, knownCount, knownBranchCount) = (kind, id, known, branches)
        start = max(known - 1, 0)
    }

    private var end: Int { start + links.count }

    fileprivate var item: ChainUpdateRequest.Item {
        ChainUpdateRequest.Item(
            kind: kind, chainID: id, linkCount: UInt64(end),
            branchCount: UInt64((knownBranchCount ?? 0) + branches.count))
    }

    /// Takes what came of the chain.
    fileprivate mutating func take(_ chain: ChainUpdates.Chain) throws(AskedChains.Unfitting) {
        guard let first = Int(exactly: chain.start), first <= end, !chain.links.isEmpty || !chain.branches.isEmpty,
            knownBranchCount != nil || chain.branches.isEmpty
        else { throw AskedChains.Unfitting() }
        // What was replaced goes; only a new branch says that something was.
        guard first == end || !chain.branches.isEmpty else { throw AskedChains.Unfitting() }
        if first < start {
            start = first
            links = []
        } else {
            links.removeLast(end - first)
        }
        links += chain.links
        branches += chain.branches
        // Also what has no bytes counts, so that an answer of nothing is not asked for without end.
        for list in [chain.links] + chain.branches.map(\.links) { byteCount += list.reduce(64) { $0 + $1.count + 64 } }
        guard byteCount <= Self.byteCountMax, branches.allSatisfy({ $0.start <= UInt64(Int32.max) }) else {
            throw AskedChains.Unfitting()
        }
    }
}

/// A state machine: it gives requests and takes answers, and does no I/O.
package struct AskedChains: Sendable {
    /// The answer is none to the question.
    package struct Unfitting: Error {}

    private var asked: [AskedChain] = []
    private var waiting: [AskedChain]

    package init(_ chains: [AskedChain] = []) {
        waiting = chains
        askNext()
    }

    /// Asks for these, too.
    package mutating func add(_ chains: [AskedChain]) {
        waiting += chains
        if asked.isEmpty { askNext() }
    }

    private mutating func askNext() {
        asked = Array(waiting.prefix(ServerLimits.chainCountMaxPerRequest))
        waiting.removeFirst(asked.count)
    }

    /// The next question, for `POST /v1/chains/updates`; nil: all is here.
    package var request: ChainUpdateRequest? {
        asked.isEmpty ? nil : ChainUpdateRequest(asked.filter { !$0.isComplete }.map(\.item))
    }

    /// Takes the answer to `request`.
    ///
    /// - Returns: the chains that are here with it, in the order of the question: none while more of one is to come.
    package mutating func take(_ answer: ChainUpdates) throws(Unfitting) -> [AskedChain] {
        var rest = asked.indices.filter { !asked[$0].isComplete }[...]
        for chain in answer.chains {
            while let index = rest.first, asked[index].id != chain.chainID || asked[index].kind != chain.kind {
                asked[index].isComplete = true
                rest = rest.dropFirst()
            }
            guard let index = rest.popFirst() else { throw Unfitting() }
            try asked[index].take(chain)
        }
        if answer.hasMore {
            // An answer without anything would be asked for without end.
            guard !answer.chains.isEmpty else { throw Unfitting() }
            return []
        }
        let whole = asked
        askNext()
        return whole
    }
}
