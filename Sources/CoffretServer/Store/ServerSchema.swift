// The tables. The one thing to keep true: both databases have the same, of integers and bytes only, and what they
// hold is what Docs/server.md says the server learns.

enum ServerSchema {
    static let version: Int64 = 7

    /// `BYTES` and `NUMBER` stand for the database's types: bytes, and a key that counts up and is given to no second row.
    /// Of an object that was swept `seq` is below 0, of a chunk `created`. `challenges` holds those that were spent.
    /// The `account` of a zone is the one on whose number of zones it counts, of any other row the one on whose space;
    /// a deleted zone's is empty.
    private static let tables = """
        CREATE TABLE meta(name BYTES NOT NULL PRIMARY KEY, value BYTES NOT NULL);
        CREATE TABLE links(kind BIGINT NOT NULL, chain BYTES NOT NULL, seq BIGINT NOT NULL, link BYTES NOT NULL,
            added BIGINT NOT NULL, PRIMARY KEY(kind, chain, seq));
        CREATE TABLE branches(account BYTES NOT NULL, branch BIGINT NOT NULL, seq BIGINT NOT NULL, link BYTES NOT NULL,
            added BIGINT NOT NULL, PRIMARY KEY(account, branch, seq));
        CREATE TABLE devices(account BYTES NOT NULL, device BYTES NOT NULL, signing BYTES NOT NULL, revoked BIGINT NOT NULL,
            PRIMARY KEY(account, device));
        CREATE TABLE challenges(nonce BYTES NOT NULL PRIMARY KEY, expiry BIGINT NOT NULL);
        CREATE INDEX challenges_by_expiry ON challenges(expiry);
        CREATE TABLE sessions(token BYTES NOT NULL PRIMARY KEY, account BYTES NOT NULL, device BYTES NOT NULL,
            expiry BIGINT NOT NULL);
        CREATE INDEX sessions_of_device ON sessions(account, device);
        CREATE INDEX sessions_by_expiry ON sessions(expiry);
        CREATE TABLE zones(number NUMBER, zone BYTES NOT NULL UNIQUE, account BYTES NOT NULL, head BYTES NOT NULL,
            epoch BIGINT NOT NULL, seq BIGINT NOT NULL);
        CREATE INDEX zones_of_account ON zones(account);
        CREATE TABLE objects(number BIGINT NOT NULL, seq BIGINT NOT NULL, address BYTES NOT NULL, digest BYTES NOT NULL,
            account BYTES NOT NULL, data BYTES NOT NULL, PRIMARY KEY(number, seq));
        CREATE UNIQUE INDEX objects_by_address ON objects(number, address, digest);
        CREATE TABLE chunks(number BIGINT NOT NULL, address BYTES NOT NULL, digest BYTES NOT NULL, account BYTES NOT NULL,
            created BIGINT NOT NULL, data BYTES NOT NULL, PRIMARY KEY(number, address, digest));
        CREATE TABLE uploads(number BIGINT NOT NULL, address BYTES NOT NULL, account BYTES NOT NULL, start BIGINT NOT NULL,
            total BIGINT NOT NULL, updated BIGINT NOT NULL, data BYTES NOT NULL, PRIMARY KEY(number, address, account, start));
        CREATE TABLE mail(id BYTES NOT NULL PRIMARY KEY, account BYTES NOT NULL, device BYTES NOT NULL, created BIGINT NOT NULL,
            data BYTES NOT NULL);
        CREATE INDEX mail_of_account ON mail(account, created);
        CREATE INDEX mail_by_time ON mail(created);
        CREATE TABLE returns(account BYTES NOT NULL, device BYTES NOT NULL, PRIMARY KEY(account, device));
        CREATE TABLE collections(number BIGINT NOT NULL, seq BIGINT NOT NULL, account BYTES NOT NULL, data BYTES NOT NULL,
            PRIMARY KEY(number, seq));
        CREATE INDEX collections_of_account ON collections(account);
        """

