// Refusals, for programs of others. Invariant: every error of this library is one of these, with a stable code.

internal import CoffretClient
internal import CoffretNet
internal import CoffretWire

/// Why something was not done.
public struct CoffretError: Error, Hashable, Sendable, CustomStringConvertible {
    /// One meaning of a name that could mean several things.
    public struct Candidate: Hashable, Sendable {
        /// The id, in hexadecimal digits.
        public let id: String
        /// The title of the item, or the name of the vault or field.
        public let title: String
        /// The name of the vault that has it, if that is not clear.
        public let vault: String?
    }

    /// The stable code, such as `core.item.not-found`; `Spec/errors.md` lists them all.
    public let code: String
    /// Words for a person: lower case, without full stop.
    public let message: String
    /// Words that help, if there are any.
    public let hint: String?
    /// Seconds until another try is possible, if that is why this one was not.
    public let waitSeconds: Int?
    /// The things that an ambiguous name could mean, at most twenty.
    public let candidates: [Candidate]

    /// No agent runs: the store is locked as well.
    public static let noAgent = "cli.agent.unavailable"
    /// The store is locked.
    public static let locked = "agent.store.locked"
    /// The session is over: the store was locked, or its keys were changed. Another one may be opened.
    public static let ended = "net.closed"
    /// The request was cancelled by the closure that takes progress.
    public static let cancelled = "operation.cancelled"

    /// The message, the hint and the code.
    public var description: String { message + (hint.map { " (\($0))" } ?? "") + " [\(code)]" }

    init(code: String, message: String, hint: String? = nil, waitSeconds: Int? = nil) {
        self.code = code
        self.message = message
        self.hint = hint
        self.waitSeconds = waitSeconds
        candidates = []
    }

    init(_ failure: OperationFailure) {
        code = failure.code
        message = failure.message
        hint = failure.hint
        waitSeconds = failure.waitSeconds
        candidates = (failure.candidates ?? []).map { Candidate(id: $0.id, title: $0.title, vault: $0.vault) }
    }

    /// Turns what the layers below throw into this error.
    init(_ error: any Error) {
        switch error {
        case let error as CoffretError: self = error
        case let failure as OperationFailure: self.init(failure)
        case let refused as AgentRefused:
            self.init(
                code: refused.code, message: Self.words[refused.code] ?? "the agent refused",
                waitSeconds: refused.waitSeconds.map { Int(clamping: $0) })
        case let error as NetError:
            self.init(
                code: error.code.rawValue, message: Self.words[error.code.rawValue] ?? "talking to the agent failed")
        case let error as WireError:
            self.init(code: error.code.rawValue, message: "the agent speaks another version of the protocol")
        default: self.init(code: "cli.unexpected", message: "\(error)")
        }
    }

    private static let words = [
        locked: "the store is locked", ended: "the session is over: the store was locked, or its keys were changed",
        "agent.exhausted": "there are as many sessions as there may be",
        "token.invalid": "there is no such token, or it was removed", "token.expired": "the time of the token is over",
        "token.pausing": "wrong tokens were offered; another try has to wait",
        "token.file.altered": "the file of tokens was altered: no token counts",
        "net.peer.untrusted": "the agent's socket is answered by another user; nothing was sent",
        "net.directory.untrusted": "the folder of the agent's socket is not yours alone; nothing was sent",
    ]
}
