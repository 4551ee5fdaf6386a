// What a circle's links say of shares, requests, prohibitions and releases. The one thing to keep true: nothing arms a circle
// before all of its contacts have accepted, and nobody else asks or releases.

package import CoffretBase

/// The link that made a circle serve.
package struct CircleArming: Equatable, Sendable {
    package let link: Int
    /// The device that the shares give together.
    package let paper: UniqueID
    package let shares: [CircleShareRow]

    package func share(of account: ChainID) -> CircleShareRow? { shares.first { $0.accountID == account } }
}

/// A wish to come back to the account, as a contact recorded it.
package struct CircleRequest: Equatable, Sendable {
    /// Of the new machine's key and nonce.
    package let request: Bytes32
    /// The contact who recorded it.
    package let accountID: ChainID
    package let link: Int
    /// By the contact's clock, for people to read; no rule rests on it.
    package let time: Milliseconds
    /// The link that ended it; nil: nobody forbade it.
    package fileprivate(set) var forbiddenAt: Int?
    /// Contacts who say that they gave their share, with the times that they state.
    package fileprivate(set) var releases: [ChainID: Milliseconds] = [:]
}

package struct CircleState: Equatable, Sendable {
    package static let requestCountMax = 16

    package let terms: CircleTerms
    package private(set) var arming: CircleArming?
    /// In the order of their links.
    package private(set) var requests: [CircleRequest] = []

    init(_ terms: CircleTerms) { self.terms = terms }

    package func request(_ request: Bytes32) -> CircleRequest? { requests.first { $0.request == request } }

    /// Why an operation does not apply; nil: it does.
    ///
    /// - Parameter members: with the founder, who alone is an owner.
    func refusal(
        of operation: CircleOperation, by account: ChainID, members: [ChainID: Member]
    ) -> MemberError.Code? {
        guard let member = members[account], member.hasAccepted else { return .notPermitted }
        let isOpen = { (request: Bytes32) in self.request(request).map { $0.forbiddenAt == nil } ?? false }
        let applies: Bool
        switch operation {
        case .arm(_, let shares):
            guard member.owns, arming == nil else { return .notPermitted }
            let contacts = members.filter { $0.value.role == .contact }
            guard contacts.count == terms.count, contacts.values.allSatisfy(\.hasAccepted) else {
                return .consentRequired
            }
            applies =
                Set(shares.map(\.accountID)) == Set(contacts.keys) && shares.count == terms.count
                && Set(shares.map { Int($0.x) }) == Set(1...terms.count)
        case .request(let request, _):
            applies =
                member.role == .contact && arming != nil && self.request(request) == nil
                && requests.count { $0.accountID == account } < Self.requestCountMax
        case .forbid(let request):
            applies = member.owns && isOpen(request)
        case .release(let request, _):
            applies =
                member.role == .contact && isOpen(request) && self.request(request)?.releases[account] == nil
        }
        return applies ? nil : .notPermitted
    }

    mutating func fold(_ operation: CircleOperation, by account: ChainID, link: Int) {
        switch operation {
        case .arm(let paper, let shares):
            arming = CircleArming(link: link, paper: paper, shares: shares)
        case .request(let request, let time):
            requests.append(CircleRequest(request: request, accountID: account, link: link, time: time))
        case .forbid(let request):
            change(request) { $0.forbiddenAt = link }
        case .release(let request, let time):
            change(request) { $0.releases[account] = time }
        }
    }

    private mutating func change(_ request: Bytes32, _ body: (inout CircleRequest) -> Void) {
        guard let index = requests.firstIndex(where: { $0.request == request }) else { return }
        body(&requests[index])
    }
}

extension MemberCheck {
    /// The table of Spec/recovery.md section 3.
    func checkCircle(_ circle: CircleState, by member: Member) throws(MemberError) {
        switch operation.kind {
        case .add(let head, let role):
            guard member.owns, role == .contact, circle.arming == nil, before.members[head.accountID] == nil,
                before.members.count <= circle.terms.count
            else { throw refused }
        case .accept(let adding): try checkAcceptance(adding, by: member)
        case .leave: guard !member.owns else { throw refused }
        // Nobody is removed from a circle: its founder makes another one and revokes the paper device of this one.
        case .changeRoles: throw refused
        case .state: break
        case .circle(let special):
            if let code = circle.refusal(of: special, by: operation.accountID, members: before.members) {
                throw MemberError(code, at: number)
            }
            guard case .arm(let paper, _) = special else { return }
            guard let devices = accounts[operation.accountID], let place = devices.position(of: operation.deviceHead),
                devices.isPaper(paper, at: place)
            else { throw refused }
        }
        guard operation.opening == nil else { throw refused }
    }
}