    /// Of each vault its newest member link, the push that set its head, a number that grows with the chains of its
    /// people, and one that grows with words of devices and letters; who has which right, and by which link; when each
    /// member link came; when a device acknowledged last; all older keys under the newest, and for each member a letter
    /// with that, which is empty when it was taken.
    /// Times are those of `StoreAge`.
    ///
    /// Of people: letters that wait, who may write to whom and add whom, until when (the largest number: without end), and
    /// hashes of tokens that let one write. The `sponsor` of a guest pays for it; others have none.
    ///
    /// The `sort` of a step is 1 for what may be a plain checkpoint, 2 for an epoch, 3 for an addition, else 0. Of what was
    /// swept `account` is who pays when it comes back, `sweeper` the device's account.
    private static let sharedTables = """
        CREATE TABLE vaults(number BIGINT NOT NULL PRIMARY KEY, links BIGINT NOT NULL, epoch BIGINT NOT NULL,
            oldest BIGINT NOT NULL, word BYTES NOT NULL, people BIGINT NOT NULL, words BIGINT NOT NULL);
        CREATE TABLE members(number BIGINT NOT NULL, account BYTES NOT NULL, role BIGINT NOT NULL, accepted BIGINT NOT NULL,
            since BIGINT NOT NULL, PRIMARY KEY(number, account));
        CREATE INDEX members_by_account ON members(account);
        CREATE TABLE steps(number BIGINT NOT NULL, seq BIGINT NOT NULL, hash BYTES NOT NULL, account BYTES NOT NULL,
            device BYTES NOT NULL, payer BYTES NOT NULL, sort BIGINT NOT NULL, time BIGINT NOT NULL, PRIMARY KEY(number, seq));
        CREATE INDEX steps_by_hash ON steps(number, hash);
        CREATE INDEX steps_by_payer ON steps(payer);
        CREATE INDEX steps_by_account ON steps(account, sort, time);
        CREATE TABLE acks(number BIGINT NOT NULL, account BYTES NOT NULL, device BYTES NOT NULL, time BIGINT NOT NULL,
            data BYTES NOT NULL, PRIMARY KEY(number, account, device));
        CREATE INDEX acks_of_account ON acks(account);
        CREATE TABLE swept(number BIGINT NOT NULL, kind BIGINT NOT NULL, address BYTES NOT NULL, digest BYTES NOT NULL,
            account BYTES NOT NULL, sweeper BYTES NOT NULL, device BYTES NOT NULL, size BIGINT NOT NULL, time BIGINT NOT NULL,
            PRIMARY KEY(number, kind, address, digest));
        CREATE INDEX swept_of_sweeper ON swept(sweeper, device);
        CREATE INDEX swept_by_time ON swept(time);
        CREATE TABLE staging(number BIGINT NOT NULL, account BYTES NOT NULL, device BYTES NOT NULL, time BIGINT NOT NULL,
            PRIMARY KEY(number, account, device));
        CREATE TABLE placed(number BIGINT NOT NULL, account BYTES NOT NULL, device BYTES NOT NULL, address BYTES NOT NULL,
            PRIMARY KEY(number, account, device, address));
        CREATE TABLE histories(number BIGINT NOT NULL PRIMARY KEY, epoch BIGINT NOT NULL, account BYTES NOT NULL,
            data BYTES NOT NULL);
        CREATE INDEX histories_of_account ON histories(account);
        CREATE TABLE keyletters(number BIGINT NOT NULL, account BYTES NOT NULL, epoch BIGINT NOT NULL, sender BYTES NOT NULL,
            data BYTES NOT NULL, PRIMARY KEY(number, account));
        CREATE INDEX keyletters_of_sender ON keyletters(sender);
        CREATE TABLE accounts(account BYTES NOT NULL PRIMARY KEY, used BIGINT NOT NULL, created BIGINT NOT NULL,
            sponsor BYTES NOT NULL);
        CREATE INDEX accounts_of_sponsor ON accounts(sponsor);
        CREATE TABLE letters(account BYTES NOT NULL, sender BYTES NOT NULL, purpose BIGINT NOT NULL, scope BYTES NOT NULL,
            id BYTES NOT NULL, created BIGINT NOT NULL, data BYTES NOT NULL, PRIMARY KEY(account, sender, purpose, scope));
        CREATE INDEX letters_of_sender ON letters(sender);
        CREATE INDEX letters_by_time ON letters(created);
        CREATE TABLE contacts(account BYTES NOT NULL, contact BYTES NOT NULL, expiry BIGINT NOT NULL,
            PRIMARY KEY(account, contact));
        CREATE INDEX contacts_by_expiry ON contacts(expiry);
        CREATE TABLE tokens(account BYTES NOT NULL, hash BYTES NOT NULL, expiry BIGINT NOT NULL, uses BIGINT NOT NULL,
            PRIMARY KEY(account, hash));
        CREATE TABLE deletions(number BIGINT NOT NULL PRIMARY KEY, account BYTES NOT NULL, device BYTES NOT NULL,
            holder BYTES NOT NULL, time BIGINT NOT NULL, size BIGINT NOT NULL);
        CREATE TABLE invitations(hash BYTES NOT NULL PRIMARY KEY, expiry BIGINT NOT NULL, sponsor BYTES NOT NULL);
        CREATE TABLE log(seq BIGINT NOT NULL PRIMARY KEY, entry BYTES NOT NULL);
        CREATE TABLE lognodes(level BIGINT NOT NULL, seq BIGINT NOT NULL, hash BYTES NOT NULL, PRIMARY KEY(level, seq));
        """

