// Both sides of a pairing, with the relay, the person and the account around the machines. Invariant: attempts are
// stored before a code can be checked, and a device is added only by the account's own rules.

package import CoffretBase
internal import CoffretCore
package import CoffretCrypto
package import CoffretHTTP
package import CoffretKeys
package import CoffretPairing
internal import CoffretTrust

/// The person in front of a device that is being paired.
package protocol PairingPerson {
    /// Shows a code, to be typed on the other device.
    func show(code: ShortCode) throws
    /// Asks for the code that the other device shows; `idle` is called again and again meanwhile, and throws when the
    /// other side has gone.
    func askCode(from other: String, idle: () throws -> Void) throws -> String
}

/// Where the number of attempts is kept on a device, outside the store.
package struct PairingAttemptsFile {
    let path: String
    let fileSystem: any FileSystem

    /// - Parameter stateDirectory: as in `StoreEnvironment`.
    package init(stateDirectory: String, fileSystem: any FileSystem) {
        path = PathText.join(stateDirectory, "pairing.attempts")
        self.fileSystem = fileSystem
    }

    /// None if there is no such file; a file that is something else counts as three attempts just now.
    package func read(now: Milliseconds) -> PairingAttempts {
        guard let bytes = try? fileSystem.readFile(path, byteCountMax: 4_096) else { return PairingAttempts() }
        return PairingAttempts(decoding: bytes) ?? PairingAttempts(times: [now, now, now])
    }

    /// Milliseconds until the next attempt may be made; 0 if at once.
    ///
    /// The record is kept as of now, so that a clock that was ahead, or a broken file, pauses for ten minutes and no
    /// longer.
    package func pause(now: Milliseconds) -> Milliseconds {
        let settled = read(now: now).settled(now: now)
        if !settled.times.isEmpty, (try? fileSystem.readFile(path, byteCountMax: 4_096)) != settled.encoded {
            try? write(settled)
        }
        return settled.pausedUntil(now: now).map { $0 - now } ?? 0
    }

    /// Keeps the attempt that a pairing counted, beside those that others have counted since it began.
    ///
    /// - Throws: `PairingError` `.paused` if they were too many together.
    package func keep(_ counted: PairingAttempts) throws {
        try fileSystem.makeDirectories(PathText.parent(of: path))
        let lock = try fileSystem.open(path + ".lock", .createIfAbsent)
        try lock.lock(.exclusive, waits: true)
        defer { withExtendedLifetime(lock) {} }
        guard let last = counted.times.last else { return try write(counted) }
        var known = read(now: last).settled(now: last)
        try known.begin(now: last)
        try write(known)
    }

    private func write(_ attempts: PairingAttempts) throws {
        try fileSystem.makeDirectories(PathText.parent(of: path))
        try fileSystem.replaceFile(path, with: attempts.encoded)
    }
}

