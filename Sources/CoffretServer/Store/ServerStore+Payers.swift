// Who pays for what lies in a zone. The one thing to keep true: each row counts on one account, also when its account has
// left the vault, and nobody takes its debt along.

internal import CoffretBase
internal import CoffretTrust

extension ServerStore {
    /// What counts of a zone, by account. `$1` is its number, `$2` its id.
    private static let countedRows = """
        SELECT account, LENGTH(data) AS size FROM objects WHERE number = $1 AND seq > 0
        UNION ALL SELECT account, LENGTH(data) AS size FROM chunks WHERE number = $1 AND created > 0
        UNION ALL SELECT account, LENGTH(data) AS size FROM acks WHERE number = $1
        UNION ALL SELECT account, LENGTH(data) AS size FROM collections WHERE number = $1
        UNION ALL SELECT account, LENGTH(data) AS size FROM histories WHERE number = $1
        UNION ALL SELECT sender, LENGTH(data) AS size FROM keyletters WHERE number = $1
        UNION ALL SELECT s.payer, LENGTH(l.link) AS size FROM steps s JOIN links l ON l.seq = s.seq
            WHERE s.number = $1 AND l.kind = 3 AND l.chain = $2
        """

    /// What of a zone counts on each account's space, ascending by account.
    func countedByteCounts(
        of zone: Int64, _ id: [UInt8], _ session: any SQLSession
    ) throws -> [(account: [UInt8], byteCount: Int64)] {
        try session.query(
            """
            SELECT account, CAST(SUM(size + \(Self.rowByteCount)) AS BIGINT) FROM (\(Self.countedRows)) AS counted
            GROUP BY account ORDER BY account
            """, [.int(zone), .bytes(id)]
        ).map { ($0[0].bytes, $0[1].int) }
    }

    /// Hands what an account stored in a zone over to another one, even above its space, and drops what serves nobody then:
    /// its acknowledgements, half uploads, and notes of what it was about to store. The zone is locked.
    func handOver(
        _ zone: Int64, _ id: [UInt8], from leaver: [UInt8], to payer: [UInt8], _ session: any SQLSession
    ) throws {
        let (number, from, to) = (SQLValue.int(zone), SQLValue.bytes(leaver), SQLValue.bytes(payer))
        let uploads = try session.query(
            "SELECT DISTINCT number, address, account FROM uploads WHERE number = $1 AND account = $2", [number, from])
        for upload in uploads { try dropUpload(upload, session) }
        let acks = try session.query(
            "DELETE FROM acks WHERE number = $1 AND account = $2 RETURNING LENGTH(data) + \(Self.rowByteCount)",
            [number, from])
        try charge(leaver, -acks.reduce(0) { $0 + $1[0].int }, session)
        for table in ["staging", "placed"] {
            try session.run("DELETE FROM \(table) WHERE number = $1 AND account = $2", number, from)
        }
        try dropLetters(in: zone, "account = $2", [from], session)
        let counted = try countedByteCounts(of: zone, id, session).first { $0.account == leaver }?.byteCount ?? 0
        for (table, column) in [
            ("objects", "account"), ("chunks", "account"), ("collections", "account"), ("swept", "account"),
            ("histories", "account"), ("keyletters", "sender"), ("steps", "payer"), ("zones", "account"),
        ] {
            try session.run("UPDATE \(table) SET \(column) = $1 WHERE number = $2 AND \(column) = $3", to, number, from)
        }
        try charge(leaver, -counted, session)
        try charge(payer, counted, session, .always)
    }
}

extension MemberRights {
    /// Who answers for the vault before all others: the owner who has been one for longest.
    var mostSeniorOwner: ChainID? {
        members.filter(\.value.owns).min { left, right in
            guard left.value.ownerSince == right.value.ownerSince else {
                return left.value.ownerSince ?? .max < right.value.ownerSince ?? .max
            }
            return left.key.bytes.lexicographicallyPrecedes(right.key.bytes)
        }?.key
    }

    /// Who pays for what an account left that is a member no more.
    ///
    /// - Parameter effects: the newest links, the last of which ended its membership.
    func payer(for leaver: ChainID, after effects: [MemberEffect]) -> ChainID? {
        let last = effects.last { $0.roleChanges[leaver] == .some(nil) }
        guard let signer = last?.accountID, signer != leaver, members[signer] != nil else { return mostSeniorOwner }
        return signer
    }
}