    private static let probe = "SELECT value FROM meta WHERE name = $1"
    private static let versionName = SQLValue.bytes(Array("version".utf8))
    static let incarnationName = SQLValue.bytes(Array("incarnation".utf8))
    static let challengeKeyName = SQLValue.bytes(Array("challenge-key".utf8))
    /// Missing until a server has served from the database.
    static let ageName = SQLValue.bytes(Array("age".utf8))

    /// Makes the tables of a new database.
    ///
    /// - Parameters:
    ///   - incarnation: what cursors begin with, so that those of another server are known as such.
    ///   - challengeKey: by which challenges are known.
    static func create(
        in session: any SQLSession, incarnation: [UInt8], challengeKey: [UInt8]
    ) throws {
        try session.script(
            (tables + sharedTables).replacingWord("BYTES", with: session.bytesType)
                .replacingWord("NUMBER", with: session.numberType))
        for (name, value) in [
            (versionName, [UInt8(version)]), (incarnationName, incarnation), (challengeKeyName, challengeKey),
        ] {
            try session.run("INSERT INTO meta(name, value) VALUES($1, $2)", name, .bytes(value))
        }
    }

    /// - Throws: `.dataDirectory` if the tables are missing or of another version.
    static func check(_ session: any SQLSession) throws {
        guard try storedVersion(session) == version else { throw otherVersion }
    }

    static var otherVersion: ServerFailure {
        ServerFailure(.dataDirectory, "the database is of another version of coffret-server")
    }

    private static func storedVersion(_ session: any SQLSession) throws -> Int64 {
        let row: [SQLValue]?
        do { row = try session.first(probe, versionName) } catch {
            throw ServerFailure(.dataDirectory, "there is no database of coffret-server; run: coffret-server init")
        }
        guard let bytes = row?[0].bytes, bytes.count == 1 else { throw otherVersion }
        return Int64(bytes[0])
    }
}

extension String {
    fileprivate func replacingWord(_ word: String, with other: String) -> String {
        var result = ""
        var rest = self[...]
        while let range = rest.firstRange(of: word) {
            result += rest[..<range.lowerBound] + other
            rest = rest[range.upperBound...]
        }
        return result + rest
    }
}
