// A session of a security key: requests of CTAP, one after the other. Invariant: it answers for passkeys and for nothing else, and what it
// remembers between two requests goes with the next other one.

internal import CPlatform
internal import CoffretBase
internal import CoffretBridge
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretMessages
package import CoffretNet
internal import CoffretStorage
internal import CoffretWire
internal import Glibc

/// Serves `coffret-authenticator`.
///
/// Spec: Spec/authenticator.md section 4.
package final class AuthenticatorSession {
    /// A session that is asked nothing ends.
    private static let silenceMax = Duration.seconds(60)
    /// Further accounts are told for so long after the one before.
    private static let nextMax = Duration.seconds(30)

    /// Accounts that the browser has not asked for yet.
    private struct Waiting {
        var passkeys: [BridgeDesk.FoundPasskey]
        let clientDataHash: [UInt8]
        var time: BootInstant
    }

    private let desk: StoreDesk
    private let bridge: BridgeDesk
    private let log: AccessLog
    private let session: String
    private let program: String
    private var waiting: Waiting?

    /// Says `done`, and answers until the program goes away.
    ///
    /// - Returns: the exit code of the process.
    package static func serve(
        _ connection: UnixConnection, _ terms: BridgeTerms, _ hosted: HostedStore, _ reports: SessionReports
    ) -> Int32 {
        SignalMask.block([SIGTERM])
        let inbox = BridgeInbox(connection, signals: unsafe coffret_signal_descriptor([SIGTERM], 1))
        do {
            var terms = terms
            if try !terms.pairings().tellsOfValues { terms.agent.tell = { _, _ in } }
            let session = try AuthenticatorSession(terms, hosted)
            reports.used()
            try connection.send(AgentResponse.done.encoded())
            session.note(.opened)
            defer { session.note(.ended) }
            while let message = try inbox.next(within: silenceMax) {
                try connection.send(session.answer(message))
                session.desk.catchUp()
            }
            return 0
        } catch {
            // The program is gone, or the store does not open: it sees the end.
            return 1
        }
    }

    private init(_ terms: BridgeTerms, _ hosted: HostedStore) throws {
        let environment = try hosted.environment()
        let store = try hosted.open(environment)
        program = terms.program
        desk = StoreDesk(store, DeskSurroundings(stateDirectory: environment.stateDirectory))
        bridge = BridgeDesk(desk, browser: "a program that uses security keys", terms.agent)
        log = try AccessLog(store)
        session = Hex.encode(store.environment.random.bytes(count: 4))
    }

    private func answer(_ message: [UInt8]) -> [UInt8] {
        desk.subject = nil
        var name: String?
        do {
            let request = try CTAPRequest(message)
            name = Self.name(request)
            let reply = try answer(request)
            if let name { note(.asked, name) }
            return reply
        } catch {
            waiting = nil
            note(.refused, name, code: error is CTAPStatus ? "bridge.message.invalid" : FailureCode.of(error))
            return [Self.status(of: error).rawValue]
        }
    }

    private func answer(_ request: CTAPRequest) throws -> [UInt8] {
        let next = waiting
        waiting = nil
        switch request {
        case .information: return CTAPReply.information
        case .create(let wanted): return CTAPReply.created(try bridge.makePasskey(wanted).createdData)
        case .sign(let wanted) where wanted.isSilent:
            let passkey = try bridge.namedPasskey(wanted)
            return CTAPReply.signed(
                passkey.credentialID, passkey.silentData, signature: try passkey.emptySignature(), nil, count: nil)
        case .sign(let wanted):
            let found = try bridge.admittedPasskeys(wanted)
            waiting = Waiting(passkeys: found, clientDataHash: wanted.clientDataHash, time: BootClock.now)
            return try signNext(count: found.count)
        case .next:
            guard let next, next.time.duration(to: BootClock.now) < Self.nextMax else { throw CTAPStatus.notAllowed }
            waiting = next
            return try signNext(count: nil)
        }
    }

    /// Signs for the next of the accounts that wait.
    ///
    /// - Parameter count: how many there are, in the first answer.
    private func signNext(count: Int?) throws -> [UInt8] {
        guard var now = waiting, !now.passkeys.isEmpty else { throw CTAPStatus.notAllowed }
        let found = now.passkeys.removeFirst()
        let passkey = found.passkey
        desk.subject = nil
        _ = try desk.find(found.item.id.uuid.hex, vault: nil)
        let signature = try passkey.signature(passkey.authenticatorData, clientDataHash: now.clientDataHash)
        let isOneOfSeveral = count != 1
        now.time = BootClock.now
        waiting = now.passkeys.isEmpty ? nil : now
        return CTAPReply.signed(
            passkey.credentialID, passkey.authenticatorData, signature: signature,
            CTAPReply.Account(
                handle: passkey.userHandle,
                names: isOneOfSeveral ? (passkey.userName, passkey.displayName) : nil),
            count: isOneOfSeveral ? count : nil)
    }

    private static func status(of error: any Error) -> CTAPStatus {
        if let status = error as? CTAPStatus { return status }
        return switch (error as? BridgeError)?.code {
        case .passkeyExists: .credentialExcluded
        case .passkeyMissing: .noCredentials
        case .passkeyRefused, .pausing: .denied
        case .passkeyReplayed: .notAllowed
        case .originRefused, .messageInvalid: .parameterInvalid
        default: .other
        }
    }

    /// Looking says nothing that a person would look up later.
    private static func name(_ request: CTAPRequest) -> String? {
        switch request {
        case .information: nil
        case .create: "authenticator.create"
        case .sign(let wanted): wanted.isSilent ? nil : "authenticator.sign"
        case .next: "authenticator.sign"
        }
    }

    private func note(_ event: AccessEntry.Event, _ operation: String? = nil, code: String? = nil) {
        var entry = AccessEntry()
        entry.time = WireMoment(desk.store.environment.clock.now)
        (entry.event, entry.session, entry.program) = (event, session, event == .opened ? program : nil)
        (entry.browser, entry.operation, entry.code) = (Self.logName, operation, code)
        entry.vault = desk.subject?.vault.hex
        entry.item = desk.subject?.item?.uuid.hex
        log.add(entry)
    }

    /// In the place of a browser's name.
    private static let logName = "security key"
}
