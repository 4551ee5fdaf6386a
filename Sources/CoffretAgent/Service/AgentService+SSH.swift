// The SSH keys of unlocked stores, for ssh and git. The one thing to keep true: the socket is there while the store is
// unlocked and not longer, and this process never reads a word of what comes in.

internal import CoffretApp
internal import CoffretBase
internal import CoffretClient
internal import CoffretMessages
internal import CoffretNet
internal import CoffretScripting
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

extension AgentService {
    static let sshConnectionCountMax = 64

    /// Opens the socket of a store that was unlocked. Where it cannot be (a `coffret ssh-agent` without this agent
    /// listens there, the path is too long) there is none; `coffret ssh-agent` says so.
    func listenForSSH(_ store: String) {
        guard sshListeners[store] == nil else { return }
        let path = AgentLocation.sshSocketPath(store: store, in: folder)
        guard let listener = try? UnixListener(path: path, userID: userID) else { return }
        listener.stopWaiting()
        sshListeners[store] = listener
    }

    /// Serves a connection by a process that has the store's key until the connection or the store's time ends.
    ///
    /// Opening a connection is a use of the store. Keeping it open is none: with a forwarded agent another machine
    /// decides how long that is.
    func acceptSSH(_ path: String) {
        guard let connection = sshListeners[path]?.accept(userID: userID) else { return }
        let count = children.values.count { if case .connection = $0.work { true } else { false } }
        guard count + sshWaitingCount < Self.sshConnectionCountMax else { return }
        let place = WaitingPlace(self)
        withOpenKeys(of: path, for: nil) {
            place.giveBack()
            self.serve(connection, of: path)
        }
    }

    private func serve(_ connection: UnixConnection, of path: String) {
        guard let store = stores[path], let key = store.use(at: BootClock.now).key else { return }
        let parent = getpid()
        // What narrows commands down was meant for the one who started this agent.
        let variables = environment.filter { !$0.key.hasPrefix("COFFRET_") }
        let child = start(.connection(store: path), for: nil) { control in
            // The key is at hand; notes' keys and what seals are of no use here.
            forget(except: nil)
            let null = unsafe open("/dev/null", O_RDWR)
            AgentChild.arrange([connection.descriptor, connection.descriptor, null, control])
            AgentChild.settle(environment: variables, parent: parent)
            let hosted = HostedStore(
                store: path, storageKey: key, askKey: { AgentChild.askKey(over: 3) },
                // SSH opens no notes; the agent drops reports on them.
                report: { AgentChild.report($0, over: 3) })
            hosted.enter()
            return Self.serveSSH(of: hosted)
        }
        child?.keyCount = store.keyCount
    }

    /// In the child: serves the SSH client at the standard streams.
    private static func serveSSH(of hosted: HostedStore) -> Int32 {
        ProcessHardening.apply()
        do {
            let store = try hosted.open(hosted.environment())
            let keys = try SSHKeyring(store, in: GuestVaults(store).vaults(nil, for: .ssh)) {
                SSHConfirmation.ask($0, ProcessEnvironment())
            }
            let client = SSHClient(input: STDIN_FILENO, output: STDOUT_FILENO, keys: keys)
            while client.serve() {}
            return 0
        } catch {
            return 1
        }
    }
}

/// One of the connections that may wait for keys, until it is served or its keys are gone.
private final class WaitingPlace {
    private weak var service: AgentService?

    init(_ service: AgentService) {
        self.service = service
        service.sshWaitingCount += 1
    }

    deinit { giveBack() }

    func giveBack() {
        service?.sshWaitingCount -= 1
        service = nil
    }
}
