// The seam to what keeps a slot's key: a file with a machine secret here, hardware and desktop services in a layer
// above. Invariant: no key store opens a slot alone, without a PIN, a passphrase or a check of its own.

package import CoffretBase
package import CoffretCrypto

/// The public side of a key that a key store has made for a slot.
package struct KeyStoreKey: Equatable, Sendable {
    package let algorithm: SlotAlgorithm
    package let publicKey: [UInt8]
    /// nil for a slot without a PIN.
    package let password: PasswordParameters?
    /// A `SlotReference`; lies in the keyring, in clear.
    package let reference: [UInt8]

    package init(
        algorithm: SlotAlgorithm, publicKey: [UInt8], password: PasswordParameters?, reference: [UInt8]
    ) {
        self.algorithm = algorithm
        self.publicKey = publicKey
        self.password = password
        self.reference = reference
    }
}

/// A key store's own limit of further attempts.
package struct KeyStoreAttempts: Equatable, Sendable {
    /// Wrong PINs that it still takes; it may be shared with others' keys.
    package let left: UInt32
    /// Seconds until it takes the next one; 0 unless `left` is.
    package let waitSeconds: UInt32
    /// In so many seconds one attempt is forgotten.
    package let recoverySeconds: UInt32

    package init(left: UInt32, waitSeconds: UInt32, recoverySeconds: UInt32) {
        self.left = left
        self.waitSeconds = waitSeconds
        self.recoverySeconds = recoverySeconds
    }
}

/// Keeps the private keys of slots of one kind.
///
/// Calls may wait for hardware or a person: they are cancelled with the task, end within a limit of time, and
/// block no thread of the cooperative pool.
package protocol KeyStore: Sendable {
    var kind: SlotKind { get }
    /// Makes a key for a new slot.
    ///
    /// - Parameter secret: the PIN; nil for a slot that the key store opens by its own check.
    /// - Throws: `.pinRequired` from a key store that has no check of its own.
    func generateKey(
        for place: SlotPlace, terms: SlotTerms, secret: Passphrase?
    ) async throws(KeyError) -> KeyStoreKey
    /// Opens the storage key that was sealed to a slot's key.
    ///
    /// - Throws: `.unlockFailed` for a wrong secret and for anything altered.
    func openStorageKey(
        of slot: KeySlot, binding: SlotBinding, secret: Passphrase?
    ) async throws(KeyError) -> StorageKey
    /// Forgets a slot's key. A key that is gone already is no error.
    func removeKey(of slot: KeySlot, storeID: UniqueID) async throws(KeyError)
    /// How many wrong PINs it still takes; nil if it does not count.
    func attempts() async throws(KeyError) -> KeyStoreAttempts?
}

/// Asks a person to show that they are there: by fingerprint, password or whatever PAM is set up for.
///
/// It says yes or no and releases no key, so it is never the only thing that protects one.
package protocol UserPresence: Sendable {
    /// Whether this machine says how people show that they are there. Asks nobody.
    var isSetUp: Bool { get }
    /// Returns once the person has shown it.
    ///
    /// - Parameter reason: what it is for, in a few words for people.
    /// - Throws: `.keyStoreFailed` with the cause, `.presenceRequired`.
    func confirm(reason: String) async throws(KeyError)
}

/// Speaks with the person on behalf of what asks for presence. Called on a thread of its own.
package protocol PresenceConversation: Sendable {
    /// Asks; nil if nobody answers. What is typed unseen is a password of the system, not of the store.
    func answer(_ prompt: String, isHidden: Bool) -> SecretBytes?
    /// Tells, such as "Place your finger on the reader".
    func show(_ text: String)
}

/// A slot whose key was made, and which is not in a keyring yet.
package struct PreparedSlot: Sendable {
    package let slot: KeySlot
    package let terms: SlotTerms
}

extension KeyStore {
    /// Makes a key for a new slot of a store; `UnlockedKeyring.add` puts it in place.
    ///
    /// - Parameter anchor: `UnlockedKeyring.anchor` of the store.
    /// - Throws: `.slotMalformed` for a profile's name that is empty or too long.
    package func prepareSlot(
        storeID: UniqueID, anchor: [UInt8], terms: SlotTerms, secret: Passphrase?, random: any RandomSource
    ) async throws(KeyError) -> PreparedSlot {
        guard (1...SlotTerms.profileByteCountMax).contains(terms.profile.utf8.count) else {
            throw KeyError(.slotMalformed, at: "profile")
        }
        let id = UniqueID.generate(from: random)
        let key = try await generateKey(
            for: SlotPlace(storeID: storeID, slotID: id, anchor: anchor), terms: terms, secret: secret)
        return PreparedSlot(
            slot: KeySlot(
                id: id, kind: kind, algorithm: key.algorithm, publicKey: key.publicKey, anchor: anchor,
                password: key.password, reference: key.reference, sealedStorageKey: []), terms: terms)
    }
}
