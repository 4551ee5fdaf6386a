// The table of item types against the two other places that name them.

import CoffretSearch
import Foundation
import Testing

@testable import CoffretCore

@Suite("Item types")
struct ItemKindTests {
    @Test("a search knows every type by its name, and Spec/items.md lists its letter", arguments: ItemKind.allCases)
    func places(kind: ItemKind) throws {
        #expect(SearchVocabulary.items.kinds[kind.name] == kind.rawValue)
        let root = (0..<3).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
        let page = try String(contentsOf: root.appendingPathComponent("Spec/items.md"), encoding: .utf8)
        let letter = Character(UnicodeScalar(kind.rawValue))
        #expect(
            page.split(separator: "\n").contains {
                $0.hasPrefix("| `\(letter)` |") && $0.hasSuffix("| `\(kind.name)` |")
            })
        #expect(ItemKind(name: kind.name) == kind)
    }
}
