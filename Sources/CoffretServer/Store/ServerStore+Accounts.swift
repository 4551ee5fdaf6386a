// Accounts and logins. The one thing to keep true: an account is its device chain, and what a stranger asks for writes
// nothing.

package import CoffretBase
internal import CoffretCrypto
internal import CoffretTrust
package import CoffretWire

extension ServerStore {
    static let challengeMilliseconds: Int64 = 60_000
    static let sessionMilliseconds: Int64 = 12 * 3_600_000
    /// An older session ends where a device opens more.
    private static let sessionCountMaxPerDevice: Int64 = 16

    // MARK: Registration

    /// Makes an account of its first link.
    package func register(
        _ request: AccountRegistration, policy: Registration
    ) throws -> AppendOutcome {
        let chain: VerifiedDeviceChain
        do throws(TrustError) {
            chain = try VerifiedDeviceChain.verify([try UnverifiedLink(decoding: request.link)])
        } catch {
            return .untrusted(error.code.rawValue)
        }
        let account = chain.accountID.bytes
        let now = now
        return try database.write { session in
            if let row = try session.first(
                "SELECT link FROM links WHERE kind = 1 AND chain = $1 AND seq = 0", .bytes(account))
            {
                // The same hash is the same link, but for the signature; a device that lost the answer asks again.
                return row[0].bytes == request.link ? .appended(chain.wireHead) : .conflict(chain.wireHead)
            }
            switch policy {
            case .open: break
            case .closed: throw ServerFailure(.registrationClosed)
            case .invitation:
                let used = try session.run(
                    "DELETE FROM invitations WHERE hash = $1 AND expiry >= $2",
                    .bytes(BLAKE2b.hash(request.invitation)), .int(now))
                guard used == 1 else { throw ServerFailure(.invitationInvalid) }
            }
            try session.run(
                "INSERT INTO accounts(account, used, created) VALUES($1, 0, $2)", .bytes(account), .int(now))
            try store(request.link, .device, account, at: 0, now: now, session)
            try charge(account, Int64(request.link.count) + Self.rowByteCount, session, .small)
            try setDevices(of: chain, before: nil, session)
            return .appended(chain.wireHead)
        }
    }

    /// Keeps an invitation until it is used.
    package func invite(_ invitation: [UInt8], milliseconds: Int64) throws {
        let expiry = now + milliseconds
        try database.write { session in
            try session.run(
                "INSERT INTO invitations(hash, expiry) VALUES($1, $2)", .bytes(BLAKE2b.hash(invitation)), .int(expiry))
        }
    }

    // MARK: Login

    /// Gives a challenge, for any account and device, known or not.
    package func challenge(
        _ request: LoginChallengeRequest, serverName: String
    ) throws -> LoginChallenge {
        let expiry = UInt64(now + Self.challengeMilliseconds)
        let beginning = random.bytes(count: ServerLimits.nonceByteCount / 2)
        let nonce = beginning + mark(of: beginning, request, expiry)
        return LoginChallenge(serverName: serverName, serverNonce: nonce, expiry: expiry)
    }

    /// The second half of a challenge's nonce, by which the server knows its own without having kept it.
    private func mark(of beginning: [UInt8], _ request: LoginChallengeRequest, _ expiry: UInt64) -> [UInt8] {
        let message =
            beginning + request.accountID + request.deviceID.bytes + request.clientNonce + expiry.bigEndianBytes
        let code = unsafe HMAC.authenticationCode(
            .sha256, key: challengeKey.span.bytes, message: message.span.bytes)
        return Array(code.prefix(ServerLimits.nonceByteCount / 2))
    }

