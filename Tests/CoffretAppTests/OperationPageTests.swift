// Spec/operations.md, held against the layouts that the program encodes by.

import CoffretApp
import CoffretTestSupport
import CoffretWire
import Foundation
import Testing

@Suite("The page of operations")
struct OperationPageTests {
    private static let path = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Spec/operations.md").path
    private static let begin = "## 4 Operations\n"
    private static let end = "## Security considerations\n"

    /// Sections 4 and 5 as they follow from the code.
    static func made() -> String {
        var lines = [begin]
        var records: [(name: String, fields: [RecordFieldShape])] = []
        func collect(_ shape: RecordShape) {
            switch shape {
            case .record(let name, let fields) where !records.contains { $0.name == name }:
                records.append((name, fields))
                for field in fields { collect(field.shape) }
            case .list(let element): collect(element)
            default: break
            }
        }
        for operation in Operations.all {
            let shapes = operation.pageShapes
            lines += ["### \(operation.name)\n", "\(operation.meaning) Access: `\(operation.access.rawValue)`. "]
            if case .record(let name, _) = shapes.answer { lines[lines.count - 1] += "Answer: `\(name)`.\n" }
            if !shapes.request.isEmpty { lines += table(shapes.request) }
            for field in shapes.request { collect(field.shape) }
            collect(shapes.answer)
        }
        collect(OperationFailure.shape)
        collect(OperationProgress.shape)
        collect(SessionQuestion.shape)
        collect(SessionNotice.shape)
        lines.append("## 5 Records of requests and answers\n")
        for record in records.sorted(by: { $0.name < $1.name }) {
            lines.append("### `\(record.name)`\n")
            lines += record.fields.isEmpty ? ["It has no fields.\n"] : table(record.fields)
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func table(_ fields: [RecordFieldShape]) -> [String] {
        ["| field | shape | meaning |", "| --- | --- | --- |"]
            + fields.map { "| `\($0.name)`\($0.isOptional ? "?" : "") | \($0.shape.text) | \($0.meaning) |" } + [""]
    }

    @Test("Spec/operations.md has the fields, accesses and answers of every operation")
    func page() throws {
        var text = try String(contentsOfFile: Self.path, encoding: .utf8)
        let made = Self.made()
        let end = try #require(text.range(of: Self.end))
        let begin = text.range(of: Self.begin)?.lowerBound ?? end.lowerBound
        if ProcessInfo.processInfo.environment["COFFRET_UPDATE_SNAPSHOTS"] != nil {
            text.replaceSubrange(begin..<end.lowerBound, with: made)
            try text.write(toFile: Self.path, atomically: true, encoding: .utf8)
        }
        #expect(text[begin..<(try #require(text.range(of: Self.end))).lowerBound] == made)
    }

    @Test("names of operations are unique, and say a thing and a verb")
    func names() {
        let names = Operations.all.map { $0.name }
        #expect(Set(names).count == names.count && names.count >= 14)
        for name in names where !["hello", "lock"].contains(name) {
            #expect(name.wholeMatch(of: /[a-z]+\.[a-z]+/) != nil, "\(name)")
        }
    }
}

extension PerformedOperation {
    static var pageShapes: (request: [RecordFieldShape], answer: RecordShape) { (layout.shapes, Answer.shape) }
}
