// What every storage of the server must do with what one device can take away, and with heads that are none.

import CoffretBase
import CoffretCrypto
import CoffretServer
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Testing

extension StoreCheck {
    private static func owner(_ device: TestDevice, _ account: TestAccount) -> SessionOwner {
        SessionOwner(accountID: account.id, deviceID: device.id.bytes)
    }

    private static func revoke(_ device: TestDevice, _ account: TestAccount, in world: StoreWorld) throws {
        let link = account.revoking(device)
        _ = try #require(endOf(try world.store.append(link, to: .device, account.id, by: account.owner)))
        try account.follow(link)
    }

    private static func keptWhileRunning(_ world: StoreWorld) throws {
        let account = try world.account()
        let zone = try world.zone(account)
        let (old, head) = (ZoneObject.random(), ZoneObject.random())
        try world.push([old], on: nil, in: zone, by: account.owner)
        try world.push([head], on: old.address, in: zone, by: account.owner)
        _ = try world.sweep([old.address], in: zone, account)
        try world.store.post(MailboxPost(deviceID: nil, bytes: [1]), by: account.owner)
        let deleted = try world.zone(account)
        try world.store.delete(deleted, by: account.owner)
        try world.store.clean()
        // It starts again, with a date of the next century, then with the right one, and then goes on.
        let uptime = MovingClock()
        let years: Int64 = 100 * 365 * 86_400_000
        world.clock.now += years
        let store = try ServerStore(
            database: world.store.database, random: SystemRandomSource(), clock: world.clock,
            uptime: { [uptime] in uptime.now })
        func isThere() throws -> Bool {
            let swept = try store.objects(at: [old.address], in: zone, for: account.owner).batch.objects.count
            let mail = try store.mail(for: account.owner).entries.count
            let rows = try world.store.database.lookUp("SELECT COUNT(*) FROM deletions", [])
            #expect(swept == mail && Int64(mail) == rows[0][0].int)
            return swept == 1
        }
        try store.clean()
        #expect(try isThere())
        world.clock.now -= years
        // The first time after the clock went back counts for nothing, a jump for as long as the process ran.
        for day in 1...91 {
            world.clock.now += day == 10 ? years : 86_400_000
            uptime.now += 86_400_000
            try store.clean()
            let swept = try store.objects(at: [old.address], in: zone, for: account.owner).batch.objects.count
            #expect((swept == 1) == (day <= 31), "day \(day)")
        }
        #expect(try store.mail(for: account.owner).entries.count == 1)
        (world.clock.now, uptime.now) = (world.clock.now + 86_400_000, uptime.now + 86_400_000)
        try store.clean()
        #expect(try store.mail(for: account.owner).entries.isEmpty)
        #expect(try world.store.database.lookUp("SELECT COUNT(*) FROM deletions", []) == [[.int(0)]])
    }

