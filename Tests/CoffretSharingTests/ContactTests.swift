// Contacts: what a state rests on, what takes it away, and names that are taken for another's.

import CoffretBase
import CoffretCrypto
import CoffretKeys
import CoffretSharing
import CoffretTestSupport
import CoffretTrust
import Testing

@Suite("Contacts")
struct ContactTests {
    private let generator = SeededGenerator.fromEnvironment()

    private func code(_ body: () throws -> Void) -> SharingError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? SharingError)?.code
        }
    }

    private func known(_ person: Person) throws -> PersonCode.Known {
        PersonCode.Known(
            accountID: person.accountID, deviceHead: try #require(Bytes32(person.chain.head.linkHash)),
            identityHead: try #require(Bytes32(person.identity.head.linkHash)))
    }

    private func isUnchanged(_ verification: ContactVerification, _ chain: VerifiedDeviceChain) -> Bool {
        let now = verification.now(chain)
        return now.state == verification.state && !now.isChanged
    }

    private func hasFallen(_ verification: ContactVerification, _ chain: VerifiedDeviceChain) -> Bool {
        let now = verification.now(chain)
        return now.state == .linked && now.isChanged
    }

    @Test("R19, R79: a state falls behind a recovery of the account, and adding stops")
    func recovered() throws {
        let (alice, bob) = (try Person(generator), try Person(generator))
        let verification = ContactVerification(
            state: .compared, time: 5, own: try known(alice), other: try known(bob))
        #expect(ContactVerification(decoding: verification.encoded) == verification)
        #expect(ContactVerification(decoding: verification.encoded.dropLast()) == nil)
        let contact = Contact(accountID: bob.accountID, name: "Bob", verification: verification)
        #expect(isUnchanged(verification, bob.chain))
        try contact.checkSharing(bob.chain, required: .compared)
        #expect(code { try contact.checkSharing(bob.chain, required: .met) } == .contactUnverified)
        // Another device, which is in the chain, is no change; a recovery by paper is.
        let paper = SigningKey.generate(from: generator)
        let keys = DeviceKeys(
            signing: paper.verifyingKey, box: AgreementKey.generate(from: generator).publicKey,
            noise: AgreementKey.generate(from: generator).publicKey)
        let id = UniqueID.generate(from: generator)
        let added = bob.chain.sign(
            .add(
                id: id, kind: .paper, keys: keys,
                countersignature: DeviceOperation.countersign(
                    id: id, keys: keys, chainID: bob.accountID, sequenceNumber: 1, with: paper)), details: [],
            with: bob.signing)
        let grown = try bob.chain.following([added]).chain
        #expect(isUnchanged(verification, grown))
        let recovered = try grown.following([grown.sign(.recover(kept: [id]), details: [], with: paper)]
        ).chain
        #expect(hasFallen(verification, recovered))
        #expect(code { try contact.checkSharing(recovered) } == .contactChanged)
        // One who compared a branch that a recovery replaced is told, too.
        let later = ContactVerification(
            state: .met, time: 5, own: try known(alice),
            other: PersonCode.Known(
                accountID: bob.accountID, deviceHead: Bytes32(1, 2, 3, 4), identityHead: Bytes32(0, 0, 0, 0)
            ))
        #expect(hasFallen(later, grown))
    }

    @Test("nothing is shared with who is unverified, introduced, blocked, or another account")
    func states() throws {
        let (alice, bob) = (try Person(generator), try Person(generator))
        func contact(_ state: ContactState?, blocked: Milliseconds? = nil) throws -> Contact {
            let verification = try state.map {
                ContactVerification(
                    state: $0, time: 0, own: try known(alice), other: try known(bob),
                    introducer: alice.accountID)
            }
            return Contact(
                accountID: bob.accountID, name: "Bob", verification: verification, blockedSince: blocked)
        }
        for state in ContactState.allCases {
            let refusal: SharingError.Code? = state >= .linked ? nil : .contactUnverified
            #expect(code { try contact(state).checkSharing(bob.chain) } == refusal)
        }
        #expect(code { try contact(nil).checkSharing(bob.chain) } == .contactUnverified)
        #expect(
            code { try contact(.met, blocked: 7).checkSharing(bob.chain) } == .contactUnverified)
        #expect(code { try contact(.met).checkSharing(alice.chain) } == .contactUnverified)
    }

    @Test(
        "R79: names are shown without what turns or hides text, and look-alikes of a contact are found")
    func names() throws {
        #expect(ClaimedName("Bob\u{202E}\u{0} \n\u{200B}R.").shown == "Bob R.")
        #expect(ClaimedName("\u{2066}\u{FEFF}").shown.isEmpty)
        let bob = try Person(generator)
        let contacts = [Contact(accountID: bob.accountID, name: "Bill Warner")]
        let other = try Person(generator).accountID
        for name in ["bill warner", "BiII Warner", "B1ll  VVamer", "Bill\u{200B} Warner"] {
            #expect(contacts.lookAlikes(of: name, claimedBy: other).count == 1, "\(name)")
            #expect(contacts.lookAlikes(of: name, claimedBy: bob.accountID).isEmpty)
        }
        for name in ["Bella Warner", "Bob", ""] {
            #expect(contacts.lookAlikes(of: name, claimedBy: other).isEmpty, "\(name)")
        }
    }

    private static let hasICU = ClaimedName("\u{440}").looksLike(ClaimedName("p"))

    @Test(
        "R79: letters of other scripts that look the same are found, and mixed scripts are marked",
        .enabled(if: hasICU, "needs libicui18n"))
    func scripts() throws {
        let bob = try Person(generator)
        let contacts = [Contact(accountID: bob.accountID, name: "paypal")]
        let other = try Person(generator).accountID
        // Cyrillic а and р.
        let claimed = "p\u{430}y\u{440}al"
        #expect(contacts.lookAlikes(of: claimed, claimedBy: other).count == 1)
        for (one, two) in [("Bill Warner", "B\u{ED}ll Warner"), ("Zo\u{EB}", "zoe\u{308}")] {
            #expect(ClaimedName(one).looksLike(ClaimedName(two)), "accents are off")
        }
        #expect(ClaimedName(claimed).mixesScripts)
        #expect(!ClaimedName("Пётр Иванов").mixesScripts && !ClaimedName("Zoë Müller").mixesScripts)
        #expect(!ClaimedName("Пётр Smith").mixesScripts, "each word is looked at by itself")
    }
}
