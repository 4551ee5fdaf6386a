// Chunks of attachments and mail. The one thing to keep true: a chunk is whole before anybody sees it, and a
// second ciphertext under an address never replaces the first.

package import CoffretBase
internal import CoffretCrypto
package import CoffretWire

package enum UploadOutcome: Equatable, Sendable {
    /// The chunk is whole and durable.
    case complete
    /// So many bytes are here.
    case partial(byteCount: Int)
    /// The part does not begin there.
    case offset(byteCount: Int)
}

/// A stored chunk and how many ciphertexts lie under its address.
package struct StoredChunk: Sendable {
    package let bytes: [UInt8]
    package let variantCount: Int
}

extension ServerStore {
    /// Takes a part of a chunk, or all of it.
    package func upload(
        _ part: [UInt8], at offset: Int, of total: Int, address: [UInt8], in id: [UInt8], by owner: SessionOwner
    ) throws -> UploadOutcome {
        // The last part is stored beside the ones before it, until they go.
        guard database.hasRoom(for: offset + part.count < total ? part.count : total) else {
            throw ServerFailure(.storageFull)
        }
        let now = now
        return try database.write { session in
            let zone = try zone(id, of: owner, session, locking: true, to: .write)
            try noteStaging(in: zone.number, by: owner, session)
            let key: [SQLValue] = [.int(zone.number), .bytes(address), .bytes(owner.accountID)]
            var there: [SQLValue]?
            if offset > 0 {
                there = try session.query(
                    """
                    SELECT COALESCE(MAX(start + LENGTH(data)), 0), COALESCE(MAX(total), 0) FROM uploads
                    WHERE number = $1 AND address = $2 AND account = $3
                    """, key
                ).first
                let byteCount = Int(there?[0].int ?? 0)
                guard byteCount == offset, Int(there?[1].int ?? 0) == total else {
                    return .offset(byteCount: byteCount)
                }
            } else {
                try dropUpload(key, session)
            }
            if offset + part.count < total {
                try charge(owner.accountID, Int64(part.count) + Self.rowByteCount, session)
                try session.execute(
                    "INSERT INTO uploads(number, address, account, start, total, updated, data) VALUES($1, $2, $3, $4, $5, $6, $7)",
                    key + [.int(Int64(offset)), .int(Int64(total)), .int(age.now), .bytes(part)])
                return .partial(byteCount: offset + part.count)
            }
            var whole: [UInt8] = []
            if offset > 0 {
                let rows = try session.query(
                    "SELECT data FROM uploads WHERE number = $1 AND address = $2 AND account = $3 ORDER BY start", key)
                for row in rows { whole += row[0].bytes }
                try dropUpload(key, session)
            }
            whole += part
            let digest = BLAKE2b.hash(whole)
            let added = try session.run(
                """
                INSERT INTO chunks(number, address, digest, account, created, data) VALUES($1, $2, $3, $4, $5, $6)
                ON CONFLICT(number, address, digest) DO UPDATE SET created = excluded.created, account = excluded.account
                WHERE chunks.created < 0
                """, .int(zone.number), .bytes(address), .bytes(digest), .bytes(owner.accountID), .int(now),
                .bytes(whole))
            if added == 1 {
                try charge(owner.accountID, Int64(whole.count) + Self.rowByteCount, session)
                try forgetSweep(of: .chunk, address, digest, in: zone.number, session)
                try notePlaced(address, in: zone.number, by: owner, session)
            }
            return .complete
        }
    }

    /// Forgets the parts of an upload, which count on its account's space. The zone is locked.
    ///
    /// - Parameter key: number of the zone, address, account.
    func dropUpload(_ key: [SQLValue], _ session: any SQLSession) throws {
        let condition = "WHERE number = $1 AND address = $2 AND account = $3"
        let row = try session.query(
            "SELECT CAST(COALESCE(SUM(LENGTH(data) + \(Self.rowByteCount)), 0) AS BIGINT) FROM uploads \(condition)",
            key
        ).first
        guard let byteCount = row?[0].int, byteCount > 0 else { return }
        try charge(key[2].bytes, -byteCount, session)
        try session.execute("DELETE FROM uploads \(condition)", key)
    }

    /// How far an upload of this account is.
    package func uploadOffset(
        address: [UInt8], in id: [UInt8], for owner: SessionOwner
    ) throws -> Int {
        try database.read { session in
            let zone = try zone(id, of: owner, session)
            let row = try session.first(
                "SELECT COALESCE(MAX(start + LENGTH(data)), 0) FROM uploads WHERE number = $1 AND address = $2 AND account = $3",
                .int(zone.number), .bytes(address), .bytes(owner.accountID))
            return Int(row?[0].int ?? 0)
        }
    }