    /// Checks a device's proof and opens a session. Every failure is the same, and writes nothing.
    package func login(
        _ request: LoginRequest, serverName: String, fingerprint: [UInt8]
    ) throws -> LoginSession {
        let now = now
        let asked = LoginChallengeRequest(
            accountID: request.accountID, deviceID: request.deviceID, clientNonce: request.clientNonce)
        let beginning = Array(request.serverNonce.prefix(ServerLimits.nonceByteCount / 2))
        guard let limit = Int64(exactly: request.expiry), limit >= now, let accountID = ChainID(request.accountID),
            ConstantTime.isEqual(beginning + mark(of: beginning, asked, request.expiry), request.serverNonce)
        else { throw ServerFailure(.loginRefused) }
        let proof = LoginProof(
            serverName: serverName, fingerprint: fingerprint, accountID: accountID, deviceID: request.deviceID,
            serverNonce: request.serverNonce, clientNonce: request.clientNonce, expiry: request.expiry)
        let token = random.bytes(count: ServerLimits.tokenByteCount)
        let expiry = now + Self.sessionMilliseconds
        var isSurplus = false
        defer { if isSurplus { sessionChanges.note() } }
        let device: [SQLValue] = [.bytes(request.accountID), .bytes(request.deviceID.bytes)]
        let trusted = "SELECT signing FROM devices WHERE account = $1 AND device = $2 AND revoked = 0"
        guard let row = try database.lookUp(trusted, device).first, let key = try? VerifyingKey(row[0].bytes),
            (try? proof.verify(request.signature, by: key)) != nil
        else { throw ServerFailure(.loginRefused) }
        try database.write { session in
            // Read under the account's lock: a revocation that commits first is seen, one that commits later
            // finds the session and ends it.
            _ = try session.first(
                "SELECT used FROM accounts WHERE account = $1" + session.lockClause, .bytes(request.accountID))
            let spent = try session.run(
                "INSERT INTO challenges(nonce, expiry) VALUES($1, $2) ON CONFLICT(nonce) DO NOTHING",
                .bytes(request.serverNonce), .int(limit))
            guard spent == 1, try session.query(trusted, device).first == row else {
                throw ServerFailure(.loginRefused)
            }
            // Of a device that logs in again and again the newest count.
            let surplus = try session.query(
                "SELECT token FROM sessions WHERE account = $1 AND device = $2 ORDER BY expiry DESC LIMIT 64 OFFSET $3",
                device + [.int(Self.sessionCountMaxPerDevice - 1)])
            for row in surplus { try session.run("DELETE FROM sessions WHERE token = $1", row[0]) }
            isSurplus = !surplus.isEmpty
            try session.run(
                "INSERT INTO sessions(token, account, device, expiry) VALUES($1, $2, $3, $4)",
                .bytes(BLAKE2b.hash(token)), .bytes(request.accountID), .bytes(request.deviceID.bytes), .int(expiry))
        }
        return LoginSession(token: token, expiry: UInt64(expiry))
    }

    /// Who a token belongs to.
    ///
    /// - Throws: `.sessionUnknown`, also for one that expired or whose device was revoked.
    package func session(token: [UInt8]) throws -> SessionOwner {
        try sessionWithExpiry(token: token).owner
    }

    func sessionWithExpiry(token: [UInt8]) throws -> (owner: SessionOwner, expiry: Int64) {
        let row = try database.lookUp(.session, [.bytes(BLAKE2b.hash(token)), .int(now)]).first
        guard let row else { throw ServerFailure(.sessionUnknown) }
        return (SessionOwner(accountID: row[0].bytes, deviceID: row[1].bytes), row[2].int)
    }

    package func logout(token: [UInt8]) throws {
        // Also when it throws: whether it was carried out is not known then.
        defer { sessionChanges.note() }
        try database.write { session in
            try session.run("DELETE FROM sessions WHERE token = $1", .bytes(BLAKE2b.hash(token)))
        }
    }

    // MARK: Pairing

    /// The account whose id begins with some bytes; nil if there is none or more than one, so that an id that was made
    /// to look like another's gains nothing.
    package func account(named name: [UInt8]) throws -> [UInt8]? {
        let fill = { (byte: UInt8) in
            SQLValue.bytes(name + [UInt8](repeating: byte, count: ServerLimits.idByteCount - name.count))
        }
        let rows = try database.lookUp(
            "SELECT account FROM accounts WHERE account >= $1 AND account <= $2 LIMIT 2", [fill(0), fill(255)])
        return rows.count == 1 ? rows[0][0].bytes : nil
    }

    /// Tells all devices of an account, whichever process they listen at, that a new device waits. Nothing is stored.
    package func announcePairing(_ relayID: UniqueID, to accountID: [UInt8]) throws {
        try database.write { session in
            try session.notify(.pairing(accountID: accountID, relayID: relayID))
        }
    }

    /// Tells one device of an account, whichever process it listens at, that somebody asks it. Nothing is stored.
    package func announceAsk(_ relayID: UniqueID, to deviceID: UniqueID, of accountID: [UInt8]) throws {
        try database.write { session in
            try session.notify(.ask(accountID: accountID, deviceID: deviceID, relayID: relayID))
        }
    }
}
