// What the server answers. The one thing to keep true: what a client may see or change is decided by the session's
// account, and nothing is told about what belongs to others.

internal import CoffretBase
internal import CoffretKeyLog
internal import CoffretTrust
internal import CoffretWire

extension RouteTable {
    private static let link = ServerLimits.linkByteCountMax + 1_024
    private static let addresses = ServerLimits.addressCountMax * 34 + 16
    private static let list = ServerLimits.addressCountMax * 70 + 16
    private static let updates = ServerLimits.chainCountMaxPerRequest * 64 + 16
    private static let sweep = 2 * ServerLimits.sweepAddressCountMax * 34 + 256
    private static let contacts = ServerLimits.contactCountMax * 34 + 16
    private static let letters = ServerLimits.memberCountMax * (ServerLimits.letterByteCountMax + 3) + 16
    private static let memberPost = link + ServerLimits.historyByteCountMax + letters
    private static let mailEntry = ServerLimits.mailboxEntryByteCountMax + 64

    static let accounts: [Definition] = [
        .open("GET", "/health", "health") { service, _ in
            service.store.isHealthy() ? ServerResponse(200, .text("ok\n")) : ServerResponse(503, .text("storage\n"))
        },
        .open("GET", "/metrics", "metrics") { service, _ in ServerResponse(200, .text(service.metricsText())) },
        .open("GET", "/ask", "ask.page") { service, _ in try service.askPage() },
        .open("POST", "/v1/login/challenge", "login.challenge", .costly, body: 1 << 10, .here) { service, request in
            let message = try request.message(LoginChallengeRequest.self)
            return ServerResponse(200, try service.store.challenge(message, serverName: service.configuration.name))
        },
        .open("POST", "/v1/login", "login", .costly, body: 1 << 10) { service, request in
            ServerResponse(
                200,
                try service.store.login(
                    request.message(LoginRequest.self), serverName: service.configuration.name,
                    fingerprint: service.certificateFingerprint))
        },
        .owned("POST", "/v1/logout", "logout") { service, request, _ in
            try service.store.logout(token: request.token)
            return ServerResponse(204)
        },
        .open("POST", "/v1/accounts", "accounts.register", .costly, body: link) { service, request in
            let message = try request.message(AccountRegistration.self)
            let outcome = try service.store.register(message, policy: service.configuration.registration)
            return ServerResponse(outcome, created: true)
        },
        .owned("GET", "/v1/chains/{kind}/{id}", "chains.read", .reading) { service, request, owner in
            let start = try request.number("from", max: Int64(Limits.chainLinkCountMax)) ?? 0
            return ServerResponse(
                200, try service.store.links(request.path.kind, request.id, from: start, for: owner))
        },
        .owned("POST", "/v1/chains/{kind}/{id}", "chains.append", body: link) { service, request, owner in
            let link = try request.message(ChainAppend.self).link
            let outcome = try service.store.append(link, to: request.path.kind, request.id, by: owner)
            return ServerResponse(outcome, created: false)
        },
        .owned("POST", "/v1/chains/updates", "chains.updates", body: updates, .reading) { service, request, owner in
            ServerResponse(200, try service.store.updates(try request.message(ChainUpdateRequest.self), for: owner))
        },
        .owned("POST", "/v1/links", "links.post", body: ServerLimits.pushByteCountMax) { service, request, owner in
            ServerResponse(try service.store.take(try request.message(LinkPost.self).items, by: owner))
        },
        .owned("GET", "/v1/accounts", "accounts.find") { try $0.account($1, for: $2) },
        .owned("GET", "/v1/memberships", "memberships.list", .reading) { service, _, owner in
            ServerResponse(200, try service.store.memberships(of: owner))
        },
        .owned("GET", "/v1/heads", "heads.list", .reading) { service, _, owner in
            ServerResponse(200, try service.store.heads(for: owner))
        },
        .owned("GET", "/v1/letters", "letters.read", .reading) { service, _, owner in
            ServerResponse(200, try service.store.letters(for: owner))
        },
        .owned("POST", "/v1/letters/{id}", "letters.post", body: 2 * ServerLimits.letterByteCountMax) {
            service, request, owner in
            try service.store.post(try request.message(PersonalLetter.self), to: request.id, by: owner)
            return ServerResponse(201)
        },
        .owned("DELETE", "/v1/letters/{id}", "letters.delete") { service, request, owner in
            try service.store.deleteLetter(request.id, for: owner)
            return ServerResponse(204)
        },
        .owned("PUT", "/v1/contacts", "contacts.write", body: contacts) { service, request, owner in
            try service.store.setContacts(try request.message(ContactList.self), of: owner)
            return ServerResponse(204)
        },
        .owned("POST", "/v1/contact-tokens", "contacts.token", body: 256) { service, request, owner in
            try service.store.setToken(try request.message(ContactToken.self), of: owner)
            return ServerResponse(204)
        },
        .owned("POST", "/v1/guest-invitations", "guests.invite") { service, _, owner in
            guard service.configuration.registration != .closed else { throw ServerFailure(.registrationClosed) }
            return ServerResponse(201, try service.store.inviteGuest(by: owner))
        },
        .owned("GET", "/v1/usage", "accounts.usage") { service, _, owner in
            ServerResponse(200, try service.store.usage(of: owner))
        },
        .owned("GET", "/v1/mailboxes/{account}", "mail.read", .reading) { service, request, owner in
            try request.requireAccount(of: owner)
            return ServerResponse(200, try service.store.mail(for: owner))
        },
        .owned("POST", "/v1/mailboxes/{account}", "mail.post", body: mailEntry) { service, request, owner in
            try request.requireAccount(of: owner)
            try service.store.post(try request.message(MailboxPost.self), by: owner)
            return ServerResponse(201)
        },
        .owned("DELETE", "/v1/mailboxes/{account}/{entry}", "mail.delete") { service, request, owner in
            try request.requireAccount(of: owner)
            try service.store.deleteMail(try request.secondID(), for: owner)
            return ServerResponse(204)
        },
    ]

