// How coffret ends. Invariant: a number never changes its meaning; scripts rely on it. Docs/cli.md lists the table,
// and a test compares the two.

/// Exit codes, in the manner of BSD's sysexits: 64 and up, so that none collides with a shell's.
package enum ExitCode: Int32, Sendable, CaseIterable {
    case success = 0
    /// The command line is wrong.
    case usage = 64
    /// A name fits several things; the candidates are listed.
    case ambiguous = 65
    /// The named thing is not there.
    case notFound = 66
    /// The passphrase, recovery key or PIN does not open this store.
    case wrongPassphrase = 67
    /// There is no store at this place.
    case noStore = 68
    /// Something outside coffret is missing: a clipboard, an editor, a library.
    case unavailable = 69
    /// A bug in coffret.
    case internalError = 70
    /// The store is damaged; what was found is named.
    case damaged = 71
    /// The store is older than this device has already seen.
    case rolledBack = 72
    /// A file cannot be made, or is already there.
    case cannotCreate = 73
    /// Reading or writing failed.
    case inputOutput = 74
    /// Another process is writing; trying again later helps.
    case busy = 75
    /// Written by a newer coffret, or not by coffret at all.
    case unsupportedFormat = 76
    /// Permission is missing, or a file with secrets is readable by others.
    case permission = 77
    /// Key derivation parameters outside the bounds that protect this machine and the passphrase.
    case keyPolicy = 78
    case diskFull = 79
    /// Input is not what it must be: text that is not UTF-8, a field without a value.
    case badInput = 80
    /// An import was refused as a whole, and nothing was changed.
    case importRejected = 81
    /// A store, vault or name is already there.
    case alreadyExists = 82
    /// A dangerous command was not confirmed.
    case notConfirmed = 83
    /// A message, cell or signature of another program was altered, or belongs to another key.
    case notAuthentic = 84
    /// Too many wrong secrets: the next try has to wait.
    case lockedOut = 85
    /// The store is locked, and nobody could be asked; or it was locked while the command ran.
    case locked = 86
    /// The desktop's keyring is locked, and nobody unlocked it.
    case keyringLocked = 87
    /// The doctor or an audit found something to put right.
    case needsAttention = 88
    /// A note is locked with a passphrase of its own, which was not given.
    case noteLocked = 89
    /// The server cannot be reached, or did not answer; nothing is lost, and trying again later helps.
    case offline = 90
    /// A person is not verified, or changed: nothing is shared.
    case personUnverified = 91
    /// It waits for another person, or a device of one.
    case waitsForPerson = 92
    /// The command of `run` is there, but cannot be executed.
    case notExecutable = 126
    /// The command of `run` was not found.
    case commandNotFound = 127
    /// Interrupted, as by Ctrl-C.
    case cancelled = 130
    /// The reader of the output went away.
    case brokenPipe = 141

    /// One line for people.
    package var meaning: String {
        switch self {
        case .success: "done"
        case .usage: "the command line is wrong"
        case .ambiguous: "a name fits several things; the candidates are listed"
        case .notFound: "what was named is not there"
        case .wrongPassphrase: "the passphrase or recovery key does not open this store, or this note"
        case .noStore: "there is no store at this place"
        case .unavailable: "something outside coffret is missing: a clipboard, an editor, a library"
        case .internalError: "a bug in coffret"
        case .damaged: "the store is damaged; what was found is named"
        case .rolledBack: "the store is older than this device has already seen"
        case .cannotCreate: "a file cannot be made, or is already there"
        case .inputOutput: "reading or writing failed"
        case .busy: "another process is writing; try again later"
        case .unsupportedFormat: "written by a newer coffret, or not by coffret at all"
        case .permission: "permission is missing, or a secret file is readable by others"
        case .keyPolicy: "key derivation parameters are outside the safe bounds"
        case .diskFull: "the disk is full; nothing acknowledged is lost"
        case .badInput: "input is not what it must be, such as text that is not UTF-8"
        case .importRejected: "an import was refused as a whole; nothing was changed"
        case .alreadyExists: "a store, vault or name is already there"
        case .notConfirmed: "a dangerous command was not confirmed"
        case .notAuthentic: "a message or signature was altered, or belongs to another key"
        case .lockedOut: "too many wrong tries; the next one has to wait"
        case .locked: "the store is locked, and nobody could be asked; or it was locked meanwhile"
        case .keyringLocked: "the desktop's keyring is locked"
        case .needsAttention: "the doctor or an audit found something to put right"
        case .notExecutable: "the command of run cannot be executed"
        case .commandNotFound: "the command of run was not found"
        case .offline: "the server cannot be reached; nothing is lost, try again later"
        case .personUnverified: "a person is not verified, or changed; nothing was shared"
        case .waitsForPerson: "it waits for another person"
        case .noteLocked: "a note is locked, and its passphrase was not given"
        case .cancelled: "interrupted"
        case .brokenPipe: "the reader of the output went away"
        }
    }
}
