// The client of a session, as the person for whom it works. Invariant: a question is put only while a request is performed whose
// client answers questions, and waits for that client alone.

internal import CoffretBase
internal import CoffretClient
internal import CoffretNet
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc
internal import Synchronization

/// Notices that nobody has taken yet.
final class WaitingNotices: Sendable {
    private static let countMax = 64
    private let list = Mutex<[SessionNotice]>([])

    func add(_ notice: SessionNotice) {
        list.withLock { if $0.count < Self.countMax { $0.append(notice) } }
    }

    func take() -> [SessionNotice] {
        list.withLock { list in
            defer { list = [] }
            return list
        }
    }
}

/// Asks and tells over the connection of a session.
final class SessionPerson: OperationPerson {
    private let connection: UnixConnection
    private let inbox: OperationInbox
    private let isJSON: Bool
    /// Whether the client of the present request answers.
    private var isAttended = false
    private var questionCount = 0
    /// Notices of storage; an attended request is told them first.
    let waiting = WaitingNotices()

    init(_ connection: UnixConnection, _ inbox: OperationInbox, isJSON: Bool) {
        self.connection = connection
        self.inbox = inbox
        self.isJSON = isJSON
    }

    /// The request that is performed from now on.
    func attend(_ isAttended: Bool) {
        flush()
        self.isAttended = isAttended
        flush()
    }

    private func flush() {
        guard isAttended else { return }
        for notice in waiting.take() { tell(notice) }
    }

    var canAnswer: Bool { isAttended }

    func tell(_ notice: SessionNotice) {
        guard isAttended else { return waiting.add(notice) }
        // A client that is gone is noticed by the next question whether it cancels.
        try? connection.send(notice.message(isJSON: isJSON))
    }

    func secret(_ question: SessionQuestion) throws -> SecretBytes {
        let source = try Self.only(ask(question))
        var work = OperationWork()
        work.isCancelled = { [inbox] in inbox.isCurrentCancelled() }
        return try DescriptorTransfer.secret(from: source.number, work)
    }

    func code(_ question: SessionQuestion, idle: () throws -> Void) throws -> String {
        let source = try Self.only(ask(question, pollMilliseconds: 0, while: idle))
        var work = OperationWork()
        work.isCancelled = { [inbox] in inbox.isCurrentCancelled() }
        let typed = try DescriptorTransfer.secret(from: source.number, work)
        // EXPOSE: to the machine that compares it; it is worth nothing afterwards.
        return unsafe typed.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }

    func confirm(_ question: SessionQuestion) throws -> Bool? {
        guard isAttended else { return nil }
        do {
            _ = try ask(question)
            return true
        } catch let error as OperationError where error.code == .unanswered { return false }
    }

    func opened(_ file: borrowing OwnedDescriptor) throws -> OwnedDescriptor? {
        guard isAttended else { throw OperationError(.unanswered) }
        let question = SessionQuestion(.openPGP, "Open a file with OpenPGP", reason: "open the export")
        do {
            return try Self.only(ask(question, bringing: [file.number]))
        } catch let error as OperationError where error.code == .unanswered { return nil }
    }

    func deriving<Value>(_ body: () throws -> Value) throws -> Value { try body() }

    /// - Throws: `OperationError.unanswered` for a no.
    private func ask(
        _ question: SessionQuestion, bringing descriptors: [Int32] = [], pollMilliseconds: Int32 = -1,
        while idle: () throws -> Void = {}
    ) throws -> ReceivedDescriptors {
        guard isAttended else { throw OperationError(.unanswered) }
        questionCount += 1
        var question = question
        question.number = questionCount
        try connection.send(question.message(isJSON: isJSON), descriptors: descriptors)
        let (isYes, descriptors) = try inbox.nextAnswer(
            to: questionCount, pollMilliseconds: pollMilliseconds, while: idle)
        guard isYes else { throw OperationError(.unanswered) }
        return descriptors
    }

    private static func only(_ descriptors: ReceivedDescriptors) throws -> OwnedDescriptor {
        let numbers = descriptors.take()
        guard numbers.count == 1 else {
            for number in numbers { close(number) }
            throw OperationError(.descriptorInvalid, at: numbers.isEmpty ? "none" : "several")
        }
        return OwnedDescriptor(numbers[0])
    }
}
