// The requests of a page, judged and passed on. Invariant: the page gets replies of its own session and nothing else.

internal import CoffretBase
internal import CoffretClient
internal import CoffretNet
package import CoffretTerminal
internal import CoffretWire

/// The page's requests, judged and passed on. It has no thread: a front polls `descriptors` and calls `process`.
package final class PageDesk {
    /// Is called once, from `take` or `process`.
    package typealias Reply = ([UInt8]) -> Void

    private static let requestCountMax = 64

    private let kind: FrontKind
    private let store: String
    private let perform: (FrontRequest, @escaping Reply) -> Void
    private weak var attendant: (any PageAttendant)?
    private let isAttended: Bool
    private let reveals = Reveals()
    private let main: PageSession
    /// For what waits for changes, which holds up nothing.
    private let watching: PageSession
    /// For operations that take files, which may be long.
    private let carrying: PageSession
    private var held = HeldFiles()
    private var progress: [String: OperationProgress] = [:]
    private var requestCount = 0

    /// True once a request was refused because the store is locked.
    package private(set) var isLocked = false

    /// - Parameters:
    ///   - store: an absolute path without links.
    ///   - attendant: answers questions; without it they are refused.
    ///   - perform: performs `front.copy`, `front.copyCode` and `front.choose`.
    package init(
        _ kind: FrontKind, store: String, environment: ProcessEnvironment, attendant: (any PageAttendant)? = nil,
        perform: @escaping (FrontRequest, @escaping Reply) -> Void
    ) {
        self.kind = kind
        self.store = store
        self.perform = perform
        self.attendant = attendant
        isAttended = attendant != nil
        let open = { try SessionClient.open(environment, store: store, isJSON: true) }
        main = PageSession(attendant: attendant, open: open)
        watching = PageSession(attendant: nil, open: open)
        carrying = PageSession(attendant: attendant, open: open)
    }

    /// The descriptors on which answers come.
    package var descriptors: [Int32] { sessions.compactMap(\.descriptor) }

    private var sessions: [PageSession] { [main, watching, carrying] }

    /// Reads one answer from a descriptor that has become readable.
    package func process(_ descriptor: Int32) {
        sessions.first { $0.descriptor == descriptor }?.process()
    }

    /// Ends the sessions. Requests that wait are not answered, since their page is gone.
    package func end() {
        for session in sessions { session.end() }
        held.dropAll()
    }

    /// Ends the session whose page is gone: its drafts lie there for the next one.
    package func pageIsGone() {
        if requestCount == 0 { end() }
    }

    /// Holds a file or folder that the person has chosen.
    ///
    /// - Returns: the answer to `front.choose`.
    package func hold(chosen descriptor: consuming OwnedDescriptor, name: String) -> [UInt8] {
        do throws(FrontError) {
            let ticket = try held.hold(chosen: descriptor)
            return FrontReply.ok([("ticket", .string(ticket)), ("name", .string(name))])
        } catch {
            return FrontReply.error(error)
        }
    }

    /// Holds the next file or folder that was dropped on the page, which reads the content of a file.
    ///
    /// - Returns: the answer to `front.choose`, without a ticket for what cannot be read.
    package func hold(dropped file: DroppedFile) -> [UInt8] {
        guard let opened = file.open() else { return FrontReply.ok([("name", .string(file.name))]) }
        do throws(FrontError) {
            let ticket = try held.hold(chosen: opened.descriptor, isOfPage: !opened.isFolder)
            return FrontReply.ok([
                ("ticket", .string(ticket)), ("name", .string(file.name)), ("isFolder", .bool(opened.isFolder)),
                ("byteCount", .integer(opened.byteCount)), ("modified", .integer(opened.modifiedMilliseconds)),
            ])
        } catch {
            return FrontReply.error(error)
        }
    }

    /// Takes the body of a request, which is overwritten once it is answered if nobody else has it.
    ///
    /// - Returns: nil if it was refused.
    @discardableResult
    package func take(_ body: [UInt8], reply: @escaping Reply) -> PageRequest? {
        guard requestCount < Self.requestCountMax else {
            reply(FrontReply.error(FrontError(.busy)))
            return nil
        }
        do throws(FrontError) {
            let request = try PageRequest(judging: body, for: kind)
            requestCount += 1
            let counted: Reply = { [self] message in
                requestCount -= 1
                if message == Self.lockedMessage { isLocked = true }
                reply(message)
            }
            guard request.isReveal else {
                answer(request, body, counted)
                return request
            }
            // A page that somebody has taken over reads no secrets in silence (R133).
            reveals.ask(attendant) { [weak self] isWanted in
                guard isWanted, let self else { return counted(FrontReply.error(FrontError(.revealMany))) }
                answer(request, body, counted)
            }
            return request
        } catch {
            reply(FrontReply.error(error))
            return nil
        }
    }

    private func answer(_ request: PageRequest, _ body: [UInt8], _ reply: @escaping Reply) {
        switch request {
        case .front(.hello): reply(hello)
        case .front(let request): answer(request, reply)
        case .operation("change.wait"): watching.ask(body, reply: reply)
        // It waits for a person at another device.
        case .operation("device.approve"): carrying.ask(isAttended ? Self.attended(body) : body, reply: reply)
        case .operation: main.ask(isAttended ? Self.attended(body) : body, reply: reply)
        }
    }

    private func answer(_ request: FrontRequest, _ reply: @escaping Reply) {
        do throws(FrontError) {
            switch request {
            case .hello, .copy, .copyCode, .choose: perform(request, reply)
            case .hold: reply(FrontReply.ok([("ticket", .string(try held.hold()))]))
            case .put(let ticket, let bytes):
                reply(FrontReply.ok([("byteCount", .integer(try held.put(bytes, to: ticket)))]))
            case .get(let ticket, let offset):
                let bytes = try held.get(ticket, from: offset)
                reply(FrontReply.ok([("bytes", .string(Base64.standard.encode(bytes)))]))
            case .drop(let ticket):
                held.drop(ticket)
                progress[ticket] = nil
                reply(FrontReply.ok([]))
            case .progress(let ticket):
                _ = try held.file(ticket)
                reply(FrontReply.ok((progress[ticket] ?? OperationProgress(done: 0)).json))
            case .cancel(let ticket):
                carrying.cancel(of: try held.file(ticket))
                reply(FrontReply.ok([]))
            case .carry(let carried): try carry(carried, reply)
            }
        } catch {
            reply(FrontReply.error(error))
        }
    }

    private func carry(_ carried: FrontRequest.Carried, _ reply: @escaping Reply) throws(FrontError) {
        let file = try held.file(carried.ticket)
        file.rewind()
        progress[carried.ticket] = nil
        carrying.ask(
            carried.message(isAttended: isAttended), carrying: file,
            progress: { [unowned self] in progress[carried.ticket] = $0 },
            reply: { message in
                file.measure()
                reply(message)
            })
    }

    private var hello: [UInt8] {
        FrontReply.ok([
            ("front", .string(kind.rawValue)), ("version", .string(CoffretVersion.text)),
            ("store", .string(PathText.name(of: store))),
            ("refuses", .array(PageRequest.refused(by: kind).map { .string($0) })),
        ])
    }

    /// The same request with a member more; it is an object with at least one.
    private static func attended(_ body: [UInt8]) -> [UInt8] {
        guard let start = body.firstIndex(of: UInt8(ascii: "{")) else { return body }
        return Array("{\"attended\":true,".utf8) + body[(start + 1)...]
    }

    static let lockedMessage = FrontReply.error(code: AgentErrorCode.storeLocked.rawValue, "the store is locked")

    static func isLocked(_ error: any Error) -> Bool {
        (error as? AgentRefused)?.code == AgentErrorCode.storeLocked.rawValue
    }

    static func message(for error: any Error) -> [UInt8] {
        switch error {
        case let error as AgentRefused:
            FrontReply.error(code: error.code, "the agent refused", waitSeconds: error.waitSeconds)
        case let error as NetError:
            FrontReply.error(
                code: error.code.rawValue, "the session ended before it answered; a change may have been made")
        case let error as FrontError: FrontReply.error(error)
        default: FrontReply.error(FrontError(.requestInvalid))
        }
    }
}
