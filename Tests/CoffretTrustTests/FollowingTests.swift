// Following a chain, recoveries by paper, and chains that chance made.

import CoffretBase
import CoffretCrypto
import CoffretTestSupport
import CoffretTrust
import Testing

@Suite("Following chains")
struct FollowingTests {
    let generator = SeededGenerator.fromEnvironment()
    private let day: Milliseconds = 86_400_000

    private func append(
        _ operation: DeviceOperation, _ signer: TestDevice, to links: inout [UnverifiedLink]
    ) throws {
        let chain = try VerifiedDeviceChain.verify(links)
        links.append(chain.sign(operation, details: [], with: signer.signing))
    }

    private func add(_ device: TestDevice, _ signer: TestDevice, to links: inout [UnverifiedLink]) throws {
        try append(device.joining(try .verify(links)), signer, to: &links)
    }

    private func code<Result>(_ body: () throws -> Result) -> TrustError.Code? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? TrustError)?.code
        }
    }

    /// A laptop, a sheet of paper, a phone.
    private func account() throws -> (links: [UnverifiedLink], laptop: TestDevice, paper: TestDevice, phone: TestDevice)
    {
        let (laptop, paper, phone) = (
            TestDevice(generator), TestDevice(generator, kind: .paper), TestDevice(generator)
        )
        var links = [laptop.found()]
        try add(paper, laptop, to: &links)
        try add(phone, laptop, to: &links)
        return (links, laptop, paper, phone)
    }

    @Test("old links are hashed and not verified again; new ones are")
    func verifiedBefore() throws {
        var (links, laptop, _, phone) = try account()
        let seen = try VerifiedDeviceChain.verify(links)
        try append(.revoke(id: phone.id), laptop, to: &links)
        func with(bit: Int, of index: Int) throws -> [UnverifiedLink] {
            // The signature is the end of a link's bytes, and not under its hash.
            var bytes = links[index].encoded
            bytes[bytes.count - 1 - bit / 8] ^= 1 << UInt8(bit % 8)
            var changed = links
            changed[index] = try UnverifiedLink(decoding: bytes)
            return changed
        }
        let old = try with(bit: 9, of: 1)
        #expect(code { try VerifiedDeviceChain.verify(old) } == .signatureInvalid)
        #expect(code { try VerifiedDeviceChain.verify(old, remembered: seen.head) } == nil)
        #expect(try seen.following(old).chain.links.map(\.hash) == VerifiedDeviceChain.verify(links).links.map(\.hash))
        let new = try with(bit: 9, of: 3)
        #expect(code { try VerifiedDeviceChain.verify(new, remembered: seen.head) } == .signatureInvalid)
        #expect(code { try seen.following(new) } == .signatureInvalid)
        #expect(code { try seen.following(Array(new[2...])) } == .signatureInvalid)
    }

    @Test("a chain is followed from any link that both sides have, and from none that they have not")
    func partial() throws {
        var (links, laptop, _, phone) = try account()
        let seen = try VerifiedDeviceChain.verify(links)
        try append(.revoke(id: phone.id), laptop, to: &links)
        let whole = try VerifiedDeviceChain.verify(links)
        for start in 0...3 {
            let followed = try seen.following(Array(links[start...]))
            #expect(followed.chain == whole)
            #expect(followed.newLinks.map(\.hash) == [whole.head.linkHash])
        }
        #expect(code { try seen.following([]) } == .chainRolledBack)
        #expect(code { try seen.following([links[0], links[1]]) } == .chainRolledBack)
        #expect(code { try seen.asOf(0)!.following([links[2]]) } == .chainGap)
        let rival = try VerifiedDeviceChain.verify([phone.found()])
        #expect(code { try seen.following(rival.links.map(\.link)) } == .chainIDDiffers)
    }

    @Test("protocol 17: two devices revoke each other; paper decides, loudly, once")
    func recovery() throws {
        let (links, laptop, paper, phone) = try account()
        let base = try VerifiedDeviceChain.verify(links)
        let byThief = try base.following([base.sign(.revoke(id: laptop.id), details: [], with: phone.signing)]).chain
        let byOwner = base.sign(.revoke(id: phone.id), details: [], with: laptop.signing)
        #expect(code { try byThief.following([byOwner]) } == .chainForked, "the server does not decide")
        let kept = [laptop.id, paper.id].sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
        let rescue = base.sign(.recover(kept: kept), details: [], with: paper.signing)
        let followed = try byThief.following([rescue])
        #expect(followed.replacedLinks.map(\.hash) == [byThief.head.linkHash])
        #expect(followed.chain.device(laptop.id)?.isTrusted == true)
        #expect(followed.chain.device(phone.id)?.revokedAt == 3)
        let second = base.sign(.recover(kept: [paper.id]), details: [], with: paper.signing)
        #expect(code { try followed.chain.following([second]) } == .chainForked, "never two different ones")
        #expect(code { try followed.chain.following(byThief.links.map(\.link)) } == .chainForked)
    }

    @Test("protocol 17: paper that a thief brings has no power over the paper that was there before")
    func paperOfAThief() throws {
        let (links, laptop, paper, phone) = try account()
        let base = try VerifiedDeviceChain.verify(links)
        let own = TestDevice(generator, kind: .paper)
        var stolen = links
        try add(own, phone, to: &stolen)
        let deputy = TestDevice(generator, kind: .paper)
        try add(deputy, own, to: &stolen)
        let before = try VerifiedDeviceChain.verify(stolen)
        for device in [phone, own, deputy] {
            let refused = before.sign(.revoke(id: paper.id), details: [], with: device.signing)
            #expect(code { try before.following([refused]) } == .paperOutranks)
        }
        func kept(_ devices: TestDevice...) -> DeviceOperation {
            .recover(kept: devices.map(\.id).sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) })
        }
        let coup = before.sign(kept(own), details: [], with: own.signing)
        #expect(code { try before.following([coup]) } == .paperOutranks)
        try append(kept(own, paper), own, to: &stolen)
        let seen = try VerifiedDeviceChain.verify(stolen)
        let rescue = base.sign(kept(laptop, paper), details: [], with: paper.signing)
        let followed = try seen.following([rescue])
        #expect(followed.chain.devices.filter(\.isTrusted).map(\.id) == [laptop.id, paper.id])
        #expect(code { try followed.chain.following(stolen) } == .chainForked)
    }

    @Test("protocol 17: a stolen device's announcement is believed only seven days after it could be seen")
    func announcements() throws {
        var (links, _, paper, phone) = try account()
        let seen = try VerifiedDeviceChain.verify(links)
        let watch = ChainWatch(confirmedAt: 100 * day)
        // The thief dates its announcement back, and carries it out at once.
        try append(.announceRevocation(id: paper.id, time: 90 * day), phone, to: &links)
        let announced = try VerifiedDeviceChain.verify(links)
        #expect(announced.announcements.map(\.target) == [paper.id])
        try append(.revokeAnnounced(id: paper.id, time: 98 * day), phone, to: &links)
        let tail = Array(links[2...])
        #expect(code { try seen.following(tail, watch: watch, now: 101 * day) } == .revocationTooEarly)
        let first = try seen.following(Array(tail.dropLast()), watch: watch, now: 101 * day)
        #expect(first.watch == ChainWatch(confirmedAt: 101 * day, announcedAfter: [3: 100 * day]))
        #expect(code { try first.chain.following(tail, watch: first.watch, now: 107 * day - 1) } == .revocationTooEarly)
        let second = try first.chain.following(tail, watch: first.watch, now: 107 * day)
        #expect(second.chain.device(paper.id)?.isTrusted == false)
        #expect(second.chain.announcements.isEmpty)
        // Who was away for longer than that has no cause to wait.
        #expect(code { try seen.following(tail, watch: watch, now: 107 * day) } == nil)
    }

    @Test("an announcement falls with the device that made it")
    func announcementLapses() throws {
        var (links, laptop, paper, phone) = try account()
        try append(.announceRevocation(id: paper.id, time: 0), phone, to: &links)
        try append(.revoke(id: phone.id), laptop, to: &links)
        #expect(try VerifiedDeviceChain.verify(links).announcements.isEmpty)
    }

    /// A chain of random operations by random trusted devices, some of them refused.
    private func randomChain(_ generator: SeededGenerator, length: Int) throws -> ([UnverifiedLink], [TestDevice]) {
        var devices = [TestDevice(generator)]
        var links = [devices[0].found()]
        while links.count < length {
            let chain = try VerifiedDeviceChain.verify(links)
            let trusted = chain.devices.filter(\.isTrusted).map(\.id)
            let signerID = generator.element(of: trusted)
            let signer = devices.first { $0.id == signerID }!
            let target = generator.element(of: trusted)
            let time = Milliseconds(links.count) * 4 * day
            let operation: DeviceOperation
            switch generator.int(in: 0...7) {
            case 0 where trusted.count > 1: operation = .revoke(id: target)
            case 1:
                let kept = trusted.filter { $0 == signer.id || generator.bool() }
                operation = .recover(kept: kept.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) })
            case 2: operation = .announceRevocation(id: target, time: time)
            case 3: operation = .revokeAnnounced(id: target, time: time)
            default:
                let device = TestDevice(generator, kind: generator.int(in: 0...2) == 0 ? .paper : .ordinary)
                devices.append(device)
                operation = device.joining(chain)
            }
            let link = chain.sign(operation, details: [], with: signer.signing)
            if let next = try? chain.following([link]).chain, next.devices.contains(where: \.isTrusted) {
                links.append(link)
            }
        }
        return (links, devices)
    }

    @Test("property: in whatever steps a chain is followed, the end is the same")
    func steps() {
        forAll(count: 40) { generator in
            let (links, _) = try randomChain(generator, length: 12)
            let whole = try VerifiedDeviceChain.verify(links)
            var current = try VerifiedDeviceChain.verify([links[0]])
            while current.links.count < links.count {
                let start = generator.int(in: 0...current.links.count)
                let end = generator.int(in: current.links.count...links.count)
                guard start < end else { continue }
                current = try current.following(Array(links[start..<end])).chain
            }
            try require(current == whole)
            let number = UInt64(generator.int(in: 0...links.count - 1))
            let remembered = RememberedHead(sequenceNumber: number, linkHash: whole.links[Int(number)].hash)
            try require(try VerifiedDeviceChain.verify(links, remembered: remembered) == whole)
            try require(try whole.asOf(number) == VerifiedDeviceChain.verify(Array(links[...Int(number)])))
        }
    }

    @Test("property: links in another order, left out or doubled are refused")
    func disorder() {
        forAll(count: 40) { generator in
            let (links, _) = try randomChain(generator, length: 8)
            let whole = try VerifiedDeviceChain.verify(links)
            var changed = links
            switch generator.int(in: 0...2) {
            case 0: changed.swapAt(generator.int(in: 0...3), generator.int(in: 4...7))
            case 1: changed.remove(at: generator.int(in: 1...6))
            default: changed.insert(generator.element(of: links), at: generator.int(in: 0...8))
            }
            try require(code { try VerifiedDeviceChain.verify(changed) } != nil)
            try require(code { try whole.following(changed) } != nil)
        }
    }

    @Test("property: of two rival ends at most one replaces the other, and only by a recovery")
    func rivals() {
        forAll(count: 60) { generator in
            let (links, devices) = try randomChain(generator, length: 7)
            let forkAt = generator.int(in: 1...6)
            let base = try VerifiedDeviceChain.verify(Array(links[..<forkAt]))
            let seen = try VerifiedDeviceChain.verify(links)
            for device in devices {
                let trusted = base.devices.filter(\.isTrusted).map(\.id)
                    .sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
                let link = base.sign(.recover(kept: trusted), details: [], with: device.signing)
                guard let rival = try? base.following([link]).chain,
                    let followed = try? seen.following(rival.links.map(\.link)), !followed.replacedLinks.isEmpty
                else { continue }
                try require(device.kind == .paper && seen.device(device.id)?.isTrusted != false)
                try require(code { try followed.chain.following(links) } != nil, "back again")
            }
        }
    }
}
