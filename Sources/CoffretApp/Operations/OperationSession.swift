// A session: requests and replies over one connection. Invariant: one reply to each request, in their order; between two
// requests nothing is held that keeps another process from writing.

internal import CPlatform
internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretKeys
internal import CoffretMessages
package import CoffretNet
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

/// How a session was opened.
package struct SessionTerms {
    package var isJSON: Bool
    /// The secret of a token; nil for a session that may ask for everything.
    package var token: String?
    /// The program that opened it, in words for the log.
    package var program: String
    /// Whether the process ends after so long without a request: it has the store's keys. Nil for never.
    package var idleTime: Duration?
    /// Whether it is that of one command, which no log speaks of, and whose client is told what storage says.
    package var isBrief: Bool

    package init(
        isJSON: Bool, token: String? = nil, program: String, idleTime: Duration? = nil, isBrief: Bool = false
    ) {
        self.isJSON = isJSON
        self.token = token
        self.program = program
        self.idleTime = idleTime
        self.isBrief = isBrief
    }
}

/// What a session tells the agent.
package struct SessionReports {
    /// The session answers; or a person has asked something.
    package var used: () -> Void
    package var lockWanted: () -> Void
    /// The session was not opened.
    package var refused: (_ code: String) -> Void

    package init(
        used: @escaping () -> Void, lockWanted: @escaping () -> Void, refused: @escaping (_ code: String) -> Void
    ) {
        self.used = used
        self.lockWanted = lockWanted
        self.refused = refused
    }
}

