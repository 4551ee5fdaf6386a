// Addresses, codes and cards: those that another implementation made, and such as are refused.

import CoffretBase
import CoffretCrypto
import CoffretKeys
import CoffretSharing
import CoffretTestSupport
import CoffretTrust
import Testing

@Suite("People: addresses, codes, cards")
struct PeopleTests {
    private struct Vectors: Decodable {
        struct People: Decodable {
            struct Address: Decodable {
                let account: String
                let address: String
            }
            let account: String
            let address: String
            let person: String
            let other: String
            let heads: [String]
            let state: String
            let addresses: [Address]
        }
        struct CardVector: Decodable {
            let card: String
            let name: String
            let account: String
            let code: String
            let link: String
        }
        struct Codes: Decodable {
            let code: String
            let inviter: String
            let claimant: String
            let token: String
            let hash: String
            let proof: String
            let answer: String
        }
        struct Letters: Decodable {
            let recipientDevices: [String]
            let identity: [String]
        }
        let people: People
        let cards: [CardVector]
        let codes: Codes
        let letters: Letters
    }

    private func vectors() throws -> Vectors { try VectorFile.decode(Vectors.self, from: "trust/people.json") }
    private func id(_ hex: String) throws -> ChainID { try #require(ChainID(Hex.decode(hex))) }

    private func code(_ body: () throws -> Void) -> SharingError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? SharingError)?.code
        }
    }

    @Test("codes of a person and of a state are those of the vectors")
    func codes() throws {
        let vectors = try vectors().people
        let (one, other) = (try id(vectors.account), try id(vectors.other))
        #expect(PersonCode.person(one) == vectors.person && vectors.person == "3Q6D-MGCR-FP93-JFM5")
        let heads = try vectors.heads.map { try #require(Bytes32(Hex.decode($0))) }
        let first = PersonCode.Known(accountID: one, deviceHead: heads[0], identityHead: heads[1])
        let second = PersonCode.Known(accountID: other, deviceHead: heads[2], identityHead: heads[3])
        #expect(PersonCode.state(first, second) == vectors.state && vectors.state == "WWK9-Z600-G0RJ-CDDC")
        #expect(PersonCode.state(second, first) == vectors.state)
        let moved = PersonCode.Known(accountID: other, deviceHead: heads[2], identityHead: heads[2])
        #expect(PersonCode.state(first, moved) != vectors.state)
    }

    @Test("R50: an address is that of its account, in any case and grouping, and a wrong character shows")
    func addresses() throws {
        let vectors = try vectors().people
        for vector in vectors.addresses + [.init(account: vectors.account, address: vectors.address)] {
            let account = try id(vector.account)
            let address = PersonAddress(name: "Bob R.", accountID: account)
            #expect(address.text == "Bob R.#" + vector.address)
            let read = try PersonAddress(parsing: "bob#" + vector.address.lowercased().filter { $0 != "-" })
            #expect(read.finding == address.finding && read.name == "bob" && read.fits(account))
            let short = try PersonAddress(parsing: address.shortText)
            #expect(short.fits(account) && address.shortText == "Bob R.#" + vector.address.prefix(9))
            let characters = Array(vector.address)
            for index in characters.indices where characters[index] != "-" {
                var wrong = characters
                wrong[index] = wrong[index] == "7" ? "8" : "7"
                #expect(code { _ = try PersonAddress(parsing: "#" + String(wrong)) } == .addressInvalid)
            }
            var other = account.bytes
            other[16] ^= 0x40
            #expect(!address.fits(try #require(ChainID(other))))
            other[16] ^= 0x60
            #expect(address.fits(try #require(ChainID(other))), "bits behind the 130th do not count")
        }
        for text in [
            "", "bob", "bob#", "bob#0000-000", "bob#UUUU-UUUU", String(repeating: "x", count: 65) + "#00000000",
        ] {
            #expect(code { _ = try PersonAddress(parsing: text) } == .addressInvalid, "\(text)")
        }
    }

    @Test("cards and their links are read and written as the vectors say, and their signature is their account's")
    func cards() throws {
        let vectors = try vectors()
        let devices = AccountDevices(
            try .verify(vectors.letters.recipientDevices.map { try UnverifiedLink(decoding: Hex.decode($0)) }))
        let identity = try VerifiedIdentityChain.verify(
            vectors.letters.identity.map { try UnverifiedLink(decoding: Hex.decode($0)) }, devices: devices)
        for vector in vectors.cards {
            let card = try Card(decoding: Hex.decode(vector.card))
            #expect(card.name == vector.name && card.accountID.hex == vector.account)
            #expect(Hex.encode(card.code?.bytes ?? []) == vector.code)
            #expect(Hex.encode(card.encoded) == vector.card && card.link == vector.link)
            #expect(try Card(link: vector.link) == card)
            #expect(try Card(link: card.linkForQR) == card)
            try card.verify(identity)
        }
        let generator = SeededGenerator.fromEnvironment()
        let stranger = try Person(generator)
        let claimed = try Card(decoding: Hex.decode(vectors.cards[0].card))
        #expect(code { try claimed.verify(stranger.identity) } == .cardInvalid)
        let own = try stranger.card(named: "Eve")
        try own.verify(stranger.identity)
        var moved = stranger
        try moved.append(sets: true)
        #expect(code { try own.verify(moved.identity) } == .cardInvalid, "keys that were replaced sign no more")
        #expect(code { _ = try stranger.card(named: "") } == .cardInvalid)
        #expect(code { _ = try stranger.card(named: String(repeating: "e", count: 65)) } == .cardInvalid)
    }

    @Test("R92: a card with any bit flipped is refused")
    func everyBit() throws {
        let person = try Person(.fromEnvironment())
        let encoded = try person.card(named: "Eve", code: .generate(from: SeededGenerator.fromEnvironment())).encoded
        for offset in encoded.indices {
            for bit in 0..<8 as Range<UInt8> {
                var bytes = encoded
                bytes[offset] ^= 1 << bit
                #expect(code { try Card(decoding: bytes).verify(person.identity) } == .cardInvalid)
            }
        }
    }

    @Test("tokens and proofs of an invitation are those of the vectors")
    func invitations() throws {
        let vectors = try vectors().codes
        let code = try #require(ContactCode(Hex.decode(vectors.code)))
        let (inviter, claimant) = (try id(vectors.inviter), try id(vectors.claimant))
        #expect(Hex.encode(code.token(inviter: inviter)) == vectors.token)
        #expect(Hex.encode(code.tokenHash(inviter: inviter)) == vectors.hash)
        #expect(Hex.encode(code.proof(inviter: inviter, claimant: claimant)) == vectors.proof)
        #expect(Hex.encode(code.answerProof(inviter: inviter, claimant: claimant)) == vectors.answer)
        #expect(ContactCode([UInt8](repeating: 0, count: 15)) == nil)
    }
}
