// Zones: objects, one head, a position that only grows. The one thing to keep true: a push is stored whole or
// not at all, and whoever reads up to a position has everything that was stored before it.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretTrust
package import CoffretWire

package enum PushOutcome: Equatable, Sendable {
    case accepted(PushReceipt)
    /// The zone's head is another one.
    case moved(LogHead)
}

/// Objects in the order in which they were stored, and where they end.
package struct ChangeBatch: Sendable {
    package let objects: [(object: ZoneObject, uploader: [UInt8])]
    /// The zone's.
    package let head: [UInt8]?
    package let cursor: [UInt8]
    package let isLast: Bool
}

extension ServerStore {
    /// Bytes of objects that one batch holds, beyond its first object.
    static let batchByteCount = 1 << 20

    package func zones(of owner: SessionOwner) throws -> [[UInt8]] {
        try database.lookUp(
            "SELECT zone FROM zones WHERE account = $1 ORDER BY number", [.bytes(owner.accountID)]
        ).map { $0[0].bytes }
    }

    /// Makes a zone of a founding link that was verified. The account is locked.
    ///
    /// - Parameters:
    ///   - founder: who signed the link; `owner`, who brings it, may be another.
    /// - Returns: false if there is one.
    func makeZone(
        _ id: [UInt8], foundedBy link: [UInt8], of founder: SessionOwner, now: Int64, by owner: SessionOwner,
        _ session: any SQLSession
    ) throws -> Bool {
        guard try session.first("SELECT account FROM zones WHERE zone = $1", .bytes(id)) == nil else { return false }
        let count = try session.first("SELECT COUNT(*) FROM zones WHERE account = $1", .bytes(owner.accountID))
        var countMax = quota.zoneCount
        if try isGuest(owner.accountID, session) {
            // A guest knows people too; two of its devices may have made a vault for that.
            guard try VaultFoundation(decoding: UnverifiedLink(decoding: link)).purpose == .account else {
                throw ServerFailure(.forbidden, "a guest's zone")
            }
            countMax = Self.guestZoneCountMax
        }
        guard (count?[0].int ?? 0) < countMax else { throw ServerFailure(.quotaExceeded) }
        try session.run(
            """
            INSERT INTO zones(zone, account, head, epoch, seq) VALUES($1, $2, $3, 0, 0)
            """, .bytes(id), .bytes(owner.accountID), .bytes([]))
        try session.run("DELETE FROM links WHERE kind = 3 AND chain = $1", .bytes(id))
        try store(link, .member, id, at: 0, now: now, session)
        try charge(owner.accountID, Int64(link.count) + Self.rowByteCount, session, .small)
        let number = try session.first("SELECT number FROM zones WHERE zone = $1", .bytes(id))?[0] ?? .null
        let account = SQLValue.bytes(founder.accountID)
        try session.run(
            "INSERT INTO members(number, account, role, accepted, since) VALUES($1, $2, 1, 1, 0)", number, account)
        try session.run(
            "INSERT INTO vaults(number, links, epoch, oldest, word, people, words) VALUES($1, 1, 1, 1, $2, 0, 0)",
            number,
            .bytes([]))
        // A vault's id is the hash of the link that founds it.
        try session.run(
            """
            INSERT INTO steps(number, seq, hash, account, device, payer, sort, time) VALUES($1, 0, $2, $3, $4, $5, 0, $6)
            """, number, .bytes(id), account, .bytes(founder.deviceID), .bytes(owner.accountID), .int(age.now))
        return true
    }

    /// Whether there is a zone. One that this device deleted comes back.
    ///
    /// - Throws: `.zoneUnknown` for one that is there for others alone.
    func findsZone(_ id: [UInt8], of owner: SessionOwner) throws -> Bool {
        guard let row = try database.lookUp("SELECT account FROM zones WHERE zone = $1", [.bytes(id)]).first
        else { return false }
        // Deleted, and kept: another device's sync does not undo that.
        guard try !row[0].bytes.isEmpty || bringBack(id, for: owner) else { throw ServerFailure(.zoneUnknown) }
        _ = try zone(id, of: owner)
        return true
    }

    /// The state of a zone: one look-up, whatever it holds.
    package func head(_ id: [UInt8], for owner: SessionOwner) throws -> LogHead {
        logHead(of: try zone(id, of: owner))
    }

    // MARK: Push

