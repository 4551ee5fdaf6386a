// The sources as text, for rules that a compiler does not check.

import Foundation

/// One source file of the package, with its path relative to the package's root.
struct SourceFile: Sendable, CustomStringConvertible {
    let path: String
    let text: String

    var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }
    var description: String { path }

    /// The target that the file belongs to: the folder below `Sources` or `Tests`.
    var target: String { path.split(separator: "/").dropFirst().first.map(String.init) ?? "" }
}

enum SourceTree {
    /// The package's root, found from this file's own place.
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static let sources = files(below: "Sources", suffix: ".swift")
    static let tests = files(below: "Tests", suffix: ".swift")

    static func text(_ path: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(path), encoding: .utf8)
    }

    static func files(below folder: String, suffix: String) -> [SourceFile] {
        let start = root.appendingPathComponent(folder)
        guard let walk = FileManager.default.enumerator(atPath: start.path) else { return [] }
        var found: [SourceFile] = []
        for case let name as String in walk where name.hasSuffix(suffix) {
            let path = "\(folder)/\(name)"
            if let text = try? text(path) { found.append(SourceFile(path: path, text: text)) }
        }
        return found.sorted { $0.path < $1.path }
    }
}
