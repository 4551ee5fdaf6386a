// Ranking. The one thing to keep true: every matching document is looked at once, and what is kept is
// bounded by how many are asked for.

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
final class MatchCollector: FullTextVisitor {
    /// Weights of title, tags, fields, body.
    static let columnWeights = [8.0, 4.0, 2.0, 1.0]
    private static let saturation = 1.2
    private static let lengthShare = 0.75
    /// Rows after which a word's frequency is estimated.
    private static let countedRowMax: Int64 = 2_000

    private let attributes: AttributeTable
    private let accepted: DocumentSet
    private let isPositive: [Bool]
    private let keptCountMax: Int
    /// Documents whose title is what was searched for, and nothing more: they come first.
    private let titled: Set<Int64>
    private var phraseWeights: [(phrase: Int, inverseFrequency: Double)] = []
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
        attributes: AttributeTable, accepted: DocumentSet, isPositive: [Bool], keptCountMax: Int,
        titled: Set<Int64> = [], remembersSeen: Bool = false
    ) {
        self.attributes = attributes
        self.accepted = accepted
        self.isPositive = isPositive
        self.keptCountMax = keptCountMax
        self.titled = titled
        if remembersSeen { seen = DocumentSet(numberMax: attributes.numberMax) }
    }

    func visit(_ row: borrowing FullTextRow) {
        let number = row.rowID
        guard accepted.contains(number) else { return }
        totalCount += 1
        seen?.insert(number)
        guard keptCountMax > 0 else { return }
        if !isPrepared { prepare(row) }
        let length = Double(attributes[number].lengthUnits) / attributes.lengthUnitsMean
        let norm = Self.saturation * (1 - Self.lengthShare + Self.lengthShare * length)
        var score = 0.0
        for (phrase, inverseFrequency) in phraseWeights {
            let hits = row.weightedHitCount(ofPhrase: phrase, columnWeights: Self.columnWeights)
            score += inverseFrequency * hits * (Self.saturation + 1) / (hits + norm)
        }
        if !titled.isEmpty, titled.contains(number) { score += scoreMax }
        let document = RankedDocument(number: number, score: score)
        if let worst, !precedes(document, worst) { return }
        kept.append(document)
        // Twice as many as needed, then cut: cheaper than keeping order all the time.
        if kept.count >= max(2 * keptCountMax, 64) { cut() }
    }

    private func prepare(_ row: borrowing FullTextRow) {
        isPrepared = true
        let rowCount = Double(row.tableRowCount)
        for phrase in 0..<min(row.phraseCount, isPositive.count) where isPositive[phrase] {
            let holding = row.estimatedRowCount(
                ofPhrase: phrase, countMax: Self.countedRowMax, rowIDMax: Int64(attributes.numberMax))
            let others = max(0, rowCount - holding)
            let inverseFrequency = log(1 + (others + 0.5) / (holding + 0.5))
            phraseWeights.append((phrase, inverseFrequency))
            scoreMax += inverseFrequency * (Self.saturation + 1)
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
    private(set) var documents: DocumentSet

    init(numberMax: Int) {
        documents = DocumentSet(numberMax: numberMax)
    }

    func visit(_ row: borrowing FullTextRow) {
        documents.insert(row.rowID)
    }
}
