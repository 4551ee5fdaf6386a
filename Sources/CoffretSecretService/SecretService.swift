// The Secret Service on the person's bus. Invariant: a call is answered once; while the store is locked nothing is said of
// what is in it, and a client can do nothing but have the person asked.
//
// Source: Secret Service API 0.2 (freedesktop.org). Spec: Spec/secret-service.md.

internal import CoffretBase
internal import CoffretBus
package import CoffretClient
package import CoffretTerminal
internal import Glibc

/// - Concurrency: one thread.
package final class SecretService {
    /// Why the service does not start.
    package enum Refusal: Error {
        case noBus
        /// Another program provides the service; it is never replaced.
        case isProvided
    }

    /// Why it ended.
    package enum End {
        case signal
        case busGone
        /// Switched off meanwhile.
        case isOff
    }

    static let sessionCountMax = 256
    static let promptCountMax = 64
    static let searchCountMax = 256
    /// The most values in the arguments of a call.
    static let valueCountMax = 4_096

    struct Session {
        let owner: String
        var transport: SecretTransport
    }

    struct Search {
        let path: String
        let attributes: [String: String]
    }

    let bus: MessageBus
    let vault: SecretVault
    let random: any RandomSource = SystemRandomSource()
    let unlocking: Unlocking
    let consent: Consent
    /// The connection whose call is being answered.
    private var caller: String?
    /// The processes at the other end of connections. The bus is asked once: it is the same as long as the connection lasts.
    private var processes: [String: UInt32] = [:]
    private let environment: ProcessEnvironment
    var sessions: [String: Session] = [:]
    var prompts: [String: UnlockPrompt] = [:]
    /// Latest last.
    var searches: [Search] = []
    private var number = 0
    private var wasOpen = false

    /// Takes the service's names.
    package init(
        _ grant: SecretServiceGrant, _ environment: ProcessEnvironment, unlockingBy words: [String]
    ) throws(Refusal) {
        guard let bus = MessageBus(.session),
            bus.listen(
                "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
                    + "member='NameOwnerChanged',arg2=''")
        else { throw .noBus }
        // The first name says whose service it is, before anybody can ask the second.
        guard bus.take(SecretServiceGrant.busName), bus.take("org.freedesktop.secrets") else { throw .isProvided }
        self.bus = bus
        self.environment = environment
        vault = SecretVault(grant, environment)
        unlocking = Unlocking(words)
        consent = Consent(environment)
        wasOpen = (try? vault.isOpen()) == true
    }

    /// Serves until something ends it.
    package func run(_ signals: borrowing SignalWatch) -> End {
        while true {
            guard SecretServiceGrant.isOn(environment) else { return .isOff }
            while let message = bus.next() { take(message) }
            guard bus.isOpen else { return .busGone }
            var polled = [
                pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: bus.descriptor, events: bus.pollEvents, revents: 0),
                pollfd(fd: vault.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
            ]
            let patience: Int32 = unlocking.isRunning || consent.isAsking ? 100 : -1
            let wait = bus.timeoutMilliseconds
            _ = unsafe poll(
                &polled, nfds_t(polled.count), wait < 0 ? patience : patience < 0 ? wait : min(wait, patience))
            if signals.next() != nil { return .signal }
            if polled[2].revents != 0 {
                vault.sessionEnded()
                noteState()
            }
            if let hasUnlocked = unlocking.poll() { endPrompts(hasUnlocked: hasUnlocked) }
            if let program = consent.poll() { endPrompts(hasUnlocked: true, after: program) }
        }
    }

    /// Tells whoever listens that the store was locked or unlocked, if that is known.
    func noteState() {
        guard let isOpen = try? vault.isOpen(), isOpen != wasOpen else { return }
        wasOpen = isOpen
        if !isOpen { searches = [] }
        noteState(isOpen: isOpen, to: nil)
    }

    /// - Parameter client: a connection; nil for everybody who listens.
    func noteState(isOpen: Bool, to client: String?) {
        bus.signal(
            SecretPath.collectionPath, Self.properties, "PropertiesChanged",
            [
                .text("org.freedesktop.Secret.Collection"), .properties([("Locked", .flag(!isOpen))]),
                .array("s", [.text("Items")]),
            ], to: client)
        bus.signal(
            SecretPath.servicePath, "org.freedesktop.Secret.Service", "CollectionChanged",
            [.path(SecretPath.collectionPath)], to: client)
    }

    /// Whether entries are open to the caller: the store is, and the person has said yes to its program.
    var isOpen: Bool {
        get throws(BusRefusal) {
            try inBus { () throws(SecretVaultError) in try vault.isOpen() } && isAllowed(caller)
        }
    }

    func isAllowed(_ client: String?) -> Bool { client.map { consent.isAllowed(program(of: $0)) } ?? true }

    /// - Returns: nil for a program that hides its file.
    func program(of client: String) -> String? { processes[client].flatMap(MessageBus.program) }

    func next() -> Int {
        number += 1
        return number
    }

    // MARK: Calls

    static let properties = "org.freedesktop.DBus.Properties"
    private static let family = "org.freedesktop.Secret."

    private func take(_ message: BusMessage) {
        if message.isSignal("org.freedesktop.DBus", "NameOwnerChanged") {
            if let name = message.readText() { forget(name) }
            return
        }
        guard message.isCall else { return }
        do throws(BusRefusal) {
            bus.answer(message, try answer(message))
        } catch {
            bus.refuse(message, error.name, error.words)
        }
    }

    /// A client that is gone, with everything that was its own.
    private func forget(_ client: String) {
        for (path, session) in sessions where session.owner == client {
            sessions[path]?.transport.forget()
            sessions[path] = nil
        }
        prompts = prompts.filter { $0.value.owner != client }
        processes[client] = nil
        endQuestions()
    }

    private func answer(_ message: BusMessage) throws(BusRefusal) -> [BusValue] {
        guard let path = message.path, let interface = message.interface, let member = message.member,
            let sender = message.sender
        else { throw .unknown }
        guard let object = SecretPath(path) else { throw .noObject }
        message.markSensitive()
        guard let process = processes[sender] ?? bus.processID(of: sender) else { throw .unnamed }
        processes[sender] = process
        caller = sender
        defer { caller = nil }
        guard let values = message.values(countMax: Self.valueCountMax) else { throw .limits }
        noteState()
        let call = SecretCall(sender: sender, member: member, signature: message.signature, values: values)
        if interface == Self.properties { return try answerProperties(object, call) }
        guard interface.hasPrefix(Self.family) else { throw .unknown }
        switch (object, interface.dropFirst(Self.family.count)) {
        case (.service, "Service"): return try answerService(call)
        case (.collection, "Collection"): return try answerCollection(call)
        case (.item, "Item"), (.search, "Item"): return try answerItem(object, call)
        case (.session(let path), "Session"):
            guard call.member == "Close" else { throw .unknown }
            guard sessions[path]?.owner == sender else { throw .noSession }
            sessions[path]?.transport.forget()
            sessions[path] = nil
            return []
        case (.prompt(let path), "Prompt"): return try answerPrompt(path, call)
        default: throw .unknown
        }
    }
}

/// A call of a client.
struct SecretCall {
    let sender: String
    let member: String
    let signature: String
    let values: [BusValue]

    /// - Throws: `.arguments` for arguments of other types.
    func arguments(_ signature: String) throws(BusRefusal) -> [BusValue] {
        guard self.signature == signature else { throw .arguments }
        return values
    }

    func paths(_ value: BusValue) -> [String] { (value.elements ?? []).compactMap(\.path) }
}
