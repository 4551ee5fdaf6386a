// The one error type of this module. Codes are stable: scripts and Spec/errors.md name them.

internal import CoffretBase
internal import CoffretStorage

/// An error of an item, a vault or a store.
package struct CoreError: Error, Equatable, Sendable {
    /// A stable name for what happened; `Spec/errors.md` lists all.
    package enum Code: String, Sendable, CaseIterable {
        /// No item answers to the reference.
        case itemNotFound = "core.item.not-found"
        /// Several items answer to the reference; `candidates` names them.
        case itemAmbiguous = "core.item.ambiguous"
        /// Another version of the item stands in the vault that it is to come into.
        case itemExists = "core.item.exists"
        /// The item is of a kind, or holds a value, that this version does not know how to change.
        case itemUnsupported = "core.item.unsupported"
        /// The edit has no effect that could be written, or names a field that does not exist.
        case fieldNotFound = "core.field.not-found"
        /// Several fields of the item answer to the name; `candidates` names their keys.
        case fieldAmbiguous = "core.field.ambiguous"
        /// A field's name or value is not acceptable: too long, empty, or not of the field's kind.
        case fieldInvalid = "core.field.invalid"
        /// A text that should be a secret reference is none; the place says why.
        case referenceInvalid = "core.reference.invalid"
        /// A reference names something that no reference can give: a counted code, a very large file.
        case referenceUnsupported = "core.reference.unsupported"
        /// A tag is empty, too long, or contains characters that no tag may have.
        case tagInvalid = "core.tag.invalid"
        /// The note is sealed under a passphrase of its own, which nobody gave; `place` is the record's id.
        case noteLocked = "core.note.locked"
        /// The item is hidden, and nobody can be asked here whether somebody is there.
        case noteHidden = "core.note.hidden"
        /// The note is not sealed.
        case noteNotLocked = "core.note.not-locked"
        /// The note is sealed already.
        case noteAlreadyLocked = "core.note.already-locked"
        /// Only notes can be sealed, not items of other kinds.
        case noteKind = "core.note.kind"
        /// The note holds values that two devices wrote at once; they are to be settled first.
        case noteUnsettled = "core.note.unsettled"
        /// The typed passphrase does not open the password record.
        case notePassphraseWrong = "core.note.wrong-passphrase"
        /// The new passphrase opens locked notes of another vault too, and other people can guess at it in one of them;
        /// `place` is that vault.
        case notePassphraseElsewhere = "core.note.passphrase-elsewhere"
        /// Empty, too long, not UTF-8, or with a zero byte.
        case notePassphraseInvalid = "core.note.passphrase-invalid"
        /// The passphrase is right, and a sealed part does not open: it was altered or moved.
        case noteDamaged = "core.note.damaged"
        /// A sealed part names a password record that is not there.
        case recordNotFound = "core.record.not-found"
        /// A newer version of the program sealed this; it is left untouched.
        case recordUnsupported = "core.record.unsupported"
        /// A password record is not the one that its id stands for: somebody changed it.
        case recordChanged = "core.record.changed"
        /// A password record asks for key derivation outside the bounds. Nothing was derived.
        case recordPolicy = "core.record.policy"
        /// Another application sealed this with constants of its own, which nobody gave.
        case recordConstantsMissing = "core.record.constants-missing"
        /// A stored value is not what its attribute demands.
        case valueInvalid = "core.value.invalid"
        /// The attachment does not exist in that item.
        case attachmentNotFound = "core.attachment.not-found"
        /// Several attachments of the item have that name.
        case attachmentAmbiguous = "core.attachment.ambiguous"
        /// The text does not name a moment.
        case momentInvalid = "core.moment.invalid"
        /// The vault has no history that reaches back to that moment.
        case momentBeforeHistory = "core.moment.before-history"
        /// No commit has a name that begins so.
        case commitNotFound = "core.commit.not-found"
        /// Several commits have names that begin so.
        case commitAmbiguous = "core.commit.ambiguous"
        /// The text of a one-time code's secret is not base32.
        case base32Invalid = "core.base32.invalid"
        /// The `otpauth` address cannot be read, or asks for something that no standard describes.
        case oneTimeCodeInvalid = "core.otp.invalid"
        /// The generator was asked for something impossible, such as four classes in three characters.
        case generatorInvalid = "core.generator.invalid"
        /// There is already a store in that place.
        case storeExists = "core.store.exists"
        /// There is no store in that place.
        case storeNotFound = "core.store.not-found"
        /// The store lacks files that its keyring names; it was copied in part.
        case storeIncomplete = "core.store.incomplete"
        /// The store's keyring is older than one the vaults have already seen.
        case storeRolledBack = "core.store.rolled-back"
        /// The vault does not exist in this store.
        case vaultNotFound = "core.vault.not-found"
        /// The vault's files are older than this machine remembers.
        case vaultRolledBack = "core.vault.rolled-back"
        /// The chains beside the vault are older than what it has taken of them.
        case vaultChainsBehind = "core.vault.chains-behind"
        /// Several vaults answer to the name.
        case vaultAmbiguous = "core.vault.ambiguous"
        case vaultIsLast = "core.vault.is-last"
        /// A vault of that name exists already, or the name is not acceptable.
        case vaultNameInvalid = "core.vault.name-invalid"
        /// The vault was opened for reading only.
        case vaultReadOnly = "core.vault.read-only"
        /// History cannot be dropped or deleted for good from here now; the place says why.
        case historyKept = "core.history.kept"
        /// The file is no list of breached passwords, or is not sorted by hash; the place says what is wrong.
        case breachListInvalid = "core.breach-list.invalid"
        /// The folder or file is none of backups, or one of a version that this program does not know.
        case backupUnknownFormat = "core.backup.unknown-format"
        /// A part of the backup is missing, cut short, altered, or was made by another store than it says.
        case backupDamaged = "core.backup.damaged"
        /// A file could not be read or written.
        case inputOutput = "core.input-output"
        /// Storage refused; see the cause.
        case storage = "core.storage"
        /// The search index refused; see the cause.
        case search = "core.search"
        /// The keyring refused; see the cause.
        case keys = "core.keys"
        /// A cryptographic operation failed; see the cause.
        case crypto = "core.crypto"
    }

    /// One of several things that a reference could mean.
    package struct Candidate: Equatable, Sendable {
        /// The id in full, as lower-case hex.
        package let id: String
        /// Its name in front of people.
        package let title: String
        /// Further properties of an item, to distinguish it from others of its name.
        package var summary: ItemSummary?
        /// The vault that an item lies in, where that is a question.
        package var vault: String?

        /// Pairs an id with its title.
        package init(id: String, title: String) {
            self.id = id
            self.title = title
        }

        package init(_ summary: ItemSummary, vault: String? = nil) {
            self.init(id: summary.id.uuid.hex, title: summary.title)
            self.summary = summary
            self.vault = vault
        }
    }

    /// The identifier of this error.
    package let code: Code
    /// A short technical hint, such as an id or an offset; never a secret.
    package let place: String?
    /// For ambiguous references: what they could mean, at most twenty.
    package let candidates: [Candidate]
    /// The error below, if there is one. Equality ignores it.
    package let cause: (any Error)?

    /// Makes an error.
    package init(
        _ code: Code, at place: String? = nil, candidates: [Candidate] = [], cause: (any Error)? = nil
    ) {
        self.code = code
        self.place = place
        self.candidates = candidates
        self.cause = cause
    }

    /// Compares what happened and where; causes are not compared.
    package static func == (left: CoreError, right: CoreError) -> Bool {
        left.code == right.code && left.place == right.place && left.candidates == right.candidates
    }
}
