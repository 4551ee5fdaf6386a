// The words that passphrases are made of, found without reading the whole list at start-up.

/// 7,776 distinct common English words of three to nine letters (five dice, 12.9 bits each).
package enum WordList {
    /// How many words there are.
    package static let wordCount = 7_776

    /// The words in alphabetical order. Made when first used, in about a millisecond.
    package static let words: [String] = words(in: firstHalf) + words(in: secondHalf)

    private static func words(in text: StaticString) -> [String] {
        // SAFETY: a literal lives as long as the program.
        let bytes = unsafe UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        return unsafe bytes.split { $0 == 0x20 || $0 == 0x0A }.map { word in
            unsafe String(decoding: word, as: UTF8.self)
        }
    }

    /// Where a word stands in the list, in lower case; nil if it does not.
    static func position(of word: some Sequence<UInt8>) -> Int? {
        let sought = Array(word)
        var range = 0..<words.count
        while !range.isEmpty {
            let middle = (range.lowerBound + range.upperBound) / 2
            if words[middle].utf8.elementsEqual(sought) { return middle }
            if words[middle].utf8.lexicographicallyPrecedes(sought) {
                range = (middle + 1)..<range.upperBound
            } else {
                range = range.lowerBound..<middle
            }
        }
        return nil
    }
}
