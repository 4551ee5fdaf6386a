// What commits state of other vaults: the bytes, and where they count.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import Testing

@testable import CoffretStorage

private struct HeadVectors: Decodable {
    struct Head: Decodable {
        let vault_hex, head_hex, instance_hex: String
        let sequence, position: UInt64
    }
    struct Case: Decodable {
        let heads: [Head]
        let sealed_hex: String
    }
    struct Refused: Decodable {
        let why, sealed_hex: String
    }

    let details_key_hex, account_hex, vault_hex, instance_hex, commit_body_hex: String
    let cases: [Case]
    let refused: [Refused]
}

@Suite("Statements of heads")
struct HeadStatementTests {
    private let vectors: HeadVectors
    private let key: HeadsKey
    private let vaultID: VaultID
    private let instance: UniqueID

    init() throws {
        vectors = try VectorFile.decode(HeadVectors.self, from: "heads/heads.json")
        let details = try Hex.decode(vectors.details_key_hex)
        let secret = unsafe SecretBytes(byteCount: details.count) { unsafe $0.copyBytes(from: details) }
        key = KDF.derive(from: LinkDetailsKey(secret), .headsKey, try Hex.decode(vectors.account_hex))
        vaultID = try #require(VaultID(Hex.decode(vectors.vault_hex)))
        instance = try #require(UniqueID(bytes: Hex.decode(vectors.instance_hex)))
    }

    private func open(_ hex: String) throws -> [SeenHead]? {
        HeadStatement.open(try Hex.decode(hex), key: key, vaultID: vaultID, instance: instance)
    }

    @Test("statements by another implementation open, and are sealed to the same length")
    func vectorsOpen() throws {
        for vector in vectors.cases {
            let heads = try vector.heads.map {
                SeenHead(
                    vaultID: try #require(VaultID(Hex.decode($0.vault_hex))),
                    head: try #require(BlobName(bytes: Hex.decode($0.head_hex))),
                    dot: Dot(
                        instance: try #require(UniqueID(bytes: Hex.decode($0.instance_hex))), sequence: $0.sequence),
                    chainPosition: $0.position)
            }
            #expect(try open(vector.sealed_hex) == heads)
            let own = HeadStatement.seal(
                heads.reversed(), key: key, vaultID: vaultID, instance: instance, random: SeededGenerator(seed: 1))
            #expect(HeadStatement.open(own, key: key, vaultID: vaultID, instance: instance) == heads)
            #expect(own.count == vector.sealed_hex.utf8.count / 2 && own.count <= HeadStatement.byteCountMax)
        }
    }

    @Test("R9: what was sealed for another vault, instance or account, and what is not canonical, says nothing")
    func refused() throws {
        #expect(vectors.refused.count == 17)
        for vector in vectors.refused { #expect(try open(vector.sealed_hex) == nil, "\(vector.why)") }
        let good = try Hex.decode(vectors.cases[0].sealed_hex)
        for index in good.indices {
            var changed = good
            changed[index] ^= 0x40
            #expect(HeadStatement.open(changed, key: key, vaultID: vaultID, instance: instance) == nil)
        }
    }

    @Test("a commit by another implementation decodes to itself; an empty or too long statement is malformed")
    func commitVector() throws {
        let body = try Hex.decode(vectors.commit_body_hex)
        let name = try #require(BlobName(bytes: [UInt8](repeating: 1, count: 32)))
        func decoded(_ body: [UInt8]) throws -> Commit {
            try UnverifiedCommit.decode(body + [UInt8](repeating: 0, count: signatureByteCount), name: name).commit
        }
        var commit = try decoded(body)
        #expect(commit.encodeBody() == body)
        #expect(try commit.statement == Hex.decode(vectors.cases[0].sealed_hex))
        for wrong in [0, HeadStatement.byteCountMax + 1] {
            commit.statement = [UInt8](repeating: 7, count: wrong)
            #expect(throws: StorageError.self) { try decoded(commit.encodeBody()) }
        }
        commit.statement = [UInt8](repeating: 7, count: HeadStatement.byteCountMax)
        #expect(try decoded(commit.encodeBody()) == commit)
    }
}
