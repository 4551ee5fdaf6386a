// One request of another device, or of a browser on another machine, from the relay to the person and back. Invariant: the person has read who wants what, and has
// said yes, before a value is read.

internal import CoffretAccount
internal import CoffretApp
internal import CoffretBase
internal import CoffretBridge
internal import CoffretCore
internal import CoffretMessages
internal import CoffretPairing
internal import CoffretTerminal
internal import CoffretTrust
internal import CoffretWire

/// The process that answers one request. Spec: Spec/remote.md sections 3 and 5.
struct RemoteAttendant {
    let hosted: HostedStore
    let relayID: UniqueID
    /// Where the person is.
    let places: [String: String]
    /// The browsers that may ask.
    let browsers: () throws -> Pairings
    /// Asks the agent whether the person may be asked once more.
    let mayAsk: () -> Bool

    /// - Returns: the exit code of the process.
    func serve() -> Int32 {
        do {
            let environment = try hosted.environment()
            let store = try hosted.open(environment)
            // A stranger, or a device that asked for another request, gets no answer and no line in the log.
            let browsers = (try? browsers()) ?? Pairings()
            let answering = try RemoteAnswering(
                joining: relayID, of: store, browserKey: { browsers.findRemote($0.bytes)?.key },
                random: environment.random)
            let begun = BootClock.now
            let desk = StoreDesk(store, DeskSurroundings(stateDirectory: environment.stateDirectory))
            let browser = browsers.findRemote(answering.asker.bytes)?.name
            let name = browser ?? desk.deviceName(answering.asker.bytes)
            let log = RemoteLog(desk, operation: RemoteAsk.name, device: name, isBrowser: browser != nil)
            do {
                let value = try value(for: answering, from: name, on: desk, begun)
                try answering.answer(.value(value))
                log.note(.asked)
            } catch {
                log.note(.refused, code: FailureCode.of(error))
                try? answering.answer(.refused(Self.code(error)))
            }
            return 0
        } catch {
            return 1
        }
    }

    private func value(
        for answering: RemoteAnswering, from name: String, on desk: StoreDesk, _ begun: BootInstant
    ) throws -> RemoteValue {
        guard mayAsk() else { throw RemoteError(.pausing) }
        let asker = TextWidth.displaySafe(name)
        let (who, lending) =
            switch answering.wish {
            case .item(let request):
                ("Your device \"\(asker)\"", try Lending(request.item, vault: nil, field: request.field, on: desk))
            case .login(let request):
                ("The browser \"\(asker)\" on another machine", try Lending(request, on: desk))
            }
        guard let pinentry = try? Pinentry.start(places) else { throw RemoteError(.unattended) }
        let question = """
            \(who) asks for
            \(lending.words)

            It is sent once. Refuse if you did not ask for it there.
            """
        try RemoteConsent(since: begun).require(at: { BootClock.now }) { left in
            pinentry.confirm(question, accept: "Send once", refuse: "Refuse", timeout: left) { answering.isWanted }
        }
        return try lending.value()
    }

    /// The code that the asker gets.
    private static func code(_ error: any Error) -> RemoteError.Code {
        switch error {
        case let error as RemoteError: error.code == .itemWithheld ? .itemNotFound : error.code
        case let error as CoreError where error.code == .itemNotFound: .itemNotFound
        case let error as CoreError where error.code == .itemAmbiguous: .itemAmbiguous
        case let error as CoreError where error.code == .fieldNotFound: .fieldNotFound
        case let error as CommandFailure where error.code == CLIErrorCode.fieldNotFound.rawValue: .fieldNotFound
        default: .failed
        }
    }
}
