// A server and a network in memory, which lose, double, delay and cut. The one thing to keep true: what the server
// does is what Spec/server.md says, so that what survives here survives there.

internal import CoffretBase
package import CoffretStorage
package import CoffretSync
package import CoffretTestSupport
package import CoffretWire

/// One zone.
package final class SimulatedZone {
    package private(set) var objects: [ZoneObject] = []
    private var digests: Set<[UInt8]> = []
    package var head: [UInt8]?
    package private(set) var epoch: UInt32 = 1
    package private(set) var pushCount = 0
    /// Tells apart the cursors of this server from those of others.
    package var family: UInt8 = 1
    package var acknowledgements: [[UInt8]: [UInt8]] = [:]

    package init() {}

    private func cursor(_ count: Int) -> [UInt8] { [family] + UInt64(count).bigEndianBytes }

    package var state: ZoneHead { ZoneHead(address: head, cursor: cursor(objects.count), epoch: epoch) }

    package func push(_ push: ZonePush) -> ServerReply {
        // A push that was made already is answered as it was then.
        if push.newHead != push.expectedHead, push.newHead == head { return .pushed(PushReceipt(cursor: state.cursor)) }
        guard push.expectedHead == head else { return .headMoved(state) }
        guard push.epoch >= epoch else { return .refused(code: "server.zone.epoch-stale") }
        for object in push.objects where digests.insert(object.address + object.ciphertext).inserted {
            objects.append(object)
        }
        if push.newHead != head {
            head = push.newHead
            epoch = max(epoch, push.epoch)
            pushCount += 1
        }
        return .pushed(PushReceipt(cursor: state.cursor))
    }

    /// Frames from a cursor, with a mark after each few objects.
    package func frames(since: [UInt8]) -> [ChangeFrame] {
        var start = 0
        if since.first == family, let count = UInt64(bigEndianBytes: Array(since.dropFirst())) {
            start = min(Int(count), objects.count)
        }
        var frames: [ChangeFrame] = []
        for index in start..<objects.count {
            frames.append(.object(objects[index], uploader: [UInt8](repeating: 0, count: 32)))
            if index % 5 == 4 { frames.append(.mark(head: head, cursor: cursor(index + 1), hasMore: true)) }
        }
        return frames + [.mark(head: head, cursor: cursor(objects.count), hasMore: false)]
    }

    package func fetch(_ addresses: [BlobAddress]) -> [ChangeFrame] {
        let wanted = Set(addresses.map(\.bytes))
        return objects.filter { wanted.contains($0.address) }.map {
            .object($0, uploader: [UInt8](repeating: 0, count: 32))
        } + [.mark(head: head, cursor: cursor(objects.count), hasMore: false)]
    }

    /// Puts the zone back to what it was after so many objects.
    package func restore(objectCount: Int, head: [UInt8]?) {
        objects = Array(objects.prefix(objectCount))
        digests = Set(objects.map { $0.address + $0.ciphertext })
        self.head = head
        family &+= 1
    }

    package func remove(_ address: BlobAddress) {
        objects.removeAll { $0.address == address.bytes }
        family &+= 1
    }

    /// Puts other bytes under an address, as a server that exchanges objects does.
    package func replace(_ address: BlobAddress, by bytes: [UInt8]) {
        objects = objects.map {
            $0.address == address.bytes ? ZoneObject(address: $0.address, ciphertext: bytes) : $0
        }
        family &+= 1
    }

    package func poison(_ address: BlobAddress) {
        objects.insert(
            ZoneObject(address: address.bytes, ciphertext: [0, 0, 0, 1] + [UInt8](repeating: 7, count: 300)), at: 0)
        family &+= 1
    }
}

/// The way between a device and the zone.
package final class SimulatedNetwork: SyncTransport {
    /// A server may show another one each time.
    package var zone: SimulatedZone
    package let random: SeededGenerator
    private let device: [UInt8]
    /// One in so many requests meets a fault; 0 for none.
    package var faultRate = 0
    /// Pushes that were seen once and come again later.
    private var delayed: [ZonePush] = []
    package private(set) var requestCount = 0
    package var onRequest: ((ServerRequest) -> ServerReply?)?

    package init(zone: SimulatedZone, random: SeededGenerator, device: [UInt8] = [0]) {
        self.zone = zone
        self.random = random
        self.device = device
    }

    package func send(_ request: ServerRequest, frame: (ChangeFrame) throws -> Void) -> ServerReply {
        requestCount += 1
        if let reply = onRequest?(request) { return reply }
        let isFaulty = faultRate > 0 && random.int(in: 1...faultRate) == 1
        let fault = isFaulty ? random.int(in: 0...3) : -1
        if fault == 0 { return .unreachable }
        if faultRate > 0, !delayed.isEmpty, random.int(in: 0...3) == 0 { _ = zone.push(delayed.removeFirst()) }
        let reply: ServerReply
        switch request {
        case .head: reply = .head(zone.state)
        case .changes(let since): return stream(zone.frames(since: since), isCut: fault >= 1, frame)
        case .fetch(let addresses): return stream(zone.fetch(addresses), isCut: fault >= 1, frame)
        case .push(let push):
            reply = zone.push(push)
            if fault == 2 { _ = zone.push(push) }
            if fault == 3 { delayed.append(push) }
        case .acknowledge(let bytes):
            zone.acknowledgements[device] = bytes
            reply = .acknowledged
        case .acknowledgements:
            reply = .acknowledgements(
                zone.acknowledgements.map { DeviceAcknowledgement(device: $0.key, bytes: $0.value) })
        }
        // It happened, and the answer is lost.
        return fault == 1 ? .unreachable : reply
    }

    private func stream(_ frames: [ChangeFrame], isCut: Bool, _ body: (ChangeFrame) throws -> Void) -> ServerReply {
        let end = isCut ? random.int(in: 0...frames.count - 1) : frames.count
        do {
            for frame in frames[..<end] {
                // As bytes, through the reader that the real client has.
                var reader = ChangeFrameReader()
                reader.append(frame.framed())
                if let read = try reader.next() { try body(read) }
            }
        } catch {
            return .unreachable
        }
        return isCut ? .unreachable : .streamEnd
    }
}
