// Two states of a vault brought together. The one thing to keep true: the result is a function of the two
// commits and their common ancestor, so that every device that merges them makes the same tree.

internal import CoffretBase
internal import CoffretCrypto

/// One of the two states.
struct MergeSide {
    let commit: CommitSummary
    let versions: VersionVector
    let state: Snapshot
}

/// The merge of protocol 11 over whole trees, with texts put together by a rule.
///
/// No new dots: a value that is put together stands under the dots of the values that it came from, with the
/// same bytes under each, so that it is one value without conflict, and the next write supersedes it.
struct StateMerge {
    /// With the lower name: what a merge commit's changes are against.
    let left: MergeSide
    let right: MergeSide
    let rule: any ValueMergeRule
    let keys: VaultKeys
    let cutter: ValueCutter
    let store: NodeStore
    let editor: TreeEditor
    /// The state of the common ancestor; nil if there is none here. Asked for only if a text needs it.
    let loadBase: () throws(StorageError) -> Snapshot?

    /// What a merge came to.
    struct Outcome {
        /// Against the state on the left, ascending.
        var replacements: [Replacement] = []
        /// Contents of blobs that values on the way have and that may not be stored.
        var contents: [BlobName: (type: BlobType, content: [UInt8])] = [:]
        let root: TreeNode
    }

    func run() throws(StorageError) -> Outcome {
        var difference = TreeDifference(old: try left.state.root(), new: try right.state.root(), store: store)
        var texts = TextMerge(merge: self)
        var replacements: [Replacement] = []
        var contents: [BlobName: (type: BlobType, content: [UInt8])] = [:]
        while let entry = try difference.next() {
            var merged = FactMerge.merge(
                FactMerge.Side(facts: entry.oldFacts, versions: left.versions),
                FactMerge.Side(facts: entry.newFacts, versions: right.versions))
            if rule.mergesValues(under: entry.key) {
                merged = try texts.merge(entry, dots: merged.map(\.dot), &contents)
            }
            guard merged != entry.oldFacts else { continue }
            replacements.append(Replacement(key: entry.key, facts: merged))
            for fact in merged {
                guard case .stored(let value) = fact.content, contents[value.name] == nil else { continue }
                if let content = right.state.overlay.unstored[value.name] ?? left.state.overlay.unstored[value.name] {
                    contents[value.name] = (.value, content)
                }
            }
        }
        let root = try editor.apply(replacements, to: left.state.root())
        return Outcome(replacements: replacements, contents: contents, root: root)
    }
}

/// Puts texts together.
private struct TextMerge {
    let merge: StateMerge
    private var base: Snapshot?
    private var isBaseLoaded = false

    init(merge: StateMerge) { self.merge = merge }

    /// What stands under a key whose values a rule merges.
    ///
    /// - Parameter dots: those that stay, ascending.
    mutating func merge(
        _ entry: FactDifference, dots: [Dot], _ contents: inout [BlobName: (type: BlobType, content: [UInt8])]
    ) throws(StorageError) -> [Fact] {
        let (left, right) = (entry.oldFacts, entry.newFacts)
        let leftDots = left.map(\.dot)
        let rightDots = right.map(\.dot)
        if leftDots != rightDots {
            // One side has seen and answered all that the other has.
            if dots == leftDots { return left }
            if dots == rightDots { return right }
        }
        if let first = try value(left, in: merge.left.state), let second = try value(right, in: merge.right.state) {
            var result = first == second ? first : nil
            if result == nil, let base = try baseValue(entry.key) {
                result = merge.rule.merge(base: base, first, second)
            }
            if let result, result.count <= FactLimits.valueByteCountMax {
                let content = try store(result, of: entry, dots: dots, &contents)
                return dots.map { Fact(key: entry.key, content: content, dot: $0) }
            }
        }
        return try keepBoth(left, right, dots: dots)
    }

    /// The one value that facts have; nil if there is none or they differ.
    private func value(_ facts: [Fact], in state: Snapshot) throws(StorageError) -> [UInt8]? {
        guard let first = facts.first else { return nil }
        if facts.allSatisfy({ $0.content == first.content }) { return try state.value(of: first) }
        let value = try state.value(of: first)
        for fact in facts.dropFirst() where try state.value(of: fact) != value { return nil }
        return value
    }

    private mutating func baseValue(_ key: FactKey) throws(StorageError) -> [UInt8]? {
        if !isBaseLoaded {
            base = try merge.loadBase()
            isBaseLoaded = true
        }
        guard let base else { return nil }
        return try value(base.facts(under: key), in: base)
    }

    /// All facts that stay. Where one dot has two values, both came from merges and stand under other dots too,
    /// which only one side has; where they do not, each gets a dot of its own.
    private func keepBoth(_ left: [Fact], _ right: [Fact], dots: [Dot]) throws(StorageError) -> [Fact] {
        var facts: [Fact] = []
        for dot in dots {
            let mine = left.first { $0.dot == dot }
            let theirs = right.first { $0.dot == dot }
            guard let mine, let theirs else {
                if let fact = mine ?? theirs { facts.append(fact) }
                continue
            }
            let isMine = try merge.left.state.value(of: mine).lexicographicallyPrecedes(
                merge.right.state.value(of: theirs))
            // Of two, the lower value under the lowest dot and the greater one under all others.
            facts.append(isMine == (dot == dots.first) ? mine : theirs)
        }
        return facts
    }

    /// The content of a fact with a value that this merge made, the same on every device.
    private func store(
        _ value: [UInt8], of entry: FactDifference, dots: [Dot],
        _ contents: inout [BlobName: (type: BlobType, content: [UInt8])]
    ) throws(StorageError) -> FactContent {
        if value.count <= FactLimits.inlineValueByteCountMax { return .inline(value) }
        // One side's value may be the result as it is.
        for (facts, state) in [(entry.oldFacts, merge.left.state), (entry.newFacts, merge.right.state)] {
            for fact in facts where fact.content.byteCount == value.count {
                if try state.value(of: fact) == value { return fact.content }
            }
        }
        var subject = entry.key.bytes
        for dot in dots { subject += dot.instance.bytes + dot.sequence.bigEndianBytes }
        let salt = merge.keys.mergedValueSalt(subject)
        func add(_ type: BlobType, _ content: [UInt8]) -> BlobName {
            let name = BlobName.derive(type: type, content: content.span)
            contents[name] = (type, content)
            return name
        }
        if value.count <= FactLimits.wholeValueByteCountMax {
            let name = add(.value, ValueCodec.encode(salt: salt, bytes: value[...]))
            return .stored(StoredValue(name: name, byteCount: value.count))
        }
        let pieces = merge.cutter.pieces(of: value).map { range in
            ValuePiece(name: add(.value, ValueCodec.encode(salt: salt, bytes: value[range])), byteCount: range.count)
        }
        let name = add(.valueList, ValueCodec.encodeList(salt: salt, pieces))
        return .stored(StoredValue(name: name, byteCount: value.count))
    }
}
