// Letters: those that another implementation made, and letters that are put to another use.

import CoffretBase
import CoffretCrypto
import CoffretKeys
import CoffretTestSupport
import CoffretTrust
import Testing

@testable import CoffretSharing

@Suite("Letters")
struct LetterTests {
    private struct Vectors: Decodable {
        struct Letters: Decodable {
            struct Case: Decodable {
                let comment: String
                let purpose: UInt8
                let letter: String
            }
            let recipientDevices: [String]
            let identity: [String]
            let senderDevices: [String]
            let signingSeed: String
            let boxKey: String
            let transientKeys: [String]
            let ephemeral: String
            let nonce: String
            let vault: String
            let proof: String
            let answer: String
            let cases: [Case]
            let fixedKey: String
        }
        let letters: Letters
    }

    /// Gives one sequence of bytes, for the nonce of an envelope.
    private struct FixedSource: RandomSource {
        let bytes: [UInt8]

        func fill(_ target: UnsafeMutableRawBufferPointer) {
            for index in target.indices { unsafe target[index] = bytes[index % bytes.count] }
        }
    }

    private let generator = SeededGenerator.fromEnvironment()

    private func links(_ texts: [String]) throws -> [UnverifiedLink] {
        try texts.map { try UnverifiedLink(decoding: Hex.decode($0)) }
    }

    private func secret(_ hex: String) throws -> SecretBytes {
        var bytes = try Hex.decode(hex)
        return SecretBytes(consuming: &bytes)
    }

    private func open(_ key: borrowing SecretBytes) -> [UInt8] { unsafe key.withUnsafeBytes { unsafe [UInt8]($0) } }

