// Errors around keys. Invariant: a secret that does not open is one code, for any reason; everything else is named
// before any secret is used.

internal import CoffretBase

/// Why a keyring could not be made, opened or changed.
package struct KeyError: Error, Equatable, Sendable {
    package enum Code: String, Sendable, CaseIterable {
        /// There is no keyring where one is expected.
        case keyringNotFound = "keys.keyring.not-found"
        /// There is a keyring already.
        case keyringExists = "keys.keyring.exists"
        /// The keyring is cut short or not of the specified shape.
        case keyringMalformed = "keys.keyring.malformed"
        /// The keyring has a format version that this program does not know.
        case keyringUnsupported = "keys.keyring.unsupported-version"
        /// The keyring is of a store of before, whose vaults this program does not read.
        case keyringOutdated = "keys.keyring.outdated"
        /// The storage key opens, but the keyring was altered.
        case keyringAltered = "keys.keyring.altered"
        /// The content of the keyring does not fit together: a chain or a key does not verify.
        case keyringInconsistent = "keys.keyring.inconsistent"
        /// The keyring is older than one that this machine or the store has seen.
        case keyringRolledBack = "keys.keyring.rolled-back"
        /// The keyring opens, but another device wrote it than the one whose secret it is.
        case keyringForeign = "keys.keyring.foreign"
        /// A change would make the keyring larger than a reader takes; it stays as it was.
        case keyringTooLarge = "keys.keyring.too-large"
        /// The new file does not open again; nothing was written.
        case keyringUnwritable = "keys.keyring.unwritable"
        /// The keyring does not open, and the one that the last change replaced lies beside it.
        case keyringPreviousKept = "keys.keyring.previous-kept"
        /// There is a marker, and it was altered or names another instance: the store was copied or put in another's place.
        case markerDiffers = "keys.marker.differs"
        /// This machine remembers nothing of the store, so nothing is written.
        case markerMissing = "keys.marker.missing"
        /// Another process changed the keyring meanwhile.
        case keyringChanged = "keys.keyring.changed"
        /// The passphrase, PIN or recovery key opens no slot. There is no further detail.
        case unlockFailed = "keys.unlock-failed"
        /// Too many wrong secrets: nothing was tried; `waitSeconds` says for how long.
        case attemptsPausing = "keys.attempts.pausing"
        /// The count of wrong secrets cannot be written down, so nothing was tried.
        case attemptsUncounted = "keys.attempts.uncounted"
        /// A slot states parameters of passphrase stretching outside the bounds; nothing was derived.
        case passwordPolicy = "keys.password-policy"
        /// No slot of the kind that was asked for.
        case slotNotFound = "keys.slot.not-found"
        /// The last slot that a person can open anywhere cannot be removed.
        case slotIsLast = "keys.slot.is-last"
        /// There is a slot of this key store and profile already.
        case slotExists = "keys.slot.exists"
        /// A keyring has no room for another slot.
        case slotsTooMany = "keys.slot.too-many"
        /// A slot's reference or profile name is not of the specified shape.
        case slotMalformed = "keys.slot.malformed"
        /// This key store has no check of its own, so its slots need a PIN.
        case pinRequired = "keys.slot.pin-required"
        /// The slot opens for a person who is there, and nobody can be asked here.
        case presenceRequired = "keys.slot.presence-required"
        /// A slot uses a kind of key that this program cannot seal to.
        case slotUnsupported = "keys.slot.unsupported"
        /// A PIN needs a machine secret outside the store, and there is none.
        case machineSecretMissing = "keys.machine-secret.missing"
        /// The file of the machine secret has the wrong size or may be read by others.
        case machineSecretInvalid = "keys.machine-secret.invalid"
        /// A recovery key of the wrong length or with a character it cannot have.
        case recoveryKeyMalformed = "keys.recovery.malformed"
        /// A recovery key of a version or kind that this program does not know.
        case recoveryKeyUnsupported = "keys.recovery.unsupported"
        /// A recovery key with a typing mistake: its checksum is wrong.
        case recoveryKeyMistyped = "keys.recovery.mistyped"
        /// The recovery key was made for another account, which the store or backup calls a former one; nothing proves
        /// that.
        case recoveryAccountDiffers = "keys.recovery.account-differs"
        /// A name is longer than a keyring or a link keeps.
        case nameTooLong = "keys.name.too-long"
        /// No vault of that id or name.
        case vaultNotFound = "keys.vault.not-found"
        /// A vault of that name exists.
        case vaultExists = "keys.vault.exists"
        /// The keyring was locked.
        case locked = "keys.locked"
        /// The header of a backup is cut short or not of the specified shape.
        case backupMalformed = "keys.backup.malformed"
        /// The header of a backup opens, but was altered.
        case backupAltered = "keys.backup.altered"
        /// The backup opens, but another device made it than the one whose secret it is.
        case backupForeign = "keys.backup.foreign"
        /// A box from another device is altered, not for this one, or not from a device of the account.
        case boxInvalid = "keys.box.invalid"
        /// This device is no longer one of the account's, or the one meant is not.
        case deviceRevoked = "keys.device.revoked"
        /// A key store refused; `cause` says how.
        case keyStoreFailed = "keys.key-store.failed"
        /// A file could not be read or written; `cause` says how.
        case fileFailed = "keys.file-failed"
        /// The machine cannot derive or encrypt; `cause` says how.
        case cryptoUnavailable = "keys.crypto-unavailable"
    }

    package let code: Code
    /// A short technical hint, such as a slot id; never a secret.
    package let place: String?
    /// The error that led to it. Ignored by equality.
    package let cause: (any Error)?
    /// Seconds until the next attempt is made, rounded up, where a pause is why this one was not.
    package let waitSeconds: UInt32?

    package init(_ code: Code, at place: String? = nil, cause: (any Error)? = nil, waitSeconds: UInt32? = nil) {
        self.code = code
        self.place = place
        self.cause = cause
        self.waitSeconds = waitSeconds
    }

    package static func == (left: KeyError, right: KeyError) -> Bool {
        left.code == right.code && left.place == right.place && left.waitSeconds == right.waitSeconds
    }

    init(_ error: FileSystemError) {
        self.init(.fileFailed, at: error.place, cause: error)
    }
}

/// Runs file operations, turning their errors into `.fileFailed`.
func withFiles<Result: ~Copyable>(_ value: @autoclosure () throws(FileSystemError) -> Result) throws(KeyError) -> Result
{
    do throws(FileSystemError) {
        return try value()
    } catch {
        throw KeyError(error)
    }
}

/// The same for several statements.
func withFiles<Result: ~Copyable>(_ body: () throws(FileSystemError) -> Result) throws(KeyError) -> Result {
    try withFiles(body())
}