/// Serves one client of the agent.
package final class OperationSession {
    /// A person's use of the store is told this often, at most.
    private static let useInterval = Duration.seconds(10)
    /// Progress is told this often, at most.
    private static let progressInterval = Duration.milliseconds(100)

    private let connection: UnixConnection
    private let inbox: OperationInbox
    private let person: SessionPerson
    private let terms: SessionTerms
    private let hosted: HostedStore
    private let reports: SessionReports
    private let environment: StoreEnvironment
    private let access: SessionAccess
    private var desk: StoreDesk
    private var keyring: FileStamp
    private var lastUse = ContinuousClock.now
    private var wantsLock = false

    /// Opens the store, says `done`, and answers until the client goes away.
    ///
    /// - Returns: the exit code of the process.
    package static func serve(
        _ connection: UnixConnection, _ terms: SessionTerms, _ hosted: HostedStore, _ reports: SessionReports
    ) -> Int32 {
        // The agent ends a session by SIGTERM, which takes effect between two requests.
        SignalMask.block([SIGTERM])
        do {
            let session = try OperationSession(connection, terms, hosted, reports)
            defer { session.access.noteEnd() }
            reports.used()
            try connection.send(AgentResponse.done.encoded())
            while try session.serveNext() {}
            if session.wantsLock { reports.lockWanted() }
            return 0
        } catch is StaleKey {
            return 1
        } catch let refused as AccessError {
            reports.refused(refused.code.rawValue)
            return 1
        } catch {
            // Of a session that has begun nobody is told.
            reports.refused(FailureCode.of(error))
            return 1
        }
    }

    private init(
        _ connection: UnixConnection, _ terms: SessionTerms, _ hosted: HostedStore, _ reports: SessionReports
    ) throws {
        self.connection = connection
        inbox = OperationInbox(
            connection, isJSON: terms.isJSON, signals: unsafe coffret_signal_descriptor([SIGTERM], 1))
        let person = SessionPerson(connection, inbox, isJSON: terms.isJSON)
        self.person = person
        self.terms = terms
        self.hosted = hosted
        self.reports = reports
        environment = try hosted.environment { [waiting = person.waiting] in waiting.add($0.notice) }
        keyring = FileStamp(StoreLayout(hosted.store).keyringPath)
        let store = try hosted.open(environment)
        access = try SessionAccess(store, terms)
        desk = StoreDesk(store, DeskSurroundings(stateDirectory: environment.stateDirectory))
        if terms.isBrief, store.keyring.instanceStatus == .markerMissing {
            person.warn(StoreWords.markerMissing)
        }
        desk = StoreDesk(store, surroundings(), grant: access.grant)
    }

    private func surroundings() -> DeskSurroundings {
        let (presence, variables) = (hosted.presence, ProcessEnvironment())
        let check = PersonCheck(
            path: hosted.store, { [environment] in environment },
            profile: variables.value(.profile) ?? SlotTerms.defaultProfile,
            tpm: variables.value(.tpm), presence: presence, person: person)
        var surroundings = DeskSurroundings(
            stateDirectory: environment.stateDirectory, person: person, check: check,
            policy: { try BrokenSchemes.policy(variables.value(.brokenSchemes)) }
        ) { [unowned self] vault, _ in
            vault.observeIndex(progress: { [unowned self] in desk.reportIndex($0, of: $1) })
        }
        if !terms.isBrief {
            surroundings.requirePresence = { [person] store, item in
                if person.canAnswer { return try check.require(toShow: item, in: store) }
                if store.hiddenGate.isOpen { return }
                let title = TextWidth.truncate(TextWidth.displaySafe(item.title), to: 40)
                guard let presence, try presence.ask(reason: "show the hidden item \"\(title)\"") else {
                    throw CoreError(.noteHidden, at: item.title)
                }
                store.hiddenGate.open()
            }
            // A person who was there an hour ago may be gone now.
            surroundings.requirePerson = { _, reason, outcome in
                guard try check.ask(reason: reason) else {
                    throw CommandFailure(.permission, .presenceRefused, "nobody confirmed; \(outcome)")
                }
            }
        }
        surroundings.records = hosted.records
        surroundings.lock = { [unowned self] in wantsLock = true }
        return surroundings
    }

    /// - Returns: false once the session is over.
    private func serveNext() throws -> Bool {
        switch try inbox.next(until: terms.idleTime.map { BootClock.now.advanced(by: $0) }) {
        case .ended: return false
        case .stopped:
            // A client that is gone does not read it.
            try? connection.send(SessionEnd.stopped.message(isJSON: terms.isJSON))
            return false
        case .timeout:
            // A request that crosses this was not looked at, and the client knows it.
            try connection.send(SessionEnd.idle.message(isJSON: terms.isJSON))
            return false
        case .request(let entry):
            let isOpen = try serve(entry)
            if isOpen { desk.catchUp() }
            return isOpen
        }
    }

    private func serve(_ entry: OperationInbox.Entry) throws -> Bool {
        var isOpen = true
        var outcome: OperationOutcome
        do {
            outcome = try self.outcome(of: entry)
        } catch let refused as AccessError {
            outcome = Operations.refusal(refused, isJSON: terms.isJSON)
            isOpen = false
        }
        defer { outcome.reply.zero() }
        if case .success(let request) = entry.request { access.note(request.name, outcome.code, desk.subject) }
        do throws(NetError) {
            try connection.send(outcome.reply, byteCountMax: AgentSession.messageByteCountMax)
        } catch {
            guard error.code == .messageTooLarge else { throw error }
            try connection.send(Operations.refusal(OperationError(.answerTooLarge), isJSON: terms.isJSON).reply)
        }
        return isOpen && !wantsLock
    }

    /// - Throws: `AccessError` if the token of the session counts no more.
    private func outcome(of entry: OperationInbox.Entry) throws -> OperationOutcome {
        desk.subject = nil
        try access.check()
        if entry.isCancelled { return Operations.refusal(OperationError(.cancelled), isJSON: terms.isJSON) }
        let request: OperationRequest
        do throws(OperationError) {
            request = try entry.request.get()
        } catch {
            return Operations.refusal(error, isJSON: terms.isJSON)
        }
        if request.asker == .person, ContinuousClock.now - lastUse > Self.useInterval {
            lastUse = ContinuousClock.now
            reports.used()
        }
        // Vaults that were added, slots that were changed: with another key, which the agent gives.
        let now = FileStamp(StoreLayout(hosted.store).keyringPath)
        if now != keyring {
            keyring = now
            desk = StoreDesk(
                try hosted.open(environment), surroundings(), grant: access.grant)
        }
        desk.work = work(on: request, entry)
        // A program with a token does not speak for the person.
        person.attend(request.isAttended && terms.token == nil)
        defer {
            person.attend(false)
            desk.work = OperationWork()
        }
        return Operations.perform(request, on: desk)
    }

    private func work(on request: OperationRequest, _ entry: OperationInbox.Entry) -> OperationWork {
        var work = OperationWork()
        work.isCancelled = { [inbox] in inbox.isCurrentCancelled() }
        work.checkAccess = { [access] in try access.check() }
        work.takeDescriptors = { entry.descriptors.take() }
        if request.wantsParts {
            work.part = { [connection, isJSON = terms.isJSON] part in
                try connection.send(
                    AnswerPart.message(part, isJSON: isJSON), byteCountMax: AgentSession.messageByteCountMax)
            }
        }
        guard request.wantsProgress else { return work }
        var last: ContinuousClock.Instant?
        work.report = { [connection, isJSON = terms.isJSON] progress in
            let now = ContinuousClock.now
            let isLast = progress.done == progress.total
            if let last, !isLast, now - last < Self.progressInterval { return }
            last = now
            // A client that is gone is noticed by the next question whether it cancels.
            try? connection.send(progress.message(isJSON: isJSON), byteCountMax: AgentSession.messageByteCountMax)
        }
        return work
    }
}
