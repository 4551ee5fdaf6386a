// Facts of an account vault, and the link that founds it: those that another implementation made, and such as are refused.

import CoffretBase
import CoffretCrypto
import CoffretSharing
import CoffretTestSupport
import CoffretTrust
import Testing

@Suite("Facts about people")
struct ContactFactsTests {
    private struct Vectors: Decodable {
        struct Facts: Decodable {
            struct Founding: Decodable {
                let ordinary: String
                let account: String
                let unknown: String
            }
            let founding: Founding
            let contact: String
            let code: String
        }
        struct Letters: Decodable { let recipientDevices: [String] }
        let facts: Facts
        let letters: Letters
    }

    private func vectors() throws -> Vectors { try VectorFile.decode(Vectors.self, from: "trust/people.json") }
    private func link(_ hex: String) throws -> UnverifiedLink { try UnverifiedLink(decoding: Hex.decode(hex)) }

    @Test("a founding link says what its vault is for; a purpose that this version does not know is refused")
    func founding() throws {
        let vectors = try vectors()
        let account = try VerifiedDeviceChain.verify(vectors.letters.recipientDevices.map(link))
        let cases: [(String, VaultPurpose?)] = [
            (vectors.facts.founding.ordinary, nil), (vectors.facts.founding.account, .account),
        ]
        for (hex, purpose) in cases {
            let chain = try VerifiedMemberChain.verify([link(hex)], founder: account)
            #expect(chain.foundation.purpose == purpose)
            #expect(chain.foundation.encoded == (try link(hex)).publicPart)
        }
        let unknown = try link(vectors.facts.founding.unknown)
        #expect(throws: TrustError(.linkUnsupported, at: 0)) {
            try VerifiedMemberChain.verify([unknown], founder: account)
        }
    }

    @Test("nobody is added to an account vault, not even by its owner")
    func addition() throws {
        let generator = SeededGenerator(seed: 77)
        let (alice, bob) = (try Person(generator), try Person(generator))
        let cases: [(VaultPurpose?, Bool)] = [(nil, true), (.account, false)]
        for (purpose, isAdded) in cases {
            let seed = generator.bytes(count: 32)
            let link = VerifiedMemberChain.found(
                VaultFoundation(
                    random: seed, accountID: alice.accountID, deviceChainHead: alice.chain.head.linkHash,
                    keyCommitment: seed, purpose: purpose), details: [], with: alice.signing)
            let rights = try VerifiedMemberRights(founding: link, founder: alice.devices, chain: alice.chain)
            let head = try #require(Bytes32(alice.chain.head.linkHash))
            let other = try #require(Bytes32(bob.chain.head.linkHash))
            let operation = MemberOperation(
                .add(StatedHead(accountID: bob.accountID, device: other), .viewer), by: alice.accountID,
                deviceHead: head)
            let accounts = [alice.accountID: alice.devices, bob.accountID: bob.devices]
            let code: MemberError.Code?
            do {
                _ = try rights.preview(operation, signedBy: alice.deviceID, accounts: accounts)
                code = nil
            } catch {
                code = error.code
            }
            #expect(code == (isAdded ? nil : .notPermitted))
        }
    }

    @Test("entities and values are those of the vectors; anything else is nothing")
    func values() throws {
        let vectors = try vectors()
        let account = try VerifiedDeviceChain.verify(vectors.letters.recipientDevices.map(link)).accountID
        #expect(ContactFacts.uuid(of: account).hex == vectors.facts.contact)
        let given = try #require(GivenCode(decoding: Hex.decode(vectors.facts.code)))
        #expect(given.code.bytes == Array(0..<16) && given.usesLeft == 3 && given.made == 1 && given.expires == 2)
        #expect(Hex.encode(given.encoded) == vectors.facts.code)
        #expect(given.used.usesLeft == 2 && given.isOpen(at: 1) && !given.isOpen(at: 2))
        for index in given.encoded.indices {
            #expect(GivenCode(decoding: Array(given.encoded[..<index])) == nil)
        }
        #expect(ContactFacts.text(ContactFacts.encode("Bob")) == "Bob" && ContactFacts.text([0x41, 0]) == nil)
        #expect(ContactFacts.time(ContactFacts.encode(5)) == 5 && ContactFacts.bytes(ContactFacts.encode([7])) == [7])
    }

    @Test("R79: a name is no address, no link, no id, and has nothing that is not seen")
    func names() {
        for name in ["Bob", "Bob R.", "Zoë", "李", String(repeating: "a", count: 128)] {
            #expect(ContactFacts.isName(name))
        }
        for name in [
            "", "Bob#1", "coffret-contact:1:ab", String(repeating: "a1", count: 32), "Bo\u{202E}b", "Bob ", "a\nb",
            String(repeating: "a", count: 129),
        ] {
            #expect(!ContactFacts.isName(name), "\(name)")
        }
    }
}
