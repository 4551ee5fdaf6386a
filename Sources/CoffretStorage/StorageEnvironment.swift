// What storage needs from the world. The one thing to keep true: disk, randomness, time and what is
// told to people come in here and nowhere else.

package import CoffretBase

/// Something that storage did or found on its own and that a person should hear of.
///
/// Notices are about derived data that was made anew and about ends of files that a crash left
/// unfinished. Loss of anything acknowledged is never a notice but an error.
package struct StorageNotice: Equatable, Sendable, CustomStringConvertible {
    package enum Kind: String, Sendable {
        /// An append that was never acknowledged was found at the journal's end, and left out.
        case unfinishedAppend = "storage.notice.unfinished-append"
        /// An index did not verify and was made again from the records.
        case indexRebuilt = "storage.notice.index-rebuilt"
        /// Files that no transaction refers to, left by a crash, were removed.
        case orphansRemoved = "storage.notice.orphans-removed"
        /// Acknowledged transactions were given up because the caller asked for it.
        case damageAccepted = "storage.notice.damage-accepted"
    }

    package let kind: Kind
    /// Which file, and how much; never content.
    package let place: String

    package init(_ kind: Kind, place: String) {
        self.kind = kind
        self.place = place
    }

    package var description: String { "\(kind.rawValue): \(place)" }
}

/// Sizes at which storage changes what it does. Tests make them small; the defaults are measured
/// (`Docs/decisions`, storage prototype sections 6 to 8).
package struct StorageTuning: Equatable, Sendable {
    /// Journal segments start at this size and double with each one up to the maximum: small stores
    /// stay small, large ones sync their metadata rarely.
    package var segmentByteCountMin = 1 << 20
    package var segmentByteCountMax = 8 << 20
    /// From this size on a transaction's blobs go to bulk segments.
    package var bulkByteCountMin = 4 << 20
    /// A bulk segment is closed at this size.
    package var bulkSegmentByteCountMax = 64 << 20
    /// Packs are divided by the first bits of addresses as long as each holds this much.
    package var packByteCountMin = 1 << 20
    /// How many sealed files are open at once.
    package var openFileCountMax = Self.openFileCountDefault
    /// Segments up to this size together are merged in one run.
    package var mergeByteCountMax = 64 << 20
    /// Above this, and above three tenths of the packs, what lies outside packs is worth a compaction.
    package var compactionByteCountMin = 16 << 20

    package init() {}
}

/// The seams that storage works through.
package struct StorageEnvironment: Sendable {
    package let fileSystem: any FileSystem
    package let random: any RandomSource
    package let clock: any WallClock
    /// Where notices go; called in the middle of the operation that met the cause.
    package let notify: @Sendable (StorageNotice) -> Void
    package let tuning: StorageTuning

    package init(
        fileSystem: any FileSystem, random: any RandomSource, clock: any WallClock,
        tuning: StorageTuning = StorageTuning(), notify: @escaping @Sendable (StorageNotice) -> Void = { _ in }
    ) {
        self.fileSystem = fileSystem
        self.random = random
        self.clock = clock
        self.notify = notify
        self.tuning = tuning
    }
}

extension StorageError {
    /// What a failure of the file system means here: a full disk is told apart, because people can
    /// do something about it.
    init(file error: FileSystemError) {
        self.init(error.code == .noSpace ? .diskFull : .fileFailed, place: error.place, cause: error)
    }
}

/// Runs a file operation and translates its failure.
func translatingFileErrors<Result: ~Copyable>(_ value: @autoclosure () throws(FileSystemError) -> Result)
    throws(StorageError) -> Result
{
    do throws(FileSystemError) {
        return try value()
    } catch {
        throw StorageError(file: error)
    }
}

/// The same for several statements.
func translatingFileErrors<Result: ~Copyable>(_ body: () throws(FileSystemError) -> Result) throws(StorageError)
    -> Result
{
    try translatingFileErrors(body())
}
