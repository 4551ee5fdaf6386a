// The requests of the extension, performed. Invariant: each is about the logins of one origin, and the addresses of a login are
// compared with that origin here, whatever the extension found before.

internal import CoffretBase
package import CoffretBridge
internal import CoffretCore
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretWire

/// A desk as a browser sees it.
///
/// Spec: Spec/bridge.md sections 4 and 5.
package struct BridgeDesk {
    private static let loginCountMax = 20
    /// A warning of look-alikes reads every login: beyond this number it is left out.
    private static let addressItemCountMax = 5_000
    private static let passwordLengths = 8...128

    let desk: StoreDesk
    let browser: String
    let agent: BridgeTerms.Agent

    package init(_ desk: StoreDesk, browser: String, _ agent: BridgeTerms.Agent) {
        self.desk = desk
        self.browser = browser
        self.agent = agent
    }

    /// - Throws: `BridgeError`; what the operations below refuse.
    package func answer(_ request: BridgeRequest) throws -> BridgeAnswer {
        switch request.kind {
        case .state: return state()
        case .find: return try find(Self.origin(request))
        case .fill: return try fill(request, Self.origin(request))
        case .code: return try code(request, Self.origin(request))
        case .generate: return try generate(request)
        case .compare: return try compare(request, Self.origin(request))
        case .save: return try save(request, Self.origin(request))
        case .update: return try update(request, Self.origin(request))
        case .passkeyFind: return try findPasskeys(request, Self.origin(request))
        case .passkeyCreate: return try createPasskey(request, Self.origin(request))
        case .passkeyGet: return try usePasskey(request, Self.origin(request))
        }
    }

    private static func origin(_ request: BridgeRequest) throws -> WebOrigin {
        guard let text = request.origin else { throw BridgeError(.messageInvalid, at: "origin") }
        return try WebOrigin(text)
    }

    private func state() -> BridgeAnswer {
        var answer = BridgeAnswer()
        (answer.store, answer.browser) = (desk.store.layout.path, browser)
        return answer
    }

    // MARK: Looking

    private func find(_ origin: WebOrigin) throws -> BridgeAnswer {
        let fitting = try logins(origin)
        var answer = BridgeAnswer()
        answer.logins = fitting.prefix(Self.loginCountMax).map { item in
            var login = BridgeLogin()
            (login.id, login.title, login.username) = (item.id.uuid.hex, item.title, Self.username(item))
            login.kinds =
                (Self.password(item) == nil ? [] : ["password"])
                + (item.fields.contains { $0.kind == .oneTimeCode } ? ["code"] : [])
            return login
        }
        if fitting.count > Self.loginCountMax { answer.isMore = true }
        if fitting.isEmpty { answer.like = try LookAlike.find(origin.hostName, among: savedHosts()) }
        return answer
    }

    func logins(_ origin: WebOrigin) throws -> [Item] { try Self.logins(origin, on: desk) }

    /// The logins of an origin, the one that was changed last first.
    static func logins(_ origin: WebOrigin, on desk: StoreDesk) throws -> [Item] {
        let place = WebPlace(protocolName: origin.scheme, host: origin.host)
        var items: [Item] = []
        for record in try desk.records(nil, for: .browser) {
            let vault = try desk.vault(record)
            let candidates = try desk.within(LoginMatch.candidates(place, vault))
            items += try candidates.map { try vault.item($0.id) }.filter { fits($0, place) }
        }
        return items.sorted { $0.modified > $1.modified }
    }

    /// Hidden and locked items want a person at the terminal or the window; they do not exist for a browser.
    private static func fits(_ item: Item, _ place: WebPlace) -> Bool {
        isForBrowsers(item) && item.fields.contains { $0.kind == .url && place.matches($0.value) }
    }

    static func isForBrowsers(_ item: Item) -> Bool {
        item.kind == .login && !item.isHidden && !item.isSealed && !item.isTrashed && !item.isArchived
    }

    static func username(_ item: Item) -> String? { item.fields.first { $0.key.name == "username" }?.value }
    private static func password(_ item: Item) -> String? { item.fields.first { $0.key.name == "password" }?.value }

    /// The hosts of all logins, without ports.
    private func savedHosts() throws -> Set<String> {
        var filter = ItemFilter()
        filter.kinds = [.login]
        var hosts: Set<String> = []
        for record in try desk.records(nil, for: .browser) {
            let vault = try desk.vault(record)
            for summary in try vault.list(filter, limit: Self.addressItemCountMax) {
                let item = try vault.item(summary.id)
                guard !item.isHidden else { continue }
                for field in item.fields where field.kind == .url {
                    guard let host = WebPlace.Address(field.value)?.host else { continue }
                    hosts.insert(String(host.prefix { $0 != ":" }))
                }
            }
        }
        return hosts
    }

    /// The login that a request names, if it fits the origin now.
    private func login(_ request: BridgeRequest, _ origin: WebOrigin) throws -> Item {
        guard let id = request.id, id.utf8.count == 2 * UniqueID.byteCount else {
            throw BridgeError(.messageInvalid, at: "id")
        }
        guard let place = try? desk.find(id, vault: nil), let item = try? place.vault.item(place.id),
            Self.fits(item, WebPlace(protocolName: origin.scheme, host: origin.host))
        else {
            desk.subject = nil
            throw BridgeError(.itemNotFound)
        }
        return item
    }

    // MARK: Values

    private func fill(_ request: BridgeRequest, _ origin: WebOrigin) throws -> BridgeAnswer {
        guard let fields = request.fields, !fields.isEmpty, Set(fields).isSubset(of: ["username", "password"]) else {
            throw BridgeError(.messageInvalid, at: "fields")
        }
        let item = try login(request, origin)
        try take(origin)
        var answer = BridgeAnswer()
        if fields.contains("username") { answer.username = Self.username(item) }
        if fields.contains("password") { answer.password = Self.password(item) }
        return answer
    }

    private func code(_ request: BridgeRequest, _ origin: WebOrigin) throws -> BridgeAnswer {
        let item = try login(request, origin)
        try take(origin)
        var read = CodeRead()
        read.item = item.id.uuid.hex
        let made = try read.perform(on: desk)
        var answer = BridgeAnswer()
        (answer.code, answer.seconds) = (made.code, made.remainingSeconds)
        return answer
    }

    /// One more value for the browser.
    ///
    /// - Throws: `BridgeError` `.pausing`.
    func take(_ origin: WebOrigin) throws(BridgeError) {
        guard agent.mayFill() else { throw BridgeError(.pausing) }
        agent.tell(browser, origin.hostName)
    }

    private func generate(_ request: BridgeRequest) throws -> BridgeAnswer {
        let length = request.length ?? 20
        guard Self.passwordLengths.contains(length) else { throw BridgeError(.messageInvalid, at: "length") }
        var generate = SecretGenerate()
        (generate.kind, generate.length) = (.password, length)
        var answer = BridgeAnswer()
        answer.password = try generate.perform(on: desk).secret
        return answer
    }

    // MARK: Changes

    /// A value as it comes out of a form: one line that is not empty.
    private static func typed(_ text: String?, _ name: String) throws(BridgeError) -> String {
        guard let text, !text.isEmpty, text.utf8.count <= 4_096, !text.utf8.contains(where: { $0 < 0x20 }) else {
            throw BridgeError(.messageInvalid, at: name)
        }
        return text
    }

    /// The state of a login that was sent, in the store: it is there (`id`, not changed), has another password there (`id`,
    /// changed), or is new (no `id`). It tells whether a password is right, so it counts as a value.
    private func compare(_ request: BridgeRequest, _ origin: WebOrigin) throws -> BridgeAnswer {
        let password = try Self.typed(request.password, "password")
        let username = request.username ?? ""
        guard agent.mayFill() else { throw BridgeError(.pausing) }
        let logins = try logins(origin)
        let named = logins.filter { username.isEmpty || (Self.username($0) ?? "") == username }
        if let same = named.first(where: { Self.password($0) == password }) {
            return Self.answer(same, isChanged: false)
        }
        // Without a user name only a single login can be meant.
        let other = username.isEmpty && named.count > 1 ? nil : named.first
        return other.map { Self.answer($0, isChanged: true) } ?? BridgeAnswer()
    }

    private static func answer(_ item: Item, isChanged: Bool) -> BridgeAnswer {
        var answer = BridgeAnswer()
        (answer.id, answer.title, answer.username) = (item.id.uuid.hex, item.title, username(item))
        answer.isChanged = isChanged
        return answer
    }

    private func save(_ request: BridgeRequest, _ origin: WebOrigin) throws -> BridgeAnswer {
        let password = try Self.typed(request.password, "password")
        let username = request.username ?? ""
        if !username.isEmpty { _ = try Self.typed(username, "username") }
        guard try !logins(origin).contains(where: { (Self.username($0) ?? "") == username }) else {
            throw BridgeError(.loginExists)
        }
        var create = ItemCreate()
        (create.kind, create.title) = (ItemKind.login.name, origin.hostName)
        create.fields =
            (username.isEmpty ? [] : [FieldDraft(name: "username", value: username)])
            + [FieldDraft(name: "password", value: password), FieldDraft(name: "url", value: origin.text)]
        return Self.answer(try create.perform(on: desk), isChanged: true)
    }

    private func update(_ request: BridgeRequest, _ origin: WebOrigin) throws -> BridgeAnswer {
        let item = try login(request, origin)
        var edit = ItemEdit()
        edit.item = item.id.uuid.hex
        edit.setFields = [FieldDraft(name: "password", value: try Self.typed(request.password, "password"))]
        let edited = try edit.perform(on: desk)
        return Self.answer(edited.item, isChanged: edited.isChanged)
    }

    private static func answer(_ item: ItemMessage, isChanged: Bool) -> BridgeAnswer {
        var answer = BridgeAnswer()
        (answer.id, answer.title, answer.isChanged) = (item.id, item.title, isChanged)
        return answer
    }
}
