// Words for errors about stores and vaults. Invariant: a text says what happened to the person's thing, and a hint is
// a command that works.

internal import CoffretTerminal

extension FailureMeaning {
    package static let stores: [String: FailureMeaning] = [
        // The store as a whole.
        "core.store.exists": FailureMeaning(.alreadyExists, "there is already a store at this place", showsPlace: true),
        "core.store.not-found": FailureMeaning(
            .noStore, "there is no store at this place", showsPlace: true, hint: "coffret init makes one"),
        "core.store.incomplete": FailureMeaning(
            .damaged, "parts of the store are missing; it was probably copied while incomplete", showsPlace: true,
            hint: "copy the whole folder again, or restore a backup: coffret help back-up"),
        "core.store.rolled-back": FailureMeaning(
            .rolledBack, "the store is older than this device has already seen",
            hint:
                "put the newer copy back, or restore a backup; if you put this one here yourself: coffret device renew"),
        "core.vault.chains-behind": FailureMeaning(
            .rolledBack,
            "the file \"chains\" of the vault is missing, damaged or older than the vault; nothing was read or written",
            showsPlace: true,
            hint:
                "coffret sync fetches them again; of a vault without a server only a backup has them: coffret backup restore"
        ),
        "core.vault.rolled-back": FailureMeaning(
            .rolledBack,
            "the vault is older than this machine remembers: an old copy was put back; nothing was written",
            showsPlace: true,
            hint: "put the newer copy back; if you put this one here yourself: coffret device renew"),
        "core.history.kept": FailureMeaning(
            .unavailable, "this history cannot be removed from here now; nothing of it was removed", showsPlace: true,
            hint:
                "coffret sync, so that all of the history is here, and do it again; only an owner of the vault can remove it everywhere"
        ),
        "core.backup.unknown-format": FailureMeaning(
            .unsupportedFormat, "this is no folder of backups that this coffret can read"),
        "core.backup.damaged": FailureMeaning(
            .damaged, "a part of the backup is missing, cut short or altered", showsPlace: true,
            hint: "try another backup of the folder, with --from; nothing was changed"),
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
        "storage.attachment.missing": FailureMeaning(
            .notFound, "the file of the attachment is not on this device",
            hint: "in a synced vault coffret attach get ITEM fetches it; else coffret fsck says what is missing"),
        "storage.history.compacted": FailureMeaning(
            .notFound, "that part of the history was dropped by compact", hint: "coffret log shows what there is"),
        "storage.history.not-here-yet": FailureMeaning(
            .notFound, "older history has not arrived on this device yet",
            hint: "coffret sync fetches it; what is there now can be read and changed meanwhile"),
        "storage.fact.value-too-large": FailureMeaning(
            .badInput, "the text is too large", hint: "coffret attach add ITEM FILE keeps files of any size"),
        "storage": FailureMeaning(.damaged, "the vault is damaged", hint: damageHint),
    ]
}
