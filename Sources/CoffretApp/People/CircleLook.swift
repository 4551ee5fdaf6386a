// A look at all circles, as each sync takes it. The one thing to keep true: it tells, keeps shares and says that it has them; it
// accepts, asks, forbids and releases nothing.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretMessages
internal import CoffretSharing
internal import CoffretTerminal
internal import CoffretTrust

/// Something about a circle that a person should hear of.
package struct CircleNotice: Equatable, Sendable {
    package let words: String
    /// Whether it cannot wait: somebody asks for an account.
    package let isLoud: Bool
}

extension CircleDesk {
    /// How often contacts are asked by themselves whether they have their shares: every 90 days.
    private static let testTime: Milliseconds = 90 * 86_400_000
    /// Between two questions: the server takes no more.
    private static let pauseTime: Milliseconds = 3_600_000

    /// Follows all circles, takes shares, answers who asks for them, and says what is new or open.
    func look() throws -> [CircleNotice] {
        let names = try desk.personNames()
        var news = try receiveShares().map { _ in
            CircleNotice(words: "a share came for which you are a recovery contact", isLoud: false)
        }
        let own = try own
        for id in try known() {
            do {
                news += try look(at: id, names, own)
            } catch  where !SyncTrouble.isTransient(error) {
                // A fault of one circle keeps nobody from hearing of the others.
                news.append(
                    CircleNotice(
                        words: "recovery contacts cannot be followed: \(id.hex.prefix(8)) (\(FailureCode.of(error)))",
                        isLoud: true))
            }
        }
        return news
    }

    private func look(at id: VaultID, _ names: PersonNames, _ own: ChainID) throws -> [CircleNotice] {
        if let circle = try follow(id) {
            return try circle.isOwn(own) ? lookAtOwn(circle, names) : lookAtOther(circle, names, own)
        }
        guard try vault.circles().contains(id) else { return [] }
        return [
            CircleNotice(
                words: "the server shows recovery contacts no more that you have or help: \(id.hex.prefix(8))",
                isLoud: false)
        ]
    }

    private func words(_ account: ChainID, _ names: PersonNames) -> String {
        names[account].map { "\"\(TextWidth.displaySafe($0))\"" } ?? String(account.hex.prefix(8))
    }

    private func lookAtOwn(_ circle: FollowedCircle, _ names: PersonNames) throws -> [CircleNotice] {
        if circle.isReady {
            return [
                CircleNotice(
                    words:
                        "all your recovery contacts have accepted: coffret recovery contacts add gives them their shares",
                    isLoud: false)
            ]
        }
        guard circle.serves else { return [] }
        var news = circle.openRequests.map { request in
            CircleNotice(
                words:
                    "somebody asks your recovery contacts for your account: \(words(request.accountID, names)) recorded the "
                    + "request \(Hex.encode(request.request.bytes.prefix(4))). If that is not you: coffret recovery contacts forbid",
                isLoud: true)
        }
        for account in circle.contacts where circle.view.members[account] == nil {
            news.append(
                CircleNotice(
                    words: "\(words(account, names)) is your recovery contact no more; choose new ones: "
                        + "coffret recovery contacts rm, then add", isLoud: false))
        }
        if sync.clock.now &- (try vault.asked(in: circle.id) ?? 0) > Self.testTime { _ = try ask(circle) }
        return news
    }

    private func lookAtOther(
        _ circle: FollowedCircle, _ names: PersonNames, _ own: ChainID
    ) throws -> [CircleNotice] {
        // Strangers make no noise.
        guard let member = circle.view.members[own], let name = names[circle.view.founder] else { return [] }
        let who = "\"\(TextWidth.displaySafe(name))\""
        guard member.hasAccepted else {
            return [
                CircleNotice(
                    words:
                        "\(who) asks you to be a recovery contact: coffret recovery help \(TextWidth.displaySafe(name))",
                    isLoud: false)
            ]
        }
        try answer(circle, own)
        return circle.openRequests.map { request in
            CircleNotice(
                words:
                    "somebody asks for the account of \(who): \(words(request.accountID, names)) recorded the request "
                    + "\(Hex.encode(request.request.bytes.prefix(4))). Reach \(who) in a way that you know, and ask",
                isLoud: true)
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
