// Contexts and the instances that they make, against the published vectors.

import CoffretBase
import CoffretCrypto
import CoffretHistory
import CoffretStorage
import CoffretTestSupport
import CoffretTrust
import Testing

@Suite("Instances")
struct InstanceTests {
    private static func bytes(_ range: ClosedRange<UInt8>) -> [UInt8] { Array(range) }

    /// The context of Spec/history.md section 18.
    static func context(firstLink: UInt32 = 1, nonce: UInt8 = 0xAA) throws -> EntryContext {
        EntryContext(
            vaultID: try #require(VaultID(bytes(0x60...0x7F))), accountID: try #require(ChainID(bytes(0...0x1F))),
            deviceID: try #require(UniqueID(bytes: bytes(0...0x0F))),
            nonce: try #require(UniqueID(bytes: [UInt8](repeating: nonce, count: 16))), firstLink: firstLink,
            deviceHead: ChainPosition(number: 2, hash: try #require(Bytes32([UInt8](repeating: 0x71, count: 32)))),
            memberHead: ChainPosition(number: 1, hash: try #require(Bytes32([UInt8](repeating: 0x81, count: 32)))),
            epoch: 1)
    }

    @Test("the instance of the example is the one that Spec shows, and follows what it stands for")
    func example() throws {
        #expect(try Self.context().instance.hex == "a6f582606b2437aea36682a03d0a7b00")
        #expect(try Self.context(firstLink: 2).instance != Self.context().instance)
        #expect(try Self.context(nonce: 0xAB).instance != Self.context().instance)
    }

    @Test("a frontier keeps the newest mark of each instance")
    func frontier() throws {
        let (a, b) = (try Self.context().instance, try Self.context(nonce: 0xAB).instance)
        let name = BlobName(Bytes32(1, 2, 3, 4))
        var frontier = Frontier([a: EntryMark(number: 4, name: name)])
        frontier.advance(a, to: EntryMark(number: 3, name: name))
        frontier.advance(b, to: EntryMark(number: 1, name: name))
        #expect(frontier.number(of: a) == 4 && frontier.number(of: b) == 1)
        #expect(frontier.covers(Dot(a, 4)) && !frontier.covers(Dot(a, 5)))
        let other = Frontier([a: EntryMark(number: 4, name: name)])
        #expect(frontier.covers(other) && !other.covers(frontier))
        #expect(frontier.differing(from: other) == Frontier([b: EntryMark(number: 1, name: name)]))
        #expect(frontier.sorted.map(\.instance) == [a, b].sorted())
    }
}