    private func code(_ body: () throws -> Void) -> SharingError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? SharingError)?.code
        }
    }

    @Test("letters of each purpose open, and are sealed to the same bytes with the same ephemeral key and nonce")
    func vectors() throws {
        let vectors = try VectorFile.decode(Vectors.self, from: "trust/people.json").letters
        let devices = AccountDevices(try .verify(links(vectors.recipientDevices)))
        let chain = try VerifiedIdentityChain.verify(links(vectors.identity), devices: devices)
        let keys = IdentityKeys(
            longTerm: [
                .init(
                    number: 0, signing: SigningKey(seed: try secret(vectors.signingSeed)),
                    box: AgreementKey(try secret(vectors.boxKey)), since: 0)
            ],
            transients: try vectors.transientKeys.enumerated().map {
                .init(number: UInt64($0.offset), key: AgreementKey(try secret($0.element)), since: 0)
            })
        let sender = AccountDevices(try .verify(links(vectors.senderDevices)))
        let random = FixedSource(bytes: try Hex.decode(vectors.nonce))
        let signer = SigningKey(seed: try secret(String(repeating: "0b", count: 32)))
        #expect(vectors.cases.count == 6)
        for vector in vectors.cases {
            let bytes = try Hex.decode(vector.letter)
            let letter = try UnverifiedLetter(decoding: bytes)
            #expect(letter.encoded == bytes && letter.header.purpose.rawValue == vector.purpose)
            try letter.checkSender(sender)
            let link = try #require(chain.link(at: letter.header.recipientHead), "\(vector.comment)")
            let box = try #require(keys.longTerm(of: chain.newestSet)).box
            let transient = try #require(keys.transient(of: link))
            let key = try #require(LetterSealing.openingKey(letter.header, box: box, transient: transient))
            let opened = try unsafe Envelope.open(
                letter.sealed, key: key, context: .letterContent, associatedData: letter.header.encoded,
                fill: letter.header.purpose.fill
            ) { content in unsafe LetterContent.decode(content, purpose: letter.header.purpose) }
            let content = try #require(opened, "\(vector.comment)")
            try check(content, vectors)
            guard link.number == 1 else { continue }
            let sealed = try LetterSealing.seal(
                content, scope: letter.header.scope,
                subject: #require(LetterSubject(decoding: letter.header.subject, of: content.purpose)),
                from: LetterSender(
                    accountID: letter.header.sender, deviceID: letter.header.senderDevice,
                    head: letter.header.senderHead, signingKey: signer),
                to: LetterRecipient(chain.receivingKeys(for: devices), now: 0),
                ephemeral: AgreementKey(try secret(vectors.ephemeral)), random: random)
            #expect(sealed == letter, "\(vector.comment)")
        }
    }

    private func check(_ content: LetterContent, _ vectors: Vectors.Letters) throws {
        switch content {
        case .vaultKey(let keys):
            #expect(open(keys.vaultKey.duplicateSecret()) == [UInt8](repeating: 1, count: 32))
            #expect(open(keys.splitKey.duplicateSecret()) == [UInt8](repeating: 2, count: 32))
            #expect(keys.word.isEmpty)
        case .contactRequest(let request):
            let proof = try Hex.decode(vectors.proof)
            #expect(request.card.name == "Bob R." && (request.proof ?? proof) == proof)
        case .contactAnswer(let answer):
            let proof = try Hex.decode(vectors.answer)
            #expect(answer.proof == proof)
        case .recoveryShare(let share): #expect([share.x, share.threshold, share.count] == [2, 2, 3])
        case .keyWanted: break
        }
    }

    @Test("the key of a letter is derived as the published vector says")
    func fixedKey() throws {
        let vectors = try VectorFile.decode(Vectors.self, from: "trust/people.json").letters
        func key(_ byte: UInt8) throws -> AgreementPublicKey {
            try AgreementPublicKey([UInt8](repeating: byte, count: 32))
        }
        let shared = try secret(String(repeating: "01", count: 32) + String(repeating: "02", count: 32))
        let agreed = try LetterSealing.key(
            from: shared, ephemeral: key(3), box: key(4), transient: key(5), header: [0x80])
        #expect(Hex.encode(open(agreed.duplicateSecret())) == vectors.fixedKey)
    }

    // MARK: R54

    /// Alice founded a vault in which Bob is, and sends him its key.
    private struct World {
        let alice, bob, carol: Person
        let vault, other: SharedVault
        let letter: UnverifiedLetter

        init(_ generator: SeededGenerator) throws {
            alice = try Person(generator)
            bob = try Person(generator)
            carol = try Person(generator)
            vault = try SharedVault(alice, adding: [bob], generator)
            other = try SharedVault(alice, adding: [bob], generator)
            letter = try LetterSealing.seal(
                vault.content(), scope: vault.rights.vaultID.bytes,
                subject: .key(epoch: 2, memberHead: vault.head), from: alice.sender, to: bob.recipient(),
                random: generator)
        }

        /// The letter with another header, signed by whom it names.
        func altered(
            scope: [UInt8]? = nil, subject: LetterSubject? = nil, purpose: LetterPurpose? = nil, sender: Person? = nil,
            recipient: Person? = nil
        ) -> UnverifiedLetter {
            let (old, sender, recipient) = (letter.header, sender ?? alice, recipient ?? bob)
            let header = LetterHeader(
                purpose: purpose ?? old.purpose, scope: scope ?? old.scope, subject: subject?.encoded ?? old.subject,
                sender: sender.accountID, senderDevice: sender.deviceID, senderHead: StatedLink(sender.chain.head),
                recipient: recipient.accountID, recipientHead: StatedLink(recipient.identity.head),
                ephemeral: old.ephemeral)
            return UnverifiedLetter(header: header, sealed: letter.sealed, with: sender.signing)
        }
    }

    @Test(
        "R54: a letter replayed to another vault, epoch, purpose or recipient, or signed anew by another, does not open"
    )
    func letterBinding() throws {
        let world = try World(generator)
        let (bob, vault) = (world.bob, world.vault)
        guard
            case .vaultKey(let keys) = try bob.opener.open(
                world.letter, from: world.alice.devices, in: .vault(vault.rights))
        else {
            Issue.record("another content")
            return
        }
        #expect(try keys.vaultKey.isEqual(to: #require(vault.vaultKeys[2])))
        func refusal(
            _ letter: UnverifiedLetter, by sender: Person? = nil, to recipient: Person? = nil,
            in place: LetterPlace? = nil
        ) -> SharingError.Code? {
            code {
                _ = try (recipient ?? bob).opener.open(
                    letter, from: (sender ?? world.alice).devices, in: place ?? .vault(vault.rights))
            }
        }
        #expect(refusal(world.letter, in: .vault(world.other.rights)) == .letterInvalid)
        let elsewhere = world.altered(scope: world.other.rights.vaultID.bytes)
        #expect(refusal(elsewhere, in: .vault(world.other.rights)) == .letterInvalid)
        #expect(refusal(world.altered(subject: .key(epoch: 1, memberHead: vault.head))) == .letterInvalid)
        #expect(refusal(world.altered(subject: .epoch(2), purpose: .keyWanted)) == .letterInvalid)
        #expect(
            refusal(
                world.altered(scope: bob.accountID.bytes, subject: LetterSubject.none, purpose: .contactRequest),
                in: .account) == .letterInvalid)
        #expect(refusal(world.letter, to: world.carol) == .letterInvalid)
        #expect(refusal(world.altered(recipient: world.carol), to: world.carol) == .letterInvalid)
        // Bob is a member: what he signs is his, and does not open under Alice's header.
        #expect(refusal(world.altered(sender: bob), by: bob) == .letterInvalid)
        // Carol is none.
        #expect(refusal(world.altered(sender: world.carol), by: world.carol) == .letterInvalid)
        #expect(refusal(world.letter, by: world.carol) == .letterInvalid)
    }

    @Test("R54: a letter to keys that were replaced says so; one to an older transient key opens")
    func replacedIdentity() throws {
        var world = try World(generator)
        let (letter, vault) = (world.letter, world.vault)
        var bob = world.bob
        try bob.append(sets: false)
        #expect(throws: Never.self) {
            _ = try bob.opener.open(letter, from: world.alice.devices, in: .vault(vault.rights))
        }
        try bob.append(sets: true)
        #expect(
            code { _ = try bob.opener.open(letter, from: world.alice.devices, in: .vault(vault.rights)) }
                == .letterStaleIdentity)
        world = try World(generator)
        let emptied = LetterOpener(
            chain: world.bob.identity, keys: IdentityKeys(longTerm: world.bob.keys.longTerm, transients: []))
        #expect(
            code { _ = try emptied.open(world.letter, from: world.alice.devices, in: .vault(world.vault.rights)) }
                == .letterInvalid)
    }

    @Test("R54: nobody reads letters by claiming another's box key in a chain of his own")
    func claimedBoxKey() throws {
        let (alice, bob, thief) = (try Person(generator), try Person(generator), try Person(generator))
        let box = try #require(bob.identity.newestSet.operation.longTerm?.box)
        let own = AgreementKey.generate(from: generator)
        let operation = IdentityOperation.set(
            head: StatedLink(thief.chain.head), box: box,
            transient: TransientKey(key: own.publicKey, made: 0, expires: 1), number: 0, of: thief.accountID,
            signing: .generate(from: generator))
        let claimed = try VerifiedIdentityChain.verify(
            [VerifiedIdentityChain.sign(operation, after: nil, account: thief.accountID, with: thief.signing)],
            devices: thief.devices)
        let letter = try LetterSealing.seal(
            .contactRequest(ContactContent(card: alice.card(named: "Alice"), proof: nil)),
            scope: thief.accountID.bytes, subject: LetterSubject.none, from: alice.sender,
            to: LetterRecipient(claimed.receivingKeys(for: thief.devices), now: 0), random: generator)
        // The server hands it to Bob, whose box key it was sealed to.
        #expect(
            code { _ = try bob.opener.open(letter, from: alice.devices, in: .account) } == .letterInvalid)
    }

    @Test("R55: a key, or a split key, that the chain does not commit to is refused")
    func splitGroup() throws {
        let world = try World(generator)
        let (bob, vault) = (world.bob, world.vault)
        func refusal(_ content: VaultKeyContent, epoch: UInt32 = 2) -> SharingError.Code? {
            code {
                let letter = try LetterSealing.seal(
                    .vaultKey(content), scope: vault.rights.vaultID.bytes,
                    subject: .key(epoch: epoch, memberHead: vault.head), from: world.alice.sender,
                    to: bob.recipient(), random: generator)
                _ = try bob.opener.open(letter, from: world.alice.devices, in: .vault(vault.rights))
            }
        }
        let (first, second) = (try #require(vault.vaultKeys[1]), try #require(vault.vaultKeys[2]))
        let split = vault.splitKey
        #expect(refusal(VaultKeyContent(vaultKey: second, splitKey: split)) == nil)
        #expect(refusal(VaultKeyContent(vaultKey: first, splitKey: split), epoch: 1) == nil)
        #expect(refusal(VaultKeyContent(vaultKey: first, splitKey: split)) == .letterKeyDiffers)
        #expect(
            refusal(VaultKeyContent(vaultKey: .generate(from: generator), splitKey: split)) == .letterKeyDiffers)
        #expect(
            refusal(VaultKeyContent(vaultKey: second, splitKey: .generate(from: generator))) == .letterKeyDiffers)
        #expect(refusal(VaultKeyContent(vaultKey: second, splitKey: split), epoch: 3) == .letterKeyDiffers)
    }

    @Test("R53: a transient key is used for 45 days past its time, and not longer")
    func dormant() throws {
        let person = try Person(generator, expires: 1_000)
        let day: Milliseconds = 86_400_000
        #expect(try !person.recipient(now: 1_000).isExpired)
        #expect(try person.recipient(now: 1_001).isExpired)
        #expect(try person.recipient(now: 1_000 + 45 * day).isExpired)
        #expect(code { _ = try person.recipient(now: 1_001 + 45 * day) } == .recipientDormant)
        #expect(throws: Never.self) { _ = try person.recipient(now: .min) }
        #expect(code { _ = try person.recipient(now: .max) } == .recipientDormant)
    }

    @Test("a recipient's keys with which nothing can be agreed on are refused")
    func zeroAgreement() throws {
        let person = try Person(generator)
        let operation = IdentityOperation.set(
            head: StatedLink(person.chain.head), box: try AgreementPublicKey([UInt8](repeating: 0, count: 32)),
            transient: TransientKey(key: AgreementKey.generate(from: generator).publicKey, made: 0, expires: 1),
            number: 0, of: person.accountID, signing: .generate(from: generator))
        let identity = try VerifiedIdentityChain.verify(
            [VerifiedIdentityChain.sign(operation, after: nil, account: person.accountID, with: person.signing)],
            devices: person.devices)
        #expect(
            code {
                _ = try LetterSealing.seal(
                    .keyWanted, scope: [UInt8](repeating: 0, count: 32), subject: .epoch(1), from: person.sender,
                    to: LetterRecipient(identity.receivingKeys(for: person.devices), now: 0), random: generator)
            } == .letterInvalid)
    }

    @Test("R92: a letter with any bit flipped is refused")
    func everyBit() throws {
        let world = try World(generator)
        let encoded = world.letter.encoded
        let (opener, devices) = (world.bob.opener, world.alice.devices)
        for offset in encoded.indices {
            var bytes = encoded
            bytes[offset] ^= 1 << UInt8(offset % 8)
            let letter = try? UnverifiedLetter(decoding: bytes)
            guard let letter else { continue }
            let opened = try? opener.open(letter, from: devices, in: .vault(world.vault.rights))
            #expect(opened == nil, "byte \(offset)")
        }
        #expect(throws: TrustError.self) {
            try UnverifiedLetter(decoding: [UInt8](repeating: 0, count: UnverifiedLetter.byteCountMax + 1))
        }
    }
}
