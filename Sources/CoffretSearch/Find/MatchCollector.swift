// Ranking. Invariant: every matching document is looked at once, and what is kept is bounded by how many are asked
// for.

internal import CoffretSQLite
internal import Glibc

/// A document and how well it fits.
struct RankedDocument {
    let number: Int64
    let score: Double
}

/// Collects the best documents of one search, and counts all.
///
/// BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009) over weighted columns:
/// a word's hits count by where they stand, and a document's length is that of all its text. FTS5's
/// own `bm25` gives the same order up to its estimate of rare words, at five times the cost: it sorts
/// all hits of a row, looks its length up in a table and counts every row that holds a word.
///
/// Words that were asked for one after the other count more where they stand so, or nearly; a title that is part of
/// what was asked for counts more.
final class MatchCollector: FullTextVisitor {
    /// Weights of body, fields, tags, title.
    static let columnWeights = [1.0, 2.5, 4.0, 8.0]
    /// The first words of a text say what it is about: hits among them count twice.
    private static let leadWordCount = 30
    private static let leadWeight = 2.0
    /// Two words stand together if so many words or fewer lie between their beginnings.
    private static let nearWordCount = 3
    private static let togetherShare = 0.5
    private static let saturation = 1.2
    private static let lengthShare = 0.75
    /// Rows after which a word's frequency is estimated.
    private static let countedRowMax: Int64 = 2_000

    private let attributes: AttributeTable
    private let accepted: DocumentSet
    private let phrases: [MatchExpression.Phrase]
    private let keptCountMax: Int
    /// Documents whose title is what was searched for, and nothing more, or a part of it: which part, from 0 to 1.
    private let titled: [Int64: Double]
    private var phraseWeights: [(phrase: Int, term: Int, weight: Double)] = []
    /// Where each term stands in the row at hand: column ‖ word number.
    private var places: [[Int]]
    private static let placeCountMax = 32
    private var isPrepared = false
    private var kept: [RankedDocument] = []
    /// The worst that is kept, once there are enough.
    private var worst: RankedDocument?
    private var scoreMax = 0.0
    /// How many documents matched and were accepted.
    private(set) var totalCount = 0
    /// The documents that were counted; only if asked for.
    private(set) var seen: DocumentSet?

    init(
        attributes: AttributeTable, accepted: DocumentSet, expression: MatchExpression, keptCountMax: Int,
        titled: [Int64: Double] = [:], remembersSeen: Bool = false
    ) {
        self.attributes = attributes
        self.accepted = accepted
        phrases = expression.phrases
        places = Array(repeating: [], count: expression.termCount)
        self.keptCountMax = keptCountMax
        self.titled = titled
        if remembersSeen { seen = DocumentSet(numberMax: attributes.numberMax) }
    }

    func visit(_ row: borrowing FullTextRow) -> Bool {
        guard let number = attributes.document(ofText: row.rowID), accepted.contains(number) else { return false }
        totalCount += 1
        seen?.insert(number)
        if keptCountMax > 0 { rank(number, row) }
        return false
    }

    private func rank(_ number: Int64, _ row: borrowing FullTextRow) {
        if !isPrepared { prepare(row) }
        let length = Double(attributes[number].lengthUnits) / attributes.lengthUnitsMean
        let norm = Self.saturation * (1 - Self.lengthShare + Self.lengthShare * length)
        var score = 0.0
        for term in places.indices { places[term].removeAll(keepingCapacity: true) }
        for (phrase, term, weight) in phraseWeights {
            var hits = 0.0
            row.forEachPlace(ofPhrase: phrase) { column, offset in
                let isLead = column == SearchColumn.body.rawValue && offset < Self.leadWordCount
                hits += isLead ? Self.leadWeight : Self.columnWeights[column]
                if places[term].count < Self.placeCountMax { places[term].append(column << 32 | offset) }
            }
            score += weight * hits * (Self.saturation + 1) / (hits + norm)
        }
        if places.count > 1 { score += nearness * Self.togetherShare * scoreMax / Double(places.count) }
        if !titled.isEmpty, let part = titled[number] { score += part * scoreMax }
        let document = RankedDocument(number: number, score: score)
        if let worst, !precedes(document, worst) { return }
        kept.append(document)
        // Twice as many as needed, then cut: cheaper than keeping order all the time.
        if kept.count >= max(2 * keptCountMax, 64) { cut() }
    }

