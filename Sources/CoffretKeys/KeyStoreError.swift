// Errors of key stores, as codes that callers branch on.

/// An error of a key store: a TPM, the desktop's keyring, or user presence.
package struct KeyStoreError: Error, Equatable, Sendable {
    package enum Code: String, Sendable, CaseIterable {
        /// The device or service cannot be reached.
        case unavailable = "keystore.unavailable"
        /// The PIN was wrong; the attempt has been counted.
        case wrongPIN = "keystore.pin.wrong"
        /// Too many wrong PINs; `waitSeconds` says how long the store refuses.
        case lockedOut = "keystore.pin.locked-out"
        /// The key was made by another TPM, or the TPM was cleared since.
        case keyUnusable = "keystore.key.unusable"
        /// The keyring is locked, and nobody unlocked it.
        case locked = "keystore.locked"
        /// Two entries answer to one application tag.
        case duplicate = "keystore.key.duplicate"
        /// The keyring lies in a store of Coffret, which it would open.
        case circular = "keystore.circular"
        /// The call was given up by the person, or its time ran out.
        case cancelled = "keystore.cancelled"
        /// The person did not show to be there: another finger, a wrong password, or an account that is barred.
        case presenceDenied = "keystore.presence.denied"
        /// Nobody could be asked: no reader, no answer, or a broken configuration of PAM.
        case presenceUnavailable = "keystore.presence.unavailable"
        /// PAM has no service named `coffret`.
        case presenceNotSetUp = "keystore.presence.not-set-up"
        /// The bytes are no key of this store.
        case malformed = "keystore.key.malformed"
        /// The store answered with an error that has no name of its own; `place` holds its number.
        case failed = "keystore.failed"
    }

    package let code: Code
    package let place: String?
    /// Seconds until the next attempt is accepted, where the store says so.
    package let waitSeconds: UInt32?

    package init(_ code: Code, place: String? = nil, waitSeconds: UInt32? = nil) {
        self.code = code
        self.place = place
        self.waitSeconds = waitSeconds
    }
}
