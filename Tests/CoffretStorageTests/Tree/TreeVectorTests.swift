// The published vectors of the tree: boundaries and names. The one thing to keep true: a change of the
// format that these do not allow needs a new format version.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import Testing

@testable import CoffretStorage

@Suite("Tree vectors")
struct TreeVectorTests {
    /// `tree/nodes.json`.
    struct File: Codable {
        struct Case: Codable {
            /// Facts are made from this number; `TreeVectorTests.facts` and SOURCE.md say how.
            let factCount: Int
            let splitHashKey: String
            let root: String
            let levelCount: Int
            /// Byte counts of the leaves in order.
            let leafByteCounts: [Int]
        }

        struct Hash: Codable {
            let level: Int
            let key: String
            let hash: String
        }

        struct Node: Codable {
            let content: String
            let name: String
        }

        let cases: [Case]
        let hashes: [Hash]
        let leaf: Node
        let inner: Node
        let empty: Node
    }

    /// Fact number n of the vectors.
    static func fact(_ number: Int) -> Fact {
        let mixed = UInt64(number / 4) &* 0x9E37_79B9_7F4A_7C15
        let uuid = UniqueID(bytes: mixed.bigEndianBytes + UInt64(number / 4).bigEndianBytes)!
        let attributes: [Attribute] = ["body", "modified", "tag", "title"]
        let element: [UInt8] = number % 4 == 2 ? [UInt8](repeating: UInt8(number % 251), count: 16) : []
        let key = FactKey(
            entity: EntityID(kind: UInt8(ascii: "N"), uuid: uuid), attribute: attributes[number % 4], element: element)
        let instance = UniqueID(bytes: [UInt8](repeating: UInt8(1 + number % 3), count: 16))!
        let content: FactContent =
            number % 16 == 0
            ? .stored(
                StoredValue(
                    name: BlobName(bytes: [UInt8](repeating: UInt8(number % 256), count: 32))!, byteCount: 513 + number)
            )
            : .inline([UInt8](repeating: UInt8(number % 256), count: number * 7 % 200))
        return Fact(key: key, content: content, dot: Dot(instance: instance, sequence: UInt64(number + 1)))
    }

    static func splitHash(_ hex: String) throws -> SplitHash {
        var key = try Hex.decode(hex)
        return SplitHash(key: ShortHashKey(SecretBytes(consuming: &key)))
    }

    /// Root, number of levels and sizes of leaves of the tree of facts 0..<count.
    static func tree(count: Int, key: String) throws -> (root: TreeNode, leaves: [Int]) {
        let blobs = MemoryBlobs()
        var builder = TreeBuilder(splitHash: try splitHash(key), sink: NodeSink(writer: blobs))
        for fact in (0..<count).map(fact).sorted() { try builder.append(fact) }
        let root = try builder.finish()
        let store = NodeStore(reader: blobs)
        var leaves: [Int] = []
        if count > 0 {
            var path = try NodePath(root: root, level: 0, store: store)
            repeat { leaves.append(path.node.byteCount) } while try path.advance()
        }
        return (root, leaves)
    }

    @Test("trees of the vectors have the published roots, heights and leaf sizes")
    func trees() throws {
        let file = try VectorFile.decode(File.self, from: "tree/nodes.json")
        #expect(file.cases.count >= 4)
        for entry in file.cases {
            let (root, leaves) = try Self.tree(count: entry.factCount, key: entry.splitHashKey)
            #expect(root.name.description == entry.root, "\(entry.factCount) facts")
            #expect(root.level + 1 == entry.levelCount)
            #expect(leaves == entry.leafByteCounts)
        }
    }

    @Test("the boundary hash is SipHash-2-4 of level and key")
    func hashes() throws {
        let file = try VectorFile.decode(File.self, from: "tree/nodes.json")
        let split = try Self.splitHash(file.cases[0].splitHashKey)
        for entry in file.hashes {
            let key = try #require(FactKey(encoded: try Hex.decode(entry.key)))
            let hash = split.hash(level: UInt8(entry.level), key: key)
            #expect(Hex.encode(hash.bigEndianBytes) == entry.hash)
        }
    }

    @Test("nodes of the vectors decode, encode to themselves, and have their names")
    func nodes() throws {
        let file = try VectorFile.decode(File.self, from: "tree/nodes.json")
        let leaf = try Hex.decode(file.leaf.content)
        let decodedLeaf = LeafCodec.decode(leaf.span, allowsRetractions: false)
        let facts = try #require(decodedLeaf)
        #expect(Array(facts) == (0..<6).map(Self.fact).sorted())
        #expect(LeafCodec.encode(facts) == leaf)
        #expect(BlobName.derive(type: .treeLeaf, content: leaf.span).description == file.leaf.name)
        for node in [file.inner, file.empty] {
            let content = try Hex.decode(node.content)
            let decodedInner = InnerCodec.decode(content.span)
            let decoded = try #require(decodedInner)
            #expect(InnerCodec.encode(level: decoded.level, decoded.children) == content)
            #expect(BlobName.derive(type: .treeInner, content: content.span).description == node.name)
        }
    }
}
