// What goes into the sync engine and comes out of it. The one thing to keep true: all of it is values.

package import CoffretBase
internal import CoffretStorage
internal import CoffretWire

extension SyncEngine {
    package enum Event: Equatable, Sendable {
        case begin
        case server(ServerReply)
        case vault(VaultReply)
        case filesSent(FileTally)
    }

    package enum Action: Equatable, Sendable {
        case server(ServerRequest)
        case vault(VaultRequest)
        /// Sees to it that these files are whole at the server, as far as it has room; a head that names them follows. Some
        /// are known to have found no room before.
        case sendFiles([UniqueID], known: [WaitingFile])
        case progress(SyncProgress)
        case finished(SyncReport, SyncMemory)
        case failed(SyncError)
    }

    /// With what a sync begins. Whatever it is, the server's head is looked at as soon as something is not as expected.
    package enum Beginning: Equatable, Sendable {
        case head
        /// Pushes on the head that is remembered: an edit costs one request.
        case push
        /// Reads what is new behind the cursor, because the server said that something is.
        case changes
    }

    package struct Options: Equatable, Sendable {
        package var beginning = Beginning.head
        /// Pushes again what a server lost that was put back to an older state; only when a person said so.
        package var acceptsRestoredServer = false
        /// Revoked devices, whose heads may be pushed over where they cannot be taken.
        package var revokedDevices: Set<[UInt8]> = []
        /// Leaves a signed word for the other devices, and looks at theirs.
        package var acknowledges = true
        /// Leaves it even if nothing changed, because syncs before did not.
        package var acknowledgesAnew = false
        /// Tries again to send files that found no room before.
        package var triesWaitingFiles = true
        /// One push holds about so many bytes.
        package var partByteCountMax = 4 << 20
        /// What came is made durable at the next mark behind so many bytes.
        package var stagedByteCountMax = 8 << 20
        /// A server that sends more without a mark is not believed.
        package var unmarkedByteCountMax = 16 << 20

        package init() {}
    }
}
