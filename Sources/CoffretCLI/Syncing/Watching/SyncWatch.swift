// `coffret sync --status`: how syncing stands, once or until Ctrl-C. The one thing to keep true: it changes nothing and
// sends nothing, and between events it does nothing.

internal import CPlatform
internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

enum SyncWatch {
    static let status = OptionDescription.flag("status", "say how syncing stands, and sync nothing")
    static let watch = OptionDescription.flag("watch", "with --status: say it again whenever it changes, until Ctrl-C")

    private static let pauseMilliseconds: Int32 = 200

    static func run(_ context: CommandContext) throws {
        guard context.arguments.isSet(watch) else {
            let store = try CommandStore.open(context)
            var request = SyncRead()
            request.vault = store.namedVault
            let overview = try store.perform(request)
            return try context.print(overview.json) {
                SyncWatchScreen.lines(
                    overview.rows(nowMilliseconds: context.nowMilliseconds), context.terminal
                ).joined(separator: "\n")
            }
        }
        let path = try UnlockCommand.existingStore(context)
        let environment = try StoreAccess.environment(context)
        let summary = try KeyringSummary.read(
            at: StoreLayout(path).keyringPath, fileSystem: environment.fileSystem)
        let records = SyncRecords(
            stateDirectory: environment.stateDirectory, storeID: summary.storeID, fileSystem: environment.fileSystem)
        try? records.makeFolder()
        let feed: any SyncFeed =
            try SessionFeed.open(context)
            ?? ServerFeed(StoreSession.open(context, with: .passphrase), records)
        let files = ChangedFiles()
        let screen = SyncWatchScreen(context)
        endQuietly()
        while true {
            // Watched first: what happens while it is looked at is looked at again.
            files.watch(path)
            files.watch(records.folder)
            files.watchClosing(records.agentPath)
            let overview = try feed.look()
            var isNew = false
            for vault in overview.vaults {
                guard let bytes = try? Hex.decode(vault.id), let id = VaultID(bytes) else { continue }
                if files.watch(PathText.join(StoreLayout(path).vaultPath(id), "journal")) { isNew = true }
            }
            try screen.show(overview)
            // What was written in a vault before it was watched is looked for.
            if isNew { continue }
            guard try wait(for: feed, files, screen) else { break }
        }
        feed.close()
        try screen.end()
    }

    /// Waits until something has happened.
    ///
    /// - Returns: false when it was Ctrl-C.
    /// - Throws: `BrokenPipe` once nobody reads any more: it may be long until there is something to write.
    private static func wait(for feed: any SyncFeed, _ files: ChangedFiles, _ screen: SyncWatchScreen) throws -> Bool {
        let interrupt = SignalWatch([SIGINT])
        let readable = Int16(POLLIN)
        // Events come in crowds, and one look is enough for all of them.
        _ = interrupt.wait(for: -1, timeoutMilliseconds: pauseMilliseconds)
        while interrupt.next() == nil {
            let now = SystemWallClock().now
            let due = [feed.lookAt, screen.redrawAt(now)].compactMap(\.self).min()
            let pause = due.map { Int32(clamping: max(0, $0 - now)) } ?? -1
            var polled = [interrupt.descriptor, files.descriptor, feed.descriptor].map {
                pollfd(fd: $0, events: readable, revents: 0)
            }
            polled.append(pollfd(fd: STDOUT_FILENO, events: 0, revents: 0))
            _ = unsafe poll(&polled, nfds_t(polled.count), pause)
            if polled[3].revents & Int16(POLLERR) != 0 { throw BrokenPipe() }
            if files.take() || polled[2].revents != 0 { return true }
            if let at = feed.lookAt, at <= SystemWallClock().now { return true }
            // Nothing more is said once the person wants it to end.
            if polled[0].revents != 0 { continue }
            try? screen.redraw()
        }
        return false
    }

    /// Ctrl-C is how this ends, also while it looks or connects.
    private static func endQuietly() {
        signal(SIGINT) { _ in _exit(0) }
        // Another size of the window ends the waiting, and nothing else.
        signal(SIGWINCH) { _ in }
    }
}

/// Files that somebody else writes.
final class ChangedFiles {
    let descriptor = coffret_watch_create()
    private var numbers = [Int32](repeating: 0, count: 128)
    private var watched: Set<Int32> = []

    deinit { if descriptor >= 0 { close(descriptor) } }

    /// Watches a folder, once however often this is called; does nothing for one that is not there.
    ///
    /// - Returns: whether it was not watched before.
    @discardableResult
    func watch(_ folder: String) -> Bool {
        let number = unsafe coffret_watch_folder(descriptor, folder)
        return number >= 0 && watched.insert(number).inserted
    }

    /// Watches for the end of who writes a file.
    func watchClosing(_ file: String) { _ = unsafe coffret_watch_closing(descriptor, file) }

    /// - Returns: whether anything has changed.
    func take() -> Bool {
        var hasAny = false
        while unsafe coffret_watch_take(descriptor, &numbers, Int32(numbers.count)) > 0 { hasAny = true }
        return hasAny
    }
}