    static let ends: [StoreCheck] = [
        StoreCheck(
            name: "storage L2: what is kept for days is kept while a server runs, whatever its clock says",
            body: keptWhileRunning),
        StoreCheck(name: "storage H5: a zone is deleted by a device's word, is kept for 30 days, and comes back (R110)")
        {
            world in
            let account = try world.account()
            let vault = try account.vault()
            let zone = vault.vaultID
            _ = try world.store.found(vault, by: account.owner)
            let thief = try world.secondDevice(of: account)
            let (head, old) = (ZoneObject.random(), ZoneObject.random())
            let chunk = SystemRandomSource().bytes(count: 32)
            try world.put(chunk, at: chunk, in: zone, by: account.owner)
            try world.push([head, old], on: nil, in: zone, by: account.owner)
            let (state, used) = (try world.store.head(zone, for: account.owner), try world.used(account))
            // A session's token alone, another device's word, and one for another zone.
            let zeros = ZoneDeletion(signature: [UInt8](repeating: 0, count: 64))
            let proof = ZoneProof.deletion(accountID: account.id)
            let theirs = ZoneDeletion(signature: proof.sign(zone: zone, with: thief.signing))
            let other = ZoneDeletion(signature: proof.sign(zone: chunk, with: account.device.signing))
            for deletion in [zeros, theirs, other] {
                #expect(code { try world.store.deleteZone(deletion, zone, by: account.owner) } == .forbidden)
            }
            #expect(try world.store.head(zone, for: account.owner) == state)
            for way in ["made again", "revoked"] {
                let who = way == "revoked" ? owner(thief, account) : account.owner
                try world.store.delete(zone, by: who)
                #expect(code { _ = try world.store.head(zone, for: account.owner) } == .zoneUnknown)
                #expect(code { _ = try world.pull(zone, account) } == .zoneUnknown)
                #expect(
                    code { _ = try world.store.chunk(address: chunk, variant: 0, in: zone, for: account.owner) }
                        == .zoneUnknown)
                #expect(try world.store.zones(of: account.owner).isEmpty)
                #expect(try world.used(account) < used)
                world.clock.now += 30 * 86_400_000
                try world.store.clean()
                if way == "revoked" {
                    // Another device's sync does not undo it.
                    #expect(code { _ = try world.store.take([vault.item], by: account.owner) } == .zoneUnknown)
                    try revoke(thief, account, in: world)
                } else {
                    #expect(try world.store.found(vault, by: account.owner) == state)
                    #expect(try world.used(account) == used)
                }
                let now = try world.store.head(zone, for: account.owner)
                #expect(now.address == state.address && now.cursor == state.cursor && now.word == state.word, "\(way)")
                #expect(try world.pull(zone, account).0 == [head, old])
                #expect(
                    try world.store.chunk(address: chunk, variant: 0, in: zone, for: account.owner).bytes == chunk)
                #expect(try world.store.links(.member, zone, from: 0, for: account.owner).links == [vault.link])
            }
            // Its time over, all of it is gone, and the same vault begins anew.
            try world.store.delete(zone, by: account.owner)
            world.clock.now += 30 * 86_400_000 + 1
            try world.store.clean()
            let anew = try world.store.found(vault, by: account.owner)
            #expect(anew.address == nil)
            #expect(try world.pull(zone, account).0.isEmpty)
        },
        StoreCheck(name: "storage H5: a chunk is withdrawn by who put it down, before a head names it, and is kept") {
            world in
            let account = try world.account()
            let zone = try world.zone(account)
            let thief = try world.secondDevice(of: account)
            let chunks = (0..<3).map { _ in SystemRandomSource().bytes(count: 32) }
            let get = { (chunk: [UInt8]) in
                try world.store.chunk(address: chunk, variant: 0, in: zone, for: account.owner).bytes
            }
            let listed = { try world.listed(.chunk, zone, account) }
            try world.put(chunks[0], at: chunks[0], in: zone, by: account.owner)
            try world.push([ZoneObject.random()], on: nil, in: zone, by: account.owner)
            try world.put(chunks[1], at: chunks[1], in: zone, by: account.owner)
            // Named by a head, or put down by another: nothing happens, and nobody is told which.
            for device in [account.owner, owner(thief, account)] {
                try world.store.withdrawChunk(address: chunks[0], in: zone, by: device)
            }
            try world.store.withdrawChunk(address: chunks[1], in: zone, by: owner(thief, account))
            #expect(try listed() == chunks.prefix(2).sorted { $0.lexicographicallyPrecedes($1) })
            let used = try world.used(account)
            try world.store.withdrawChunk(address: chunks[1], in: zone, by: account.owner)
            #expect(try listed() == [chunks[0]] && get(chunks[1]) == chunks[1])
            #expect(try world.used(account) < used)
            // A thief's own comes back with his revocation as well.
            try world.put(chunks[2], at: chunks[2], in: zone, by: owner(thief, account))
            try world.store.withdrawChunk(address: chunks[2], in: zone, by: owner(thief, account))
            try revoke(thief, account, in: world)
            world.clock.now += 31 * 86_400_000
            try world.store.clean()
            #expect(try listed() == [chunks[0], chunks[2]].sorted { $0.lexicographicallyPrecedes($1) })
            #expect(code { _ = try get(chunks[1]) } == .objectUnknown)
        },
        StoreCheck(
            name: "storage H6: a head that is no object, an epoch that no link made, a push without a word (R111)"
        ) {
            world in
            let account = try world.account()
            let zone = try world.zone(account)
            let thief = try world.secondDevice(of: account)
            let (first, second) = (ZoneObject.random(), ZoneObject.random())
            let nothing = SystemRandomSource().bytes(count: 32)
            try world.push([first], on: nil, in: zone, by: account.owner)
            let state = try world.store.head(zone, for: account.owner)
            #expect(state.word?.deviceID == account.device.id && state.word?.expectedHead == nil)
            func refused(_ push: ZonePush, as device: TestDevice? = nil) -> ServerFailure.Code? {
                code { _ = try world.store.take(push, to: zone, by: owner(device ?? account.device, account)) }
            }
            let wild = ZonePush(expectedHead: first.address, newHead: nothing, epoch: 1, objects: [second])
            #expect(refused(wild) == .headUnknown)
            for epoch in [2, UInt32.max] {
                let push = ZonePush(
                    expectedHead: first.address, newHead: second.address, epoch: epoch, objects: [second])
                #expect(refused(push) == .epochUnknown)
            }
            let good = ZonePush(expectedHead: first.address, newHead: second.address, epoch: 1, objects: [second])
            let staged = ZonePush(expectedHead: first.address, newHead: first.address, epoch: 1, objects: [second])
            for (push, key) in [
                (good, thief.signing), (good, nil), (staged, nil),
                (ZonePush(expectedHead: nil, newHead: second.address, epoch: 1, objects: []), account.device.signing),
            ] {
                var unsigned = good
                if push == staged { unsigned = staged }
                unsigned.signature = key.map { push.signed(for: zone, by: $0).signature } ?? unsigned.signature
                #expect(
                    code { _ = try world.store.push(unsigned, to: zone, by: account.owner) } == .forbidden)
            }
            #expect(try world.store.head(zone, for: account.owner) == state)
            #expect(try world.pull(zone, account).0 == [first], "nothing of a refused push is there")
            // What was swept is no head either; what is there already is.
            try world.push([second], on: first.address, in: zone, by: account.owner)
            _ = try world.sweep([first.address], in: zone, account)
            let back = ZonePush(expectedHead: second.address, newHead: first.address, epoch: 1, objects: [])
            #expect(refused(back) == .headUnknown)
            // Who set it, and over what.
            let rubbish = (0..<2).map { _ in ZoneObject.random() }
            try world.push([rubbish[0]], on: second.address, in: zone, by: owner(thief, account))
            try world.push([rubbish[1]], on: rubbish[0].address, in: zone, by: owner(thief, account))
            let bad = try world.store.head(zone, for: account.owner)
            #expect(bad.word?.deviceID == thief.id && bad.word?.expectedHead == rubbish[0].address)
            try revoke(thief, account, in: world)
            let over = ZonePush(expectedHead: rubbish[1].address, newHead: second.address, epoch: 1, objects: [])
            #expect(refused(over) == nil)
            let now = try world.store.head(zone, for: account.owner)
            #expect(now.address == second.address && now.word?.deviceID == account.device.id)
            #expect(
                refused(
                    ZonePush(expectedHead: second.address, newHead: second.address, epoch: 1, objects: []), as: thief)
                    == .forbidden, "a revoked device, whose session was under way")
        },
        StoreCheck(
            name: "storage M4: a revocation waits for no sweep, which comes back by and by and is there meanwhile"
        ) {
            world in
            let account = try world.account()
            let zone = try world.zone(account)
            let thief = try world.secondDevice(of: account)
            let objects = (0..<700).map { _ in ZoneObject.random(byteCount: 64) }
            try world.push(objects, on: nil, in: zone, by: account.owner)
            let used = try world.used(account)
            let gone = Array(objects.dropFirst())
            _ = try world.sweep(gone.map(\.address), in: zone, account, as: thief)
            try revoke(thief, account, in: world)
            #expect(try world.pull(zone, account).0.count == 1, "none was put back with the link")
            #expect(try world.fetched(gone.map(\.address), zone, account).count == gone.count)
            // Its time over before the server came to it: it stays.
            world.clock.now += 40 * 86_400_000
            var asked = 0
            try world.store.clean {
                asked += 1
                return asked < 5
            }
            let some = try world.pull(zone, account).0.count
            #expect(some > 1 && some < objects.count && (some - 1) % 256 == 0, "\(some)")
            #expect(try world.fetched(gone.map(\.address), zone, account).count == gone.count)
            try world.store.clean()
            #expect(Set(try world.pull(zone, account).0.map(\.address)) == Set(objects.map(\.address)))
            #expect(try world.used(account) >= used)
        },
    ]
}
