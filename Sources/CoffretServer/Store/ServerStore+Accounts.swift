// Accounts, chains, logins. The one thing to keep true: an account is its device chain, and only links that the
// whole chain verifies with are ever stored.

package import CoffretBase
internal import CoffretCrypto
package import CoffretTrust
package import CoffretWire

/// What an append came to.
package enum AppendOutcome: Equatable, Sendable {
    case appended(ChainHead)
    /// The chain ends elsewhere.
    case conflict(ChainHead)
    /// The link does not verify.
    case untrusted(TrustError)
}

extension ServerStore {
    static let challengeMilliseconds: Int64 = 60_000
    static let sessionMilliseconds: Int64 = 12 * 3_600_000
    static let linkByteCountMaxPerAnswer = 1 << 20

    // MARK: Registration

    /// Makes an account of its first link.
    package func register(
        _ request: AccountRegistration, policy: Registration
    ) throws(ServerFailure) -> AppendOutcome {
        let chain: VerifiedDeviceChain
        do throws(TrustError) {
            chain = try VerifiedDeviceChain.verify([try UnverifiedLink(decoding: request.link)])
        } catch {
            return .untrusted(error)
        }
        let account = chain.accountID.bytes
        let now = now
        return try database.write { (session) throws(ServerFailure) -> AppendOutcome in
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
            try setDevices(of: chain, session)
            return .appended(chain.wireHead)
        }
    }

    /// Keeps an invitation until it is used.
    package func invite(_ invitation: [UInt8], milliseconds: Int64) throws(ServerFailure) {
        let expiry = now + milliseconds
        try database.write { (session) throws(ServerFailure) in
            try session.run(
                "INSERT INTO invitations(hash, expiry) VALUES($1, $2)", .bytes(BLAKE2b.hash(invitation)), .int(expiry))
        }
    }

    // MARK: Login

    /// Gives a challenge, for any account and device, known or not.
    package func challenge(
        _ request: LoginChallengeRequest, serverName: String
    ) throws(ServerFailure) -> LoginChallenge {
        let nonce = random.bytes(count: ServerLimits.nonceByteCount)
        let expiry = now + Self.challengeMilliseconds
        try database.write { (session) throws(ServerFailure) in
            try session.run(
                "INSERT INTO challenges(nonce, account, device, client, expiry) VALUES($1, $2, $3, $4, $5)",
                .bytes(nonce), .bytes(request.accountID), .bytes(request.deviceID.bytes), .bytes(request.clientNonce),
                .int(expiry))
        }
        return LoginChallenge(serverName: serverName, serverNonce: nonce, expiry: UInt64(expiry))
    }

    /// Checks a device's proof and opens a session. Every failure is the same.
    package func login(
        _ request: LoginRequest, serverName: String, fingerprint: [UInt8]
    ) throws(ServerFailure) -> LoginSession {
        let now = now
        // The nonce is spent by the attempt, right or wrong, so this is a transaction of its own.
        let challenge = try database.write { (session) throws(ServerFailure) -> [SQLValue]? in
            try session.first(
                "DELETE FROM challenges WHERE nonce = $1 RETURNING account, device, client, expiry",
                .bytes(request.serverNonce))
        }
        guard let challenge, challenge[0].bytes == request.accountID, challenge[1].bytes == request.deviceID.bytes,
            challenge[2].bytes == request.clientNonce, UInt64(challenge[3].int) == request.expiry,
            challenge[3].int >= now, let accountID = ChainID(request.accountID)
        else { throw ServerFailure(.loginRefused) }
        let proof = LoginProof(
            serverName: serverName, fingerprint: fingerprint, accountID: accountID, deviceID: request.deviceID,
            serverNonce: request.serverNonce, clientNonce: request.clientNonce, expiry: request.expiry)
        let token = random.bytes(count: ServerLimits.tokenByteCount)
        let expiry = now + Self.sessionMilliseconds
        try database.write { (session) throws(ServerFailure) in
            // Read under the account's lock: a revocation that commits first is seen, one that commits later
            // finds the session and ends it.
            _ = try session.first(
                "SELECT used FROM accounts WHERE account = $1" + session.lockClause, .bytes(request.accountID))
            let device = try session.first(
                "SELECT signing FROM devices WHERE account = $1 AND device = $2 AND revoked = 0",
                .bytes(request.accountID), .bytes(request.deviceID.bytes))
            guard let device, let key = try? VerifyingKey(device[0].bytes),
                (try? proof.verify(request.signature, by: key)) != nil
            else { throw ServerFailure(.loginRefused) }
            try session.run(
                "INSERT INTO sessions(token, account, device, expiry) VALUES($1, $2, $3, $4)",
                .bytes(BLAKE2b.hash(token)), .bytes(request.accountID), .bytes(request.deviceID.bytes), .int(expiry))
        }
        return LoginSession(token: token, expiry: UInt64(expiry))
    }

    /// Who a token belongs to.
    ///
    /// - Throws: `.sessionUnknown`, also for one that expired or whose device was revoked.
    package func session(token: [UInt8]) throws(ServerFailure) -> SessionOwner {
        try sessionWithExpiry(token: token).owner
    }