    /// A variant of a chunk: those that count in the order in which they came, then those that were swept and are kept.
    ///
    /// - Throws: `.objectUnknown`.
    package func chunk(
        address: [UInt8], variant: Int, in id: [UInt8], for owner: SessionOwner
    ) throws -> StoredChunk {
        // One statement for nearly all: this is what is read most. Their order matters only where there are several.
        let found = try database.lookUp(.chunk, [.bytes(id), .bytes(owner.accountID), .bytes(address)])
        if found.isEmpty {
            // A zone of others says so, and nothing about what is in it.
            _ = try zone(id, of: owner)
        }
        if found.count == 1, variant == 0 { return StoredChunk(bytes: found[0][0].bytes, variantCount: 1) }
        guard found.count > 1 else { throw ServerFailure(.objectUnknown) }
        let row = try database.lookUp(
            """
            SELECT c.data, (SELECT COUNT(*) FROM chunks o WHERE o.number = c.number AND o.address = c.address)
            FROM zones z JOIN members m ON m.number = z.number JOIN chunks c ON c.number = z.number
            WHERE z.zone = $1 AND m.account = $2 AND c.address = $3 AND LENGTH(z.account) > 0 ORDER BY CASE WHEN c.created > 0 THEN 0 ELSE 1 END, c.created, c.digest LIMIT 1 OFFSET $4
            """, [.bytes(id), .bytes(owner.accountID), .bytes(address), .int(Int64(variant))]
        ).first
        guard let row else { throw ServerFailure(.objectUnknown) }
        return StoredChunk(bytes: row[0].bytes, variantCount: Int(row[1].int))
    }

    /// Those of some chunks that are not here in exactly this form.
    package func missing(
        _ list: ChunkList, in id: [UInt8], for owner: SessionOwner
    ) throws -> ChunkList {
        // Who asks is about to name them: from here on they are not swept by others.
        try noteStaging(in: id, by: owner)
        return try database.read { session in
            let zone = try zone(id, of: owner, session)
            var missing: [ChunkList.Chunk] = []
            for chunk in list.chunks {
                let row = try session.first(
                    "SELECT created FROM chunks WHERE number = $1 AND address = $2 AND digest = $3 AND created > 0",
                    .int(zone.number),
                    .bytes(chunk.address), .bytes(chunk.digest))
                if row == nil { missing.append(chunk) }
            }
            return ChunkList(missing)
        }
    }

    // MARK: Mail

    /// Leaves a message for a device of the sender's own account, or for all of them.
    ///
    /// For one device only the newest wait: one that never takes its mail, such as one on paper, must not keep the newest
    /// from coming.
    /// - Throws: `.recipientUnknown` for a device that the account does not trust; `.quotaExceeded`.
    package func post(_ mail: MailboxPost, by owner: SessionOwner) throws {
        let id = UniqueID.generate(from: random)
        let (now, account) = (age.now, owner.accountID)
        try database.write { session in
            let row = try session.first(
                "SELECT used FROM accounts WHERE account = $1" + session.lockClause, .bytes(account))
            guard row != nil else { throw ServerFailure(.accountUnknown) }
            if let device = mail.deviceID?.bytes { try makeRoom(for: device, of: account, session) }
            let count = try session.first("SELECT COUNT(*) FROM mail WHERE account = $1", .bytes(account))
            guard (count?[0].int ?? 0) < Int64(ServerLimits.mailboxEntryCountMax) else {
                throw ServerFailure(.quotaExceeded)
            }
            try charge(account, Int64(mail.bytes.count) + Self.rowByteCount, session, .small)
            try session.run(
                "INSERT INTO mail(id, account, device, created, data) VALUES($1, $2, $3, $4, $5)", .bytes(id.bytes),
                .bytes(account), .bytes(mail.deviceID?.bytes ?? []), .int(now), .bytes(mail.bytes))
            try session.notify(
                .event(accountIDs: [account], bytes: ServerEvent.mailbox(accountID: account).encoded()))
        }
    }

    private func makeRoom(
        for device: [UInt8], of account: [UInt8], _ session: any SQLSession
    ) throws {
        let known = try session.first(
            "SELECT signing FROM devices WHERE account = $1 AND device = $2 AND revoked = 0", .bytes(account),
            .bytes(device))
        guard known != nil else { throw ServerFailure(.recipientUnknown) }
        let surplus = try session.query(
            "SELECT id, LENGTH(data) FROM mail WHERE account = $1 AND device = $2 ORDER BY created DESC, id DESC LIMIT $3 OFFSET $4",
            [
                .bytes(account), .bytes(device), .int(Int64(ServerLimits.mailboxEntryCountMax)),
                .int(Int64(ServerLimits.mailboxEntryCountMaxPerDevice - 1)),
            ])
        for row in surplus {
            try session.run("DELETE FROM mail WHERE id = $1", row[0])
            try charge(account, -row[1].int - Self.rowByteCount, session)
        }
    }

    /// What waits for a device, at most 4 MiB at a time.
    package func mail(for owner: SessionOwner) throws -> MailboxEntries {
        let rows = try database.lookUp(
            "SELECT id, device, data FROM mail WHERE account = $1 AND (device = $2 OR LENGTH(device) = 0) ORDER BY created, id LIMIT 64",
            [.bytes(owner.accountID), .bytes(owner.deviceID)])
        return MailboxEntries(
            rows.compactMap { row in
                UniqueID(bytes: row[0].bytes).map {
                    MailboxEntries.Entry(id: $0, deviceID: UniqueID(bytes: row[1].bytes), bytes: row[2].bytes)
                }
            })
    }

    /// Removes a message that a device has taken; one for another device stays.
    package func deleteMail(_ id: UniqueID, for owner: SessionOwner) throws {
        try database.write { session in
            let row = try session.first(
                """
                DELETE FROM mail WHERE id = $1 AND account = $2 AND (device = $3 OR LENGTH(device) = 0)
                RETURNING LENGTH(data)
                """, .bytes(id.bytes), .bytes(owner.accountID), .bytes(owner.deviceID))
            guard let row else { throw ServerFailure(.objectUnknown) }
            try charge(owner.accountID, -row[0].int - Self.rowByteCount, session)
        }
    }
}