    package func push(
        _ push: ZonePush, to id: [UInt8], by owner: SessionOwner
    ) throws -> PushOutcome {
        let pushed = push.objects.reduce(0) { $0 + $1.ciphertext.count }
        guard pushed == 0 || database.hasRoom(for: pushed) else { throw ServerFailure(.storageFull) }
        // Digests before the lock: this is the longest part.
        let digests = push.objects.map { BLAKE2b.hash($0.ciphertext) }
        return try database.write { session in
            let zone = try zone(id, of: owner, session, locking: true)
            let isRepeated = !push.isStaging && zone.head == push.newHead
            guard isRepeated || zone.head == push.expectedHead ?? [] else { return .moved(logHead(of: zone)) }
            let word = try checkWord(for: push, digests, zone, id, by: owner, session)
            var seq = try store(push, digests, in: zone, by: owner, session)
            let isMoving = !push.isStaging && !isRepeated
            if push.isStaging {
                try noteStaging(in: zone.number, by: owner, session)
            } else {
                try endStaging(in: zone.number, by: owner, session)
            }
            if isMoving {
                seq += 1
                try checkHead(push, zone, session)
                try keep(word, in: zone.number, session)
            }
            guard seq != zone.seq else { return .accepted(PushReceipt(cursor: cursor(seq))) }
            let head = isMoving ? push.newHead ?? [] : zone.head
            // The epoch that the head's push stated, so that its word can be checked.
            try session.run(
                "UPDATE zones SET head = $1, epoch = $2, seq = $3 WHERE number = $4", .bytes(head),
                .int(isMoving ? Int64(push.epoch) : zone.epoch), .int(seq), .int(zone.number))
            if isMoving {
                let event = ServerEvent.zone(id: id, head: push.newHead, cursor: cursor(seq))
                try tellMembers(of: zone.number, event, session)
            }
            return .accepted(PushReceipt(cursor: cursor(seq)))
        }
    }

    /// Puts a push's objects down.
    ///
    /// - Returns: the zone's newest position.
    private func store(
        _ push: ZonePush, _ digests: [[UInt8]], in zone: ZoneRow, by owner: SessionOwner, _ session: any SQLSession
    ) throws -> Int64 {
        var seq = zone.seq
        var byteCount: Int64 = 0
        let hasSwept = try hasSwept(zone.number, session)
        for (object, digest) in zip(push.objects, digests) {
            // What was swept is as new.
            let added = try session.run(
                """
                INSERT INTO objects(number, seq, address, digest, account, data) VALUES($1, $2, $3, $4, $5, $6)
                ON CONFLICT(number, address, digest) DO UPDATE SET seq = excluded.seq, account = excluded.account
                WHERE objects.seq < 0
                """, .int(zone.number), .int(seq + 1), .bytes(object.address), .bytes(digest),
                .bytes(owner.accountID), .bytes(object.ciphertext))
            guard added == 1 else { continue }
            seq += 1
            byteCount += Int64(object.ciphertext.count) + Self.rowByteCount
            if hasSwept { try forgetSweep(of: .object, object.address, digest, in: zone.number, session) }
        }
        try charge(owner.accountID, byteCount, session)
        return seq
    }

    /// A head is something that lies in the zone.
    private func checkHead(_ push: ZonePush, _ zone: ZoneRow, _ session: any SQLSession) throws {
        // The sign: by the address, and not through the whole zone in order.
        let there = try session.first(
            "SELECT seq FROM objects WHERE number = $1 AND address = $2 AND +seq > 0 LIMIT 1", .int(zone.number),
            .bytes(push.newHead ?? []))
        guard there != nil else { throw ServerFailure(.headUnknown) }
    }

    // MARK: Pull

    /// What was stored after a cursor; an unknown cursor is the beginning.
    package func changes(
        in id: [UInt8], since cursor: [UInt8], for owner: SessionOwner
    ) throws -> ChangeBatch {
        try database.read { session in
            let zone = try zone(id, of: owner, session)
            let start = position(cursor, upTo: zone.seq)
            // Sizes first, so that what is fetched is bounded by bytes and not by rows.
            let sizes = try session.query(
                "SELECT seq, LENGTH(data) FROM objects WHERE number = $1 AND seq > $2 ORDER BY seq LIMIT 4096",
                [.int(zone.number), .int(start)])
            var byteCount: Int64 = 0
            var last = zone.seq
            var isLast = sizes.count < 4_096
            for row in sizes {
                if byteCount > 0, byteCount + row[1].int > Int64(Self.batchByteCount) {
                    isLast = false
                    break
                }
                byteCount += row[1].int
                last = row[0].int
            }
            let rows =
                sizes.isEmpty
                ? []
                : try session.query(
                    "SELECT address, data, account FROM objects WHERE number = $1 AND seq > $2 AND seq <= $3 ORDER BY seq",
                    [.int(zone.number), .int(start), .int(last)])
            return batch(rows.map(Self.object), zone, seq: isLast ? zone.seq : last, isLast: isLast)
        }
    }