    func sessionWithExpiry(token: [UInt8]) throws(ServerFailure) -> (owner: SessionOwner, expiry: Int64) {
        let row = try database.lookUp(.session, [.bytes(BLAKE2b.hash(token)), .int(now)]).first
        guard let row else { throw ServerFailure(.sessionUnknown) }
        return (SessionOwner(accountID: row[0].bytes, deviceID: row[1].bytes), row[2].int)
    }

    package func logout(token: [UInt8]) throws(ServerFailure) {
        // Also when it throws: whether it was carried out is not known then.
        defer { sessionChanges.note() }
        try database.write { (session) throws(ServerFailure) in
            try session.run("DELETE FROM sessions WHERE token = $1", .bytes(BLAKE2b.hash(token)))
        }
    }

    // MARK: Pairing

    /// The account whose id begins with some bytes; nil if there is none or more than one, so that an id that was made
    /// to look like another's gains nothing.
    package func account(named name: [UInt8]) throws(ServerFailure) -> [UInt8]? {
        let fill = { (byte: UInt8) in
            SQLValue.bytes(name + [UInt8](repeating: byte, count: ServerLimits.idByteCount - name.count))
        }
        let rows = try database.lookUp(
            "SELECT account FROM accounts WHERE account >= $1 AND account <= $2 LIMIT 2", [fill(0), fill(255)])
        return rows.count == 1 ? rows[0][0].bytes : nil
    }

    /// Tells all devices of an account, whichever process they listen at, that a new device waits. Nothing is stored.
    package func announcePairing(_ relayID: UniqueID, to accountID: [UInt8]) throws(ServerFailure) {
        try database.write { (session) throws(ServerFailure) in
            try session.notify(.pairing(accountID: accountID, relayID: relayID))
        }
    }

    // MARK: Chains

    /// The links of a chain from a sequence number on, as many as one answer holds.
    package func links(
        _ kind: ChainKind, _ id: [UInt8], from start: Int64, for owner: SessionOwner
    ) throws(ServerFailure) -> ChainLinks {
        try database.read { (session) throws(ServerFailure) -> ChainLinks in
            if kind == .member { _ = try zone(id, of: owner, session) }
            let rows = try session.query(
                "SELECT link FROM links WHERE kind = $1 AND chain = $2 AND seq >= $3 ORDER BY seq LIMIT $4",
                [.int(Int64(kind.rawValue)), .bytes(id), .int(start), .int(Int64(ServerLimits.linkCountMaxPerRequest))])
            guard !rows.isEmpty || start > 0 else { throw ServerFailure(.chainUnknown) }
            var byteCount = 0
            var links: [[UInt8]] = []
            for row in rows {
                byteCount += row[0].bytes.count
                if !links.isEmpty, byteCount > Self.linkByteCountMaxPerAnswer { break }
                links.append(row[0].bytes)
            }
            return ChainLinks(links)
        }
    }

    /// Adds the next link of a chain, or a recovery that replaces the links from its place on. A device that is
    /// no longer trusted then loses its sessions in the same transaction (R28).
    package func append(
        _ bytes: [UInt8], to kind: ChainKind, _ id: [UInt8], by owner: SessionOwner
    ) throws(ServerFailure) -> AppendOutcome {
        guard kind == .member || id == owner.accountID else { throw ServerFailure(.forbidden) }
        let now = now
        defer { sessionChanges.note() }
        return try database.write { (session) throws(ServerFailure) -> AppendOutcome in
            // What a device swept comes back with the link that revokes it.
            if kind == .device { try lockZones(of: owner.accountID, session) }
            _ = try session.first(
                "SELECT used FROM accounts WHERE account = $1" + session.lockClause, .bytes(owner.accountID))
            if kind == .member { _ = try zone(id, of: owner, session) }
            let device = try storedDeviceChain(owner.accountID, session)
            if kind == .member { return try appendMember(bytes, id, founder: device.chain, now: now, session) }
            let stored = device.chain.links
            let link: UnverifiedLink
            let followed: FollowedDeviceChain
            do throws(TrustError) {
                link = try UnverifiedLink(decoding: bytes)
                let number = link.sequenceNumber
                // A device whose answer was lost asks again.
                if number < UInt64(stored.count), stored[Int(number)].link == link {
                    return .appended(device.chain.wireHead)
                }
                guard number <= UInt64(stored.count) else { return .conflict(device.chain.wireHead) }
                followed = try device.chain.following([link], watch: device.watch(now: now), now: now)
            } catch {
                return error.code == .chainForked || error.code == .chainBroken
                    ? .conflict(device.chain.wireHead) : .untrusted(error)
            }
            try session.run(
                "DELETE FROM links WHERE kind = 1 AND chain = $1 AND seq >= $2", .bytes(id),
                .int(Int64(link.sequenceNumber)))
            try store(bytes, .device, id, at: Int64(link.sequenceNumber), now: now, session)
            try setDevices(of: followed.chain, session)
            try notifyChain(.device, id, link.sequenceNumber, account: owner.accountID, session)
            return .appended(followed.chain.wireHead)
        }
    }

