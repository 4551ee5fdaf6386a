// One session of a front, asked from a loop of events. Invariant: a request is sent again only if the session did not look
// at it.

internal import CoffretBase
package import CoffretClient
internal import CoffretNet
internal import CoffretTerminal
package import CoffretWire

/// Answers questions of a session beside the page, which never sees a secret that is typed.
package protocol PageAttendant: AnyObject {
    /// - Parameter reply: is called once, from the same thread; a question that is over by then takes no answer.
    func ask(_ question: SessionQuestion, reply: @escaping (consuming SessionAnswer) -> Void)
    /// Shows a code that the person types on another device, until the request is over.
    func show(code: String)
    /// The request whose question or code may stand on the screen has its reply.
    func questionIsOver()
}

/// Sends requests one after the other, and reads when something has come.
final class PageSession {
    typealias Reply = ([UInt8]) -> Void

    /// A request that waits, which may hold a text of the person.
    private final class Request {
        private(set) var message: [UInt8]
        /// Travels with the request.
        let file: HeldFile?
        let progress: (OperationProgress) -> Void
        private let reply: Reply

        init(
            _ message: [UInt8], _ file: HeldFile?, _ progress: @escaping (OperationProgress) -> Void,
            _ reply: @escaping Reply
        ) {
            (self.message, self.file, self.progress, self.reply) = (message, file, progress, reply)
        }

        func answer(_ reply: [UInt8]) {
            message.zero()
            self.reply(reply)
        }
    }

    private let open: () throws -> SessionClient?
    private weak var attendant: (any PageAttendant)?
    private var client: SessionClient?
    private var queue: [Request] = []
    private var isAsking = false
    private var hasOpenQuestion = false
    /// True while a code of the request stands on the screen.
    private var hasShown = false
    /// True while the request goes to a second session.
    private var isSecondTry = false

    init(attendant: (any PageAttendant)?, open: @escaping () throws -> SessionClient?) {
        self.attendant = attendant
        self.open = open
    }

    /// To poll for reading while an answer is awaited.
    var descriptor: Int32? { isAsking ? client?.descriptor : nil }

    func ask(
        _ message: [UInt8], carrying file: HeldFile? = nil, progress: @escaping (OperationProgress) -> Void = { _ in },
        reply: @escaping Reply
    ) {
        queue.append(Request(message, file, progress, reply))
        if !isAsking { next() }
    }

    /// Says that what carries this file is not wanted any more, if that is being done now.
    func cancel(of file: HeldFile) {
        if isAsking, queue.first?.file === file { try? client?.cancel() }
    }

    private func next() {
        guard let first = queue.first else { return }
        do {
            if client == nil { client = try open() }
            guard let client else { throw AgentRefused(code: AgentErrorCode.storeLocked.rawValue) }
            isAsking = true
            do {
                try client.send(first.message, descriptors: first.file.map { [$0.descriptor.number] } ?? [])
            } catch let error as NetError where error.code == .closed {
                // A session that ended by itself has said so before.
            }
        } catch {
            isAsking = false
            fail(error)
        }
    }

    /// Ends the session, and drops what waits without an answer.
    func end() {
        (queue, client, isAsking, isSecondTry, hasOpenQuestion, hasShown) = ([], nil, false, false, false, false)
    }

    /// Reads the message that has come.
    func process() {
        guard isAsking, let client else { return }
        do {
            var message = try client.receive()
            if SessionEnd(message: message, isJSON: true) != nil { return again() }
            defer { message.zero() }
            if let attendant, let question = SessionQuestion(message: message, isJSON: true) {
                hasOpenQuestion = true
                return attendant.ask(question) { [weak self] answer in self?.answer(answer, to: question) }
            }
            if let notice = SessionNotice(message: message, isJSON: true) {
                guard notice.kind == .code, let attendant else { return }
                hasShown = true
                return attendant.show(code: notice.text)
            }
            if let step = OperationProgress(message: message, isJSON: true) {
                queue.first?.progress(step)
                return
            }
            isAsking = false
            isSecondTry = false
            leaveAttendant()
            queue.removeFirst().answer(message)
            if !isAsking { next() }
        } catch {
            isAsking = false
            self.client = nil
            fail(error)
        }
    }

    private func leaveAttendant() {
        if hasOpenQuestion || hasShown { attendant?.questionIsOver() }
        (hasOpenQuestion, hasShown) = (false, false)
    }

    private func answer(_ answer: consuming SessionAnswer, to question: SessionQuestion) {
        guard hasOpenQuestion else { return }
        hasOpenQuestion = false
        try? client?.send(answer, to: question)
    }

    /// The session ended before it looked at the request.
    private func again() {
        isAsking = false
        client = nil
        guard !isSecondTry else { return fail(NetError(.closed)) }
        isSecondTry = true
        next()
    }

    /// A lock fails all requests that wait; another error fails the first.
    private func fail(_ error: any Error) {
        isSecondTry = false
        leaveAttendant()
        let failed = queue
        let isOver = PageDesk.isLocked(error) || isLockedNow
        queue = isOver ? [] : Array(failed.dropFirst())
        let message =
            isOver
            ? PageDesk.lockedMessage
            : PageDesk.message(for: error)
        for request in failed.prefix(isOver ? .max : 1) { request.answer(message) }
        if !isOver, !isAsking { next() }
    }

    /// True where no session can be had because the store is locked, or no agent runs.
    private var isLockedNow: Bool {
        do {
            client = try client ?? open()
            return client == nil
        } catch { return PageDesk.isLocked(error) }
    }
}