    /// The paths that say more about an address stand before those with an id in its place.
    static let zones: [Definition] = [
        .owned("GET", "/v1/zones", "zones.list") { service, _, owner in
            ServerResponse(200, ZoneFetch(addresses: try service.store.zones(of: owner)))
        },
        .owned("POST", "/v1/zones/{zone}/delete", "zones.delete", body: 256) { service, request, owner in
            try service.store.deleteZone(try request.message(ZoneDeletion.self), request.id, by: owner)
            return ServerResponse(204)
        },
        .owned("GET", "/v1/zones/{zone}/head", "zones.head") { try $0.head($1, for: $2) },
        .owned("POST", "/v1/zones/{zone}/push", "zones.push", body: ServerLimits.pushByteCountMax) {
            try $0.push($1, by: $2)
        },
        .owned("GET", "/v1/zones/{zone}/changes", "zones.changes") { try $0.changes($1, for: $2) },
        .owned("POST", "/v1/zones/{zone}/fetch", "zones.fetch", body: addresses, .reading) {
            try $0.fetch($1, for: $2)
        },
        .owned("GET", "/v1/zones/{zone}/objects", "objects.list", .reading) { try $0.stored(.object, $1, for: $2) },
        .owned("POST", "/v1/zones/{zone}/sweep", "zones.sweep", body: sweep) { service, request, owner in
            let sweep = try request.message(ZoneSweep.self)
            return ServerResponse(200, try service.store.sweep(sweep, of: request.id, by: owner))
        },
        .owned("GET", "/v1/zones/{zone}/collections", "collections.list", .reading) { service, request, owner in
            let after = try request.cursor("after")
            return ServerResponse(200, try service.store.collectionRecords(after: after, in: request.id, for: owner))
        },
        .owned("POST", "/v1/zones/{zone}/members", "members.post", body: memberPost) { service, request, owner in
            let post = try request.message(MemberPost.self)
            return ServerResponse(link: try service.store.post(post, to: request.id, by: owner))
        },
        .owned("GET", "/v1/zones/{zone}/keys", "keys.read", .reading) { service, request, owner in
            ServerResponse(200, try service.store.keys(of: request.id, for: owner))
        },
        .owned("POST", "/v1/zones/{zone}/letters", "keys.letters", body: letters) { service, request, owner in
            try service.store.post(try request.message(LetterPost.self), to: request.id, by: owner)
            return ServerResponse(204)
        },
        .owned("DELETE", "/v1/zones/{zone}/letter", "keys.taken") { service, request, owner in
            guard let epoch = try request.number("epoch", max: Int64(UInt32.max)) else {
                throw ServerFailure(.malformed, "an epoch")
            }
            try service.store.takeLetter(ofEpoch: UInt32(epoch), in: request.id, by: owner)
            return ServerResponse(204)
        },
        .owned("GET", "/v1/zones/{zone}/acks", "acks.read", .reading) { service, request, owner in
            ServerResponse(200, try service.store.acknowledgements(in: request.id, for: owner))
        },
        .owned(
            "PUT", "/v1/zones/{zone}/acks/{device}", "acks.write", body: ServerLimits.acknowledgementByteCountMax
        ) { service, request, owner in
            guard try request.secondID().bytes == owner.deviceID else { throw ServerFailure(.forbidden) }
            guard !request.body.isEmpty else { throw ServerFailure(.malformed, "an empty acknowledgement") }
            try service.store.acknowledge(request.body, in: request.id, by: owner)
            return ServerResponse(204)
        },
        .owned("GET", "/v1/zones/{zone}/chunks", "chunks.list", .reading) { try $0.stored(.chunk, $1, for: $2) },
        .owned("POST", "/v1/zones/{zone}/chunks/missing", "chunks.missing", body: list, .reading) {
            service, request, owner in
            let list = try request.message(ChunkList.self)
            return ServerResponse(200, try service.store.missing(list, in: request.id, for: owner))
        },
        .owned("GET", "/v1/zones/{zone}/chunks/{address}", "chunks.read") { try $0.chunk($1, for: $2) },
        .owned("HEAD", "/v1/zones/{zone}/chunks/{address}", "chunks.size") { try $0.chunk($1, for: $2) },
        .owned(
            "PUT", "/v1/zones/{zone}/chunks/{address}", "chunks.write", body: ServerLimits.chunkByteCountMax
        ) { try $0.putChunk($1, by: $2) },
        .owned("DELETE", "/v1/zones/{zone}/chunks/{address}", "chunks.delete") { service, request, owner in
            try service.store.withdrawChunk(address: request.path.ids[1], in: request.id, by: owner)
            return ServerResponse(204)
        },
    ]

