// Chains: what verifies, and every way in which one must not.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import CoffretTrust
import Testing

/// A device with its private keys, for making chains in tests.
struct TestDevice {
    let id: UniqueID
    let kind: DeviceKind
    let signing: SigningKey
    let keys: DeviceKeys

    init(_ generator: SeededGenerator, kind: DeviceKind = .ordinary) {
        self.kind = kind
        id = .generate(from: generator)
        signing = .generate(from: generator)
        keys = DeviceKeys(
            signing: signing.verifyingKey, box: AgreementKey.generate(from: generator).publicKey,
            noise: AgreementKey.generate(from: generator).publicKey)
    }

    func found() -> UnverifiedLink {
        VerifiedDeviceChain.found(deviceID: id, keys: keys, details: [], with: signing)
    }

    func joining(_ chain: VerifiedDeviceChain) -> DeviceOperation {
        .add(
            id: id, kind: kind, keys: keys,
            countersignature: DeviceOperation.countersign(
                id: id, keys: keys, chainID: chain.accountID, sequenceNumber: UInt64(chain.links.count), with: signing))
    }
}

@Suite("Trust chains")
struct ChainTests {
    let generator = SeededGenerator.fromEnvironment()

    private func chain(_ links: [UnverifiedLink]) throws -> VerifiedDeviceChain { try .verify(links) }

