// The one error type of this module. It must always let a person find the file that was at fault,
// and must keep that name apart from the technical place, which may be logged.

/// An error while foreign files come in or leave.
///
/// Every error of an import means that nothing was changed in the vault: an import is one commit.
package struct ImportExportError: Error, Equatable, Sendable {
    /// Stable identifiers of the errors.
    package enum Code: String, Sendable, CaseIterable {
        /// There is no file or folder at the path.
        case sourceMissing = "import.source.missing"
        /// A file or folder cannot be read: permissions, or the device failed.
        case sourceUnreadable = "import.source.unreadable"
        /// A file changed its kind or its size while it was read.
        case sourceChanged = "import.source.changed"
        /// No importer knows this format.
        case sourceUnrecognised = "import.source.unrecognised"
        /// A backup or export of another program that this version does not read.
        case sourceUnsupported = "import.source.unsupported"
        /// The export is protected, and no password was given.
        case passwordNeeded = "import.source.password-needed"
        /// The password or the key file does not open the export, or its content was altered.
        case passwordWrong = "import.source.password-wrong"
        /// The export wants more memory or rounds for its key than `ImportLimits` allows.
        case keyDerivationTooCostly = "import.limit.key-derivation"
        /// More entries than `ImportLimits.entryCountMax`.
        case tooManyEntries = "import.limit.entry-count"
        /// More bytes in all than `ImportLimits.totalByteCountMax`.
        case totalTooLarge = "import.limit.total-size"
        /// An archive unpacks to far more than its own size.
        case ratioTooHigh = "import.limit.compression-ratio"
        /// A single file above `ImportLimits.fileByteCountMax`.
        case fileTooLarge = "import.limit.file-size"
        /// A text above `ImportLimits.noteByteCountMax`.
        case noteTooLarge = "import.limit.note-size"
        /// A line above `ImportLimits.lineByteCountMax`.
        case lineTooLong = "import.limit.line-length"
        /// A path longer than the limit, or a folder nested deeper than the limit.
        case pathTooLong = "import.limit.path-length"
        /// A path in an archive that is absolute, holds `..`, or holds a NUL.
        case pathUnsafe = "import.archive.unsafe-path"
        /// Two entries of an archive have the same path.
        case pathRepeated = "import.archive.repeated-path"
        /// The archive is cut short, or its compressed data is wrong.
        case archiveDamaged = "import.archive.damaged"
        /// The archive needs a password.
        case archiveEncrypted = "import.archive.encrypted"
        /// A library that reads the format is not installed; `place` names it.
        case libraryMissing = "import.library-missing"
        /// A structured file (items, export) breaks its format.
        case formatInvalid = "import.format.invalid"
        /// A structured file of a newer or unknown version.
        case formatVersionUnknown = "import.format.version-unknown"
        /// A structured file ends too early.
        case formatTruncated = "import.format.truncated"
        /// The check value at the end of an export does not fit its content.
        case checkMismatch = "import.format.check-mismatch"
        /// The person wanted it to stop.
        case stopped = "import.stopped"
        /// A full export can only go into a vault without items.
        case vaultNotEmpty = "import.vault.not-empty"
        /// After a full import the vault's state is not the exported one.
        case stateMismatch = "import.vault.state-mismatch"
        /// The vault refused to read or write; `cause` says why.
        case vaultFailed = "import.vault.failed"
        /// The target of an export exists already and is not empty.
        case targetOccupied = "export.target.occupied"
        /// The target of an export cannot be written.
        case targetUnwritable = "export.target.unwritable"
    }

    /// The identifier of this error.
    package let code: Code
    /// A short technical hint such as an offset or an error number; never user data.
    package let place: String?
    /// The file at fault, as the person knows it, made printable. For the person only, not for logs.
    package let subject: String?
    /// The error below, if any; ignored by equality.
    package let cause: (any Error & Sendable)?

    /// Makes an error.
    package init(
        _ code: Code, at place: String? = nil, subject: String? = nil, cause: (any Error & Sendable)? = nil
    ) {
        self.code = code
        self.place = place
        self.subject = subject
        self.cause = cause
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.code == right.code && left.place == right.place && left.subject == right.subject
    }
}

/// Runs `body` and wraps what the vault throws, so that this module throws one type.
package func wrappingVaultErrors<Result>(_ body: () throws -> Result) throws(ImportExportError) -> Result {
    do {
        return try body()
    } catch let error as ImportExportError {
        throw error
    } catch {
        throw ImportExportError(.vaultFailed, cause: error)
    }
}