/// The new device's side.
package struct RequesterSession {
    package let device: NewDevice
    private let machine: PairingRequester
    private let channel: RelayChannel
    private let attempts: PairingAttemptsFile
    private let random: any RandomSource
    private let clock: any WallClock
    private let fingerprint: [UInt8]

    /// Goes to the relay and waits there.
    ///
    /// - Parameters:
    ///   - device: whose keys the other side gets; nil makes new ones.
    ///   - account: the one whose devices are notified, and the only one that is joined; any if nil.
    package init(
        _ device: NewDevice? = nil, for purpose: PairingPurpose = .device, name: String, model: String,
        account: AccountName?, isScanned: Bool, settings: HTTPSettings, attempts: PairingAttemptsFile,
        random: any RandomSource, clock: any WallClock
    ) throws {
        let device = device ?? .generate(from: random)
        self.device = device
        fingerprint = settings.pin?.bytes ?? LoginProof.noFingerprint
        let now = clock.now
        let known = attempts.read(now: now)
        guard known.pausedUntil(now: now) == nil else { throw PairingError(.paused) }
        channel = try RelayChannel(waitingAt: settings, account: account, random: random)
        machine = try PairingRequester(
            RequesterIdentity(
                deviceID: device.deviceID, keys: device.publicKeys, instanceID: device.instanceID, name: name,
                model: model),
            signingKey: device.signingKey, relayID: channel.id, isScanned: isScanned, serverFingerprint: fingerprint,
            accountName: account?.bytes ?? [], purpose: purpose, attempts: known, random: random, now: now)
        self.attempts = attempts
        self.random = random
        self.clock = clock
    }

    /// The text for the other device: 32 hex digits, or the scanned code.
    package var invitationText: String { machine.invitation?.text ?? relayID }

    /// 32 hex digits.
    package var relayID: String { Hex.encode(channel.id) }

    /// Runs the pairing to its end.
    ///
    /// - Returns: the account, verified, for `Store.join`.
    package func run(_ person: any PairingPerson) throws -> JoinedAccount {
        try leavingOnFailure {
            let (approver, bytes) = try hear(person)
            return try AccountWelcome.open(
                bytes, for: device, accountID: approver.accountID, head: approver.head, random: random)
        }
    }

    /// Says something to the other side once both are satisfied, and waits for its answer.
    ///
    /// - Returns: who answered, and its words; nothing about them is checked.
    package func ask(
        _ content: [UInt8], _ person: any PairingPerson
    ) throws -> (approver: ApproverIdentity, answer: [UInt8]) {
        try leavingOnFailure { try hear(person, saying: content) }
    }

    private func leavingOnFailure<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            machine.giveUp()
            for frame in machine.farewell { try? channel.send(frame) }
            channel.close()
            throw error
        }
    }

    /// Until the other side, which the person trusts, has said something.
    private func hear(
        _ person: any PairingPerson, saying content: [UInt8]? = nil
    ) throws -> (approver: ApproverIdentity, answer: [UInt8]) {
        var approver: ApproverIdentity?
        while true {
            guard let frame = try channel.receive(within: .seconds(1)) else {
                try machine.checkTime(clock.now)
                continue
            }
            var queue = try machine.receive(frame, now: clock.now)
            while !queue.isEmpty {
                switch queue.removeFirst() {
                case .send(let frame): try channel.send(frame)
                case .record(let counted): try attempts.keep(counted)
                case .showCode(let code):
                    try person.show(code: code)
                    let typed = try person.askCode(from: "the other device") { try idle() }
                    queue += try machine.enter(typed, now: clock.now)
                    // Behind what tells the other side that it is trusted.
                    if let content { queue += try machine.send(content: content).map { .send($0) } }
                case .trusted(let identity): approver = identity
                case .content(let bytes):
                    guard let approver else { throw PairingError(.outOfOrder) }
                    return (approver, bytes)
                }
            }
        }
    }

    /// Tells the other device that what it sent has been stored here.
    package func finish(saying content: [UInt8] = [1]) {
        for frame in (try? machine.send(content: content)) ?? [] { try? channel.send(frame) }
        channel.close()
    }

    /// The record of the server after pairing.
    package func serverRecord(_ settings: HTTPSettings, _ account: JoinedAccount) -> ServerRecord {
        ServerRecord(
            url: settings.address.url, fingerprint: fingerprint, name: account.serverName,
            watch: ChainWatch(confirmedAt: clock.now))
    }

    /// While the person types: the other side has nothing to say but that it gives up.
    private func idle() throws {
        if let frame = try channel.receive(within: .milliseconds(200)) {
            _ = try machine.receive(frame, now: clock.now)
        }
    }
}

