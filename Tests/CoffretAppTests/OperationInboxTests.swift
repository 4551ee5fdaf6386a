// What a session reads ahead while it works, over a real socket. Invariant: both ends are in this process, so that nothing here
// depends on time.

import CoffretBase
import CoffretNet
import CoffretWire
import Glibc
import Testing

@testable import CoffretApp

@Suite("Requests that wait in a session")
struct OperationInboxTests {
    /// Both ends of a connection.
    private struct Pair {
        let client: UnixConnection
        let inbox: OperationInbox

        init(isJSON: Bool = false) throws {
            var ends: [Int32] = [-1, -1]
            try #require(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
            client = UnixConnection(descriptor: ends[0])
            inbox = OperationInbox(UnixConnection(descriptor: ends[1]), isJSON: isJSON)
        }

        func ask(_ query: String, descriptors: [Int32] = []) throws {
            var search = ItemSearch()
            search.query = query
            try client.send(OperationRequest(search).encoded, descriptors: descriptors)
        }

        func cancel() throws { try client.send(SessionClientMessage.encodedCancel(isJSON: false)) }

        func entry() throws -> OperationInbox.Entry {
            guard case .request(let entry) = try inbox.next() else { throw NetError(.closed) }
            return entry
        }

        func next() throws -> (query: String, isCancelled: Bool) {
            let entry = try entry()
            return (try entry.request.get().read(as: ItemSearch.self).query, entry.isCancelled)
        }
    }

    @Test("a cancel counts for what was sent before it, whether it is read before or meanwhile, and for nothing later")
    func positions() throws {
        for readsMeanwhile in [false, true] {
            let pair = try Pair()
            try pair.ask("first")
            try pair.ask("second")
            if readsMeanwhile { #expect(try pair.next() == ("first", false)) }
            try pair.cancel()
            try pair.ask("third")
            if readsMeanwhile {
                #expect(pair.inbox.isCurrentCancelled())
            } else {
                #expect(try pair.next() == ("first", false))
                #expect(pair.inbox.isCurrentCancelled())
            }
            #expect(try pair.next() == ("second", true))
            #expect(try pair.next() == ("third", false))
            #expect(!pair.inbox.isCurrentCancelled())
        }
    }

    @Test("without a request a cancel does nothing; a cancel that came too late does not cancel the next request")
    func late() throws {
        let pair = try Pair()
        try pair.cancel()
        try pair.ask("first")
        #expect(try pair.next() == ("first", false))
        #expect(!pair.inbox.isCurrentCancelled())
        // The reply is on its way, and the cancel crosses it.
        try pair.cancel()
        try pair.ask("second")
        #expect(try pair.next() == ("second", false))
        #expect(!pair.inbox.isCurrentCancelled())
    }

    @Test("a client that went away wants nothing any more; half a message is no request")
    func gone() throws {
        let pair = try Pair()
        try pair.ask("first")
        #expect(try pair.next() == ("first", false))
        let half: [UInt8] = [0, 0, 0, 9, 1]
        #expect(unsafe send(pair.client.descriptor, half, half.count, 0) == half.count)
        #expect(!pair.inbox.isCurrentCancelled(), "the rest may come")
        pair.client.shutDown()
        #expect(pair.inbox.isCurrentCancelled())
        #expect(throws: NetError.self) { try pair.entry() }
    }

    @Test("no more than 64 messages are read ahead; those after them, and a cancel there, count in their turn")
    func bounded() throws {
        let pair = try Pair()
        try pair.ask("running")
        #expect(try pair.next() == ("running", false))
        for number in 0..<64 { try pair.ask("\(number)") }
        try pair.cancel()
        #expect(!pair.inbox.isCurrentCancelled(), "the cancel lies behind what is read ahead")
        #expect(try pair.next() == ("0", false))
        #expect(pair.inbox.isCurrentCancelled(), "there is room again")
        for number in 1..<64 { #expect(try pair.next() == ("\(number)", true)) }
    }

    @Test("descriptors stay with their request; nobody's are closed")
    func descriptors() throws {
        let pair = try Pair()
        var ends: [Int32] = [-1, -1]
        try #require(unsafe pipe(&ends) == 0)
        try pair.ask("first")
        try pair.ask("second", descriptors: [ends[1]])
        close(ends[1])
        let first = try pair.entry()
        #expect(!pair.inbox.isCurrentCancelled() && first.descriptors.count == 0)
        var entry: OperationInbox.Entry? = try pair.entry()
        let taken = try #require(entry?.descriptors.take())
        #expect(taken.count == 1)
        #expect(unsafe write(taken[0], "x", 1) == 1)
        close(taken[0])
        entry = nil
        var byte: UInt8 = 0
        #expect(unsafe read(ends[0], &byte, 1) == 1)
        #expect(unsafe read(ends[0], &byte, 1) == 0, "no copy of the descriptor is left")
        close(ends[0])
    }

    @Test("a cancel is one message in each form; anything near it is a request that is refused")
    func forms() throws {
        for isJSON in [false, true] {
            let bytes = SessionClientMessage.encodedCancel(isJSON: isJSON)
            #expect(try SessionClientMessage(decoding: bytes, isJSON: isJSON) == .cancel)
        }
        let wrong = [#"{"cancel":false}"#, #"{"cancel":1}"#, "{}", "[]", ""]
        for text in wrong {
            #expect(throws: WireError.self) { try SessionClientMessage(decoding: Array(text.utf8), isJSON: true) }
        }
        let progress = OperationProgress(done: 3, total: 7, stage: "reading", byteCount: 12)
        for isJSON in [false, true] {
            let message = progress.message(isJSON: isJSON)
            #expect(OperationProgress(message: message, isJSON: isJSON) == progress)
            let reply = OperationReply<OperationProgress>.answer(progress).encoded(isJSON: isJSON)
            #expect(OperationProgress(message: reply, isJSON: isJSON) == nil, "a reply is no progress")
        }
    }
}
