// Device chains that another implementation made, good and bad, with the error that each bad one must give.

import CoffretBase
import CoffretTestSupport
import CoffretTrust
import Testing

@Suite("Trust vectors")
struct DeviceVectorTests {
    private struct Chains: Decodable {
        struct Chain: Decodable {
            let comment: String
            let links: [String]
            let accountID: String?
            let head: String?
            let trusted: [String]?
            let error: String?
            let at: UInt64?
        }
        struct Followed: Decodable {
            let comment: String
            let seen: [String]
            let served: [String]
            let replaced: Int?
            let error: String?
        }
        let chains: [Chain]
        let followed: [Followed]
    }

    private func links(_ texts: [String]) throws -> [UnverifiedLink] {
        try texts.map { try UnverifiedLink(decoding: Hex.decode($0)) }
    }

    @Test("R5, R20, R22: chains verify, or are refused with the named error at the named link")
    func chains() throws {
        let vectors = try VectorFile.decode(Chains.self, from: "trust/device-chains.json").chains
        #expect(vectors.count == 35)
        for vector in vectors {
            let links = try links(vector.links)
            do {
                let chain = try VerifiedDeviceChain.verify(links)
                #expect(vector.error == nil, "\(vector.comment)")
                #expect(chain.accountID.hex == vector.accountID, "\(vector.comment)")
                #expect(Hex.encode(chain.head.linkHash) == vector.head, "\(vector.comment)")
                #expect(chain.devices.filter(\.isTrusted).map(\.id.hex) == vector.trusted, "\(vector.comment)")
            } catch {
                #expect(error.code.rawValue == vector.error, "\(vector.comment)")
                #expect(error.sequenceNumber == vector.at, "\(vector.comment)")
            }
        }
    }

    @Test("R1, R2, R21: what a server may serve to somebody who has seen a chain, and what not")
    func followed() throws {
        let vectors = try VectorFile.decode(Chains.self, from: "trust/device-chains.json").followed
        #expect(vectors.count == 10)
        for vector in vectors {
            let seen = try VerifiedDeviceChain.verify(links(vector.seen))
            do {
                let next = try seen.following(links(vector.served))
                #expect(next.replacedLinks.count == vector.replaced, "\(vector.comment)")
                #expect(try next.chain == VerifiedDeviceChain.verify(links(vector.served)), "\(vector.comment)")
            } catch let error as TrustError {
                #expect(error.code.rawValue == vector.error, "\(vector.comment)")
            }
        }
    }
}
