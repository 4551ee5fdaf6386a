// A program's side of a session. Invariant: requests and replies of one session take turns, so that a reply is never taken for
// another one's.

package import CoffretBase
internal import CoffretNet
package import CoffretTerminal
package import CoffretWire
internal import Glibc

/// Answers what a session asks while it performs a request, and takes what it says.
package protocol SessionAttendant: AnyObject {
    func take(_ notice: SessionNotice)
    /// - Parameter isOver: whether the session is gone, as after a lock, so that nobody takes the answer.
    /// - Throws: why there is no answer; the request fails by it.
    func answer(_ question: SessionQuestion, isOver: @escaping () -> Bool) throws -> SessionAnswer
    /// Waits for what comes of a secret, during which nothing that is typed is shown.
    func quietly(_ wait: () throws -> [UInt8]) throws -> [UInt8]
    /// Opens a file under OpenPGP with the person's own keys. Both are read from their beginning.
    ///
    /// - Returns: nil if the keys do not open it.
    /// - Throws: why it was not tried; the request fails by it.
    func opened(_ file: borrowing OwnedDescriptor) throws -> OwnedDescriptor?
}

/// The answer to a question of a session.
package enum SessionAnswer: ~Copyable {
    case no
    case yes
    case secret(SecretBytes)
}

