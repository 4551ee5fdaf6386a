// Errors of searching. Invariant: a damaged index is its own code, because the answer to it is always the same: make
// the index again.

package import CoffretSQLite

/// Why a query cannot be understood, or the index cannot be used.
package struct SearchError: Error, Equatable, Sendable {
    package enum Code: String, Sendable, CaseIterable {
        /// Nothing to search for: no word, no filter.
        case queryEmpty = "search.query.empty"
        /// Above 4096 bytes.
        case queryTooLong = "search.query.too-long"
        /// More than 64 words, phrases and filters.
        case queryTooManyTerms = "search.query.too-many-terms"
        /// Parentheses nested more than 16 deep.
        case queryTooDeep = "search.query.too-deep"
        /// A parenthesis without its other half.
        case queryUnbalanced = "search.query.unbalanced"
        /// `tag:`, `type:` and the like with nothing behind.
        case queryMissingValue = "search.query.missing-value"
        /// `type:` with a kind that does not exist.
        case queryUnknownType = "search.query.unknown-type"
        /// `in:` with neither a part of an item nor a place.
        case queryUnknownPlace = "search.query.unknown-place"
        /// `is:` or `has:` with an unknown property.
        case queryUnknownProperty = "search.query.unknown-property"
        /// A date that is none of YYYY, YYYY-MM, YYYY-MM-DD.
        case queryInvalidDate = "search.query.invalid-date"
        /// `in:` with a part of an item, negated or inside parentheses: it speaks for the whole query.
        case queryMisplacedScope = "search.query.misplaced-scope"
        /// The index is missing, damaged or of another version, and has to be made anew.
        case rebuildNeeded = "search.index.rebuild-needed"
        /// Another process holds the index for too long.
        case indexBusy = "search.index.busy"
        /// No space is left for the index.
        case indexFull = "search.index.full"
        /// The index lies where nothing can be written.
        case indexReadOnly = "search.index.read-only"
        /// Reading or writing the index failed.
        case indexFailed = "search.index.failed"
    }

    package let code: Code
    /// Where in the query, as an offset in UTF-8 bytes.
    package let byteOffset: Int?
    /// Why the index has to be made anew.
    package let reason: RebuildReason?
    /// The error below. Ignored by equality.
    package let cause: SQLiteError?

    package init(_ code: Code, at byteOffset: Int? = nil) {
        self.code = code
        self.byteOffset = byteOffset
        reason = nil
        cause = nil
    }

    package init(rebuild reason: RebuildReason, cause: SQLiteError? = nil) {
        code = .rebuildNeeded
        byteOffset = nil
        self.reason = reason
        self.cause = cause
    }

    /// The error of the index for a failure of the database.
    package init(_ cause: SQLiteError) {
        let reason: RebuildReason? =
            switch cause.code {
            case .sealedMissing: .missing
            case .sealedUnfinished: .unfinished
            case .sealedUnknownVersion, .schemaTooNew: .unknownVersion
            case .sealedDamaged, .corrupt: .damaged
            default: nil
            }
        let code: Code =
            switch cause.code {
            case .busy: .indexBusy
            case .full: .indexFull
            case .readOnly: .indexReadOnly
            default: .indexFailed
            }
        self.code = reason == nil ? code : .rebuildNeeded
        byteOffset = nil
        self.reason = reason
        self.cause = cause
    }

    package static func == (left: SearchError, right: SearchError) -> Bool {
        left.code == right.code && left.byteOffset == right.byteOffset && left.reason == right.reason
    }
}

/// Why an index cannot be used as it lies. It is made again from the vault, aloud.
package enum RebuildReason: String, Equatable, Sendable {
    /// There is none yet, or it was deleted.
    case missing
    /// It was being made when the program stopped.
    case unfinished
    /// It was written by a program with another format.
    case unknownVersion = "unknown-version"
    /// It was altered, cut or mixed up, or belongs to another vault or key.
    case damaged
}
