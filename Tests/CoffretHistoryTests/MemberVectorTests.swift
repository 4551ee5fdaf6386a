// Member links against the published vectors, which share no code with this program.

import CoffretBase
import CoffretCrypto
import CoffretHistory
import CoffretStorage
import CoffretTestSupport
import CoffretTrust
import Testing

@Suite("Member link vectors")
struct MemberVectorTests {
    private struct File: Decodable {
        struct Links: Decodable {
            struct Link: Decodable {
                let number: UInt64
                let epoch: UInt32
                let public_hex: String
                let details_hex: String
                let checkpoint_hex: String?
                let sealed_hex: String
            }
            struct Coded: Decodable {
                let what: String
                let cbor_hex: String
            }
            let vault_keys_hex: [String: String]
            let commitments_hex: [String: String]
            let checkpoints: [Coded]
            let plain: Link
            let opening: Link
        }
        let vault_hex: String
        let links: Links
    }

    private struct Keys: MemberKeys {
        var keys: [UInt32: VaultKey]
        func vaultKey(ofEpoch epoch: UInt32) -> VaultKey? { keys[epoch] }
    }

    private let file: File
    private let vaultID: VaultID
    private let keys: Keys

    init() throws {
        file = try VectorFile.decode(File.self, from: "history/history.json")
        vaultID = try #require(VaultID(try Hex.decode(file.vault_hex)))
        var keys: [UInt32: VaultKey] = [:]
        for (epoch, hex) in file.links.vault_keys_hex {
            var bytes = try Hex.decode(hex)
            let number = try #require(UInt32(epoch))
            keys[number] = VaultKey(SecretBytes(consuming: &bytes))
        }
        self.keys = Keys(keys: keys)
    }

    private func operation(_ link: File.Links.Link) throws -> MemberOperation {
        try MemberOperation(
            decoding: .sign(
                kind: .member, chainID: ChainID(vaultID.bytes), sequenceNumber: link.number,
                publicPart: Hex.decode(link.public_hex), sealedPart: [], previousLinkHash: [],
                with: .generate(from: SeededGenerator.fromEnvironment())))
    }

    @Test("checkpoints are read, and written again byte for byte")
    func checkpoints() throws {
        #expect(file.links.checkpoints.count == 4)
        for vector in file.links.checkpoints {
            let bytes = try Hex.decode(vector.cbor_hex)
            let checkpoint = try #require(Checkpoint(decoding: bytes), "\(vector.what)")
            #expect(checkpoint.encoded == bytes, "\(vector.what)")
            for index in bytes.indices {
                var changed = bytes
                changed[index] ^= 0x20
                #expect(Checkpoint(decoding: changed).map { $0.encoded == changed } ?? true)
            }
            #expect(Checkpoint(decoding: bytes + [0]) == nil && Checkpoint(decoding: Array(bytes.dropLast())) == nil)
        }
    }

    @Test("public parts, commitments and sealed parts are those of the vectors")
    func links() throws {
        for (epoch, hex) in file.links.commitments_hex {
            let number = try #require(UInt32(epoch))
            let key = try #require(keys.keys[number])
            #expect(Hex.encode(EpochKeys.deriveCommitment(to: key, scope: vaultID.bytes, epoch: number)) == hex)
        }
        let (plain, opening) = (file.links.plain, file.links.opening)
        #expect(try Hex.encode(operation(plain).encoded) == plain.public_hex)
        let second = try operation(opening)
        #expect(Hex.encode(second.encoded) == opening.public_hex)
        var split = [UInt8](repeating: 0x55, count: 32)
        let splitKey = SplitKey(SecretBytes(consuming: &split))
        #expect(
            second.opening?.splitKeyCommitment.bytes == MemberSealing.splitKeyCommitment(to: splitKey, in: vaultID))
        #expect(second.opening?.keyCommitment.hex == file.links.commitments_hex["2"])

        func read(_ link: File.Links.Link, _ opening: EpochOpening?, _ keys: Keys) throws -> SealedReading {
            MemberSealing.open(
                try Hex.decode(link.sealed_hex), number: link.number, in: vaultID, epoch: link.epoch, opening: opening,
                keys: keys)
        }
        guard case .read(let details?, let checkpoint?) = try read(plain, nil, keys) else {
            Issue.record("the plain link does not open")
            return
        }
        #expect(Hex.encode(details.encoded) == plain.details_hex && details.checkpoint == checkpoint)
        guard case .read(let apart?, let sealed?) = try read(opening, second.opening, keys) else {
            Issue.record("the epoch link does not open")
            return
        }
        #expect(Hex.encode(apart.encoded) == opening.details_hex)
        #expect(Hex.encode(sealed.encoded) == opening.checkpoint_hex)
        // Without the new key the checkpoint is there all the same; without the old one the reader waits.
        let old = Keys(keys: [1: try #require(keys.keys[1])])
        #expect(try read(opening, second.opening, old) == .read(details: nil, checkpoint: sealed))
        #expect(try read(opening, second.opening, Keys(keys: [:])) == .needsKey(epoch: 1))
        #expect(try read(plain, nil, Keys(keys: [:])) == .needsKey(epoch: 1))
        for keys in [keys, Keys(keys: [:])] {
            #expect(MemberSealing.open([], number: 1, in: vaultID, epoch: 1, opening: nil, keys: keys) == .unreadable)
        }
        #expect(try read(opening, nil, keys) == .unreadable)
        #expect(try read(plain, second.opening, keys) == .unreadable)
    }

    @Test("what is sealed here opens here, and at no other number or vault")
    func sealing() throws {
        let generator = SeededGenerator.fromEnvironment()
        let checkpoint = try #require(Checkpoint(decoding: Hex.decode(file.links.checkpoints[2].cbor_hex)))
        let (one, two) = (try #require(keys.keys[1]), try #require(keys.keys[2]))
        let details = MemberDetails(time: 5, accountName: "Ada", cursor: [1, 2])
        let sealed = MemberSealing.seal(
            details, checkpoint, number: 7, in: vaultID, opened: (2, two), before: (1, one), random: generator)
        let opening = try operation(file.links.opening).opening
        func read(_ number: UInt64, _ vault: VaultID) -> SealedReading {
            MemberSealing.open(sealed, number: number, in: vault, epoch: 2, opening: opening, keys: keys)
        }
        #expect(read(7, vaultID) == .read(details: details, checkpoint: checkpoint))
        #expect(read(8, vaultID) == .unreadable)
        #expect(read(7, try #require(VaultID([UInt8](repeating: 1, count: 32)))) == .unreadable)
    }
}
