// Operations on recovery contacts. The one thing to keep true: nobody is in a circle, asks in it or gives a share without a word of
// the person in front of the own device.

internal import CoffretAccount
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretLogs
internal import CoffretMessages
internal import CoffretPairing
internal import CoffretSharing
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretTrust
package import CoffretWire

extension CircleSummary {
    /// - Parameter own: the account of this device.
    init(_ circle: FollowedCircle, _ desk: CircleDesk, _ names: PersonNames) throws {
        self.init()
        let (view, own) = (circle.view, try desk.own)
        (id, founder, founderName) = (circle.id.hex, view.founder.hex, names[view.founder])
        isOwn = circle.isOwn(own)
        state =
            !circle.wasArmed ? (circle.isReady ? .ready : .waiting) : circle.serves ? .serving : .over
        (threshold, hours) = (view.terms.threshold, view.terms.hours)
        members = circle.contacts.map { account in
            var member = CircleMemberMessage()
            (member.account, member.name) = (account.hex, account == own ? "you" : names[account])
            member.state = view.members[account].map { $0.hasAccepted ? .accepted : .added } ?? .left
            member.hasAnswered = member.state == .accepted ? circle.answer(of: account) : nil
            return member
        }
        requests = view.requests.map { request in
            var message = CircleRequestMessage()
            (message.id, message.from) = (request.request.bytes.hex, request.accountID.hex)
            message.fromName = request.accountID == own ? "you" : names[request.accountID]
            (message.time, message.isForbidden) = (WireMoment(request.time), request.forbiddenAt != nil)
            message.releaseCount = request.releases.count
            message.restSeconds = circle.memory.rest(of: request.request, in: view).map(Self.seconds)
            return message
        }
        (hasAccepted, hasShare) = (view.isContact(own), try desk.share(in: circle) != nil)
        if isOwn, let paper = view.arming?.paper {
            revocable = try desk.desk.store.keyring.deviceChain().announcements.first { $0.target == paper }
                .map { WireMoment($0.endOfWaiting) }
        }
    }

    /// Rounded up: at the end nothing is left.
    static func seconds(_ milliseconds: Milliseconds) -> Int { Int(clamping: (milliseconds + 999) / 1_000) }
}

extension [UInt8] {
    fileprivate var hex: String { Hex.encode(self) }
}

extension CircleList: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        try desk.withCircles { circles in
            _ = try circles.receiveShares()
            let names = try desk.personNames()
            var answer = Answer()
            answer.circles = try circles.followAll().map { try CircleSummary($0, circles, names) }
            return answer
        }
    }
}

// MARK: The founder

extension CircleMake: PerformedOperation {
    private static let standardHours = 168
    private static let paperName = "recovery contacts"

    package func perform(on desk: StoreDesk) throws -> Answer {
        try desk.withCircles { circles in
            guard try Self.hasSheet(circles) else { throw SharingError(.sheetRequired) }
            let names = try desk.personNames()
            let former = try circles.ownCircles()
            if people.isEmpty { return try finish(former, circles, names) }
            if let standing = former.first(where: { !$0.wasArmed || $0.serves }) {
                throw SharingError(.circleExists, at: String(standing.id.hex.prefix(8)))
            }
            let found = try people.map { name -> ShownPerson in
                let contact = try circles.vault.contact(name)
                let shown = try circles.sync.shown(contact.accountID, behind: contact.verification)
                try contact.checkSharing(shown.followed.chain, required: .compared)
                return shown
            }
            let accounts = Set(found.map(\.accountID))
            guard accounts.count == found.count else {
                throw CommandFailure(.usage, .inputInvalid, "one of them is named twice")
            }
            guard
                let terms = CircleTerms(
                    threshold: threshold ?? max(2, found.count / 2 + 1), count: found.count,
                    hours: hours ?? Self.standardHours)
            else {
                throw CommandFailure(
                    .usage, .inputInvalid,
                    "there are 2 to \(CircleTerms.countMax) recovery contacts, at least 2 of them are needed together, and the waiting time is 1 to 365 days"
                )
            }
            guard isTrial != true else { return Self.trial(terms, found, names) }
            try desk.surroundings.requirePassphrase("choose recovery contacts")
            // The person took his time.
            try circles.sync.account.readAgain()
            let circle = try circles.found(terms, found.sorted { $0.accountID.hex < $1.accountID.hex })
            return try CircleSummary(circle, circles, names)
        }
    }

    /// A sheet of the person's own outranks what contacts do with theirs.
    private static func hasSheet(_ circles: CircleDesk) throws -> Bool {
        let papers = Set(try circles.ownCircles().compactMap { $0.view.arming?.paper })
        return try circles.desk.store.keyring.deviceChain().devices.contains { device in
            device.kind == .paper && device.isTrusted && !papers.contains(device.id)
        }
    }

