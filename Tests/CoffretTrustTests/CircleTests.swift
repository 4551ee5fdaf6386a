// Circles that another implementation made: what counts in them, and every way in which one must not verify.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import CoffretTrust
import Testing

@Suite("Circles")
struct CircleTests {
    private struct Vectors: Decodable {
        struct Circle: Decodable {
            struct View: Decodable {
                struct Request: Decodable {
                    let request: String
                    let by: String
                    let isForbidden: Bool
                    let releases: [String]
                }
                let contacts: [String: Bool]
                let isArmed: Bool
                let isPaperTrusted: Bool
                let requests: [Request]
            }
            let comment: String
            let accounts: [[Int]]
            let links: [Int]
            let error: String?
            let at: UInt64?
            let view: View?
        }
        let pool: [String]
        let circles: [Circle]
    }

    private func rights(
        _ links: [UnverifiedLink], _ chains: [VerifiedDeviceChain], allowsCircle: Bool = true
    ) throws -> VerifiedMemberRights {
        let accounts = Dictionary(uniqueKeysWithValues: chains.map { ($0.accountID, AccountDevices($0)) })
        let founder = try #require(chains.first)
        var rights = try VerifiedMemberRights(
            founding: links[0], founder: AccountDevices(founder), chain: founder, allowsCircle: allowsCircle)
        for link in links.dropFirst() { try rights.append(link, accounts: accounts) }
        return rights
    }

    @Test("R86, R87: circles verify and count as they should, or are refused with the named error at the named link")
    func vectors() throws {
        let vectors = try VectorFile.decode(Vectors.self, from: "trust/circles.json")
        let pool = try vectors.pool.map { try UnverifiedLink(decoding: Hex.decode($0)) }
        #expect(vectors.circles.count == 75)
        for vector in vectors.circles {
            let chains = try vector.accounts.map { try VerifiedDeviceChain.verify($0.map { pool[$0] }) }
            let accounts = Dictionary(uniqueKeysWithValues: chains.map { ($0.accountID, AccountDevices($0)) })
            let links = vector.links.map { pool[$0] }
            let comment = vector.comment
            do {
                let found = try rights(links, chains)
                let view = try #require(found.circle(known: accounts))
                let expected = try #require(vector.view, "\(comment): \(vector.error ?? "") was not found")
                #expect(view.circleID == found.vaultID && view.founder == chains[0].accountID)
                let contacts = view.members.filter { $0.value.role == .contact }
                #expect(
                    Dictionary(uniqueKeysWithValues: contacts.map { ($0.key.hex, $0.value.hasAccepted) })
                        == expected.contacts, "\(comment)")
                #expect((view.arming != nil) == expected.isArmed, "\(comment)")
                #expect(view.isPaperTrusted == expected.isPaperTrusted, "\(comment)")
                let told = view.requests.map {
                    [Hex.encode($0.request.bytes), $0.accountID.hex, "\($0.forbiddenAt != nil)"]
                        + $0.releases.keys.map(\.hex).sorted()
                }
                let requests = expected.requests.map { [$0.request, $0.by, "\($0.isForbidden)"] + $0.releases }
                #expect(told == requests, "\(comment)")
                #expect(links.dropFirst().allSatisfy { (try? MemberOperation(decoding: $0).encoded) == $0.publicPart })
            } catch let error as MemberError {
                #expect(
                    error.code.rawValue == vector.error && error.sequenceNumber == vector.at, "\(comment): \(error)")
            } catch let error as TrustError {
                #expect(
                    error.code.rawValue == vector.error && error.sequenceNumber == vector.at, "\(comment): \(error)")
            }
        }
    }

    @Test("who expects a vault takes no circle, and a vault has no operation of a circle")
    func purposes() throws {
        let vectors = try VectorFile.decode(Vectors.self, from: "trust/circles.json")
        let pool = try vectors.pool.map { try UnverifiedLink(decoding: Hex.decode($0)) }
        let vector = try #require(vectors.circles.first { $0.comment == "armed" })
        let chains = try vector.accounts.map { try VerifiedDeviceChain.verify($0.map { pool[$0] }) }
        let link = pool[vector.links[0]]
        #expect(throws: TrustError(.linkUnsupported, at: 0)) {
            try rights([link], chains, allowsCircle: false)
        }
        let id = try #require(VaultID(link.hash(inChain: nil)))
        #expect(throws: TrustError(.linkUnsupported, at: 0)) {
            try VerifiedMemberChain.identify([link], vaultID: id, notBy: chains[1].accountID)
        }
        #expect(throws: TrustError(.linkUnsupported, at: 0)) {
            try VerifiedMemberChain.verify([link], founder: chains[0])
        }
    }

    @Test("terms have bounds")
    func terms() {
        #expect(CircleTerms(threshold: 2, count: 2, hours: 24) != nil)
        let year = CircleTerms(threshold: 16, count: 16, hours: 8_760)
        #expect(year?.waitingTime == 31_536_000_000 as Milliseconds)
        for (threshold, count, hours) in [(1, 2, 24), (3, 2, 24), (2, 17, 24), (2, 2, 23), (2, 2, 8_761)] {
            #expect(CircleTerms(threshold: threshold, count: count, hours: hours) == nil)
        }
    }
}