/// A store that another process has open, asked over a connection of its own.
package final class SessionClient {
    /// Opens another connection, if an agent runs.
    private let reconnect: () throws -> UnixConnection?
    private var connection: UnixConnection
    fileprivate let isJSON: Bool
    /// Descriptors that came with the last message.
    fileprivate private(set) var brought: ReceivedDescriptors?
    /// Whether the running request is wanted no more; nil once the session was told so.
    private var isCancelled: (() -> Bool)?

    private init(_ connection: UnixConnection, isJSON: Bool, reconnect: @escaping () throws -> UnixConnection?) {
        self.connection = connection
        self.isJSON = isJSON
        self.reconnect = reconnect
    }

    /// Opens a session with a store that the agent has unlocked.
    ///
    /// - Parameters:
    ///   - store: an absolute path without links.
    ///   - token: the secret of a token that narrows the session down.
    /// - Returns: nil if no agent runs.
    /// - Throws: `AgentRefused` with `agent.store.locked` if the store is locked, `token.invalid`; what else the agent refuses.
    package static func open(
        _ environment: ProcessEnvironment, store: String, isJSON: Bool = false, token: String? = nil
    ) throws -> SessionClient? {
        let session = AgentSession(store: store, isJSON: isJSON, environment: environment.travelling, token: token)
        let connect: () throws -> UnixConnection? = { try Self.connect(environment, session) }
        return try connect().map { SessionClient($0, isJSON: isJSON, reconnect: connect) }
    }

    /// Opens a session for one command over a connection on which nothing else is asked from then on.
    ///
    /// - Parameters:
    ///   - isUse: whether the command is a use of the store.
    ///   - terminal: where the agent may ask whether the person is there.
    /// - Returns: nil for a store that is locked, with the reason.
    /// - Throws: what the agent refuses.
    package static func open(
        _ environment: ProcessEnvironment, over client: AgentClient, store: String, isUse: Bool = true,
        terminal: Int32? = nil
    ) throws -> (session: SessionClient?, lockReason: String?) {
        let session = AgentSession(store: store, environment: environment.travelling, isUse: isUse)
        let reason = try begin(session, over: client, terminal: terminal)
        guard reason == nil else { return (nil, reason) }
        let opened = SessionClient(client.connection, isJSON: false) { try Self.connect(environment, session) }
        return (opened, nil)
    }

    /// - Returns: why the store is locked; nil if the session has begun.
    private static func begin(
        _ session: AgentSession, over client: AgentClient, terminal: Int32? = nil
    ) throws -> String? {
        for attempt in 1... {
            switch try client.ask(.session(session), descriptors: terminal.map { [$0] } ?? []) {
            case .done: return nil
            // The keys were replaced while the session began.
            case .locked(AgentResponse.reasonToRunAgain) where attempt < 4: continue
            case .locked(let reason): return reason
            case .failed(let code, let waitSeconds): throw AgentRefused(code: code, waitSeconds: waitSeconds)
            default: throw WireError(.unsupported)
            }
        }
        return nil
    }

    private static func connect(_ environment: ProcessEnvironment, _ session: AgentSession) throws -> UnixConnection? {
        var client = try AgentClient.connect(environment)
        // In a container there may be no other way in.
        if client == nil, session.token != nil {
            client = try AgentClient.connect(environment, forPrograms: true)
        }
        guard let client else { return nil }
        guard try begin(session, over: client) == nil else {
            throw AgentRefused(code: AgentErrorCode.storeLocked.rawValue)
        }
        return client.connection
    }

    /// Performs an operation.
    ///
    /// - Parameters:
    ///   - descriptors: travel with the request, at most four; they stay the caller's.
    ///   - attendant: answers questions of the session; without it they are refused.
    ///   - progress: is told meanwhile how far the operation has come; without it the session says nothing until the end.
    ///   - isCancelled: is asked meanwhile, a few times a second, whether nobody wants the result any more.
    /// - Throws: `OperationFailure` if it was refused, with `operation.cancelled` after `cancel`; `NetError.closed` once the
    ///   session is over, as after a lock; what the attendant throws.
    package func perform<Request: StoreOperation>(
        _ request: Request, by asker: Asker = .person, descriptors: [Int32] = [],
        attendedBy attendant: (any SessionAttendant)? = nil, progress: ((OperationProgress) throws -> Void)? = nil,
        isCancelled: (() -> Bool)? = nil
    ) throws -> Request.Answer {
        self.isCancelled = isCancelled
        defer { self.isCancelled = nil }
        let message = OperationRequest(
            request, by: asker, wantsProgress: progress != nil, isAttended: attendant != nil, isJSON: isJSON)
        let exchange = SessionExchange<Request.Answer>(self, attendant, progress)
        try exchange.begin(message, descriptors)
        return try exchange.reply()
    }

    /// Asks for an answer that comes in parts.
    package func performInParts<Request: StoreOperation>(
        _ request: Request, attendedBy attendant: (any SessionAttendant)? = nil,
        progress: @escaping (OperationProgress) throws -> Void = { _ in }
    ) throws -> SessionExchange<Request.Answer> {
        let message = OperationRequest(
            request, wantsProgress: true, isAttended: attendant != nil, wantsParts: true, isJSON: isJSON)
        let exchange = SessionExchange<Request.Answer>(self, attendant, progress)
        try exchange.begin(message, [])
        return exchange
    }

    /// So many sessions that end before a request are followed by another one.
    private static let sessionCountMax = 4

    /// Sends a request, in another session where this one ended before it.
    ///
    /// - Returns: the first message that comes.
    fileprivate func begin(_ message: OperationRequest, _ descriptors: [Int32]) throws -> [UInt8] {
        for _ in 0..<Self.sessionCountMax {
            let first = try exchange(message.encoded, descriptors: descriptors)
            guard SessionEnd(message: first, isJSON: isJSON) != nil else { return first }
            // The request crossed the end, and was not looked at.
            guard let next = try reconnect() else { break }
            connection = next
        }
        throw NetError(.closed)
    }

    /// Can be read between two requests once the session has ended by itself.
    package var descriptor: Int32 { connection.descriptor }

    /// Whether the next message, or the end, is there, or comes soon.
    fileprivate func hasMessage(within milliseconds: Int32) -> Bool {
        var polled = pollfd(fd: connection.descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&polled, 1, milliseconds) > 0
    }

    /// Answers a question that `receive` gave.
    package func send(_ answer: consuming SessionAnswer, to question: SessionQuestion) throws {
        switch consume answer {
        case .no: try send(false, to: question)
        case .yes: try send(true, to: question)
        case .secret(let secret):
            let source = try ChildProcess.secretPipe(holding: secret)
            try send(true, to: question, descriptors: [source.number])
        }
    }

    fileprivate func send(_ isYes: Bool, to question: SessionQuestion, descriptors: [Int32] = []) throws {
        let message = SessionClientMessage.encodedAnswer(isYes, to: question.number, isJSON: isJSON)
        try connection.send(message, descriptors: descriptors)
    }

    /// Says that the running request is not wanted any more, as from a handler of progress or from another thread. Its reply
    /// says what came of it.
    package func cancel() throws {
        try connection.send(SessionClientMessage.encodedCancel(isJSON: isJSON))
    }

    /// Sends a request that is encoded already, and waits for the next message: its reply, or its progress.
    package func exchange(_ request: [UInt8], descriptors: [Int32] = []) throws -> [UInt8] {
        do {
            try send(request, descriptors: descriptors)
        } catch let error as NetError where error.code == .closed {
            // A session that ended by itself has said so before.
        }
        return try receive()
    }

    /// Sends a message that is encoded already.
    package func send(_ message: [UInt8], descriptors: [Int32] = []) throws {
        var message = message
        defer { message.zero() }
        try connection.send(message, descriptors: descriptors, byteCountMax: AgentSession.messageByteCountMax)
    }

    /// Waits for the next message of the session.
    package func receive() throws -> [UInt8] {
        while let isCancelled, !hasMessage(within: 200) {
            guard isCancelled() else { continue }
            self.isCancelled = nil
            try cancel()
        }
        brought = nil
        let received = try connection.receive(byteCountMax: AgentSession.messageByteCountMax)
        guard let (message, descriptors) = received else { throw NetError(.closed) }
        brought = descriptors
        return message.bytes
    }
}

