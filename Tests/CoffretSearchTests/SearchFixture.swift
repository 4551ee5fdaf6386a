// Indexes for tests: a directory, a key, and short ways to make documents.

import CoffretBase
import CoffretCrypto
import CoffretSearch
import CoffretTestSupport

/// An index in a folder of its own.
struct SearchFixture {
    let directory: TemporaryDirectory
    let fileSystem = PosixFileSystem()

    init() throws {
        directory = try TemporaryDirectory("search")
    }

    var path: String { directory.file("search") }

    func open(keyByte: UInt8 = 5, vaultByte: UInt8 = 1, foldPageCount: Int? = nil) throws -> SearchIndex {
        var bytes = [UInt8](repeating: keyByte, count: 32)
        return try SearchIndex(
            directory: path, key: SearchKey(SecretBytes(consuming: &bytes)),
            vaultID: VaultID([UInt8](repeating: vaultByte, count: 32))!, fileSystem: fileSystem,
            random: SystemRandomSource(), foldPageCount: foldPageCount)
    }

    /// A new index of these documents; its state is the byte 1.
    func make(_ documents: [SearchDocument]) throws -> SearchIndex {
        let index = try open()
        try index.rebuild(newState: [1]) { add in
            for document in documents { try add(document) }
        }
        return index
    }

    /// The bytes of all files of the index, by name.
    func files() throws -> [(name: String, bytes: [UInt8])] {
        try fileSystem.list(path).map { entry in
            (entry.name, try fileSystem.readFile(path + "/" + entry.name, byteCountMax: 1 << 30))
        }
    }
}

/// An entity of a kind and a small number.
func entity(_ number: Int, kind: Character = "N") -> [UInt8] {
    var uuid = [UInt8](repeating: 0xA0, count: 16)
    for index in 0..<4 { uuid[index] = UInt8(truncatingIfNeeded: number >> (24 - 8 * index)) }
    return [kind.asciiValue!] + uuid
}

func note(
    _ number: Int, _ title: String, _ body: String = "", tags: [String] = [], kind: Character = "N",
    modified: Milliseconds? = nil
) -> SearchDocument {
    SearchDocument(
        entity: entity(number, kind: kind), title: title, body: body, tags: tags,
        createdMilliseconds: 1_000 * Int64(number), modifiedMilliseconds: modified ?? 2_000 * Int64(number))
}

extension SearchIndex {
    /// The titles that a query finds, best first.
    func titles(_ text: String, limit: Int = 20, offset: Int = 0) throws -> [String] {
        try search(SearchQuery.parse(text), limit: limit, offset: offset).hits.map(\.document.title)
    }
}
