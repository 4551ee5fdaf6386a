// Identity chains: those that another implementation made, and every way in which one must not verify.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import CoffretTrust
import Testing

@Suite("Identity chains")
struct IdentityTests {
    private struct Vectors: Decodable {
        struct Identity: Decodable {
            let comment: String
            let devices: [String]
            let branches: [[String]]
            let links: [String]
            let head: String?
            let current: Bool?
            let error: String?
            let at: UInt64?
        }
        let identities: [Identity]
    }

    private func links(_ texts: [String]) throws -> [UnverifiedLink] {
        try texts.map { try UnverifiedLink(decoding: Hex.decode($0)) }
    }

    @Test("R52, R60: identity chains verify, or are refused with the named error at the named link")
    func vectors() throws {
        let vectors = try VectorFile.decode(Vectors.self, from: "trust/people.json").identities
        #expect(vectors.count == 32)
        for vector in vectors {
            let devices = AccountDevices(
                try .verify(links(vector.devices)),
                replaced: try vector.branches.map { try .verify(links($0)) })
            do {
                let chain = try VerifiedIdentityChain.verify(links(vector.links), devices: devices)
                #expect(vector.error == nil, "\(vector.comment)")
                #expect(Hex.encode(chain.head.linkHash) == vector.head, "\(vector.comment)")
                #expect(chain.isCurrent(for: devices) == vector.current, "\(vector.comment)")
                #expect(try VerifiedIdentityChain.resume(links(vector.links), devices: devices) == chain)
            } catch let error as TrustError {
                #expect(error.code.rawValue == vector.error, "\(vector.comment)")
                #expect(error.sequenceNumber == vector.at, "\(vector.comment)")
            }
        }
    }

    private func code(_ body: () throws -> Void) -> TrustError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? TrustError)?.code
        }
    }

    /// An account of one device with keys, and links of its identity.
    private struct World {
        let generator: SeededGenerator
        let device: TestDevice
        var chain: VerifiedDeviceChain
        var identity: VerifiedIdentityChain?

        init(_ generator: SeededGenerator) throws {
            self.generator = generator
            device = TestDevice(generator)
            chain = try .verify([device.found()])
        }

        var devices: AccountDevices { AccountDevices(chain) }

        func link(sets: Bool, by signer: TestDevice? = nil, head: StatedLink? = nil) -> UnverifiedLink {
            let (box, key) = (AgreementKey.generate(from: generator), AgreementKey.generate(from: generator))
            let transient = TransientKey(key: key.publicKey, made: 0, expires: 1)
            let head = head ?? StatedLink(chain.head)
            let number = UInt64(identity?.links.count ?? 0)
            let operation =
                sets
                ? IdentityOperation.set(
                    head: head, box: box.publicKey, transient: transient, number: number, of: chain.accountID,
                    signing: .generate(from: generator))
                : IdentityOperation.refresh(head: head, transient: transient)
            return VerifiedIdentityChain.sign(
                operation, after: identity, account: chain.accountID, with: (signer ?? device).signing)
        }

        mutating func append(sets: Bool, by signer: TestDevice? = nil, head: StatedLink? = nil) throws {
            let links = (identity?.links.map(\.link) ?? []) + [link(sets: sets, by: signer, head: head)]
            identity = try VerifiedIdentityChain.verify(links, devices: devices)
        }
    }

    @Test("R51, R52: a chain is followed, and neither shortened nor replaced from link 0 on")
    func following() throws {
        var world = try World(.fromEnvironment())
        try world.append(sets: true)
        let one = try #require(world.identity)
        try world.append(sets: false)
        let two = try #require(world.identity)
        let links = two.links.map(\.link)
        #expect(try one.following([links[1]], devices: world.devices) == two)
        #expect(try two.following([links[1]], devices: world.devices) == two)
        #expect(code { _ = try two.following([links[0]], devices: world.devices) } == .chainRolledBack)
        var other = world
        other.identity = nil
        let second = other.link(sets: true)
        #expect(code { _ = try two.following([second], devices: world.devices) } == .chainRolledBack)
        other.identity = try VerifiedIdentityChain.verify([second], devices: world.devices)
        let refresh = other.link(sets: false)
        #expect(code { _ = try two.following([second, refresh], devices: world.devices) } == .chainForked)
        #expect(code { _ = try one.following([second], devices: world.devices) } == .chainForked)
    }

    @Test("R52: links of a device that was revoked have no effect until a trusted one sets anew")
    func stolenDevice() throws {
        var world = try World(.fromEnvironment())
        let thief = TestDevice(world.generator)
        func extend(_ operation: DeviceOperation) throws {
            let link = world.chain.sign(operation, details: [], with: world.device.signing)
            world.chain = try .verify(world.chain.links.map(\.link) + [link])
        }
        try extend(thief.joining(world.chain))
        let before = StatedLink(world.chain.head)
        try world.append(sets: true)
        try world.append(sets: true, by: thief)
        #expect(try #require(world.identity).isCurrent(for: world.devices))
        try extend(.revoke(id: thief.id))
        let late = try #require(world.identity)
        #expect(!late.isCurrent(for: world.devices))
        #expect(code { _ = try late.receivingKeys(for: world.devices) } == .identityStale)
        // With the server's help it goes on from the old head.
        try world.append(sets: true, by: thief, head: before)
        #expect(!(try #require(world.identity)).isCurrent(for: world.devices))
        // A refresh by a trusted device does not make a thief's keys good.
        try world.append(sets: false)
        #expect(!(try #require(world.identity)).isCurrent(for: world.devices))
        try world.append(sets: true)
        let mended = try #require(world.identity)
        #expect(try mended.receivingKeys(for: world.devices).head == StatedLink(mended.head))
        #expect(code { try world.append(sets: true, by: thief, head: before) } == .identityHeadsBehind)
    }

    @Test("R92: an identity link with any bit flipped is refused")
    func everyBit() throws {
        var world = try World(.fromEnvironment())
        try world.append(sets: true)
        let encoded = try #require(world.identity).links[0].link.encoded
        for offset in encoded.indices {
            for bit in 0..<8 as Range<UInt8> {
                var bytes = encoded
                bytes[offset] ^= 1 << bit
                let code = code {
                    _ = try VerifiedIdentityChain.verify([UnverifiedLink(decoding: bytes)], devices: world.devices)
                }
                #expect(code != nil, "bit \(bit) of byte \(offset)")
            }
        }
    }
}
