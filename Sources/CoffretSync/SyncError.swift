// What can go wrong between a vault and a server. The one thing to keep true: an error of this file has changed
// nothing here, and says whether the server lied or was merely not there.

package import CoffretStorage
internal import CoffretTrust

/// A failure of syncing; listed with causes and remedies in `Spec/errors.md`.
package struct SyncError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable, CaseIterable {
        /// The server does not give what it acknowledged, and shows nothing new (R1, R7).
        case headRolledBack = "sync.head.rolled-back"
        /// The same, and it shows what was not there before (R2).
        case headForked = "sync.head.forked"
        /// A chain is not what it was; the cause is a `FollowFailure`.
        case chainsRefused = "sync.chains.refused"
        /// This copy of the store is older than it was, or one of two (I2).
        case storeRolledBack = "sync.store.rolled-back"
        /// A device has what the server does not deliver (R4).
        case entryWithheld = "sync.entry.withheld"
        /// Again and again the server did not show what other devices say they have (R8).
        case auditFailed = "sync.audit.failed"
        /// The zone has a newer key epoch than this device knows.
        case epochStale = "sharing.epoch.stale"
        /// The newest key of a vault of several people did not come to this account.
        case keyAwaited = "sharing.key.awaited"
        /// Links of somebody's revoked device wait for a word of its account; nothing was changed.
        case memberUnconfirmed = "trust.member.unconfirmed"
        /// The account is no member of the vault, or the one that is meant is none.
        case memberUnknown = "sharing.member.unknown"
        /// The account is a member already.
        case memberExists = "sharing.member.exists"
        /// The account may read the vault, and not change it.
        case roleViewer = "sharing.role.viewer"
        /// A link that was asked for cannot be written now; the place says why.
        case changeWaits = "sharing.change.waits"
        /// The answer is none that the protocol has.
        case answerMalformed = "sync.answer.malformed"
        /// The server refused; the place is its code.
        case refused = "sync.server.refused"
        /// The account's space at the server is used up, or the server's own.
        case quotaExceeded = "sync.server.quota-exceeded"
        /// Files that the server has no room for; all else was synced.
        case fileNoRoom = "sync.file.no-room"
        /// Files that cannot be read here; all else was synced.
        case fileUnreadable = "sync.file.unreadable"
        /// A file was not fetched whole, since changes go first; it goes on where it was.
        case fileInterrupted = "sync.file.interrupted"
        /// The disk here has no room for a file from the server.
        case diskFull = "sync.file.disk-full"
        /// What the server has in place of a file's chunk is not it (R14).
        case fileRefused = "sync.file.refused"
        /// The server does not have an attachment's file.
        case fileMissing = "sync.file.missing"
        /// No connection, or it broke.
        case unreachable = "sync.server.unreachable"
        /// Others pushed each time before this device did.
        case contended = "sync.server.contended"
        /// Another process syncs the vault.
        case busy = "sync.vault.busy"
        /// Older keys that came with the newest are not the vault's.
        case historyDiffers = "keys.history.differs"
        /// The vault below failed; the cause says how.
        case vaultFailed = "sync.vault.failed"
    }

    package let code: Code
    /// The server's own code, or a device; never content.
    package let place: String?
    package let cause: (any Error)?
    /// Both states, where a person has to compare them (R1, R2).
    package let heads: Heads?

    /// The newest entry of what the server showed and takes back, and of what it shows; nil if there is none.
    package struct Heads: Equatable, Sendable {
        package let seen: BlobName?
        package let shown: BlobName?
    }

    package init(_ code: Code, at place: String? = nil, heads: Heads? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.place = place
        self.heads = heads
        self.cause = cause
    }

    /// A failure below, as the sync tells it.
    static func translating(_ error: any Error) -> SyncError {
        if let error = error as? SyncError { return error }
        if let refused = error as? MemberError {
            return SyncError(.vaultFailed, at: refused.code.rawValue, cause: error)
        }
        let storage = error as? StorageError
        if storage?.code == .lockBusy { return SyncError(.busy, cause: error) }
        return SyncError(.vaultFailed, at: storage?.code.rawValue ?? "\(error)", cause: error)
    }

    /// The server's code for what comes too often.
    static let rateCode = "server.rate.exceeded"

    /// What a refusal of the server means.
    init(refusal code: String) {
        switch code {
        case "server.zone.epoch-stale": self.init(.epochStale)
        case "server.quota.exceeded", "server.storage.full": self.init(.quotaExceeded, at: code)
        default: self.init(.refused, at: code)
        }
    }

    package static func == (left: SyncError, right: SyncError) -> Bool {
        left.code == right.code && left.place == right.place
    }

    package var description: String { place.map { "\(code.rawValue) at \($0)" } ?? code.rawValue }

    /// Whether trying again later may help; what a server lied about stays an error until a person has looked.
    package var isTransient: Bool { [.unreachable, .contended, .busy].contains(code) }
}