/// One request, from its first message to its reply.
package final class SessionExchange<Answer: Record> {
    private let client: SessionClient
    private let attendant: (any SessionAttendant)?
    private let progress: ((OperationProgress) throws -> Void)?
    /// What has come and was not looked at.
    private var waiting: [UInt8]?
    /// Why a question was not answered.
    private var refusal: (any Error)?
    private var answer: Answer?

    fileprivate init(
        _ client: SessionClient, _ attendant: (any SessionAttendant)?,
        _ progress: ((OperationProgress) throws -> Void)?
    ) {
        self.client = client
        self.attendant = attendant
        self.progress = progress
    }

    fileprivate func begin(_ message: OperationRequest, _ descriptors: [Int32]) throws {
        waiting = try client.begin(message, descriptors)
    }

    /// The next part; nil once the reply has come.
    ///
    /// - Throws: as `perform`.
    package func next() throws -> Answer? {
        while answer == nil {
            var bytes = try waiting.take() ?? client.receive()
            defer { bytes.zero() }
            if let part = try AnswerPart.read(as: Answer.self, message: bytes, isJSON: client.isJSON) { return part }
            if try handle(bytes) { continue }
            switch try OperationReply<Answer>(decoding: bytes, isJSON: client.isJSON) {
            case .answer(let answer): self.answer = answer
            case .failure(let failure): throw refusal ?? failure
            }
        }
        return nil
    }

    /// The answer of the reply, which says nothing again that parts have said.
    package func reply() throws -> Answer {
        while true {
            if let answer { return answer }
            _ = try next()
        }
    }

    /// Answers with the opened form of the file that the question brings.
    private func open(_ question: SessionQuestion, _ attendant: any SessionAttendant) throws {
        let numbers = client.brought?.take() ?? []
        guard numbers.count == 1 else {
            for number in numbers { close(number) }
            throw WireError(.malformed)
        }
        let opened = try attendant.opened(OwnedDescriptor(numbers[0]))
        if let opened {
            try client.send(true, to: question, descriptors: [opened.number])
        } else {
            try client.send(false, to: question)
        }
    }

    /// - Returns: false for a reply.
    private func handle(_ bytes: [UInt8]) throws -> Bool {
        if let progress, let step = OperationProgress(message: bytes, isJSON: client.isJSON) {
            try progress(step)
            return true
        }
        guard let attendant else { return false }
        if let notice = SessionNotice(message: bytes, isJSON: client.isJSON) {
            attendant.take(notice)
            return true
        }
        guard let question = SessionQuestion(message: bytes, isJSON: client.isJSON) else { return false }
        do {
            if question.kind == .openPGP {
                try open(question, attendant)
            } else {
                let answer = try attendant.answer(question) { [client] in client.hasMessage(within: 0) }
                try client.send(answer, to: question)
            }
        } catch {
            // A question that is over needs no answer, and its reply says why.
            if !client.hasMessage(within: 0) { refusal = error }
            try client.send(.no, to: question)
        }
        waiting = try question.kind.wantsSecret ? attendant.quietly(client.receive) : client.receive()
        return true
    }
}