    /// For each word and the next one: 1 if it follows at once somewhere, less if it follows soon.
    private var nearness: Double {
        var sum = 0.0
        for term in places.indices.dropLast() {
            var best = Self.nearWordCount + 1
            for place in places[term] {
                for other in places[term + 1] where other > place && other - place < best { best = other - place }
            }
            if best <= Self.nearWordCount { sum += 1 / Double(best) }
        }
        return sum
    }

    private func prepare(_ row: borrowing FullTextRow) {
        isPrepared = true
        let rowCount = Double(attributes.documentCount)
        var termMax = [Double](repeating: 0, count: places.count)
        let ranked = phrases.indices.filter { phrases[$0].term != nil && $0 < row.phraseCount }
        // The words that a term goes on to count together, as if they were one.
        var endings = [Double](repeating: 0, count: places.count)
        var holding = [Double](repeating: 0, count: phrases.count)
        for phrase in ranked {
            guard let term = phrases[phrase].term else { continue }
            holding[phrase] = self.holding(phrase, of: ranked.count, counted: endings[term], row)
            if phrases[phrase].isEnding { endings[term] += holding[phrase] }
        }
        for phrase in ranked {
            guard let term = phrases[phrase].term else { continue }
            let holding = min(rowCount, phrases[phrase].isEnding ? endings[term] : holding[phrase])
            let weight = log(1 + (rowCount - holding + 0.5) / (holding + 0.5)) * phrases[phrase].worth
            phraseWeights.append((phrase, term, weight))
            termMax[term] = max(termMax[term], weight)
        }
        scoreMax = termMax.reduce(0, +) * (Self.saturation + 1)
    }

    /// About how many rows hold a phrase, one of so many, beside those counted for the like of it.
    private func holding(_ phrase: Int, of count: Int, counted: Double, _ row: borrowing FullTextRow) -> Double {
        // Alone it has nothing to be weighed against.
        if count == 1 { return 0 }
        // Counting the rows of a beginning costs as much as finding them; one of many words is common.
        if phrases[phrase].isPrefix { return Double(Self.countedRowMax) }
        let left = Self.countedRowMax - Int64(counted)
        guard left > 0 else { return 0 }
        let attributes = attributes
        return row.estimatedRowCount(ofPhrase: phrase, countMax: left, rowIDMax: Int64(attributes.numberMax)) {
            attributes.document(ofText: $0) != nil
        }
    }

    private func cut() {
        kept.sort(by: precedes)
        kept.removeLast(max(0, kept.count - keptCountMax))
        if kept.count == keptCountMax { worst = kept.last }
    }

    /// Best first; among equals the one that was changed last.
    private func precedes(_ left: RankedDocument, _ right: RankedDocument) -> Bool {
        if left.score != right.score { return left.score > right.score }
        let times = (attributes[left.number].modified, attributes[right.number].modified)
        return times.0 != times.1 ? times.0 > times.1 : left.number > right.number
    }

    /// The best documents, best first.
    func best() -> [RankedDocument] {
        cut()
        return kept
    }
}

/// Collects the set of documents that match.
final class SetCollector: FullTextVisitor {
    private let attributes: AttributeTable
    private(set) var documents: DocumentSet

    init(attributes: AttributeTable) {
        self.attributes = attributes
        documents = DocumentSet(numberMax: attributes.numberMax)
    }

    func visit(_ row: borrowing FullTextRow) -> Bool {
        if let number = attributes.document(ofText: row.rowID) { documents.insert(number) }
        return false
    }
}

/// Finds out whether any document matches.
final class MatchDetector: FullTextVisitor {
    private let attributes: AttributeTable
    private(set) var isFound = false

    init(attributes: AttributeTable) { self.attributes = attributes }

    func visit(_ row: borrowing FullTextRow) -> Bool {
        isFound = attributes.document(ofText: row.rowID) != nil
        return isFound
    }
}
