// What a text key shows, and what an edit of it replaces: T2 to T7 on small histories of versions.

import CoffretBase
import CoffretStorage
import CoffretTestSupport
import Testing

@testable import CoffretHistory

@Suite("Shown texts")
struct TextMergeTests {
    /// Versions of one key, by dot.
    private struct History {
        let instances = (1...9).map { n in UniqueID(bytes: [UInt8](repeating: UInt8(n), count: 16)) }.compactMap(\.self)
        var versions: [Dot: TextVersion] = [:]
        var texts: [Dot: String] = [:]
        var malformed: Set<Dot> = []

        mutating func write(
            _ instance: Int, _ number: UInt64, height: UInt64, _ text: String?, over: [Dot] = []
        ) -> Dot {
            let dot = Dot(instances[instance], number)
            versions[dot] = TextVersion(
                rank: EntryRank(height: height, dot: dot), replaces: over, isRetraction: text == nil)
            texts[dot] = text
            return dot
        }

        func show(_ current: [Dot]) throws -> ShownText {
            let merge = TextMerge(
                version: { versions[$0] },
                value: { (dot) throws(HistoryError) in
                    guard let text = texts[dot], !malformed.contains(dot) else {
                        throw HistoryError(.valueMalformed, place: "\(dot)")
                    }
                    return Array(text.utf8)
                })
            return try merge.show(current.compactMap { versions[$0] })
        }
    }

    private func text(_ shown: ShownText) -> String? { shown.text.map { String(decoding: $0, as: UTF8.self) } }

    @Test("the example of the page: two edits of one text are shown together, and an edit replaces both")
    func example() throws {
        var history = History()
        let a2 = history.write(0, 2, height: 2, "x\n")
        let b1 = history.write(1, 1, height: 3, "x\nb\n", over: [a2])
        let a3 = history.write(0, 3, height: 3, "a\nx\n", over: [a2])
        for order in [[a3, b1], [b1, a3]] {
            let shown = try history.show(order)
            #expect(text(shown) == "a\nx\nb\n")
            #expect(shown.hiddenCount == 0 && shown.replaces == [a3, b1].sorted())
        }
        #expect(text(try history.show([a2])) == "x\n")
    }

    @Test("equal values are no conflict, and all of them are replaced")
    func equalValues() throws {
        var history = History()
        let a = history.write(0, 1, height: 1, "same")
        let b = history.write(1, 1, height: 1, "same")
        let shown = try history.show([b, a])
        #expect(text(shown) == "same" && shown.hiddenCount == 0 && shown.replaces == [a, b])
    }

    @Test("without a common version, or with a contradiction, the greatest is shown and replaced with its equals")
    func conflicts() throws {
        var history = History()
        let base = history.write(0, 1, height: 1, "x\n")
        let a = history.write(0, 2, height: 2, "a\n", over: [base])
        let b = history.write(1, 1, height: 5, "b\n", over: [base])
        let c = history.write(2, 1, height: 4, "b\n", over: [base])
        let shown = try history.show([a, b, c])
        #expect(text(shown) == "b\n" && shown.hiddenCount == 1 && shown.replaces == [b, c])
        let alone = history.write(3, 1, height: 9, "q\n")
        #expect(text(try history.show([a, alone])) == "q\n")
        #expect(try history.show([a, alone]).hiddenCount == 1)
    }

    @Test("the nearest common version is the base, through versions and retractions; a retraction is none itself")
    func mergeBase() throws {
        var history = History()
        let first = history.write(0, 1, height: 1, "1\n")
        let second = history.write(0, 2, height: 2, "1\n2\n", over: [first])
        let a = history.write(0, 3, height: 3, "a\n1\n2\n", over: [second])
        let b = history.write(1, 1, height: 3, "1\n2\nb\n", over: [second])
        func base(_ dots: [Dot]) -> Dot? {
            TextMerge.base(of: dots.compactMap { history.versions[$0] }) { history.versions[$0] }?.dot
        }
        #expect(base([a, b]) == second)
        // One of the current ones may be an ancestor of the others.
        #expect(base([second, b]) == second)
        let gone = history.write(0, 4, height: 4, nil, over: [second])
        let c = history.write(2, 1, height: 5, "c\n", over: [gone])
        let d = history.write(3, 1, height: 6, "d\n", over: [gone])
        #expect(base([c, d]) == second)
        // Several: the greatest by height, then instance, then number.
        let e = history.write(4, 1, height: 2, "1\n3\n", over: [first])
        let f = history.write(5, 1, height: 7, "f\n", over: [second, e])
        let g = history.write(6, 1, height: 7, "g\n", over: [second, e])
        #expect(base([f, g]) == e)
        // A version below the base is unknown, and so are all before it.
        history.versions[second] = nil
        #expect(base([a, b]) == nil)
        #expect(try history.show([a, b]).hiddenCount == 1)
    }

    @Test("a cycle of versions, which a bad writer can state, ends")
    func cycle() throws {
        var history = History()
        let (a, b) = (Dot(history.instances[0], 1), Dot(history.instances[1], 1))
        _ = history.write(0, 1, height: 1, "a\n", over: [b, a])
        _ = history.write(1, 1, height: 2, "b\n", over: [a])
        #expect(text(try history.show([a, b])) != nil)
    }

    @Test("beyond its bounds nothing is merged")
    func bounds() throws {
        func hidden(_ count: Int, _ line: String, lineCount: Int) throws -> Int {
            var history = History()
            let body = String(repeating: line, count: lineCount)
            let base = history.write(8, 1, height: 1, body)
            // Each side adds a line at a place of its own.
            let dots = (0..<count).map { index in
                var text = Array(body.utf8)
                text.insert(contentsOf: Array("\(index)\n".utf8), at: line.utf8.count * (index * 2))
                return history.write(
                    index % 8, UInt64(index + 2), height: 2, String(decoding: text, as: UTF8.self), over: [base])
            }
            return try history.show(dots).hiddenCount
        }
        #expect(try hidden(8, "l\n", lineCount: 20) == 0)
        #expect(try hidden(9, "l\n", lineCount: 20) == 8)
        let long = String(repeating: "w", count: 1_023) + "\n"
        #expect(try hidden(2, long, lineCount: 1_023) == 0)
        #expect(try hidden(2, long, lineCount: 1_024) == 1)
        #expect(try hidden(5, long, lineCount: 1_000) == 4)
    }

    @Test("a value that is malformed is in conflict with the others, and nothing else fails")
    func malformedValue() throws {
        var history = History()
        let base = history.write(0, 1, height: 1, "x\n")
        let a = history.write(0, 2, height: 2, "a\nx\n", over: [base])
        let b = history.write(1, 1, height: 3, "x\nb\n", over: [base])
        history.malformed = [a]
        #expect(text(try history.show([a, b])) == "x\nb\n")
        #expect(try history.show([a, b]).hiddenCount == 1)
        history.malformed = [b]
        #expect(try history.show([a, b]).text == nil)
        history.malformed = [base]
        #expect(try history.show([a, b]).hiddenCount == 1)
    }
}
