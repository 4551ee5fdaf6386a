// Texts of several devices: the difference that is defined, the merge over it, and what a key shows. Against the vectors,
// against the definition, and against the model.

import CoffretBase
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretHistory

@Suite("Texts")
struct TextTests {
    private static func runs(_ old: [Int32], _ new: [Int32]) -> [[Int]] {
        LineDifference.runs(old, new).map {
            [$0.old.lowerBound, $0.old.upperBound, $0.new.lowerBound, $0.new.upperBound]
        }
    }

    private static func difference(_ old: String, _ new: String) -> [[Int]] {
        var table = LineTable()
        let lines = [old, new].map { table.lines(of: Array($0.utf8)) }
        return runs(lines[0], lines[1])
    }

    private static func merge(_ base: String, _ versions: [String]) -> String? {
        var table = LineTable()
        let over = table.lines(of: Array(base.utf8))
        let lines = versions.map { table.lines(of: Array($0.utf8)) }
        return LineMerge.merge(lines, over: over).map { String(decoding: table.text(of: $0), as: UTF8.self) }
    }

    @Test("differences and merges are those of the vectors")
    func vectors() throws {
        let texts = try HistoryVectors.shared.get().texts
        #expect(texts.differences.count >= 20 && texts.merges.count >= 20)
        for vector in texts.differences {
            #expect(Self.difference(vector.old, vector.new) == vector.runs, "\(vector.old) to \(vector.new)")
        }
        for vector in texts.merges {
            #expect(Self.merge(vector.base, vector.versions) == vector.merged, "\(vector.base)")
        }
    }

    /// T8 as it is written, over a table of all distances.
    private static func defined(_ old: [Int32], _ new: [Int32]) -> [[Int]] {
        let (n, m) = (old.count, new.count)
        var distance = [[Int]](repeating: [Int](repeating: 0, count: m + 1), count: n + 1)
        for i in (0...n).reversed() {
            for j in (0...m).reversed() {
                if i == n || j == m {
                    distance[i][j] = n - i + m - j
                } else if old[i] == new[j] {
                    distance[i][j] = distance[i + 1][j + 1]
                } else {
                    distance[i][j] = 1 + min(distance[i + 1][j], distance[i][j + 1])
                }
            }
        }
        var runs: [[Int]] = []
        var (i, j) = (0, 0)
        while distance[i][j] > 0 {
            if i < n, j < m, old[i] == new[j] {
                (i, j) = (i + 1, j + 1)
                continue
            }
            if runs.last.map({ $0[1] != i || $0[3] != j }) ?? true { runs.append([i, i, j, j]) }
            if j < m, distance[i][j + 1] == distance[i][j] - 1 { j += 1 } else { i += 1 }
            runs[runs.count - 1][1] = i
            runs[runs.count - 1][3] = j
        }
        return runs
    }

    @Test("the difference is the defined one, for random small texts")
    func definition() {
        forAll(count: 4_000) { generator in
            let alphabet = generator.int(in: 1...5)
            func text() -> [Int32] {
                (0..<generator.int(in: 0...generator.element(of: [3, 8, 40]))).map { _ in
                    Int32(generator.int(in: 1...alphabet))
                }
            }
            let (old, new) = (text(), text())
            try require(Self.runs(old, new) == Self.defined(old, new), "\(old) to \(new)")
        }
    }

    @Test("the difference is the defined one up to the bound, and one run beyond it")
    func bound() {
        let generator = SeededGenerator(seed: 4)
        let old = (0..<1_500).map { Int32($0 % 700) }
        for count in [0, 1, 499, 500, 501, 700] {
            var new = old
            for index in 0..<count { new[index * 2] = 10_000 + Int32(generator.int(in: 0...1_000_000)) }
            let runs = Self.runs(old, new)
            if count <= 500 {
                #expect(runs == Self.defined(old, new))
                #expect(runs.count == count)
            } else {
                #expect(runs == [[0, 2 * count - 1, 0, 2 * count - 1]])
            }
        }
        #expect(Self.runs([1, 2], [1] + [Int32](repeating: 3, count: 1_000) + [2]) == [[1, 1, 1, 1_001]])
        #expect(Self.runs([1, 2], [1] + [Int32](repeating: 3, count: 1_001) + [2]) == [[1, 1, 1, 1_002]])
        #expect(Self.runs([1, 9, 2], [1] + [Int32](repeating: 3, count: 1_001) + [2]) == [[1, 2, 1, 1_002]])
    }

    @Test("merging two sides gives the same in either order, and what one side did alone stays")
    func symmetry() {
        forAll(count: 2_000) { generator in
            func lines(_ count: ClosedRange<Int>) -> [Int32] {
                (0..<generator.int(in: count)).map { _ in Int32(generator.int(in: 1...6)) }
            }
            let base = lines(0...12)
            func edited() -> [Int32] {
                var text = base
                for _ in 0..<generator.int(in: 0...3) {
                    let start = generator.int(in: 0...text.count)
                    text.replaceSubrange(start..<min(text.count, start + generator.int(in: 0...2)), with: lines(0...2))
                }
                return text
            }
            let (first, second) = (edited(), edited())
            try require(LineMerge.merge(first, second, over: base) == LineMerge.merge(second, first, over: base))
            try require(LineMerge.merge(first, base, over: base) == first)
            try require(LineMerge.merge(first, first, over: base) == first)
        }
    }

    @Test("differences and merges are the model's", .enabled(if: Self.hasPython, "python3 is not installed"))
    func model() throws {
        let generator = SeededGenerator.fromEnvironment()
        var cases: [[String]] = []
        for _ in 0..<600 {
            let letters = generator.element(of: ["ab", "abcd", "abcdefgh"]).map { "\($0)" }
            func text(_ countMax: Int) -> String {
                let lines = (0..<generator.int(in: 0...countMax)).map { _ in generator.element(of: letters) + "\n" }
                return lines.joined() + (generator.int(in: 0...4) == 0 ? generator.element(of: letters) : "")
            }
            let size = generator.element(of: [2, 6, 20])
            cases.append((0..<generator.int(in: 2...4)).map { _ in text(size) })
        }
        let program = """
            import json, sys
            sys.path.insert(0, sys.argv[1])
            import texts
            split = lambda t: tuple(x + '\\n' for x in t.split('\\n')[:-1]) + ((t.split('\\n')[-1],) if t.split('\\n')[-1] else ())
            out = []
            for base, *versions in json.load(sys.stdin):
                merged = texts.merge_all(split(base), [split(v) for v in versions])
                runs = [list(r) for r in texts.difference(split(base), split(versions[0]))]
                out.append([runs, None if merged is None else ''.join(merged)])
            json.dump(out, sys.stdout)
            """
        let model = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Model/history").path
        let input = [UInt8](try JSONEncoder().encode(cases))
        let answer = try ProcessRunner.python(program, [model], input: input)
        try #require(answer.exitCode == 0, "\(answer.errorText)")
        let read = try #require(try JSONSerialization.jsonObject(with: Data(answer.standardOutput)) as? [[Any]])
        #expect(read.count == cases.count)
        var (merged, contradicting) = (0, 0)
        for (texts, answer) in zip(cases, read) {
            #expect(Self.difference(texts[0], texts[1]) == answer[0] as? [[Int]])
            let expected = answer[1] as? String
            if expected == nil { contradicting += 1 } else { merged += 1 }
            #expect(Self.merge(texts[0], Array(texts.dropFirst())) == expected, "\(texts)")
        }
        #expect(merged > 20 && contradicting > 20, "the cases show both")
    }

    static let hasPython = (try? ProcessRunner.python("pass").exitCode) == 0
}
