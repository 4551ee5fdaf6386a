// The registry of labels that keep one use of a key apart from every other. Invariant: a label is used for one thing,
// is never changed and never used again for another.

/// A label of a derivation, an envelope or a signature.
///
/// No label is a prefix of another, and none occurs twice, whatever it is used for; a test checks it.
/// Spec: Spec/contexts.md lists the same labels with what they bind.
package enum Context: String, CaseIterable, Sendable {
    // Derivations from a vault key of one epoch; context: vault id ‖ epoch.
    case blob = "blob"
    case nonce = "nonce"
    case blobAddress = "addr/blob"
    case chunkAddress = "addr/chunk"
    case vaultKeyCommitment = "vault-key/commit"
    case acknowledgementKey = "acknowledgement/key"

    case noteHint = "note-hint"

    // Derivations for what a device says in commits of the heads of its other vaults: from the account's details key, and
    // from the marker key of this store.
    case headsKey = "heads/key"
    case headsLocalKey = "heads/local"
    // From the marker key of this store: for what this machine keeps of programs that ask the store.
    case accessKey = "access/local"
    // From the same key: for text that a person types and that is no change yet.
    case draftKey = "draft/local"

    // Derivations from a vault's split key; context: vault id ‖ tree generation.
    case nodeBoundary = "tree/boundary"
    case valuePiece = "value/piece"
    // Context: vault id ‖ what is merged.
    case mergedValue = "value/merge"

    // Context: vault id: terms of a state's digest, and what shows which split key is meant.
    case stateDigest = "state/digest"
    case splitKeyCommitment = "split-key/commit"

    // Derivation from the vault key of an epoch, for the sealed parts of member links; context: vault id ‖ epoch.
    case memberDetailsKey = "member-details/key"
    // The same, for the older keys that lie under a newer one.
    case epochHistoryKey = "epoch-history/key"

    // Derivations from a vault's local key; context: vault id.
    case journal = "journal"
    case search = "search"

    // Derivations for a folder of backups: its key from the marker key of the store, and from that the keys of lists, pieces
    // and names of pieces.
    case backupFolder = "backup/folder"
    case backupContent = "backup/content"
    case backupPiece = "backup/piece"
    case backupName = "backup/name"

    // Derivation from the key of an attachment; no context.
    case chunkKeyCommitment = "chunk-key/commit"

    // Derivations from the key that a note's passphrase leads to.
    case lockedNote = "locked/note"
    case lockedTag = "locked/tag"

    // Derivations around slots.
    case slotsMAC = "slots/mac"
    case slotPassphrase = "slot/passphrase"
    case pin = "pin"
    case slotInstallation = "slot/installation"
    case recoveryBox = "recovery/box"
    case paperBox = "paper/box"
    case paperSigning = "paper/sign"
    case paperNoise = "paper/noise"
    case slotCommitment = "slot/commit"
    case renewalKey = "renewal"
    case markerMAC = "marker/mac"
    case recordMAC = "agent-record/mac"
    case recordsKey = "records/key"

    // The key agreed between an ephemeral and a recipient's key.
    case publicKeyEnvelope = "box/agreement"
    // The key agreed between an ephemeral key and two keys of a person; context: these three, and the letter's header.
    case letterAgreement = "letter/agreement"
    // Derivations from the code of an invitation; context: the inviter, then who claims it.
    case contactToken = "contact/token"
    case contactProof = "contact/proof"

    // Envelopes.
    case keyringBody = "keyring/body"
    case slotPrivateKey = "slot-seal/private-key"
    case slotStorageKey = "slot-seal/storage-key"
    case backupHeader = "backup/header"
    case backupSlot = "backup/slot"
    case backupKey = "backup/key"
    case backupChecked = "backup/checked"
    case protectedRecords = "protected/records"
    case idleKeys = "idle/keys"
    case renewedKey = "renewed/key"
    case linkDetails = "link-details"
    case deviceBox = "device-box/content"
    case linkDetailsKey = "link-metadata-key"
    case lockedBody = "locked/body"
    case lockedCheck = "locked/check"
    case lockedPrevious = "locked/previous"
    case lockedHint = "locked/hint"
    case letterContent = "letter/content"

    // Associated data: vault id ‖ number of the link.
    case memberDetails = "member-details/seal"
    case memberCheckpoint = "member-checkpoint/seal"
    // Associated data: vault id ‖ epoch.
    case epochHistory = "epoch-history/seal"
    case acknowledgementSeal = "acknowledgement/seal"
    case headsSeal = "heads/seal"
    case headRecord = "heads/record"
    case accessTokens = "access/tokens"
    case accessLog = "access/log"
    case draftText = "draft/text"

    // Signatures.
    case link = "link/signature"
    case linkCountersignature = "link/countersignature"
    case commit = "commit"
    case entry = "entry"
    case frontier = "frontier"
    case acknowledgement = "acknowledgement/signature"
    case login = "login"
    case push = "push"
    case sweep = "sweep"
    case keyringSignature = "keyring/signature"
    case backupSignature = "backup/signature"
    case zoneDeletion = "zone/delete"
    case deviceBoxSignature = "device-box/signature"
    case pairingPossession = "pair/possession"
    case letterSignature = "letter/signature"
    case identityCountersignature = "identity/countersignature"
    case cardSignature = "card/signature"

    /// The label's bytes: ASCII, no zero byte.
    package var bytes: [UInt8] { Array(rawValue.utf8) }
}
