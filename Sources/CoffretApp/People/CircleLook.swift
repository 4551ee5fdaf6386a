// A look at all circles, as each sync takes it. The one thing to keep true: it tells, keeps shares and says that it has them; it
// accepts, asks, forbids and releases nothing.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretMessages
internal import CoffretSharing
internal import CoffretTerminal
internal import CoffretTrust

extension CircleDesk {
    /// How often contacts are asked by themselves whether they have their shares: every 90 days.
    private static let testTime: Milliseconds = 90 * 86_400_000
    /// Between two questions: the server takes no more.
    private static let pauseTime: Milliseconds = 3_600_000

    /// Follows all circles, takes shares, answers who asks for them, and says what is new or open.
    func look() throws -> [PeopleNotice] {
        let names = try desk.personNames()
        var news = try receiveShares().map { id in
            PeopleNotice(.circle, id.bytes + Array("share".utf8), "a share came for which you are a recovery contact")
        }
        let own = try own
        for id in try known() {
            do {
                news += try look(at: id, names, own)
            } catch  where !SyncTrouble.isTransient(error) {
                // A fault of one circle keeps nobody from hearing of the others.
                news.append(
                    PeopleNotice(
                        .circle, id.bytes + Array(FailureCode.of(error).utf8), isLoud: true,
                        "recovery contacts cannot be followed: \(id.hex.prefix(8)) (\(FailureCode.of(error)))"))
            }
        }
        return news
    }

    private func look(at id: VaultID, _ names: PersonNames, _ own: ChainID) throws -> [PeopleNotice] {
        if let circle = try follow(id) {
            return try circle.isOwn(own) ? lookAtOwn(circle, names) : lookAtOther(circle, names, own)
        }
        guard try vault.circles().contains(id) else { return [] }
        return [
            PeopleNotice(
                .circle, id.bytes + Array("hidden".utf8),
                "the server shows recovery contacts no more that you have or help: \(id.hex.prefix(8))")
        ]
    }

    private func words(_ account: ChainID, _ names: PersonNames) -> String {
        names[account].map { "\"\(TextWidth.displaySafe($0))\"" } ?? String(account.hex.prefix(8))
    }

    private func lookAtOwn(_ circle: FollowedCircle, _ names: PersonNames) throws -> [PeopleNotice] {
        if circle.isReady {
            return [
                PeopleNotice(
                    .circle, circle.id.bytes + Array("ready".utf8),
                    "all your recovery contacts have accepted: coffret recovery contacts add gives them their shares")
            ]
        }
        guard circle.serves else { return [] }
        var news = circle.openRequests.map { request in
            PeopleNotice(
                .request, circle.id.bytes + request.request.bytes, isLoud: true,
                "somebody asks your recovery contacts for your account: \(words(request.accountID, names)) recorded the "
                    + "request \(Hex.encode(request.request.bytes.prefix(4))). If that is not you: coffret recovery contacts forbid"
            )
        }
        for account in circle.contacts where circle.view.members[account] == nil {
            news.append(
                PeopleNotice(
                    .circle, circle.id.bytes + account.bytes,
                    "\(words(account, names)) is your recovery contact no more; choose new ones: "
                        + "coffret recovery contacts rm, then add"))
        }
        if sync.clock.now &- (try vault.asked(in: circle.id) ?? 0) > Self.testTime { _ = try ask(circle) }
        return news
    }

    private func lookAtOther(
        _ circle: FollowedCircle, _ names: PersonNames, _ own: ChainID
    ) throws -> [PeopleNotice] {
        // Strangers make no noise.
        guard let member = circle.view.members[own], let name = names[circle.view.founder] else { return [] }
        let who = "\"\(TextWidth.displaySafe(name))\""
        guard member.hasAccepted else {
            return [
                PeopleNotice(
                    .help, circle.id.bytes,
                    "\(who) asks you to be a recovery contact: coffret recovery help \(TextWidth.displaySafe(name))")
            ]
        }
        try answer(circle, own)
        return circle.openRequests.map { request in
            PeopleNotice(
                .request, circle.id.bytes + request.request.bytes, isLoud: true,
                "somebody asks for the account of \(who): \(words(request.accountID, names)) recorded the request "
                    + "\(Hex.encode(request.request.bytes.prefix(4))). Reach \(who) in a way that you know, and ask")
        }
    }

    /// Says that the own share is here, if the founder has asked since this account said so last.
    private func answer(_ circle: FollowedCircle, _ own: ChainID) throws {
        guard circle.answer(of: own) == false, try share(in: circle) != nil else { return }
        try post(to: circle) { $0.answer(of: own) == false ? .state : nil }
    }

    /// Asks all contacts of an own circle whether they have their shares; not again while the last question is young.
    func ask(_ circle: FollowedCircle) throws -> FollowedCircle {
        let now = sync.clock.now
        let isAnswered = circle.contacts.allSatisfy { circle.view.members[$0] == nil || circle.answer(of: $0) == true }
        let isAsked = circle.answer(of: circle.view.founder) != nil
        if isAsked, let asked = try vault.asked(in: circle.id), 0...Self.pauseTime ~= now &- asked { return circle }
        if isAsked, !isAnswered, let asked = try vault.asked(in: circle.id), 0...86_400_000 ~= now &- asked {
            return circle
        }
        let next = try post(to: circle) { after in after.rights.count == circle.rights.count ? .state : nil }
        try vault.setAsked(in: circle.id, at: now)
        try sync.syncAccountVaults()
        return next
    }
}
