// Operations that bring a store to a server, and another device to the account. Invariant: a device that asks to join is a number
// and nothing else, until the person has compared it.

package import CoffretAccount
package import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretHTTP
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretPairing
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretTrust
package import CoffretWire

extension ServerJoin: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        if let path = authorities, !path.hasPrefix("/") {
            throw OperationError(.requestInvalid, at: "authorities")
        }
        let introduction = try ServerIntroduction(
            url, allowsPlain: allowsPlain == true, fingerprint: fingerprint, authorities: authorities)
        if let record = try desk.store.keyring.server() {
            throw CommandFailure(
                .alreadyExists, code: AccountError.Code.alreadyJoined.rawValue,
                "this store is registered at \(TextWidth.displaySafe(record.url)) already",
                hint: "coffret server leave forgets that one")
        }
        try desk.surroundings.requirePassphrase("register the store at a server")
        let settings = try introduction.settings(askedOf: desk.surroundings.person)
        let account = try Account.join(
            desk.store, settings: settings, invitation: Array((invitation ?? "").utf8),
            random: desk.surroundings.random, clock: desk.surroundings.clock)
        defer { account.connection.logOut() }
        let id = try desk.store.keyring.accountID()
        var answer = Answer()
        (answer.url, answer.account, answer.accountName) = (settings.address.url, id.hex, AccountName(id).text)
        answer.fingerprint = settings.pin.map { Hex.encode($0.bytes) }
        return answer
    }
}

extension ServerLeave: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        guard let record = try desk.store.keyring.server() else {
            throw CommandFailure(
                .notFound, code: AccountError.Code.notJoined.rawValue, "this store has no server")
        }
        var answer = Answer()
        answer.url = record.url
        guard isTrial != true else { return answer }
        try desk.surroundings.requirePassphrase("forget the server")
        try desk.store.changeKeyring { keyring in try keyring.setServer(nil) }
        return answer
    }
}

extension DeviceApprove: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        try check()
        let attempts = PairingAttemptsFile(
            stateDirectory: desk.surroundings.stateDirectory, fileSystem: desk.store.fileSystem)
        try attempts.checkPause(now: desk.surroundings.clock.now)
        let account = try desk.account()
        defer { account.connection.logOut() }
        try desk.surroundings.requirePassphrase("let a device in")
        let approver = try ApproverSession(
            invitation(account, desk), account: account, attempts: attempts, random: desk.surroundings.random,
            clock: desk.surroundings.clock)
        let sync = desk.sync(account)
        // The new device is told what the server has: so it gets all of it first, as far as that works.
        for record in try sync.vaults { _ = try? sync.sync(record, SyncOptions()) }
        let person = AskedPerson(desk: desk, reason: "let the device in")
        let added = try approver.run(person) { try desk.store.pairingWords() }
        var answer = Answer()
        let name = try desk.store.deviceName(added.deviceID.bytes) ?? added.name
        (answer.id, answer.name, answer.wantedName) = (added.deviceID.hex, name, name == added.name ? nil : added.name)
        return answer
    }

    /// Refuses what can be no device's number, before anybody is asked.
    package func check() throws {
        guard let pairing else { return }
        let digits = Self.digits(pairing)
        if digits.utf8.count < PairingRequest.shownDigitCount, digits.allSatisfy(\.isHexDigit) {
            throw CommandFailure(
                .usage, .inputInvalid, "a number needs its first \(PairingRequest.shownDigitCount) digits at least",
                hint: "the new device shows it; coffret device approve alone names the waiting device")
        }
        guard !Self.isBeginning(digits) else { return }
        try ApproverSession.check(pairing)
    }

    private static func digits(_ given: String) -> String { given.lowercased().filter { $0 != " " && $0 != "-" } }

    private static func isBeginning(_ digits: String) -> Bool {
        (PairingRequest.shownDigitCount..<32).contains(digits.utf8.count) && digits.allSatisfy(\.isHexDigit)
    }

    /// The text that was given, or the number of the device that waits.
    private func invitation(_ account: Account, _ desk: StoreDesk) throws -> String {
        let digits = pairing.map(Self.digits) ?? ""
        if let pairing, !Self.isBeginning(digits) { return pairing }
        let waiting = try account.pairingRequests().filter { $0.relayID.hex.hasPrefix(digits) }
        guard let found = waiting.first else {
            let name = AccountName(try account.store.keyring.accountID()).text
            throw CommandFailure(
                .notFound, .pairingNotFound,
                pairing == nil ? "no new device waits" : "no new device waits with that number",
                hint: "coffret device pair URL --account \(name) on the new device; or type its whole number here")
        }
        let time = RelativeTime(nowMilliseconds: desk.surroundings.clock.now)
        guard waiting.count == 1 else {
            throw CommandFailure(
                .ambiguous, .pairingAmbiguous, "several devices ask to join",
                details: waiting.map { "\($0.digits)  since \(time.moment($0.since))" },
                hint: "coffret device approve NUMBER, with the number that your new device shows")
        }
        if pairing == nil { try compare(found, since: time.moment(found.since), desk.surroundings.person) }
        return found.relayID.hex
    }

    /// Asks whether the new device shows the number: only such a device is joined.
    private func compare(_ found: PairingRequest, since: String, _ person: (any OperationPerson)?) throws {
        let what = "A device asks to join, since \(since), with the number \(found.digits)."
        let question = SessionQuestion(
            .compare, "\(what)\nDoes your new device show that number?", reason: "let a device in")
        guard let isShown = try person?.confirm(question) else {
            throw CommandFailure(
                .notConfirmed, .notConfirmed, "the number is to be compared, and nobody can be asked here",
                details: [what], hint: "coffret device approve NUMBER, with the number that your new device shows")
        }
        guard isShown else {
            throw CommandFailure(
                .notConfirmed, .notConfirmed, "not confirmed; nothing was sent",
                hint: "if you did not begin this yourself, leave it alone: it ends by itself in ten minutes")
        }
    }
}

/// The person of an operation, in front of a device that meets another one.
struct AskedPerson: PairingPerson {
    let desk: StoreDesk
    let reason: String

    func show(code: ShortCode) { desk.surroundings.person?.tell(SessionNotice(.code, code.description)) }

    func askCode(from other: String, idle: () throws -> Void) throws -> String {
        guard let person = desk.surroundings.person else { throw OperationError(.unanswered) }
        let question = SessionQuestion(
            .code, "Type the code that \(TextWidth.displaySafe(other)) shows: ", reason: reason)
        return try person.code(question) {
            try idle()
            try desk.work.checkCancelled()
        }
    }
}

extension PairingAttemptsFile {
    /// Says that pairing is paused, and for how long, before anything is asked or sent.
    package func checkPause(now: Milliseconds) throws {
        let pause = pause(now: now)
        guard pause > 0 else { return }
        var failure = FailureTranslation.failure(from: PairingError(.paused))
        failure.addWait(UInt32(clamping: pause / 1_000 + 1))
        throw failure
    }
}
