// Sets of documents. Invariant: a set covers the numbers up to its table's largest, so that complement means every
// document.

/// A set of document numbers, one bit each.
struct DocumentSet: Equatable {
    private var words: [UInt64]

    init(numberMax: Int) {
        words = [UInt64](repeating: 0, count: numberMax / 64 + 1)
    }

    /// The documents whose attributes meet a condition.
    init(_ table: AttributeTable, where condition: (DocumentAttributes) -> Bool) {
        self.init(numberMax: table.numberMax)
        for (number, record) in table.records.enumerated() where record.isDocument && condition(record) {
            words[number >> 6] |= 1 << UInt64(number & 63)
        }
    }

    func contains(_ number: Int64) -> Bool {
        let index = Int(number >> 6)
        return index < words.count && words[index] & (1 << UInt64(number & 63)) != 0
    }

    mutating func insert(_ number: Int64) {
        let index = Int(number >> 6)
        if index < words.count { words[index] |= 1 << UInt64(number & 63) }
    }

    mutating func formIntersection(_ other: DocumentSet) {
        for index in words.indices { words[index] &= index < other.words.count ? other.words[index] : 0 }
    }

    mutating func formUnion(_ other: DocumentSet) {
        for index in words.indices where index < other.words.count { words[index] |= other.words[index] }
    }

    mutating func subtract(_ other: DocumentSet) {
        for index in words.indices where index < other.words.count { words[index] &= ~other.words[index] }
    }

    var isEmpty: Bool { words.allSatisfy { $0 == 0 } }

    var count: Int { words.reduce(0) { $0 + $1.nonzeroBitCount } }

    /// The numbers, ascending.
    var numbers: [Int64] {
        var numbers: [Int64] = []
        for (index, word) in words.enumerated() {
            var rest = word
            while rest != 0 {
                numbers.append(Int64(index * 64 + rest.trailingZeroBitCount))
                rest &= rest - 1
            }
        }
        return numbers
    }
}
