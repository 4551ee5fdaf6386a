// The shape of a tree, for benchmarks and `fsck`'s details.

/// Counts and sizes of the nodes of one tree.
package struct TreeStatistics: Sendable {
    package fileprivate(set) var leafCount = 0
    package fileprivate(set) var innerCount = 0
    package fileprivate(set) var levelCount = 0
    package fileprivate(set) var leafByteCountMax = 0
    package fileprivate(set) var leafByteCountSum = 0
    fileprivate var leafSquareSum = 0.0

    package var leafByteCountMean: Double { Double(leafByteCountSum) / Double(max(leafCount, 1)) }
    /// Standard deviation of leaf sizes divided by their mean.
    package var leafVariation: Double {
        let mean = leafByteCountMean
        let variance = leafSquareSum / Double(max(leafCount, 1)) - mean * mean
        return mean > 0 ? max(0, variance).squareRoot() / mean : 0
    }
}

extension Snapshot {
    /// Walks all nodes of the state's tree.
    package func treeStatistics() throws(StorageError) -> TreeStatistics {
        var statistics = TreeStatistics()
        let root = try root()
        statistics.levelCount = root.level + 1
        try add(root, to: &statistics)
        return statistics
    }

    private func add(_ node: TreeNode, to statistics: inout TreeStatistics) throws(StorageError) {
        guard case .inner(let children) = node.entries else {
            statistics.leafCount += 1
            statistics.leafByteCountSum += node.byteCount
            statistics.leafByteCountMax = max(statistics.leafByteCountMax, node.byteCount)
            statistics.leafSquareSum += Double(node.byteCount) * Double(node.byteCount)
            return
        }
        statistics.innerCount += 1
        for index in children.indices { try add(nodes.child(of: node, at: index), to: &statistics) }
    }
}
