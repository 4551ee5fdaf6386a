// Words for errors about items. Invariant: a text says what happened to the person's thing, and a hint is a command
// that works.

internal import CoffretTerminal

extension FailureMeaning {
    package static let items: [String: FailureMeaning] = [
        // Errors about names that the person gave.
        "core.item.not-found": FailureMeaning(.notFound, "there is no such item", showsPlace: true, hint: listHint),
        "core.item.ambiguous": FailureMeaning(
            .ambiguous, "the name fits several items", showsPlace: true, hint: "use the id, or a longer name"),
        "core.item.exists": FailureMeaning(
            .alreadyExists, "another version of this item stands there, or it was changed meanwhile; both stay",
            showsPlace: true, hint: "compare them, move one to the trash for good, and try again"),
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
        "core.note.passphrase-elsewhere": FailureMeaning(
            .badInput,
            "this passphrase opens notes of another vault, too, and other people could guess at it", showsPlace: true,
            hint: "take one that is used nowhere else; coffret note relock gives a note another passphrase"),
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
        "core.record.constants-missing": FailureMeaning(
            .unsupportedFormat, "Bear encrypted this note, and only Bear's own constants open it",
            hint: "coffret import BACKUP --bear-constants FILE gives them"),
        "core.field.not-found": FailureMeaning(
            .notFound, "the item has no such field", showsPlace: true,
            hint: "a field goes by its key or its label; coffret show lists those of an item"),
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
        "core.breach-list": FailureMeaning(
            .badInput, "that is no list of breached passwords, sorted by hash", showsPlace: true,
            hint: "coffret help audit says where to get one"),
        "core.generator": FailureMeaning(.usage, "that cannot be generated", showsPlace: true),
        "core.vault.not-found": FailureMeaning(
            .notFound, "there is no such vault", showsPlace: true, hint: "coffret vault ls lists them"),
        "core.vault.ambiguous": FailureMeaning(
            .ambiguous, "several vaults have that name", showsPlace: true, hint: "use the id: coffret vault ls"),
        "core.vault.is-last": FailureMeaning(
            .usage, "the only vault of the store stays", showsPlace: true,
            hint: "coffret vault new NAME makes another one first"),
        "core.vault.name-invalid": FailureMeaning(
            .alreadyExists, "that name is taken or cannot be used", showsPlace: true),
        "core.vault.read-only": FailureMeaning(.permission, "the vault cannot be changed here"),
    ]
}