/// The trusted device's side.
package struct ApproverSession {
    private let machine: PairingApprover
    private let account: Account
    private let channel: RelayChannel
    private let attempts: PairingAttemptsFile
    private let clock: any WallClock

    /// Joins the new device on the relay.
    ///
    /// - Parameter text: the id that the new device shows, or the text of its QR code.
    package init(
        _ text: String, for purpose: PairingPurpose = .device, account: Account, attempts: PairingAttemptsFile,
        random: any RandomSource, clock: any WallClock
    ) throws {
        let (relayID, invitation) = try Self.parse(text)
        let now = clock.now
        let known = attempts.read(now: now)
        guard known.pausedUntil(now: now) == nil else { throw PairingError(.paused) }
        // The new device gets the newest link there is.
        try account.follow()
        let chain = try account.store.keyring.deviceChain()
        channel = try RelayChannel(joining: relayID, at: account.connection.settings, random: random)
        machine = try PairingApprover(
            ApproverIdentity(
                accountID: chain.accountID, head: chain.head, serverFingerprint: account.connection.fingerprint),
            relayID: relayID, invitation: invitation, purpose: purpose, attempts: known, random: random, now: now)
        self.account = account
        self.attempts = attempts
        self.clock = clock
    }

    /// Whether `text` can be what a new device shows.
    ///
    /// - Throws: `PairingError` `.invitationMalformed`, `.unsupported`.
    package static func check(_ text: String) throws { _ = try parse(text) }

    private static func parse(_ text: String) throws -> (relayID: [UInt8], invitation: PairingInvitation?) {
        let digits = text.filter { $0 != " " && $0 != "-" }.lowercased()
        if let bytes = try? Hex.decode(digits), bytes.count == PairingInvitation.relayIDByteCount {
            return (bytes, nil)
        }
        let scanned = try PairingInvitation.parse(text)
        return (scanned.relayID, scanned)
    }

    /// Runs the pairing to its end.
    ///
    /// - Parameter words: this device's word of each vault, for the new device; asked for at the end.
    /// - Returns: the device that was added.
    package func run(
        _ person: any PairingPerson, words: () throws -> [VaultID: [UInt8]]
    ) throws -> RequesterIdentity {
        try leavingOnFailure {
            try channel.send(machine.start())
            let candidate = try agree(person)
            // The person took his time.
            try account.readAgain()
            try add(candidate)
            try? account.readAgain()
            let welcome = try account.store.keyring.makeWelcome(
                for: candidate.deviceID, words: words())
            for frame in try machine.send(content: welcome) { try channel.send(frame) }
            // The device is in the chain: whether it says so or not is only about when this ends.
            _ = try? next { if case .content = $0 { true } else { nil } }
            channel.close()
            return candidate
        }
    }

    /// Answers a machine with which the person has compared codes.
    ///
    /// - Parameter reply: gives the answer to its words, with the keys that it proved to have. What it throws ends the session.
    /// - Returns: its words after that; nil where none came.
    package func answer(
        _ person: any PairingPerson, _ reply: (RequesterIdentity, [UInt8]) throws -> [UInt8]
    ) throws -> [UInt8]? {
        func content(_ event: ApproverEvent) -> [UInt8]? { if case .content(let bytes) = event { bytes } else { nil } }
        return try leavingOnFailure {
            try channel.send(machine.start())
            let candidate = try agree(person)
            var answer = try reply(candidate, next(content))
            defer { answer.zero() }
            for frame in try machine.send(content: answer) { try channel.send(frame) }
            let last = try? next(content)
            channel.close()
            return last
        }
    }

    private func leavingOnFailure<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch {
            machine.giveUp()
            for frame in machine.farewell { try? channel.send(frame) }
            channel.close()
            throw error
        }
    }

    /// Until both sides are satisfied.
    private func agree(_ person: any PairingPerson) throws -> RequesterIdentity {
        while true {
            guard let frame = try channel.receive(within: .seconds(1)) else {
                try machine.checkTime(clock.now)
                continue
            }
            var queue = try machine.receive(frame, now: clock.now)
            while !queue.isEmpty {
                switch queue.removeFirst() {
                case .send(let frame): try channel.send(frame)
                case .record(let counted): try attempts.keep(counted)
                case .askCode(let identity):
                    let typed = try person.askCode(from: identity.name) { try idle() }
                    queue += try machine.enter(typed, now: clock.now)
                case .showCode(let code): try person.show(code: code)
                case .confirmed(let identity): return identity
                case .scanned, .countersigned, .content: break
                }
            }
        }
    }

    /// Waits for an event that `pick` wants.
    private func next<Result>(_ pick: (ApproverEvent) -> Result?) throws -> Result {
        while true {
            guard let frame = try channel.receive(within: .seconds(1)) else {
                try machine.checkTime(clock.now)
                continue
            }
            for event in try machine.receive(frame, now: clock.now) {
                if let result = pick(event) { return result }
            }
        }
    }

    private func add(_ candidate: RequesterIdentity) throws {
        try account.append { account in
            do {
                let number = UInt64(try account.store.keyring.deviceChain().links.count)
                for frame in try machine.askCountersignature(sequenceNumber: number) { try channel.send(frame) }
                let operation = try next { event -> DeviceOperation? in
                    guard case .countersigned(let operation, number) = event else { return nil }
                    return operation
                }
                let keyring = account.store.keyring
                let details = LinkDetails(
                    name: try keyring.freeDeviceName(candidate.name), model: candidate.model, time: clock.now,
                    notificationAddress: candidate.notificationAddress)
                return try keyring.signLink(operation, details: details, subject: candidate.deviceID)
            } catch let error as AccountError {
                throw error
            } catch {
                throw AccountError(.failed, cause: error)
            }
        }
    }

    private func idle() throws {
        if let frame = try channel.receive(within: .milliseconds(200)) {
            _ = try machine.receive(frame, now: clock.now)
        }
    }
}
