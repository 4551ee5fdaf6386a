// What each stable code means for a person. The one thing to keep true: the longest matching entry
// decides, so that a new code of a known family is never met without words.
// tidy: long list

/// Exit code, words and hint for an error code or a family of them.
struct FailureMeaning: Sendable {
    let exitCode: ExitCode
    private let text: String
    /// Whether the place, such as a name that the person gave, ends the message.
    private let showsPlace: Bool
    let hint: String?

    init(_ exitCode: ExitCode, _ text: String, showsPlace: Bool = false, hint: String? = nil) {
        self.exitCode = exitCode
        self.text = text
        self.showsPlace = showsPlace
        self.hint = hint
    }

    /// Without a place.
    var plainText: String { text }

    func message(_ error: any CodedError) -> String {
        guard showsPlace, let place = error.placeText, !place.isEmpty else { return text }
        return "\(text): \(TextWidth.displaySafe(place))"
    }

    /// Codes that only say in which layer something happened; the cause tells what.
    static let wrappers: Set<String> = [
        "core.storage", "core.search", "core.keys", "core.crypto", "core.input-output", "import.vault.failed",
        "storage.file.failed", "keys.file-failed", "keys.key-store.failed", "account.failed",
        "sync.vault.failed",
    ]

    /// The entry for a code: its own, or that of the longest family it belongs to.
    static func find(_ code: String) -> FailureMeaning {
        var parts = code.split(separator: ".")
        while !parts.isEmpty {
            if let meaning = table[parts.joined(separator: ".")] { return meaning }
            parts.removeLast()
        }
        return FailureMeaning(
            .internalError, "something unexpected happened; nothing acknowledged is lost",
            hint: "run it again with --verbose and report what it says")
    }

    private static let damageHint = "coffret fsck says what is affected; coffret help check says what can be done"
    private static let listHint = "coffret ls shows what there is, coffret search finds it"