    private func appendMember(
        _ bytes: [UInt8], _ id: [UInt8], founder: VerifiedDeviceChain, now: Int64, _ session: any SQLSession
    ) throws(ServerFailure) -> AppendOutcome {
        let rows = try session.query(
            "SELECT link FROM links WHERE kind = 3 AND chain = $1 ORDER BY seq", [.bytes(id)])
        let chain: VerifiedMemberChain
        let next: VerifiedMemberChain
        do throws(TrustError) {
            var links: [UnverifiedLink] = []
            for row in rows { links.append(try UnverifiedLink(decoding: row[0].bytes)) }
            chain = try VerifiedMemberChain.verify(links, founder: founder, vaultID: VaultID(id))
            let link = try UnverifiedLink(decoding: bytes)
            if link.sequenceNumber < UInt64(links.count), links[Int(link.sequenceNumber)] == link {
                return .appended(chain.wireHead)
            }
            guard link.sequenceNumber == UInt64(links.count) else { return .conflict(chain.wireHead) }
            next = try VerifiedMemberChain.verify(links + [link], founder: founder, vaultID: VaultID(id))
        } catch {
            return .untrusted(error)
        }
        try store(bytes, .member, id, at: Int64(rows.count), now: now, session)
        try notifyChain(.member, id, UInt64(rows.count), account: founder.accountID.bytes, session)
        return .appended(next.wireHead)
    }

    // MARK: Parts

    func store(
        _ bytes: [UInt8], _ kind: ChainKind, _ id: [UInt8], at number: Int64, now: Int64, _ session: any SQLSession
    ) throws(ServerFailure) {
        try session.run(
            "INSERT INTO links(kind, chain, seq, link, added) VALUES($1, $2, $3, $4, $5)", .int(Int64(kind.rawValue)),
            .bytes(id), .int(number), .bytes(bytes), .int(now))
    }

    private func notifyChain(
        _ kind: ChainKind, _ id: [UInt8], _ number: UInt64, account: [UInt8], _ session: any SQLSession
    ) throws(ServerFailure) {
        let event = ServerEvent.chain(kind: kind.rawValue, id: id, sequenceNumber: number)
        try session.notify(.event(accountID: account, bytes: event.encoded()))
    }

    /// A device chain as it is stored, verified again, with the times at which its links came.
    struct StoredDeviceChain {
        let chain: VerifiedDeviceChain
        let times: [Int64]

        /// Announcements count from when they came here, whatever they state.
        func watch(now: Int64) -> ChainWatch {
            var announced: [UInt64: Milliseconds] = [:]
            for announcement in chain.announcements {
                announced[announcement.sequenceNumber] = times[Int(announcement.sequenceNumber)]
            }
            return ChainWatch(confirmedAt: now, announcedAfter: announced)
        }
    }

    func storedDeviceChain(_ account: [UInt8], _ session: any SQLSession) throws(ServerFailure) -> StoredDeviceChain {
        let rows = try session.query(
            "SELECT link, added FROM links WHERE kind = 1 AND chain = $1 ORDER BY seq", [.bytes(account)])
        guard !rows.isEmpty else { throw ServerFailure(.chainUnknown) }
        do throws(TrustError) {
            var links: [UnverifiedLink] = []
            for row in rows { links.append(try UnverifiedLink(decoding: row[0].bytes)) }
            let chain = try VerifiedDeviceChain.verify(links, accountID: ChainID(account))
            return StoredDeviceChain(chain: chain, times: rows.map { $0[1].int })
        } catch {
            throw ServerFailure(.storageUnavailable, "a stored chain does not verify: \(error.code.rawValue)")
        }
    }

    /// Writes who may log in, and ends the sessions of those who may not.
    private func setDevices(of chain: VerifiedDeviceChain, _ session: any SQLSession) throws(ServerFailure) {
        let account = chain.accountID.bytes
        let before = try session.query(
            "SELECT device FROM devices WHERE account = $1 AND revoked = 0", [.bytes(account)]
        ).map { $0[0].bytes }
        try session.run("DELETE FROM devices WHERE account = $1", .bytes(account))
        for device in chain.devices {
            try session.run(
                "INSERT INTO devices(account, device, signing, revoked) VALUES($1, $2, $3, $4)", .bytes(account),
                .bytes(device.id.bytes), .bytes(device.keys.signing.bytes), .int(device.isTrusted ? 0 : 1))
        }
        let trusted = Set(chain.devices.filter(\.isTrusted).map(\.id.bytes))
        for device in before where !trusted.contains(device) {
            try session.run(
                "DELETE FROM sessions WHERE account = $1 AND device = $2", .bytes(account), .bytes(device))
            try session.notify(.sessionsEnded(accountID: account, deviceID: device))
            try restoreSweeps(by: device, of: account, session)
        }
    }
}

extension VerifiedDeviceChain {
    var wireHead: ChainHead { ChainHead(sequenceNumber: head.sequenceNumber, linkHash: head.linkHash) }
}

extension VerifiedMemberChain {
    var wireHead: ChainHead { ChainHead(sequenceNumber: head.sequenceNumber, linkHash: head.linkHash) }
}
