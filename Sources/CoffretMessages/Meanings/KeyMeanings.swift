// Words for errors about keys. Invariant: a text says what happened to the person's thing, and a hint is a command
// that works.

internal import CoffretTerminal

extension FailureMeaning {
    package static let keys: [String: FailureMeaning] = [
        // Keys and cryptography.
        "crypto.authentication-failed": FailureMeaning(
            .damaged, "something in the vault was altered", hint: damageHint),
        "crypto.password-policy": FailureMeaning(
            .keyPolicy, "the key derivation of this store is outside the bounds that protect you",
            hint: "somebody may have altered store.keyring; restore a backup"),
        "crypto.invalid-passphrase": FailureMeaning(.badInput, "that cannot be a passphrase"),
        "crypto.unavailable": FailureMeaning(.unavailable, "there is not enough memory to derive the key"),
        "crypto": FailureMeaning(.internalError, "a cryptographic operation failed"),

        "keys.unlock-failed": FailureMeaning(
            .wrongPassphrase, "wrong passphrase or recovery key",
            hint: "coffret help lost-passphrase says what can be done"),
        "keys.attempts.pausing": FailureMeaning(
            .lockedOut, "too many wrong tries", hint: "waiting helps, restarting does not"),
        "keys.attempts.uncounted": FailureMeaning(
            .permission, "the count of wrong tries cannot be written down, so nothing was tried",
            hint: "the state folder (~/.local/state/coffret) must be yours and on a disk with space"),
        "keys.password-policy": FailureMeaning(
            .keyPolicy, "the key derivation of this store is outside the bounds that protect you",
            hint: "somebody may have altered store.keyring; restore a backup"),
        "keys.keyring.unsupported-version": FailureMeaning(
            .unsupportedFormat, "a newer coffret wrote this store", hint: "install a newer coffret"),
        "keys.keyring.outdated": FailureMeaning(
            .unsupportedFormat, "an older coffret wrote this store, with vaults that this one does not read",
            hint:
                "with that older program: coffret export --format json FILE for each vault; then coffret import FILE into a new store"
        ),
        "keys.keyring.malformed": FailureMeaning(
            .damaged, "store.keyring is cut short or not a keyring",
            hint: "restore it, or a backup: coffret help back-up"),
        "keys.keyring.rolled-back": FailureMeaning(
            .rolledBack, "the store is older than this device has already seen",
            hint:
                "put the newer copy back, or restore a backup; if you put this one here yourself: coffret device renew"),
        "keys.marker.differs": FailureMeaning(
            .rolledBack,
            "this is not the store that this machine remembers: a copy in its place, or its marker was altered",
            hint: "if you put it here yourself: coffret device renew; else put back what was here, or a backup"),
        "keys.marker.missing": FailureMeaning(
            .rolledBack,
            "this machine remembers nothing of this store: it was copied here, or its marker was removed; "
                + "nothing was written",
            hint: "if that was you: coffret device renew, which asks for the passphrase"),
        "keys.keyring.changed": FailureMeaning(
            .busy, "another coffret changed the keys meanwhile", hint: "do it again"),
        "keys.keyring.foreign": FailureMeaning(
            .damaged, "this is not your store: your key opens it, but your device did not write it",
            hint:
                "somebody put it in the place of yours; nothing of it was used. Put yours back, or: coffret backup restore FILE --store PATH"
        ),
        "keys.keyring.too-large": FailureMeaning(
            .badInput, "the store's keyring has no room for that; it stays as it was",
            hint: "coffret vault ls and coffret recovery ls say what fills it"),
        "keys.keyring.unwritable": FailureMeaning(
            .internalError, "the change was not made: what was to be written could not be read back",
            hint: "the store is as before; coffret doctor looks at this computer"),
        "keys.keyring.previous-kept": FailureMeaning(
            .damaged, "store.keyring is damaged, and the one from before its last change is still there",
            hint: "in the store's folder: mv store.keyring.previous store.keyring; then coffret device renew"),
        "keys.keyring": FailureMeaning(.damaged, "store.keyring was altered or damaged", hint: "restore a backup"),
        "keys.slot.is-last": FailureMeaning(.badInput, "that is the last key that opens the store; it stays"),
        "keys.slot.not-found": FailureMeaning(
            .notFound, "the store has no such key", hint: "coffret recovery ls lists them"),
        "keys.slot.exists": FailureMeaning(
            .alreadyExists, "there is one for this profile already", showsPlace: true,
            hint: "coffret key change changes its PIN; --profile names another"),
        "keys.slot.too-many": FailureMeaning(
            .badInput, "the store has 64 keys that open it, and takes no more",
            hint: "coffret recovery ls lists them; coffret recovery revoke KEY makes room"),
        "keys.name.too-long": FailureMeaning(.badInput, "that name is too long: 1,024 bytes are the limit"),
        "keys.slot.pin-required": FailureMeaning(
            .badInput, "a key store of files has no check of its own, so it needs a PIN",
            hint: "coffret key add asks for one"),
        "keys.slot.presence-required": FailureMeaning(
            .unavailable, "this asks whether you are there, and nobody can be asked here",
            hint: "unlock with the passphrase"),
        "keys.slot.malformed": FailureMeaning(
            .damaged, "one of the keys of this store was altered", hint: "unlock with the passphrase"),
        "keys.slot": FailureMeaning(.unsupportedFormat, "a newer coffret made one of the keys of this store"),
        "keys.recovery.mistyped": FailureMeaning(.badInput, "there is a typing mistake in the recovery key or sheet"),
        "keys.recovery.malformed": FailureMeaning(
            .badInput, "that is not it: a recovery key, and each half of a sheet, has 14 groups of 4 characters",
            showsPlace: true),
        "keys.recovery.unsupported": FailureMeaning(.unsupportedFormat, "a newer coffret made this recovery key"),
        "keys.recovery": FailureMeaning(
            .badInput, "this recovery key is of another account, which is named here as a former one",
            hint: "if you restored a backup since: coffret passphrase --recovery asks at a terminal, and goes on"),
        "keys.backup.foreign": FailureMeaning(
            .damaged, "this is not your backup: your key opens it, but your device did not make it",
            hint: "somebody put it in the place of yours; nothing of it was used. Try another copy"),
        "keys.backup.altered": FailureMeaning(.damaged, "the backup was altered", hint: "try an earlier backup"),
        "keys.backup": FailureMeaning(.damaged, "the backup is cut short or altered", hint: "try an earlier backup"),
        "keys.crypto-unavailable": FailureMeaning(.unavailable, "there is not enough memory to derive the key"),
        "keys.machine-secret.missing": FailureMeaning(
            .unavailable, "this machine's part of the key is missing",
            hint: "unlock with the passphrase, then set the PIN again: coffret key add"),
        "keys.machine-secret": FailureMeaning(
            .permission, "the file with this machine's part of the key is not what it must be, or others can read it",
            hint: "chmod 600 on machine.secret in the state folder (~/.local/state/coffret)"),
        "keystore.unavailable": FailureMeaning(
            .unavailable, "the key store does not answer; nothing was changed",
            hint:
                "coffret doctor says what is there; COFFRET_AGENT=off goes without it, and asks for the passphrase"),
        "keystore.locked": FailureMeaning(
            .keyringLocked, "the desktop's keyring is locked, and nobody unlocked it",
            hint: "unlock the keyring of your desktop, or unlock the store with the passphrase"),
        "keystore.pin.wrong": FailureMeaning(.wrongPassphrase, "wrong PIN"),
        "keystore.pin.locked-out": FailureMeaning(
            .lockedOut, "too many wrong PINs; the TPM takes none for a while",
            hint: "the passphrase still opens the store"),
        "keystore.key.unusable": FailureMeaning(
            .unavailable, "the key store lost its key: it was cleared, or the store comes from another machine",
            hint: "unlock with the passphrase, then coffret key remove and coffret key add"),
        "keystore.key.duplicate": FailureMeaning(
            .ambiguous, "the keyring holds two keys under one name, so none was used",
            hint: "unlock with the passphrase, then set the PIN again"),
        "keystore.circular": FailureMeaning(
            .unavailable, "the desktop's keyring would lie in a store that it opens",
            hint: "coffret key remove takes the keyring's key away; coffret secret-service off gives the keyring up"
        ),
        "keystore.key.malformed": FailureMeaning(
            .damaged, "what the key store holds is no key of this store", hint: "unlock with the passphrase"),
        "keystore.presence.denied": FailureMeaning(
            .permission, "you did not show that you are there, so nothing was tried",
            hint: "do it again, or unlock with the passphrase"),
        "keystore.presence.unavailable": FailureMeaning(
            .unavailable, "nobody could be asked whether you are there", hint: "unlock with the passphrase"),
        "keystore.presence.not-set-up": FailureMeaning(
            .unavailable, "this computer has no rule yet for how you show that you are there",
            hint: "Docs/unlocking.md says what to put into /etc/pam.d/coffret"),
        "keystore.cancelled": FailureMeaning(
            .cancelled, "given up: nobody answered in time", hint: "do it again, or unlock with the passphrase"),
        "keystore": FailureMeaning(
            .unavailable, "the key store refused", showsPlace: true, hint: "unlock with the passphrase"),
        "keys": FailureMeaning(.internalError, "the keys could not be used"),
    ]
}
