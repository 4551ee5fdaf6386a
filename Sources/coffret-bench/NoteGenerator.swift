// Notes for measurements: any number, the same on every machine. Invariant: a seed and a count say everything, so that
// figures of two runs are figures of the same notes.

/// Makes notes whose words are as unevenly frequent, and whose lengths as different, as in real ones.
///
/// Words: 30,000 made of syllables, the n-th with a frequency of 1 / (n + 2.7)^1.05 (Zipf and Mandelbrot).
/// Titles have two to five words, bodies a log-normal number around 66, as the notes of a person do.
struct NoteGenerator {
    struct Note {
        let title: String
        let body: String
        let tag: String
    }

    private static let wordCount = 30_000
    private var state: UInt64
    private let words: [String]
    /// Sum of the frequencies up to each word.
    private let cumulative: [Double]

    init(seed: UInt64) {
        var generator = SplitMix(state: seed)
        var words: [String] = []
        var seen: Set<String> = []
        let consonants = [
            "b", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "w", "z", "br", "st", "tr",
        ]
        let vowels = ["a", "e", "i", "o", "u", "ai", "or", "en"]
        while words.count < Self.wordCount {
            var word = ""
            // Frequent words are short.
            let syllableMax = words.count < 200 ? 2 : 4
            for _ in 0..<(1 + generator.below(syllableMax)) {
                word += consonants[generator.below(consonants.count)] + vowels[generator.below(vowels.count)]
            }
            if seen.insert(word).inserted { words.append(word) }
        }
        var sum = 0.0
        cumulative = (0..<Self.wordCount).map { rank in
            sum += 1 / power(Double(rank) + 2.7, 1.05)
            return sum
        }
        self.words = words
        state = generator.state
    }

    mutating func next() -> Note {
        var generator = SplitMix(state: state)
        defer { state = generator.state }
        let title = sentence(wordCount: 2 + generator.below(4), &generator)
        let length = exponential(4.2 + 0.7 * generator.normal())
        let body = sentence(wordCount: max(5, Int(length)), &generator)
        return Note(title: title, body: body, tag: "area\(generator.below(12))/topic\(generator.below(40))")
    }

    /// Two words that stand in one and the same note, drawn as they are frequent there.
    mutating func wordPair(of note: Note) -> (String, String) {
        var generator = SplitMix(state: state)
        defer { state = generator.state }
        let words = note.body.split { !$0.isLetter }
        return (String(words[generator.below(words.count)]), String(words[generator.below(words.count)]))
    }

    mutating func index(below bound: Int) -> Int {
        var generator = SplitMix(state: state)
        defer { state = generator.state }
        return generator.below(bound)
    }

    private func sentence(wordCount: Int, _ generator: inout SplitMix) -> String {
        var text = ""
        for index in 0..<wordCount {
            if index > 0 { text += index % 17 == 16 ? ".\n" : " " }
            text += words[rank(generator.fraction() * (cumulative.last ?? 0))]
        }
        return text
    }

    /// The first word whose cumulated frequency reaches `target`.
    private func rank(_ target: Double) -> Int {
        var low = 0
        var high = cumulative.count - 1
        while low < high {
            let middle = (low + high) / 2
            if cumulative[middle] < target { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014).
private struct SplitMix {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }

    mutating func fraction() -> Double { Double(next() >> 11) / 9_007_199_254_740_992 }

    /// About normal: the sum of twelve uniform numbers.
    mutating func normal() -> Double { (0..<12).reduce(-6) { sum, _ in sum + fraction() } }
}
