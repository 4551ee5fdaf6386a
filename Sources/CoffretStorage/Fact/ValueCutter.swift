// Cuts long values into pieces. The one thing to keep true: where a piece ends depends on the bytes
// just before, so that an edit changes the pieces around it and no others.

package import CoffretCrypto

/// Content-defined cutting with a keyed rolling hash (a "gear" hash; Xia et al., FastCDC, 2016).
///
/// h := 2h + gear[byte] over the bytes of the piece; a piece of at least 1 KiB ends where the upper
/// twelve bits of h are zero, or at 16 KiB: 5 KiB on average. The table comes from the vault's split key, so
/// that the sizes of pieces do not show which known text a value is.
/// Spec: Spec/fact.md section 4.
package struct ValueCutter: Sendable {
    package static let pieceByteCountMin = 1 << 10
    package static let pieceByteCountMax = 16 << 10
    private static let zeroBitCount: UInt64 = 12

    private let gear: [UInt64]

    package init(key: ShortHashKey) {
        gear = (0...255).map { key.hash(prefix: UInt8($0), bytes: []) }
    }

    package init(keys: VaultKeys) {
        self.init(key: keys.shortHashKey(.valuePiece, treeGeneration: FactTrees.generation))
    }

    /// The ranges of the pieces, in order; together they are `value`, which is not empty.
    package func pieces(of value: [UInt8]) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        var start = 0
        while start < value.count {
            let end = endOfPiece(value, from: start)
            ranges.append(start..<end)
            start = end
        }
        return ranges
    }

    private func endOfPiece(_ value: [UInt8], from start: Int) -> Int {
        let limit = min(value.count, start + Self.pieceByteCountMax)
        guard limit - start > Self.pieceByteCountMin else { return limit }
        var hash: UInt64 = 0
        // The hash forgets a byte after 64 steps, so it may begin shortly before the least end.
        for index in (start + Self.pieceByteCountMin - 64)..<limit {
            hash = (hash << 1) &+ gear[Int(value[index])]
            let isEnd = hash >> (64 - Self.zeroBitCount) == 0
            if isEnd && index + 1 >= start + Self.pieceByteCountMin { return index + 1 }
        }
        return limit
    }
}
