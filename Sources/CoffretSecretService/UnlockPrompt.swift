// Questions to the person to unlock the store. Invariant: the agent asks, through its own prompt; what is typed is never here, and
// a client that asked for it cannot answer.

internal import CoffretBus
internal import CoffretClient
internal import CoffretTerminal
internal import Glibc

/// A prompt that a client was given.
struct UnlockPrompt {
    let owner: String
    /// The objects that were to be unlocked.
    let objects: [String]
    /// Whether the client has had it shown.
    var isShown = false
}

/// `coffret unlock`, which has the agent ask.
final class Unlocking {
    private let words: [String]
    private var child: pid_t?
    /// The question on the screen is wanted no more, and its program has not ended yet.
    private var isEnding = false
    /// Somebody wants another one after that.
    private var isWantedAgain = false

    init(_ words: [String]) { self.words = words }

    var isRunning: Bool { child != nil }

    /// - Returns: false if it cannot be started.
    func start() -> Bool {
        guard child == nil else {
            isWantedAgain = isEnding
            return true
        }
        // No terminal, and no file with a passphrase: a person is to be asked.
        guard
            let started = try? ChildProcess.start(
                words, input: .null, output: .null, environment: ["COFFRET_PASSPHRASE_FILE": ""],
                isDetached: true)
        else { return false }
        child = started.processID
        return true
    }

    /// - Returns: nil while somebody is still asked, or nobody waits; whether it went well, once.
    func poll() -> Bool? {
        guard let child else { return nil }
        var status: Int32 = 0
        guard unsafe waitpid(child, &status, WNOHANG) == child else { return nil }
        let (wasEnding, again) = (isEnding, isWantedAgain)
        (self.child, isEnding, isWantedAgain) = (nil, false, false)
        guard wasEnding else { return ChildOutcome(waitStatus: status).isSuccess }
        return again && !start() ? false : nil
    }

    /// Nobody waits for the answer any more.
    func end() {
        guard let child else { return }
        kill(child, SIGTERM)
        (isEnding, isWantedAgain) = (true, false)
    }
}

extension SecretService {
    func makePrompt(_ objects: [String], for owner: String) throws(BusRefusal) -> String {
        guard prompts.count < Self.promptCountMax else { throw .limits }
        let path = SecretPath.path(ofPrompt: next())
        prompts[path] = UnlockPrompt(owner: owner, objects: objects)
        return path
    }

    func answerPrompt(_ path: String, _ call: SecretCall) throws(BusRefusal) -> [BusValue] {
        guard prompts[path]?.owner == call.sender else { throw .noObject }
        switch call.member {
        case "Prompt":
            _ = try call.arguments("s")
            let isUnlocked = try inBus { () throws(SecretVaultError) in try vault.isOpen() }
            prompts[path]?.isShown = true
            if isUnlocked || !unlocking.start() { endPrompts(hasUnlocked: isUnlocked) }
        case "Dismiss":
            complete(path, hasUnlocked: false)
            endQuestions()
        default: throw .unknown
        }
        return []
    }

    /// Nobody waits for an answer any more.
    func endQuestions() {
        if prompts.values.allSatisfy({ !$0.isShown }) { unlocking.end() }
        let waiting = Set(prompts.values.filter(\.isShown).map { program(of: $0.owner) })
        consent.end(unless: waiting.contains)
    }

    /// The person has answered: prompts that were shown have their end, but for those of programs that are asked about next.
    ///
    /// - Parameter answered: the program that the person was asked about just now; a no is not asked about again.
    func endPrompts(hasUnlocked: Bool, after answered: String? = nil) {
        noteState()
        let isOpen = hasUnlocked && isKnownOpen
        for (path, prompt) in prompts where prompt.isShown {
            let program = program(of: prompt.owner)
            let isAllowed = consent.isAllowed(program)
            if isOpen, !isAllowed, program != answered, consent.ask(program, vault: vault.grant.vault) { continue }
            complete(path, hasUnlocked: isOpen && isAllowed)
        }
    }

    /// A prompt's end has no place for an error.
    private var isKnownOpen: Bool {
        do throws(SecretVaultError) { return try vault.isOpen() } catch {
            ServiceLog.say("a program was told that the store is locked: \(BusRefusal(error).words)")
            return false
        }
    }

    private func complete(_ path: String, hasUnlocked: Bool) {
        guard let prompt = prompts.removeValue(forKey: path) else { return }
        let objects = hasUnlocked ? opened(prompt.objects) : []
        // To a program that the person has just said yes to, nobody else's store was locked.
        if hasUnlocked { noteState(isOpen: true, to: prompt.owner) }
        bus.signal(
            path, "org.freedesktop.Secret.Prompt", "Completed", [.flag(!hasUnlocked), .variant(.paths(objects))],
            to: prompt.owner)
    }

    /// Objects once the store is open. A search has become the entries that it finds.
    func opened(_ objects: [String]) -> [String] {
        objects.flatMap { path -> [String] in
            guard case .search = SecretPath(path) else { return [path] }
            return (try? found(path))?.map { SecretPath.path(ofItem: $0) } ?? []
        }
    }

    /// The entries that a search finds, which was made while the store was locked.
    func found(_ path: String) throws(BusRefusal) -> [String] {
        guard let search = searches.last(where: { $0.path == path }) else { throw .noObject }
        return try inBus { () throws(SecretVaultError) in try vault.find(search.attributes) }
    }
}
