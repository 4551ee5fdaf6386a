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
    private var setter: UniqueID?
    private var headBefore: [UInt8]?
    package private(set) var pushCount = 0
    /// Tells apart the cursors of this server from those of others.
    package var family: UInt8 = 1
    package var acknowledgements: [[UInt8]: [UInt8]] = [:]
    /// Places of objects that were swept. They are gone at once, so that nothing lives on what a real server keeps.
    private var swept: Set<Int> = []
    /// Devices that put something down that no head names yet.
    private var staging: Set<[UInt8]> = []
    package private(set) var sweepCount = 0

    package init() {}

    private func cursor(_ count: Int) -> [UInt8] { [family] + UInt64(count).bigEndianBytes }

    package var state: ZoneHead {
        ZoneHead(
            address: head, cursor: cursor(objects.count), epoch: epoch, setter: setter, headBefore: headBefore)
    }

    package func push(_ push: ZonePush, by device: [UInt8] = [0]) -> ServerReply {
        // A push that was made already is answered as it was then.
        if push.newHead != push.expectedHead, push.newHead == head { return .pushed(PushReceipt(cursor: state.cursor)) }
        guard push.expectedHead == head else { return .headMoved(state) }
        guard push.epoch >= epoch else { return .refused(code: "server.zone.epoch-stale") }
        for object in push.objects where digests.insert(object.address + object.ciphertext).inserted {
            objects.append(object)
        }
        if push.isStaging { staging.insert(device) } else { staging.remove(device) }
        if push.newHead != head {
            if setter != UniqueID(bytes: device) { headBefore = head }
            setter = UniqueID(bytes: device)
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
        for index in start..<objects.count where !swept.contains(index) {
            frames.append(.object(objects[index], uploader: [UInt8](repeating: 0, count: 32)))
            if index % 5 == 4 { frames.append(.mark(head: head, cursor: cursor(index + 1), hasMore: true)) }
        }
        return frames + [.mark(head: head, cursor: cursor(objects.count), hasMore: false)]
    }

    package func fetch(_ addresses: [BlobAddress]) -> [ChangeFrame] {
        let wanted = Set(addresses.map(\.bytes))
        return objects.indices.filter {
            wanted.contains(objects[$0].address) && !swept.contains($0)
        }.map { .object(objects[$0], uploader: [UInt8](repeating: 0, count: 32)) } + [
            .mark(head: head, cursor: cursor(objects.count), hasMore: false)
        ]
    }

    /// The addresses of what counts.
    package var addresses: [[UInt8]] { objects.indices.filter { !swept.contains($0) }.map { objects[$0].address } }

    /// - Returns: nil if the head is another one.
    package func sweep(_ sweep: ZoneSweep, by device: [UInt8]) throws(SyncError) -> SweepReceipt? {
        guard head == sweep.expectedHead else { return nil }
        guard staging.subtracting([device]).isEmpty else { throw SyncError(.refused, at: "server.zone.push-pending") }
        let wanted = Set(sweep.objects)
        var (count, byteCount) = (0, 0)
        for index in objects.indices where wanted.contains(objects[index].address) && swept.insert(index).inserted {
            // Pushed again it is new.
            digests.remove(objects[index].address + objects[index].ciphertext)
            count += 1
            byteCount += objects[index].ciphertext.count
        }
        sweepCount += count
        return SweepReceipt(count: UInt64(count), byteCount: UInt64(byteCount))
    }

    /// Puts the zone back to what it was after so many objects.
    package func restore(objectCount: Int, head: [UInt8]?) {
        objects = Array(objects.prefix(objectCount))
        swept = swept.filter { $0 < objectCount }
        digests = Set(objects.map { $0.address + $0.ciphertext })
        self.head = head
        family &+= 1
    }

    package func remove(_ address: BlobAddress) {
        let kept = objects.indices.filter { objects[$0].address != address.bytes }
        for object in objects where object.address == address.bytes {
            digests.remove(object.address + object.ciphertext)
        }
        swept = Set(kept.indices.filter { swept.contains(kept[$0]) })
        objects = kept.map { objects[$0] }
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
    package var onSweep: ((ZoneSweep) -> Result<SweepReceipt?, SyncError>?)?

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
        if faultRate > 0, !delayed.isEmpty, random.int(in: 0...3) == 0 {
            _ = zone.push(delayed.removeFirst(), by: device)
        }
        let reply: ServerReply
        switch request {
        case .head: reply = .head(zone.state)
        case .changes(let since): return stream(zone.frames(since: since), isCut: fault >= 1, frame)
        case .fetch(let addresses): return stream(zone.fetch(addresses), isCut: fault >= 1, frame)
        case .push(let push):
            reply = zone.push(push, by: device)
            if fault == 2 { _ = zone.push(push, by: device) }
            if fault == 3 { delayed.append(push) }
        case .acknowledge(let bytes):
            zone.acknowledgements[device] = bytes
            reply = .acknowledged
        case .acknowledgements:
            reply = .acknowledgements(
                zone.acknowledgements.compactMap { device, bytes in
                    UniqueID(bytes: device).map { Acknowledgements.Entry(deviceID: $0, bytes: bytes) }
                })
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

extension SimulatedNetwork: SweepTransport {
    package func storedObjects(after: [UInt8]) throws(SyncError) -> AddressPage {
        let all = zone.addresses
        // Small pages, so that several are read.
        let start = after.isEmpty ? 0 : min(Int(after[0]) << 8 + Int(after[1]), all.count)
        let end = min(start + 50, all.count)
        return AddressPage(
            next: end < all.count ? [UInt8(end >> 8), UInt8(end & 255)] : [], addresses: Array(all[start..<end]))
    }

    package func storedChunks(after: [UInt8]) throws(SyncError) -> AddressPage { AddressPage(next: [], addresses: []) }

    package func sweep(_ sweep: ZoneSweep) throws(SyncError) -> SweepReceipt? {
        if let reply = onSweep?(sweep) { return try reply.get() }
        return try zone.sweep(sweep, by: device)
    }
}