    private func code(_ body: () throws -> Void) -> TrustError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? TrustError)?.code
        }
    }

    @Test("a device founds an account, adds another, which revokes the first")
    func lifeOfAChain() throws {
        let (first, second) = (TestDevice(generator), TestDevice(generator))
        var links = [first.found()]
        let one = try chain(links)
        #expect(one.accountID.bytes == links[0].hash(inChain: nil))
        links.append(one.sign(second.joining(one), details: [], with: first.signing))
        let two = try chain(links)
        links.append(two.sign(.revoke(id: first.id), details: [], with: second.signing))
        let three = try chain(links)
        #expect(three.devices.map(\.isTrusted) == [false, true])
        #expect(three.device(first.id)?.revokedAt == 2)
        let late = three.sign(TestDevice(generator).joining(three), details: [], with: first.signing)
        #expect(code { _ = try chain(links + [late]) } == .signerRevoked)
        let decoded = try links.map { try UnverifiedLink(decoding: $0.encoded) }
        #expect(try chain(decoded) == three)
    }

    @Test("R20: a device is not added by a stranger, without its own proof, or twice")
    func additions() throws {
        let (first, second, stranger) = (TestDevice(generator), TestDevice(generator), TestDevice(generator))
        let one = try chain([first.found()])
        func refusal(_ operation: DeviceOperation, _ signer: TestDevice) -> TrustError.Code? {
            code { _ = try chain([first.found(), one.sign(operation, details: [], with: signer.signing)]) }
        }
        #expect(refusal(second.joining(one), stranger) == .signerUnknown)
        #expect(refusal(second.joining(one), second) == .signerUnknown)
        #expect(refusal(first.joining(one), first) == .deviceExists)
        #expect(refusal(.revoke(id: stranger.id), first) == .deviceUnknown)
        let bare = DeviceOperation.add(id: second.id, kind: .ordinary, keys: second.keys, countersignature: [])
        #expect(refusal(bare, first) == .countersignatureInvalid)
        let other = try chain([stranger.found()])
        #expect(refusal(second.joining(other), first) == .countersignatureInvalid, "proof for another account")
        #expect(refusal(second.joining(one), first) == nil)
    }

    @Test(
        "protocol 2: a login challenge equal to a link's hash signs no link, and a login for one server is none for another"
    )
    func signingOracle() throws {
        let (victim, attacker) = (TestDevice(generator), TestDevice(generator))
        let one = try chain([victim.found()])
        // The link that would let the attacker in, as the victim would sign it.
        let wanted = one.sign(attacker.joining(one), details: [], with: victim.signing)
        let hash = wanted.hash(inChain: one.accountID)
        #expect(code { _ = try chain([victim.found(), wanted]) } == nil, "signed as a link it would count")

        func proof(_ serverName: String) -> LoginProof {
            LoginProof(
                serverName: serverName, fingerprint: LoginProof.noFingerprint, accountID: one.accountID,
                deviceID: victim.id, serverNonce: hash, clientNonce: [UInt8](repeating: 5, count: 32), expiry: 1)
        }
        let login = proof("here.example")
        let signature = login.sign(with: victim.signing)
        try login.verify(signature, by: victim.signing.verifyingKey)
        let forged = CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 8)
            encoder.encode(unsigned: UnverifiedLink.version)
            encoder.encode(unsigned: UInt64(wanted.kind.rawValue))
            encoder.encode(unsigned: wanted.sequenceNumber)
            for part in [
                wanted.publicPart, wanted.sealedPart, wanted.previousLinkHash, wanted.signerKey, signature,
            ] { encoder.encode(bytes: part) }
        }
        let link = try UnverifiedLink(decoding: forged)
        #expect(link.hash(inChain: one.accountID) == hash, "it says what the wanted link says")
        #expect(code { _ = try chain([victim.found(), link]) } == .signatureInvalid)
        // The other way round: a link's signature logs nobody in. Nor does a login that was passed on.
        let key = victim.signing.verifyingKey
        #expect(code { try login.verify(wanted.signature, by: key) } == .signatureInvalid)
        #expect(code { try proof("there.example").verify(signature, by: key) } == .signatureInvalid)
    }

    @Test("links of other chains, other kinds, gaps and changed order are refused")
    func order() throws {
        let (first, second, third) = (TestDevice(generator), TestDevice(generator), TestDevice(generator))
        var links = [first.found()]
        for device in [second, third] {
            let current = try chain(links)
            links.append(current.sign(device.joining(current), details: [], with: first.signing))
        }
        #expect(code { _ = try chain([]) } == .chainEmpty)
        #expect(code { _ = try chain([links[0], links[2]]) } == .chainGap)
        #expect(code { _ = try chain([links[1]]) } == .chainGap)
        let rival = try chain([second.found()])
        let foreign = rival.sign(third.joining(rival), details: [], with: second.signing)
        #expect(code { _ = try chain([links[0], foreign]) } == .chainBroken)
        #expect(code { _ = try VerifiedDeviceChain.verify(links, accountID: rival.accountID) } == .chainIDDiffers)
        let member = VerifiedMemberChain.found(
            VaultFoundation(
                random: generator.bytes(count: 32), accountID: rival.accountID, deviceChainHead: rival.head.linkHash,
                keyCommitment: generator.bytes(count: 32)), details: [], with: second.signing)
        #expect(code { _ = try chain([member]) } == .chainKindDiffers)
    }

    @Test("R1, R2: a chain that ends before, or differs from, what was seen is refused")
    func remembered() throws {
        let (first, second, third) = (TestDevice(generator), TestDevice(generator), TestDevice(generator))
        let one = try chain([first.found()])
        let two = try chain([first.found(), one.sign(second.joining(one), details: [], with: first.signing)])
        let rival = [first.found(), one.sign(third.joining(one), details: [], with: first.signing)]
        #expect(code { _ = try VerifiedDeviceChain.verify([first.found()], remembered: two.head) } == .chainRolledBack)
        #expect(code { _ = try VerifiedDeviceChain.verify(rival, remembered: two.head) } == .chainForked)
        _ = try VerifiedDeviceChain.verify(two.links.map(\.link), remembered: one.head)
    }

    @Test("R14: every flipped bit of a link is refused")
    func flippedBits() throws {
        let first = TestDevice(generator)
        let one = try chain([first.found()])
        let link = one.sign(TestDevice(generator).joining(one), details: [1, 2, 3], with: first.signing)
        withEveryFlippedBit(link.encoded) { changed, bit in
            #expect(throws: TrustError.self, "bit \(bit)") {
                _ = try chain([first.found(), try UnverifiedLink(decoding: changed)])
            }
        }
        withEveryFlippedBit(first.found().encoded) { changed, bit in
            #expect(throws: TrustError.self, "bit \(bit)") {
                _ = try VerifiedDeviceChain.verify([try UnverifiedLink(decoding: changed)], accountID: one.accountID)
            }
        }
    }

    @Test("a vault is founded by a device of the founder's account, at a head of its chain")
    func vaults() throws {
        let (first, stranger) = (TestDevice(generator), TestDevice(generator))
        let account = try chain([first.found()])
        func found(_ accountID: ChainID, _ head: [UInt8], _ signer: TestDevice) -> UnverifiedLink {
            VerifiedMemberChain.found(
                VaultFoundation(
                    random: generator.bytes(count: 32), accountID: accountID, deviceChainHead: head,
                    keyCommitment: generator.bytes(count: 32)), details: [], with: signer.signing)
        }
        let link = found(account.accountID, account.head.linkHash, first)
        let vault = try VerifiedMemberChain.verify([link], founder: account)
        #expect(vault.vaultID.bytes == link.hash(inChain: nil))
        func refusal(_ link: UnverifiedLink) -> TrustError.Code? {
            code { _ = try VerifiedMemberChain.verify([link], founder: account) }
        }
        #expect(refusal(found(account.accountID, account.head.linkHash, stranger)) == .signerUnknown)
        let other = try chain([stranger.found()])
        #expect(refusal(found(other.accountID, account.head.linkHash, first)) == .founderDiffers)
        #expect(refusal(found(account.accountID, other.head.linkHash, first)) == .founderDiffers)
        let second = found(account.accountID, account.head.linkHash, first)
        let swapped = VaultID(vault.vaultID.bytes)
        #expect(
            code { _ = try VerifiedMemberChain.verify([second], founder: account, vaultID: swapped) } == .chainIDDiffers
        )
    }

    @Test("details of a link open for whoever holds the key, about their subject only")
    func details() throws {
        let key = LinkDetailsKey.generate(from: generator)
        let details = LinkDetails(name: "Laptop", model: "X", time: 5)
        let sealed = details.seal(kind: .device, subject: [1], key: key, random: generator)
        #expect(try LinkDetails.open(sealed, kind: .device, subject: [1], key: key) == details)
        let reachable = LinkDetails(name: "Phone", model: "Y", time: -5, notificationAddress: "ntfy:x")
        let other = reachable.seal(kind: .device, subject: [1], key: key, random: generator)
        #expect(try LinkDetails.open(other, kind: .device, subject: [1], key: key) == reachable)
        #expect(throws: TrustError(.detailsSealed)) {
            try LinkDetails.open(sealed, kind: .device, subject: [2], key: key)
        }
        #expect(throws: TrustError(.detailsSealed)) {
            try LinkDetails.open(sealed, kind: .member, subject: [1], key: key)
        }
    }

    @Test("R14 fuzz: altered links are refused or are the same link")
    func fuzzLinks() throws {
        let first = TestDevice(generator)
        let one = try chain([first.found()])
        let sample = one.sign(TestDevice(generator).joining(one), details: [1], with: first.signing)
        fuzz([sample.encoded, first.found().encoded]) { bytes in
            if let link = try? UnverifiedLink(decoding: bytes) { #expect(link.encoded == bytes) }
        }
    }
}