    private static func trial(_ terms: CircleTerms, _ people: [ShownPerson], _ names: PersonNames) -> Answer {
        var answer = Answer()
        (answer.isOwn, answer.threshold, answer.hours) = (true, terms.threshold, terms.hours)
        answer.members = people.map { person in
            var member = CircleMemberMessage()
            (member.account, member.name) = (person.accountID.hex, names[person.accountID])
            return member
        }
        return answer
    }

    private func finish(
        _ own: [FollowedCircle], _ circles: CircleDesk, _ names: PersonNames
    ) throws -> Answer {
        guard let circle = own.last(where: { !$0.wasArmed }), self.circle.map({ $0 == circle.id.hex }) ?? true else {
            throw CommandFailure(
                .notFound, code: SharingError.Code.circleUnknown.rawValue, "no recovery contacts wait to be finished",
                hint: "coffret recovery contacts add NAME NAME begins")
        }
        guard circle.isReady else { throw SharingError(.consentRequired, at: String(circle.id.hex.prefix(8))) }
        guard isTrial != true else { return try CircleSummary(circle, circles, names) }
        try circles.desk.surroundings.requirePassphrase("give recovery contacts their shares")
        try circles.sync.account.readAgain()
        return try CircleSummary(circles.arm(circle, named: Self.paperName), circles, names)
    }
}

extension CircleDesk {
    /// The own circle that serves.
    fileprivate func serving() throws -> FollowedCircle {
        guard let circle = try ownCircles().last(where: \.serves) else { throw SharingError(.circleUnknown) }
        return circle
    }
}

extension CircleTest: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        try desk.withCircles { circles in
            let circle = try circles.ask(circles.serving())
            return try CircleSummary(circle, circles, desk.personNames())
        }
    }
}

extension CircleForbid: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        try desk.withCircles { circles in
            var answer = Answer()
            let sought = request?.lowercased() ?? ""
            for circle in try circles.ownCircles() {
                for open in circle.openRequests where open.request.bytes.hex.hasPrefix(sought) {
                    try circles.post(to: circle) { circle in
                        circle.view.state.request(open.request)?.forbiddenAt == nil
                            ? .circle(.forbid(open.request)) : nil
                    }
                    answer.requests.append(open.request.bytes.hex)
                }
            }
            guard !answer.requests.isEmpty else { throw SharingError(.requestUnrecorded, at: request) }
            return answer
        }
    }
}

extension CircleEnd: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        try desk.withCircles { circles in
            let own = try circles.ownCircles()
            guard let circle = own.first(where: { !$0.serves }) ?? own.last else {
                throw SharingError(.circleUnknown)
            }
            try desk.surroundings.requirePassphrase("take recovery contacts back")
            try circles.sync.account.readAgain()
            var answer = Answer()
            answer.id = circle.id.hex
            if circle.serves, let paper = circle.view.arming?.paper {
                answer.isRemoved = try circles.sync.account.revokePaper(paper, at: circles.sync.clock.now)
                answer.revocable = try desk.store.keyring.deviceChain().announcements.first { $0.target == paper }
                    .map { WireMoment($0.endOfWaiting) }
                guard answer.isRemoved else { return answer }
            }
            try circles.delete(circle.id)
            answer.isRemoved = true
            return answer
        }
    }
}

// MARK: The contact

