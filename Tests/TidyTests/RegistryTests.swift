// Names that other programs rely on are listed in Spec, and the lists are complete: error codes and
// context labels in the sources equal those on the pages.

import Testing

@Suite("Registries")
struct RegistryTests {
    /// Raw values of enums named `Code`, and of anything else that looks like a dotted error code.
    static func codesInSources() -> Set<String> {
        var codes: Set<String> = []
        for file in SourceTree.sources {
            for line in file.lines where line.contains(" = \"") && line.contains("case ") {
                if let match = line.firstMatch(of: /case \w+ = "([a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+)"/) {
                    codes.insert(String(match.1))
                }
            }
        }
        return codes
    }

    @Test("Spec/errors.md lists exactly the error codes of the sources")
    func errorCodes() throws {
        var listed: Set<String> = []
        for line in try SourceTree.text("Spec/errors.md").split(separator: "\n") {
            if let match = line.firstMatch(of: /^\| `([a-z][a-z0-9-]*(?:\.[a-z0-9-]+)+)`/) {
                listed.insert(String(match.1))
            }
        }
        let used = Self.codesInSources()
        #expect(used.subtracting(listed).sorted() == [], "codes without an entry in Spec/errors.md")
        #expect(listed.subtracting(used).sorted() == [], "entries of Spec/errors.md that no source has")
    }

    @Test("every folder of vectors says where its files come from, and a test names it")
    func vectorsHaveSources() {
        let notes = SourceTree.files(below: "Tests/Vectors", suffix: "SOURCE.md")
        let vectors = SourceTree.files(below: "Tests/Vectors", suffix: ".json")
        let tests = SourceTree.tests.map(\.text).joined()
        #expect(!vectors.isEmpty)
        for file in vectors {
            let folder = file.path.split(separator: "/").dropLast().joined(separator: "/")
            #expect(notes.contains { $0.path == "\(folder)/SOURCE.md" }, "\(folder) has no SOURCE.md")
            let name = folder.split(separator: "/").last.map(String.init) ?? ""
            #expect(tests.contains("\"\(name)"), "no test names the vectors in \(folder)")
        }
    }
}