    /// Where a fetch goes on: behind a variant of an address.
    package struct FetchPlace: Equatable, Sendable {
        /// The place among the addresses that were asked for.
        package var index = 0
        /// The position of the variant that was sent last; 0 for none.
        package var seq: Int64 = 0

        package init() {}
    }

    /// Addresses that are looked for in one batch.
    private static let batchAddressCount = 256

    /// Variants of some addresses, with those that were swept and are kept: who asks for one needs it. Of each address the
    /// first 64, those that count before the others.
    ///
    /// - Returns: as many as one batch holds, and where the next goes on; nil at the end.
    package func objects(
        at addresses: [[UInt8]], from place: FetchPlace = FetchPlace(), in id: [UInt8], for owner: SessionOwner
    ) throws -> (batch: ChangeBatch, next: FetchPlace?) {
        try database.read { session in
            let zone = try zone(id, of: owner, session)
            var objects: [(object: ZoneObject, uploader: [UInt8])] = []
            var (place, byteCount) = (place, 0)
            let end = min(addresses.count, place.index + Self.batchAddressCount)
            while place.index < end {
                // Lengths first. The sign: by the address, and not through the whole zone in order.
                let sizes = try session.query(
                    """
                    SELECT seq, LENGTH(data) FROM objects WHERE number = $1 AND address = $2
                    ORDER BY CASE WHEN seq > 0 THEN 0 ELSE 1 END, +seq LIMIT \(ServerLimits.variantCountMax)
                    """, [.int(zone.number), .bytes(addresses[place.index])])
                let sent = sizes.firstIndex { abs($0[0].int) == abs(place.seq) }.map { $0 + 1 } ?? 0
                for row in sizes[sent...] {
                    byteCount += Int(row[1].int)
                    if !objects.isEmpty, byteCount > Self.batchByteCount {
                        return (batch(objects, zone, seq: zone.seq, isLast: false), place)
                    }
                    let found = try session.query(
                        "SELECT address, data, account FROM objects WHERE number = $1 AND seq = $2",
                        [.int(zone.number), row[0]])
                    objects += found.map(Self.object)
                    place.seq = row[0].int
                }
                place.index += 1
                place.seq = 0
            }
            let isLast = place.index == addresses.count
            return (batch(objects, zone, seq: zone.seq, isLast: isLast), isLast ? nil : place)
        }
    }

    private func batch(
        _ objects: [(object: ZoneObject, uploader: [UInt8])], _ zone: ZoneRow, seq: Int64, isLast: Bool
    ) -> ChangeBatch {
        ChangeBatch(
            objects: objects, head: zone.head.isEmpty ? nil : zone.head, cursor: cursor(seq), isLast: isLast)
    }

    private static func object(_ row: [SQLValue]) -> (object: ZoneObject, uploader: [UInt8]) {
        (ZoneObject(address: row[0].bytes, ciphertext: row[1].bytes), row[2].bytes)
    }

    // MARK: Acknowledgements

    package func acknowledge(_ bytes: [UInt8], in id: [UInt8], by owner: SessionOwner) throws {
        let time = age.now
        try database.write { session in
            // Locked, so that the zone is not deleted meanwhile, and one word of a device follows the other.
            let zone = try zone(id, of: owner, session, locking: true)
            let before = try session.first(
                "SELECT LENGTH(data) FROM acks WHERE number = $1 AND account = $2 AND device = $3", .int(zone.number),
                .bytes(owner.accountID), .bytes(owner.deviceID))
            try charge(
                owner.accountID, Int64(bytes.count) - (before?[0].int ?? -Self.rowByteCount), session, .small)
            try session.run(
                """
                INSERT INTO acks(number, account, device, time, data) VALUES($1, $2, $3, $4, $5)
                ON CONFLICT(number, account, device) DO UPDATE SET time = excluded.time, data = excluded.data
                """, .int(zone.number), .bytes(owner.accountID), .bytes(owner.deviceID), .int(time), .bytes(bytes))
            try noteWord(in: zone.number, session)
        }
    }

    package func acknowledgements(in id: [UInt8], for owner: SessionOwner) throws -> Acknowledgements {
        try database.read { session in
            let zone = try zone(id, of: owner, session)
            let rows = try session.query(
                """
                SELECT account, device, data FROM acks WHERE number = $1
                ORDER BY account, device LIMIT \(ServerLimits.deviceCountMax)
                """, [.int(zone.number)])
            return Acknowledgements(
                rows.compactMap { row in
                    UniqueID(bytes: row[1].bytes).map {
                        Acknowledgements.Entry(accountID: row[0].bytes, deviceID: $0, bytes: row[2].bytes)
                    }
                })
        }
    }
}