    static let log: [Definition] = [
        .open("GET", "/v1/log/key", "log.key", .open, .reading) { service, _ in
            let verifier = service.store.keyLogVerifier(serverName: service.configuration.name)
            return ServerResponse(200, .text(verifier.text + "\n"))
        },
        .open("GET", "/v1/log/checkpoint", "log.checkpoint", .open, .reading) { service, _ in
            let note = try service.store.keyLogCheckpoint(serverName: service.configuration.name)
            return ServerResponse(200, .text(String(decoding: note, as: UTF8.self)))
        },
        .owned("GET", "/v1/log/tile/entries/{tile}", "log.entries", .reading) { service, request, _ in
            ServerResponse(200, .octets(try service.store.keyLogTile(path: "entries/" + request.path.tile)))
        },
        .open("GET", "/v1/log/tile/{tile}", "log.tile", .open, .reading) { service, request in
            guard !request.path.tile.hasPrefix("entries") else { throw ServerFailure(.malformed, "a tile's name") }
            return ServerResponse(200, .octets(try service.store.keyLogTile(path: request.path.tile)))
        },
    ]

    static let live: [Definition] = [
        .owned("GET", "/v1/events", "events", isWebSocket: true) { _, _, owner in
            ServerResponse(101, .webSocket(.events(owner)))
        },
        .owned("GET", "/v1/pairings", "pairings.list") { service, _, owner in
            ServerResponse(200, service.rooms.board.requests(for: owner.accountID))
        },
        .owned("GET", "/v1/asks", "asks.list") { service, _, owner in
            ServerResponse(200, service.rooms.asks.requests(for: owner.accountID + owner.deviceID))
        },
        .open("GET", "/v1/relay", "relay.create", .costly, isWebSocket: true, .writing) { service, request in
            try service.openRelay(for: request.query("account"), device: request.query("device"))
        },
        .open("GET", "/v1/relay/{relay}", "relay.join", .costly, isWebSocket: true) { service, request in
            guard service.rooms.claim(request.id) else { throw ServerFailure(.relayUnknown) }
            return ServerResponse(101, .webSocket(.relayJoiner(id: request.id)))
        },
    ]
}
