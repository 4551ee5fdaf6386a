// Errors of SQLite. Invariant: an error names the statement that failed and never a value that was bound to it, nor
// SQLite's message, which may quote one.

internal import CSQLite
package import CoffretBase

/// Why a statement or a database failed.
@usableFromInline package struct SQLiteError: Error, Equatable, Sendable {
    package enum Code: String, Sendable {
        /// The database cannot be opened.
        case cannotOpen = "sqlite.cannot-open"
        /// Another connection holds a lock.
        case busy = "sqlite.busy"
        /// The file is no database, or its structure is damaged.
        case corrupt = "sqlite.corrupt"
        /// A uniqueness, foreign-key, type or check rule was violated.
        case constraint = "sqlite.constraint"
        /// No space is left, or the database has reached its largest size.
        case full = "sqlite.full"
        /// Reading or writing the file failed.
        case inputOutput = "sqlite.input-output"
        /// The database can only be read.
        case readOnly = "sqlite.read-only"
        /// No memory.
        case noMemory = "sqlite.no-memory"
        /// A value or a statement is larger than SQLite takes.
        case tooBig = "sqlite.too-big"
        /// The schema was written by a newer program.
        case schemaTooNew = "sqlite.schema-too-new"
        /// The statement was interrupted.
        case interrupted = "sqlite.interrupted"
        /// A sealed database does not exist yet, or was deleted.
        case sealedMissing = "sqlite.sealed.missing"
        /// A sealed database was being made when the program stopped.
        case sealedUnfinished = "sqlite.sealed.unfinished"
        /// A sealed database was written by a program with another format.
        case sealedUnknownVersion = "sqlite.sealed.unknown-version"
        /// A sealed database was altered, cut or mixed up, or belongs to another key.
        case sealedDamaged = "sqlite.sealed.damaged"
        /// Anything else: most often a mistake in the statement.
        case failed = "sqlite.failed"
    }

    package let code: Code
    /// The statement, or what else was being done.
    package let place: String
    /// SQLite's extended result code. Ignored by equality.
    package let resultCode: Int32
    /// The error of the file system below a sealed database. Ignored by equality.
    package let cause: FileSystemError?

    package init(_ code: Code, place: String, resultCode: Int32 = 0, cause: FileSystemError? = nil) {
        self.code = code
        self.place = place
        self.resultCode = resultCode
        self.cause = cause
    }

    /// The error for a failure of the file system.
    package init(_ cause: FileSystemError) {
        let code: Code =
            switch cause.code {
            case .noSpace: .full
            case .permission, .readOnly: .readOnly
            case .wouldBlock: .busy
            // A file that ends before the page that should be there was cut.
            case .endOfFile: .sealedDamaged
            default: .inputOutput
            }
        self.init(code, place: "file", cause: cause)
    }

    /// The error for an extended result code.
    package init(resultCode: Int32, place: String) {
        let code: Code =
            switch resultCode & 0xFF {
            case SQLITE_CANTOPEN: .cannotOpen
            case SQLITE_BUSY, SQLITE_LOCKED: .busy
            case SQLITE_CORRUPT, SQLITE_NOTADB: .corrupt
            // The sealed file's answer for a page that does not open.
            case SQLITE_IOERR where resultCode == SealedVFS.pageDoesNotOpen: .sealedDamaged
            case SQLITE_CONSTRAINT, SQLITE_MISMATCH: .constraint
            case SQLITE_FULL: .full
            case SQLITE_IOERR: .inputOutput
            case SQLITE_READONLY, SQLITE_PERM: .readOnly
            case SQLITE_NOMEM: .noMemory
            case SQLITE_TOOBIG: .tooBig
            case SQLITE_INTERRUPT: .interrupted
            default: .failed
            }
        self.init(code, place: place, resultCode: resultCode)
    }

    @usableFromInline package static func == (left: SQLiteError, right: SQLiteError) -> Bool {
        left.code == right.code && left.place == right.place
    }
}
