// The log of keys without I/O: trees, tiles and notes against an implementation of its own in Python, and a reader against logs
// that lie.

import CoffretBase
import CoffretCrypto
import CoffretKeyLog
import CoffretTestSupport
import Testing

@Suite("Key log")
struct KeyLogTests {
    private struct Vectors: Decodable {
        struct Root: Decodable {
            let size: Int
            let root: String
        }
        struct Tile: Decodable {
            let path: String
            let sha256: String
        }
        let entries: [String]
        let roots: [Root]
        let tiles: [Tile]
    }

    static func sha(_ bytes: [UInt8]) -> [UInt8] { HashAlgorithm.sha256.hash(unsafe bytes.span.bytes) }

    static func entry(_ index: Int) -> KeyLogEntry {
        KeyLogEntry(
            kind: [1, 3, 2][index % 3], chainID: sha(Array("chain".utf8) + [UInt8(index % 7)]),
            number: UInt64(index / 3),
            linkHash: Bytes32(sha(Array("link".utf8) + UInt32(index).bigEndianBytes))!)
    }

    @Test("entries, roots and tiles are those of an implementation in Python")
    func vectors() throws {
        let vectors = try VectorFile.decode(Vectors.self, from: "log/tree.json")
        let entries = (0..<300).map(Self.entry)
        #expect(entries.prefix(4).map { Hex.encode($0.encoded) } == vectors.entries)
        #expect(try entries.map { try KeyLogEntry(decoding: $0.encoded) } == entries)
        for each in vectors.roots {
            var range = KeyLogRange()
            for entry in entries.prefix(each.size) { range.append(entry.leafHash) }
            #expect(range.root.hex == each.root, "\(each.size)")
            #expect(KeyLogRange(size: range.size, hashes: range.hashes) == range)
        }
        let leaves = entries.map(\.leafHash)
        for each in vectors.tiles {
            let tile = try #require(KeyLogTile(path: each.path))
            let start = Int(tile.index) * 256
            let bytes: [UInt8] =
                switch tile.level {
                case nil: KeyLogBundle.encode(entries[start..<start + tile.count].map(\.encoded))
                case 0: leaves[start..<start + tile.count].flatMap(\.bytes)
                default: KeyLogTree.root(of: leaves[..<256]).bytes
                }
            #expect(Hex.encode(Self.sha(bytes)) == each.sha256, "\(each.path)")
        }
        // The same tree from its tiles alone.
        let levels = [Array(leaves[256...]), [KeyLogTree.root(of: leaves[..<256])]]
        #expect(KeyLogRange(levels: levels).root.hex == vectors.roots.last?.root)
        #expect(
            KeyLogEntry(
                kind: 1, chainID: Array(0..<32), number: 5, linkHash: Bytes32([UInt8](repeating: 1, count: 32))!
            )
            .leafHash.hex == "fa90ea2186bb861a9123aabd6d189f36bf0f78246001e9088a99b08baf93ddd3")
    }

    @Test("a tile has one name")
    func names() {
        for path in [
            "0/000", "entries/999", "1/x001/234", "7/x001/x002/003.p/1", "0/067.p/255", "entries/x1000/000",
        ] {
            #expect(KeyLogTile(path: path)?.path == (path.contains("x1000") ? nil : path), "\(path)")
        }
        for path in [
            "", "0", "0/", "/000", "8/000", "-1/000", "00/000", "0/0", "0/1000", "0/x000/001", "0/001/x002",
            "0/000.p/0",
            "0/000.p/256", "0/000.p/01", "0/000.p", "entries", "entry/000", "0/000/", "0/+01", "0/000.p/1/1",
            "0/x999/x999/x999/x999/x999/x999/x999/999",
        ] {
            #expect(KeyLogTile(path: path) == nil, "\(path)")
        }
        #expect(KeyLogTile.count(level: nil, index: 1, size: 300) == 44)
        #expect(KeyLogTile.count(level: nil, index: 2, size: 300) == 0)
        #expect(KeyLogTile.count(level: 1, index: 0, size: 300) == 1)
        #expect(KeyLogTile.count(level: nil, index: .max, size: 300) == 0)
    }

    @Test("a note says nothing once a bit of it is another one (R92)")
    func everyBitOfANote() throws {
        let log = TestLog()
        let note = log.checkpoint().note
        #expect(try KeyLogCheckpoint(verifying: note, by: log.verifier).size == 0)
        for bit in 0..<note.count * 8 {
            var bent = note
            bent[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(throws: KeyLogError.self, "bit \(bit)") { try KeyLogCheckpoint(verifying: bent, by: log.verifier) }
        }
        // A witness's line beside the log's own says nothing to who does not know it.
        let witnessed = note + Array("\u{2014} witness.example AAAAAAAA\n".utf8)
        #expect(try KeyLogCheckpoint(verifying: witnessed, by: log.verifier).size == 0)
        #expect(throws: KeyLogError.self) {
            try KeyLogCheckpoint(verifying: note + [UInt8](repeating: 0x0A, count: 5_000), by: log.verifier)
        }
        #expect(try KeyLogVerifier(text: log.verifier.text) == log.verifier)
        for text in ["", "a+b+c", log.verifier.text + "=", "x" + log.verifier.text] {
            #expect(throws: KeyLogError.self) { try KeyLogVerifier(text: text) }
        }
    }
}