    private static let table: [String: FailureMeaning] = [
        // What the person named.
        "core.item.not-found": FailureMeaning(.notFound, "there is no such item", showsPlace: true, hint: listHint),
        "core.item.ambiguous": FailureMeaning(
            .ambiguous, "the name fits several items", showsPlace: true, hint: "use the id, or a longer name"),
        "core.item.unsupported": FailureMeaning(
            .unsupportedFormat, "a newer coffret wrote this item; it can be shown, but not changed"),
        "core.note.locked": FailureMeaning(
            .noteLocked, "this note is locked", hint: "coffret show asks for its passphrase"),
        "core.note.hidden": FailureMeaning(
            .permission, "this item is hidden: it is shown only to somebody who is there", showsPlace: true,
            hint: "coffret show ITEM"),
        "core.note.not-locked": FailureMeaning(.badInput, "this note is not locked", showsPlace: true),
        "core.note.already-locked": FailureMeaning(
            .alreadyExists, "this note is locked already", showsPlace: true,
            hint: "coffret note relock gives it another passphrase"),
        "core.note.kind": FailureMeaning(.badInput, "only notes can be locked", showsPlace: true),
        "core.note.unsettled": FailureMeaning(
            .badInput, "two devices changed this note at once", showsPlace: true, hint: "coffret edit settles it"),
        "core.note.wrong-passphrase": FailureMeaning(
            .wrongPassphrase, "the passphrase does not open this note", hint: "coffret note hint shows its hint"),
        "core.note.passphrase-invalid": FailureMeaning(.badInput, "that cannot be a passphrase"),
        "core.note.damaged": FailureMeaning(
            .damaged, "the passphrase is right, but the note was altered or moved", hint: damageHint),
        "core.record.not-found": FailureMeaning(
            .notFound, "there is no such note passphrase", hint: "coffret note passphrases lists them"),
        "core.record.unsupported": FailureMeaning(
            .unsupportedFormat, "a newer coffret locked this; it stays as it is", hint: "install a newer coffret"),
        "core.record.changed": FailureMeaning(
            .damaged, "what the vault says about a note passphrase was changed by somebody", hint: damageHint),
        "core.record.policy": FailureMeaning(
            .keyPolicy, "a note passphrase asks for work outside the safe bounds; nothing was computed"),
        "core.field.not-found": FailureMeaning(
            .notFound, "the item has no such field", showsPlace: true, hint: "coffret show ITEM lists its fields"),
        "core.field.ambiguous": FailureMeaning(
            .ambiguous, "the name fits several fields", showsPlace: true, hint: "use the field's key"),
        "core.reference.invalid": FailureMeaning(
            .badInput, "that is not a reference", showsPlace: true, hint: "coffret help references"),
        "core.reference.unsupported": FailureMeaning(.badInput, "a reference cannot give that", showsPlace: true),
        "core.field.invalid": FailureMeaning(.badInput, "the field cannot be like that", showsPlace: true),
        "core.tag.invalid": FailureMeaning(
            .badInput, "that cannot be a tag", showsPlace: true,
            hint: "tags are words, nested with slashes: garden/beds"),
        "core.value.invalid": FailureMeaning(
            .damaged, "a value in the vault is not what it should be", hint: damageHint),
        "core.attachment.not-found": FailureMeaning(
            .notFound, "the item has no such attachment", showsPlace: true, hint: "coffret attach ls ITEM lists them"),
        "core.attachment.ambiguous": FailureMeaning(
            .ambiguous, "several attachments have that name", showsPlace: true,
            hint: "use the id: coffret attach ls ITEM"),
        "core.moment": FailureMeaning(.usage, "that is not a moment coffret understands", showsPlace: true),
        "core.moment.before-history": FailureMeaning(
            .notFound, "the vault has no history that goes back that far", hint: "coffret log shows what there is"),
        "core.commit.not-found": FailureMeaning(
            .notFound, "there is no such version", showsPlace: true, hint: "coffret history ITEM lists them"),
        "core.commit.ambiguous": FailureMeaning(
            .ambiguous, "several versions begin like that", showsPlace: true, hint: "give more digits"),
        "core.base32": FailureMeaning(.badInput, "the key of a one-time code is not base32"),
        "core.otp": FailureMeaning(.badInput, "that is not the key of a one-time code", showsPlace: true),
        "core.generator": FailureMeaning(.usage, "that cannot be generated", showsPlace: true),
        "core.vault.not-found": FailureMeaning(
            .notFound, "there is no such vault", showsPlace: true, hint: "coffret vault ls lists them"),
        "core.vault.ambiguous": FailureMeaning(
            .ambiguous, "several vaults have that name", showsPlace: true, hint: "use the id: coffret vault ls"),
        "core.vault.name-invalid": FailureMeaning(
            .alreadyExists, "that name is taken or cannot be used", showsPlace: true),
        "core.vault.read-only": FailureMeaning(.permission, "the vault cannot be changed here"),

        // The store as a whole.
        "core.store.exists": FailureMeaning(.alreadyExists, "there is already a store at this place", showsPlace: true),
        "core.store.not-found": FailureMeaning(
            .noStore, "there is no store at this place", showsPlace: true, hint: "coffret init makes one"),
        "core.store.incomplete": FailureMeaning(
            .damaged, "parts of the store are missing; it was probably copied while incomplete", showsPlace: true,
            hint: "copy the whole folder again, or restore a backup: coffret help backup"),
        "core.store.rolled-back": FailureMeaning(
            .rolledBack, "the store is older than this device has already seen",
            hint: "put the newer copy back in its place, or restore a backup: coffret help backup"),
        "core.backup.exists": FailureMeaning(
            .cannotCreate, "the file is already there", showsPlace: true, hint: "choose another name"),
        "core.backup.unknown-format": FailureMeaning(
            .unsupportedFormat, "this is no backup that this coffret can read"),
        "core.backup.damaged": FailureMeaning(
            .damaged, "the backup is cut short or altered", hint: "try an earlier backup; nothing was changed"),
        "core": FailureMeaning(.internalError, "something unexpected happened; nothing acknowledged is lost"),

        // Storage.
        "storage.file.disk-full": FailureMeaning(
            .diskFull, "the disk is full; nothing was changed, and everything saved before is there",
            hint: "free some space and do it again"),
        "storage.lock.busy": FailureMeaning(
            .busy, "another coffret is writing to this vault", hint: "try again in a moment"),
        "storage.store.not-found": FailureMeaning(
            .damaged, "the folder of the vault is missing", showsPlace: true, hint: damageHint),
        "storage.store.already-exists": FailureMeaning(.alreadyExists, "there is already a vault at this place"),
        "storage.store.read-only": FailureMeaning(.permission, "the vault cannot be changed here"),
        "storage.format": FailureMeaning(
            .unsupportedFormat, "a newer coffret wrote this vault", hint: "install a newer coffret"),
        "storage.commit.unsupported-format": FailureMeaning(
            .unsupportedFormat, "a newer coffret wrote to this vault", hint: "install a newer coffret"),
        "storage.attachment.missing": FailureMeaning(
            .notFound, "the file of the attachment is not on this device",
            hint: "in a synced vault coffret attach get ITEM fetches it; else coffret fsck says what is missing"),
        "storage.history.compacted": FailureMeaning(
            .notFound, "that part of the history was dropped by compact", hint: "coffret log shows what there is"),
        "storage.history.not-here-yet": FailureMeaning(
            .notFound, "that part of the history has not arrived yet", hint: "coffret sync fetches it"),
        "storage.history.local-rollback": FailureMeaning(
            .rolledBack, "this copy of the vault is older than it was: changes made here came back from elsewhere",
            hint: "put the newer copy back in its place, or restore a backup: coffret help backup"),
        "storage.fact.value-too-large": FailureMeaning(
            .badInput, "the text is too large", hint: "coffret attach add ITEM FILE keeps files of any size"),
        "storage.journal.transaction-too-large": FailureMeaning(.badInput, "too much to save in one step"),
        "storage": FailureMeaning(.damaged, "the vault is damaged", hint: damageHint),

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
        "keys.keyring.malformed": FailureMeaning(
            .damaged, "store.keyring is cut short or not a keyring",
            hint: "restore it, or a backup: coffret help backup"),
        "keys.keyring.rolled-back": FailureMeaning(
            .rolledBack, "the store is older than this device has already seen",
            hint: "put the newer copy back in its place, or restore a backup: coffret help backup"),
        "keys.keyring.changed": FailureMeaning(
            .busy, "another coffret changed the keys meanwhile", hint: "do it again"),
        "keys.keyring": FailureMeaning(.damaged, "store.keyring was altered or damaged", hint: "restore a backup"),
        "keys.slot.is-last": FailureMeaning(.badInput, "that is the last key that opens the store; it stays"),
        "keys.slot.not-found": FailureMeaning(
            .notFound, "the store has no such key", hint: "coffret recovery ls lists them"),
        "keys.slot.exists": FailureMeaning(
            .alreadyExists, "there is one for this profile already", showsPlace: true,
            hint: "coffret key change changes its PIN; --profile names another"),
        "keys.slot.pin-required": FailureMeaning(
            .badInput, "a key store of files has no check of its own, so it needs a PIN",
            hint: "coffret key add asks for one"),
        "keys.slot.presence-required": FailureMeaning(
            .unavailable, "this asks whether you are there, and nobody can be asked here",
            hint: "unlock with the passphrase"),
        "keys.slot.malformed": FailureMeaning(
            .damaged, "one of the keys of this store was altered", hint: "unlock with the passphrase"),
        "keys.slot": FailureMeaning(.unsupportedFormat, "a newer coffret made one of the keys of this store"),
        "keys.recovery.mistyped": FailureMeaning(.badInput, "the recovery key has a typing mistake"),
        "keys.recovery.malformed": FailureMeaning(
            .badInput, "that is not a recovery key: it has 14 groups of 4 characters", showsPlace: true),
        "keys.recovery.unsupported": FailureMeaning(.unsupportedFormat, "a newer coffret made this recovery key"),
        "keys.recovery": FailureMeaning(.badInput, "this recovery key belongs to another account"),
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
        // Devices and their server.
        "keys.box": FailureMeaning(
            .notAuthentic, "what the other device sent does not fit this account; nothing of it was kept"),
        "keys.device.revoked": FailureMeaning(
            .permission, "this device is no longer one of the account's",
            hint: "what it holds can be read and exported; pair it again with another store"),
        "trust.chain.forked": FailureMeaning(
            .rolledBack, "the server shows another list of devices than this device has seen",
            hint: "compare coffret device ls on your devices; do not add any meanwhile"),
        "trust.chain.rolled-back": FailureMeaning(
            .rolledBack, "the server shows an older list of devices than this device has seen",
            hint: "perhaps it was restored from a backup; ask whoever runs it"),
        "trust.device.revocation-too-early": FailureMeaning(
            .notAuthentic, "a paper device was revoked before its seven days were over; this was not accepted",
            hint: "if that was not you, recover with the paper device now"),
        "account.not-joined": FailureMeaning(
            .notFound, "this store has no server", hint: "coffret server join URL registers it at one"),
        "account.already-joined": FailureMeaning(
            .alreadyExists, "this store is registered at a server already", showsPlace: true),
        "account.server": FailureMeaning(
            .unsupportedFormat, "the server's answer makes no sense", hint: "is that a coffret-server?"),
        "account.server.refused": FailureMeaning(.permission, "the server refused", showsPlace: true),
        "account.server.name-differs": FailureMeaning(
            .notAuthentic, "the server calls itself otherwise than when this device met it", showsPlace: true),
        "account.paper.not-trusted": FailureMeaning(
            .wrongPassphrase, "the account does not trust this paper device, or does not any more",
            hint: "is it the newest sheet? coffret device ls on another device lists what counts"),
        "account.paper.no-keys": FailureMeaning(
            .unavailable, "the server holds no keys for this paper device; nothing was changed",
            hint: "coffret sync on one of your other devices, if there is one, or ask whoever runs the server"),
        "account.chain.busy": FailureMeaning(
            .busy, "other devices are changing the account right now", hint: "try again in a moment"),
        "account.relay": FailureMeaning(
            .unavailable, "the other device went away", hint: "begin again on both devices"),
        "account.relay.unknown": FailureMeaning(
            .notFound, "nobody waits under that number",
            hint: "it is good once and for ten minutes; run coffret device pair again"),
        "sync.head": FailureMeaning(
            .notAuthentic, "what the server shows cannot be believed; nothing was changed here", showsPlace: true,
            hint: "run it again with --verbose, and ask whoever runs the server"),
        "sync.head.rolled-back": FailureMeaning(
            .rolledBack, "the server shows an older state than it showed before; nothing was changed here",
            hint: "if it was restored from a backup on purpose: coffret sync --server-was-restored"),
        "sync.head.forked": FailureMeaning(
            .rolledBack, "the server shows another history than it showed before; nothing was changed here",
            hint: "compare the head code in coffret status on your devices; ask whoever runs the server"),
        "sync.head.revoked-signer": FailureMeaning(
            .notAuthentic, "a device that you revoked wrote what the server shows; nothing was changed here"),
        "sync.chain.broken": FailureMeaning(
            .damaged, "the server lacks something that the vault needs; nothing was changed here", showsPlace: true,
            hint: "syncing from a device that has it may help; ask whoever runs the server"),
        "sync.store.rolled-back": FailureMeaning(
            .rolledBack, "this copy of the vault is older than it was: changes made here came back from elsewhere",
            hint: "if you put it back yourself, from a backup of the disk: coffret device renew, then coffret sync"),
        "sync.commit.withheld": FailureMeaning(
            .rolledBack, "for a day another device has had changes that the server does not deliver", showsPlace: true,
            hint: "compare the head code in coffret status on your devices; ask whoever runs the server"),
        "sync.audit.failed": FailureMeaning(
            .notAuthentic, "again and again the server did not show what your other devices say they have",
            showsPlace: true,
            hint: "compare the head code in coffret status on your devices; ask whoever runs the server"),
        "sync.acknowledgement.rolled-back": FailureMeaning(
            .rolledBack, "the server shows an older word of another device than before", showsPlace: true,
            hint: "if it was restored from a backup on purpose: coffret sync --server-was-restored"),
        "sync.epoch.stale": FailureMeaning(
            .unavailable, "the vault has a new key that has not come to this device yet",
            hint: "try again; if it stays so, run coffret vault sync NAME on the device that revoked another one"),
        "sync.answer": FailureMeaning(
            .unsupportedFormat, "the server's answer makes no sense", hint: "is that a coffret-server?"),
        "sync.server.refused": FailureMeaning(.permission, "the server refused", showsPlace: true),
        "sync.server.quota-exceeded": FailureMeaning(
            .diskFull,
            "your space on the server is used up, and these changes do not fit; they are safe on this device",
            hint: "ask whoever runs the server for more space, then sync again: it goes on where it was"),
        "sync.file.no-room": FailureMeaning(
            .diskFull, "your space on the server has no room for a file; everything else was synced",
            hint:
                "ask whoever runs the server for more space, or take files away (coffret attach rm) and their history (coffret compact); coffret sync tries again"
        ),
        "sync.file.refused": FailureMeaning(
            .notAuthentic, "what the server has in place of a file is not what was attached; nothing of it was kept",
            showsPlace: true, hint: "coffret sync on a device that has the file; ask whoever runs the server"),
        "sync.file.missing": FailureMeaning(
            .notFound, "the server does not have the file", showsPlace: true,
            hint: "coffret sync on the device where it was attached, then here again"),
        "sync.server.unreachable": FailureMeaning(
            .offline, "the connection to the server broke off", hint: "try again later; nothing is lost"),
        "sync.server.contended": FailureMeaning(
            .busy, "other devices are writing to the vault right now", hint: "try again in a moment"),
        "sync.vault.busy": FailureMeaning(
            .busy, "another coffret syncs the vault right now", hint: "try again in a moment"),
        "sync.vault": FailureMeaning(.damaged, "the vault here could not be used", hint: damageHint),
        "http.unavailable": FailureMeaning(
            .unavailable, "libcurl is needed to reach a server", hint: "apt install libcurl4"),
        "http.address-invalid": FailureMeaning(
            .usage, "that is not the address of a server", showsPlace: true,
            hint: "it looks like https://vault.example:8443"),
        "http.unreachable": FailureMeaning(.offline, "the server cannot be reached", showsPlace: true),
        "http.timed-out": FailureMeaning(.offline, "the server did not answer in time"),
        "http.pin-differs": FailureMeaning(
            .notAuthentic, "the server's key is not the one that was pinned; nothing was sent",
            hint: "if it really has a new key: coffret server leave, then join with --fingerprint"),
        "http.certificate-untrusted": FailureMeaning(
            .notAuthentic, "no authority vouches for the server's certificate", hint: "add --fingerprint or --ca"),
        "http": FailureMeaning(.inputOutput, "the connection to the server failed", showsPlace: true),
        "pairing.mismatch": FailureMeaning(
            .notAuthentic, "the codes do not match, so nothing was done",
            hint: "a typing mistake, or somebody in between: begin again on both devices"),
        "pairing.paused": FailureMeaning(
            .busy, "pairing is paused after three attempts", hint: "try again in ten minutes"),
        "pairing.expired": FailureMeaning(
            .unavailable, "pairing took longer than ten minutes", hint: "begin again on both devices"),
        "pairing.ended-by-peer": FailureMeaning(.unavailable, "the other device gave up, so nothing was done"),
        "pairing.server-differs": FailureMeaning(
            .notAuthentic, "the two devices do not see the same server; nothing was done",
            hint: "give both the same address and --fingerprint"),
        "pairing.account-differs": FailureMeaning(
            .notAuthentic, "the other device belongs to another account than the one you named; nothing was done",
            hint: "coffret server status shows its account's name"),
        "pairing.invitation-malformed": FailureMeaning(
            .usage, "that is not what a new device shows: 32 digits, or the text of its QR code"),
        "pairing": FailureMeaning(.unsupportedFormat, "the two devices cannot pair with each other"),
        "trust": FailureMeaning(.damaged, "the record of trusted devices was altered", hint: damageHint),

        // Search.
        "search.query": FailureMeaning(
            .usage, "that is not something to search for", hint: "coffret help find shows what can be asked"),
        "search.query.empty": FailureMeaning(
            .usage, "there is nothing to search for", hint: "coffret ls lists everything"),
        "search.query.unknown-type": FailureMeaning(
            .usage, "type: takes note, login, card, identity, ssh-key, api-token or custom"),
        "search.query.unbalanced": FailureMeaning(.usage, "a bracket or quote has no other half"),
        "search.index.busy": FailureMeaning(
            .busy, "another coffret is at work on the search index", hint: "try again in a moment"),
        "search.index.full": FailureMeaning(
            .diskFull, "there is no space for the search index", hint: "free some space"),
        "search.index.read-only": FailureMeaning(.permission, "the search index cannot be written here"),
        "search": FailureMeaning(
            .inputOutput, "the search index cannot be used",
            hint: "delete the search folder of the vault; it is made anew"),
        "sqlite": FailureMeaning(
            .inputOutput, "the search index cannot be used",
            hint: "delete the search folder of the vault; it is made anew"),

        // Import and export.
        "import.source.missing": FailureMeaning(.notFound, "there is nothing at that path", showsPlace: true),
        "import.source.unreadable": FailureMeaning(.permission, "that cannot be read", showsPlace: true),
        "import.source.changed": FailureMeaning(
            .importRejected, "a file changed while it was read; nothing was imported", showsPlace: true,
            hint: "do it again"),
        "import.source.unrecognised": FailureMeaning(
            .importRejected, "that is in no format that coffret knows", showsPlace: true,
            hint: "coffret help import lists the formats"),
        "import.limit": FailureMeaning(
            .importRejected, "that is larger than coffret takes in one import; nothing was imported", showsPlace: true),
        "import.limit.compression-ratio": FailureMeaning(
            .importRejected, "the archive unpacks to far more than it is; nothing was imported", showsPlace: true),
        "import.limit.note-size": FailureMeaning(
            .importRejected, "a note is too large; nothing was imported", showsPlace: true),
        "import.limit.line-length": FailureMeaning(
            .importRejected, "a line is too long for a note; nothing was imported", showsPlace: true),
        "import.archive.unsafe-path": FailureMeaning(
            .importRejected, "the archive tries to reach outside itself; nothing was imported", showsPlace: true),
        "import.archive.repeated-path": FailureMeaning(
            .importRejected, "the archive holds a file twice; nothing was imported", showsPlace: true),
        "import.archive.library-missing": FailureMeaning(
            .unavailable, "archives need libarchive",
            hint: "apt install libarchive13, or unpack it and import the folder"),
        "import.archive.encrypted": FailureMeaning(
            .importRejected, "the archive needs a password", hint: "unpack it and import the folder"),
        "import.archive": FailureMeaning(
            .importRejected, "the archive is damaged; nothing was imported", showsPlace: true),
        "import.format.version-unknown": FailureMeaning(
            .unsupportedFormat, "a newer coffret wrote this file; nothing was imported", showsPlace: true),
        "import.format": FailureMeaning(
            .importRejected, "the file is not what it should be; nothing was imported", showsPlace: true),
        "import.vault.not-empty": FailureMeaning(
            .importRejected, "everything with its history can only go into an empty vault",
            hint: "coffret vault new NAME, then coffret import FILE --vault NAME"),
        "import": FailureMeaning(.importRejected, "nothing was imported", showsPlace: true),
        "export.target.occupied": FailureMeaning(
            .cannotCreate, "there is already something at that path", showsPlace: true,
            hint: "choose a new folder or file"),
        "export.target": FailureMeaning(.cannotCreate, "that cannot be written", showsPlace: true),
        "export": FailureMeaning(.internalError, "that cannot be exported"),

        // Data of other programs.
        "interop.authentication-failed": FailureMeaning(
            .notAuthentic, "that does not open: it was altered, or belongs to another key, context or algorithm",
            hint: "nothing was written; ask the sender which key, context and algorithm it was made with"),
        "interop.invalid-key": FailureMeaning(.badInput, "that is not a key of the kind needed here", showsPlace: true),
        "interop.invalid-text": FailureMeaning(
            .badInput, "the text is not in the encoding it should be in", showsPlace: true),
        "interop.limit-exceeded": FailureMeaning(
            .badInput, "that is more than coffret takes; nothing was computed", showsPlace: true),
        "interop.unsupported": FailureMeaning(.badInput, "the key cannot do that", showsPlace: true),
        "interop.unavailable": FailureMeaning(.unavailable, "the cryptographic library refused to work"),
        "interop.key-unavailable": FailureMeaning(.unavailable, "the home of the key did not answer"),
        "interop": FailureMeaning(.badInput, "the format does not allow that", showsPlace: true),

        // The agent.
        "net.unreachable": FailureMeaning(.unavailable, "nobody answers there", showsPlace: true),
        "net.closed": FailureMeaning(
            .unavailable, "the agent went away in the middle", hint: "do it again; coffret status says what is there"),
        "net.directory.untrusted": FailureMeaning(
            .permission, "the folder of the agent's socket is not yours alone; nothing was sent", showsPlace: true,
            hint: "somebody may have put it there: remove it; COFFRET_AGENT=off goes without the agent"),
        "net.peer.untrusted": FailureMeaning(
            .permission, "the agent's socket is answered by another user; nothing was sent", showsPlace: true,
            hint: "COFFRET_AGENT=off goes without the agent"),
        "net.address.taken": FailureMeaning(.alreadyExists, "an agent runs already", showsPlace: true),
        "net": FailureMeaning(.inputOutput, "talking to the agent failed", showsPlace: true),
        "wire": FailureMeaning(
            .unavailable, "the agent speaks another version of the protocol", hint: "coffret agent stop ends it"),
        "agent.records.unwritable": FailureMeaning(
            .permission, "the settings cannot be written down, so nothing was changed",
            hint: "the state folder (~/.local/state/coffret) must be yours and on a disk with space"),
        "agent.pinentry.missing": FailureMeaning(
            .unavailable, "the passphrase is needed, and there is nowhere to ask for it",
            hint: "coffret unlock in a terminal, or install a pinentry"),
        "agent.pinentry.cancelled": FailureMeaning(.cancelled, "cancelled"),
        "agent.store.locked": FailureMeaning(
            .locked, "the store is locked, and presence alone opens none", hint: "coffret unlock"),
        "agent.command.locked": FailureMeaning(
            .locked, "the store was locked while the command ran, which ended it",
            hint: "coffret unlock, and do it again"),
        "agent.command.failed": FailureMeaning(
            .internalError, "the command ended without saying how; nothing acknowledged is lost",
            hint: "do it again with COFFRET_AGENT=off"),
        "agent.directory.missing": FailureMeaning(
            .unavailable, "the agent cannot enter the folder you are in", hint: "use another one, or COFFRET_AGENT=off"),
        "agent.interval.invalid": FailureMeaning(.usage, "an interval lies between 1 second and 7 days"),
        "agent.exhausted": FailureMeaning(
            .busy, "the agent cannot start another process", hint: "try again in a moment"),
        "agent": FailureMeaning(.internalError, "the agent did not understand the request"),
        "cli.agent.gone": FailureMeaning(
            .unavailable, "the agent ended while the command ran; what it acknowledged is saved", hint: "do it again"),
        "net.address.too-long": FailureMeaning(
            .usage, "the path is too long for a socket", showsPlace: true, hint: "use a shorter one: --socket"),

        // SSH keys.
        "ssh.key.unsupported": FailureMeaning(
            .badInput, "coffret does not know this kind of key or file", showsPlace: true,
            hint: "Ed25519, ECDSA and RSA keys in OpenSSH's format; ssh-keygen -p -f COPY turns older files into it"),
        "ssh.key.invalid": FailureMeaning(.badInput, "those numbers are no key", showsPlace: true),
        "ssh.passphrase.needed": FailureMeaning(.badInput, "the key has a passphrase, which is needed to import it"),
        "ssh.passphrase.wrong": FailureMeaning(.badInput, "the passphrase does not open the key"),
        "ssh.passphrase.unavailable": FailureMeaning(
            .unavailable, "keys with a passphrase need bcrypt_pbkdf, which no library here has",
            hint: "apt install libbotan-2-19; or ssh-keygen -p -f COPY takes the passphrase from a copy in memory"),
        "ssh.algorithm": FailureMeaning(.badInput, "the key cannot sign like that", showsPlace: true),
        "ssh": FailureMeaning(
            .badInput, "that is not an OpenSSH key", showsPlace: true,
            hint: "ssh-keygen -p -f COPY turns older files into OpenSSH's format"),

        // Files.
        "base.file.not-found": FailureMeaning(.notFound, "there is no such file", showsPlace: true),
        "base.file.exists": FailureMeaning(.cannotCreate, "the file is already there", showsPlace: true),
        "base.file.permission": FailureMeaning(.permission, "permission is missing", showsPlace: true),
        "base.file.no-space": FailureMeaning(
            .diskFull, "the disk is full; everything saved before is there", hint: "free some space and do it again"),
        "base.file.would-block": FailureMeaning(
            .busy, "another coffret is at work there", hint: "try again in a moment"),
        "base.file.read-only": FailureMeaning(.permission, "the disk can only be read", showsPlace: true),
        "base.file.wrong-kind": FailureMeaning(
            .badInput, "that is not the kind of file it should be", showsPlace: true),
        "base.file.invalid-path": FailureMeaning(.usage, "that is not a path", showsPlace: true),
        "base.file": FailureMeaning(.inputOutput, "reading or writing failed", showsPlace: true),
        "base": FailureMeaning(.badInput, "the data is not what it should be", showsPlace: true),
    ]
}
