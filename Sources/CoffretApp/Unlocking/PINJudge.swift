// A PIN against the key stores of this machine. The one thing to keep true: only slots of the wanted profile are
// tried, and the last try that a TPM would take is left to a person who waited.

internal import CoffretBase
internal import CoffretCore
package import CoffretCrypto
package import CoffretKeys
internal import CoffretMessages

/// Opens the storage key of one store with a PIN.
package struct PINJudge {
    private let path: String
    private let surroundings: KeyStoreSurroundings
    private let profile: String
    private let presence: (any UserPresence)?
    /// The slots of the profile, the one worth most first.
    private let slots: [SlotSummary]

    private static let order: [SlotKind] = [.tpm, .secretService, .machine]

    /// - Parameters:
    ///   - hasPIN: false for slots that a key store opens by its own check.
    ///   - presence: for slots that ask for it; nil where nobody can be asked.
    /// - Throws: `KeyError.slotNotFound` if the profile has no such slot here.
    package init(
        path: String, surroundings: KeyStoreSurroundings, hasPIN: Bool, profile: String,
        presence: (any UserPresence)?
    ) throws {
        self.path = path
        self.surroundings = surroundings
        self.presence = presence
        self.profile = profile
        let summary = try KeyringSummary.read(
            at: StoreLayout(path).keyringPath, fileSystem: surroundings.fileSystem)
        slots = summary.slots.filter { $0.kind.isKeyStore && $0.hasPIN == hasPIN && $0.terms?.profile == profile }
            .sorted { Self.order.firstIndex(of: $0.kind) ?? 9 < Self.order.firstIndex(of: $1.kind) ?? 9 }
        guard !slots.isEmpty else { throw KeyError(.slotNotFound, at: profile) }
    }

    /// Whether this process has a way to one of the key stores.
    package var isUsableHere: Bool { slots.contains { KeyStoreProviders.keyStore($0.kind, surroundings) != nil } }

    /// Reads from the TPM what it would still take, and refuses before it is asked in vain.
    ///
    /// - Throws: `.lockedOut` with the seconds to wait.
    package func checkAttempts() throws {
        guard slots.contains(where: { $0.kind == .tpm }),
            let store = KeyStoreProviders.keyStore(.tpm, surroundings)
        else { return }
        let attempts = try? KeyStoreProviders.wait { () async throws(KeyError) in try await store.attempts() }
        guard let attempts, attempts.left == 0 else { return }
        throw KeyError(
            .keyStoreFailed, cause: KeyStoreError(.lockedOut, place: "tpm", waitSeconds: attempts.waitSeconds))
    }

    /// - Throws: `KeyError.unlockFailed` if the PIN opens none; otherwise what the last key store said.
    package func open(_ pin: Passphrase?) throws(KeyError) -> StorageKey {
        var refusal = KeyError(.unlockFailed)
        let keyring = StoreLayout(path).keyringPath
        for slot in slots {
            guard let store = KeyStoreProviders.keyStore(slot.kind, surroundings) else {
                refusal = KeyError(.keyStoreFailed, cause: KeyStoreError(.unavailable, place: "no library"))
                continue
            }
            do {
                return try KeyStoreProviders.wait { [profile, surroundings, presence] () async throws(KeyError) in
                    try await Keyring.openStorageKey(
                        at: keyring, fileSystem: surroundings.fileSystem, using: store, profile: profile, secret: pin,
                        presence: presence)
                }
            } catch {
                refusal = error
            }
        }
        throw refusal
    }
}