extension CircleHelp: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        if let machine { try ApproverSession.check(machine) }
        return try desk.withCircles { circles in
            _ = try circles.receiveShares()
            let founder = try circles.vault.contact(person)
            guard var circle = try circles.circle(of: founder.accountID) else {
                throw SharingError(.circleUnknown, at: founder.name)
            }
            var answer = Answer()
            if let decision {
                // The terms and the person stand in the id. The yes is for what was shown, and for nothing that came since.
                guard let shown = self.circle, shown == circle.id.hex else { throw Self.moved(founder) }
                try desk.surroundings.requirePassphrase("be a recovery contact")
                try circles.sync.account.readAgain()
                circle = try decide(decision, circle, circles)
            }
            if let machine {
                try desk.surroundings.requirePassphrase("help to recover an account")
                try circles.sync.account.readAgain()
                circle = try meet(machine, circle, circles, &answer)
            }
            answer.circle = try CircleSummary(circle, circles, desk.personNames())
            return answer
        }
    }

    private static func moved(_ founder: Contact) -> CommandFailure {
        CommandFailure(
            .waitsForPerson, code: SharingError.Code.consentRequired.rawValue,
            "\"\(TextWidth.displaySafe(founder.name))\" asks for something else now than you were shown; nothing was done",
            hint: "coffret recovery help \(TextWidth.displaySafe(founder.name)) shows it")
    }

    private func decide(
        _ decision: Decision, _ circle: FollowedCircle, _ circles: CircleDesk
    ) throws -> FollowedCircle {
        let own = try circles.own
        switch decision {
        case .accept:
            guard let contact = try circles.vault.contact(with: circle.view.founder) else {
                throw SharingError(.contactUnknown)
            }
            let shown = try circles.sync.shown(contact.accountID, behind: contact.verification)
            try contact.checkSharing(shown.followed.chain, required: .compared)
            try circles.vault.addCircle(circle.id)
            try circles.sync.syncAccountVaults()
            return try circles.post(to: circle) { circle in
                guard let member = circle.view.members[own], !member.hasAccepted else { return nil }
                return .accept(addingLink: circle.rights.links[member.addedAt].hash)
            }
        case .leave:
            let left = try circles.post(to: circle) { $0.view.members[own] == nil ? nil : .leave }
            // The share says nothing without others; an honest program gives none of a circle that it has left.
            try circles.forget(circle.id)
            return left
        }
    }

    /// Meets the new machine, and records what it asks or gives it the share.
    private func meet(
        _ machine: String, _ circle: FollowedCircle, _ circles: CircleDesk, _ answer: inout Answer
    ) throws -> FollowedCircle {
        guard circle.view.isContact(try circles.own), circle.serves else {
            throw SharingError(.consentRequired, at: person)
        }
        guard let share = try circles.share(in: circle) else { throw SharingError(.shareInvalid, at: person) }
        let desk = circles.desk
        let attempts = PairingAttemptsFile(
            stateDirectory: desk.surroundings.stateDirectory, fileSystem: desk.store.fileSystem)
        try attempts.checkPause(now: circles.sync.clock.now)
        let approver = try ApproverSession(
            machine, for: .recovery, account: circles.sync.account, attempts: attempts,
            random: desk.surroundings.random, clock: circles.sync.clock)
        var (after, failure) = (circle, nil as (any Error)?)
        let last = try approver.answer(AskedPerson(desk: desk, reason: "help to recover an account")) {
            identity, words in
            do {
                guard case .ask(let nonce)? = CircleWord(decoding: words),
                    let session = CircleSession(key: identity.keys.signing.bytes, nonce: nonce)
                else { throw SharingError(.requestUnrecorded, at: "machine") }
                // The person took his time, and an answer rests on the chain as it is now.
                try circles.sync.account.readAgain()
                guard let now = try circles.follow(circle.id) else {
                    throw SharingError(.requestUnrecorded, at: "chain")
                }
                after = now
                return try reply(to: session, share, &after, circles, &answer)
            } catch {
                failure = error
                return CircleWord.refused(code: FailureCode.of(error)).encoded
            }
        }
        if let failure { throw failure }
        answer.isGiven =
            answer.isGiven
            && last.flatMap { CircleWord(decoding: $0) }.map { if case .kept = $0 { true } else { false } } ?? false
        return after
    }

    private func reply(
        to session: CircleSession, _ share: CircleShare, _ circle: inout FollowedCircle, _ circles: CircleDesk,
        _ answer: inout Answer
    ) throws -> [UInt8] {
        let (own, clock, hash) = (try circles.own, circles.sync.clock, session.request(in: circle.id))
        if circle.view.state.request(hash) == nil {
            circle = try circles.post(to: circle) { circle in
                guard circle.view.state.request(hash) == nil else { return nil }
                return .circle(try circle.memory.request(session, in: circle.view, by: own, now: clock.now))
            }
            answer.isRecorded = true
            let wait = circle.view.terms.waitingTime
            answer.restSeconds = CircleSummary.seconds(wait)
            return CircleWord.recorded(rest: wait, hours: circle.view.terms.hours).encoded
        }
        do {
            circle = try circles.post(to: circle) { circle in
                let release = try circle.memory.release(share, to: session, in: circle.view, by: own, now: clock.now)
                // A share that was lost on its way is given again.
                return circle.view.state.request(hash)?.releases[own] == nil ? .circle(release) : nil
            }
        } catch let error as SharingError where error.code == .requestTooEarly {
            let rest = circle.memory.rest(of: hash, in: circle.view) ?? circle.view.terms.waitingTime
            answer.restSeconds = CircleSummary.seconds(rest)
            return CircleWord.recorded(rest: rest, hours: circle.view.terms.hours).encoded
        }
        answer.isGiven = true
        return CircleWord.share(share).encoded
    }
}
