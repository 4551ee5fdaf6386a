// A failure in the words of the person. Invariant: every failure has a message about the person's thing, a stable code
// to search for, and where possible one command that helps.

package import CoffretBase

/// A failure as it is shown: `coffret: error: …`, details, and `coffret: hint: …`.
package struct CommandFailure: Error, Sendable {
    package let exitCode: ExitCode
    /// The stable code, such as `cli.item.ambiguous`.
    package let code: String
    /// Lowercase, without full stop.
    package var message: String
    /// Lines below the message, such as candidates.
    package var details: [String] = []
    package var hint: String?
    /// The technical cause, shown with `--verbose`.
    package var cause: String?
    /// Additional members of the error object with `--json`, such as candidates.
    package var jsonFields: [(name: String, value: JSONValue)] = []

    package init(
        _ exitCode: ExitCode, _ code: CLIErrorCode, _ message: String, details: [String] = [], hint: String? = nil,
        cause: String? = nil
    ) {
        self.init(exitCode, code: code.rawValue, message, details: details, hint: hint, cause: cause)
    }

    /// For codes that other modules own.
    package init(
        _ exitCode: ExitCode, code: String, _ message: String, details: [String] = [], hint: String? = nil,
        cause: String? = nil
    ) {
        self.exitCode = exitCode
        self.code = code
        self.message = message
        self.details = details
        self.hint = hint
        self.cause = cause
    }
}

/// Codes of failures that arise at the command line itself; Spec/errors.md lists them.
package enum CLIErrorCode: String, Sendable, CaseIterable {
    case browserHostMissing = "cli.browser.host-missing"
    case browserUnnamed = "cli.browser.unnamed"
    case fieldNotFound = "cli.field.not-found"
    case versionNotFound = "cli.version.not-found"
    case tagNotFound = "cli.tag.not-found"
    case attachmentNotFound = "cli.attachment.not-found"
    case slotNotFound = "cli.recovery.not-found"
    case slotAmbiguous = "cli.recovery.ambiguous"
    case slotIsPaper = "cli.recovery.is-paper"
    case topicNotFound = "cli.help.not-found"
    case storeMissing = "cli.store.missing"
    case storePathRelative = "cli.store.path-relative"
    case storeExists = "cli.store.exists"
    case passphraseUnavailable = "cli.passphrase.unavailable"
    case passphraseFileUnsafe = "cli.passphrase.file-unsafe"
    case passphraseTooLong = "cli.passphrase.too-long"
    case passphraseEmpty = "cli.passphrase.empty"
    case passphraseMismatch = "cli.passphrase.mismatch"
    case notePassphraseUnavailable = "cli.note.passphrase-unavailable"
    case noteNeedsAgent = "cli.note.needs-agent"
    case noteHintMissing = "cli.note.no-hint"
    case presenceUnavailable = "cli.presence.unavailable"
    case presenceRefused = "cli.presence.refused"
    case recoveryMismatch = "cli.recovery.mismatch"
    case terminalNeeded = "cli.terminal.needed"
    case notConfirmed = "cli.confirmation.missing"
    case cancelled = "cli.cancelled"
    case fileUnreadable = "cli.file.unreadable"
    case fileExists = "cli.file.exists"
    case fileUnwritable = "cli.file.unwritable"
    case diskFull = "cli.file.disk-full"
    case notText = "cli.input.not-text"
    case inputTooLarge = "cli.input.too-large"
    case inputEmpty = "cli.input.empty"
    case inputInvalid = "cli.input.invalid"
    case keyFileUnsafe = "cli.key.file-unsafe"
    case outputBinary = "cli.output.binary"
    case outputAmbiguous = "cli.output.ambiguous"
    case commandNotFound = "cli.run.not-found"
    case commandNotExecutable = "cli.run.not-executable"
    case momentInvalid = "cli.moment.invalid"
    case tokenIncomplete = "cli.token.incomplete"
    case editorMissing = "cli.editor.missing"
    case editorFailed = "cli.editor.failed"
    case editorUnsafe = "cli.editor.no-private-memory"
    case clipboardMissing = "cli.clipboard.missing"
    case clipboardFailed = "cli.clipboard.failed"
    case fingerprintInvalid = "cli.server.fingerprint-invalid"
    case serverUnknown = "cli.server.unknown"
    case deviceNotFound = "cli.device.not-found"
    case deviceAmbiguous = "cli.device.ambiguous"
    case deviceNameTaken = "cli.device.name-taken"
    case deviceIsThis = "cli.device.is-this"
    case paperTooEarly = "cli.device.paper-too-early"
    case pairingNotFound = "cli.pairing.not-found"
    case pairingAmbiguous = "cli.pairing.ambiguous"
    case vaultNotSynced = "cli.vault.not-synced"
    case vaultSynced = "cli.vault.synced"
    case storeDamaged = "cli.fsck.damaged"
    case backupNotFound = "cli.backup.not-found"
    case backupsDamaged = "cli.backup.damaged"
    case attachmentsFaulty = "cli.attachments.faulty"
    case keyNotFound = "cli.key.not-found"
    case keyAmbiguous = "cli.key.ambiguous"
    case keyNeedsAgent = "cli.key.needs-agent"
    case pinTooShort = "cli.pin.too-short"
    case ageMissing = "cli.age.missing"
    case ageFailed = "cli.age.failed"
    case auditFindings = "cli.audit.findings"
    case doctorFindings = "cli.doctor.findings"
    case agentOff = "cli.agent.off"
    case agentUnavailable = "cli.agent.unavailable"
    case agentGone = "cli.agent.gone"
    case agentOlder = "cli.agent.older"
    case frontMissing = "cli.front.missing"
    case frontFailed = "cli.front.failed"
    case durationInvalid = "cli.duration.invalid"
    case memoryExhausted = "cli.memory.exhausted"
    case unexpected = "cli.unexpected"
}

/// The reader of standard output went away; the program ends without a word.
package struct BrokenPipe: Error {
    package init() {}
}
