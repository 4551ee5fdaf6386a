// Passkeys for a browser. Invariant: a key is made or used for a page whose host is the key's domain or lies below it, once for each challenge,
// and after a person has shown to be there.

internal import CPSL
internal import CoffretBase
internal import CoffretBridge
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretStorage
internal import CoffretTerminal
internal import CoffretWire

/// Spec: Spec/passkeys.md.
extension BridgeDesk {
    struct FoundPasskey {
        let item: Item
        let passkey: Passkey
    }

    func findPasskeys(_ request: BridgeRequest, _ origin: WebOrigin) throws -> BridgeAnswer {
        let site = try site(request, origin)
        var answer = BridgeAnswer()
        answer.logins = try passkeys(site, among: credentials(request)).prefix(20).map { found in
            var login = BridgeLogin()
            (login.id, login.title) = (found.item.id.uuid.hex, found.item.title)
            login.username = found.passkey.userName
            login.credential = Base64.url.encode(found.passkey.credentialID)
            return login
        }
        return answer
    }

    func createPasskey(_ request: BridgeRequest, _ origin: WebOrigin) throws -> BridgeAnswer {
        let (site, challenge) = (try site(request, origin), try bytes(request.challenge, "challenge", 1...1_024))
        let excluded = try credentials(request) ?? []
        let handle = try bytes(request.userHandle, "userHandle", 1...Passkey.userHandleByteCountMax)
        let userName = Self.name(request.username) ?? ""
        try admit(challenge, origin, to: "make a passkey for \(Self.shown(userName)) at \(site)")
        // The person is asked first: a page learns of no key without that.
        guard try excluded.isEmpty || passkeys(site, among: excluded).isEmpty else { throw BridgeError(.passkeyExists) }
        let surroundings = desk.surroundings
        let passkey = try Passkey.make(
            site: site, siteName: Self.name(request.siteName) ?? site, userHandle: handle, userName: userName,
            displayName: Self.name(request.displayName) ?? userName, now: surroundings.clock.now,
            random: surroundings.random)
        let item = try keep(passkey, origin)
        var answer = BridgeAnswer()
        (answer.id, answer.title) = (item.id.uuid.hex, item.title)
        answer.credential = Base64.url.encode(passkey.credentialID)
        answer.clientData = Base64.url.encode(
            Passkey.clientData(type: "webauthn.create", challenge: challenge, origin: origin))
        answer.authenticatorData = Base64.url.encode(passkey.createdData)
        answer.attestation = Base64.url.encode(passkey.attestation)
        answer.publicKey = Base64.url.encode(passkey.publicKey)
        return answer
    }

    func usePasskey(_ request: BridgeRequest, _ origin: WebOrigin) throws -> BridgeAnswer {
        let (site, challenge) = (try site(request, origin), try bytes(request.challenge, "challenge", 1...1_024))
        let found = try passkeys(site, among: credentials(request))
        guard let chosen = found.first, found.count == 1 || request.credentials?.count == 1 else {
            throw found.isEmpty ? BridgeError(.passkeyMissing) : BridgeError(.messageInvalid, at: "credentials")
        }
        let passkey = chosen.passkey
        desk.subject = nil
        _ = try desk.find(chosen.item.id.uuid.hex, vault: nil)
        try admit(challenge, origin, to: "sign in as \(Self.shown(passkey.userName)) at \(site)")
        let clientData = Passkey.clientData(type: "webauthn.get", challenge: challenge, origin: origin)
        var answer = BridgeAnswer()
        (answer.id, answer.title) = (chosen.item.id.uuid.hex, chosen.item.title)
        answer.credential = Base64.url.encode(passkey.credentialID)
        answer.clientData = Base64.url.encode(clientData)
        answer.authenticatorData = Base64.url.encode(passkey.authenticatorData)
        answer.signature = Base64.url.encode(try passkey.signature(passkey.authenticatorData, clientData: clientData))
        answer.userHandle = Base64.url.encode(passkey.userHandle)
        return answer
    }

    // MARK: What is judged

    /// The domain of the request, if the page may use keys of it.
    private func site(_ request: BridgeRequest, _ origin: WebOrigin) throws(BridgeError) -> String {
        guard let isFramed = request.isFramed else { throw BridgeError(.messageInvalid, at: "framed") }
        guard !isFramed else { throw BridgeError(.passkeyFramed) }
        guard let site = request.site, (1...253).contains(site.utf8.count), !site.utf8.contains(0) else {
            throw BridgeError(.messageInvalid, at: "site")
        }
        guard site != origin.hostName else { return site }
        guard origin.hostName.hasSuffix("." + site), unsafe coffret_psl_covers(site, origin.hostName) == 1 else {
            throw BridgeError(.passkeyForeign)
        }
        return site
    }

    /// Has the person asked, once for each challenge.
    func admit(_ challenge: [UInt8], _ origin: WebOrigin, to reason: String) throws(BridgeError) {
        guard unsafe agent.isFresh(HashAlgorithm.sha256.hash(challenge.span.bytes)) else {
            throw BridgeError(.passkeyReplayed)
        }
        try take(origin)
        guard agent.verify("\(reason), for \(browser)") == nil else { throw BridgeError(.passkeyRefused) }
    }

    private func bytes(_ text: String?, _ name: String, _ counts: ClosedRange<Int>) throws(BridgeError) -> [UInt8] {
        guard let text, text.utf8.count <= 2_048, let bytes = try? Base64.url.decode(text), counts ~= bytes.count else {
            throw BridgeError(.messageInvalid, at: name)
        }
        return bytes
    }

    /// Nil for any.
    private func credentials(_ request: BridgeRequest) throws(BridgeError) -> [[UInt8]]? {
        guard let texts = request.credentials else { return nil }
        guard texts.count <= 256 else { throw BridgeError(.messageInvalid, at: "credentials") }
        var ids: [[UInt8]] = []
        for text in texts { ids.append(try bytes(text, "credentials", 1...Passkey.credentialIDByteCountMax)) }
        return ids
    }

    /// One line, cut where it is too long; nil for nothing.
    static func name(_ text: String?) -> String? {
        let plain = String((text ?? "").unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F })
        return plain.isEmpty ? nil : String(plain.prefix(Passkey.nameByteCountMax / 4))
    }

    /// A name that a page has chosen, in a question to the person.
    static func shown(_ name: String) -> String {
        name.isEmpty ? "somebody" : "\"\(TextWidth.truncate(TextWidth.displaySafe(name), to: 40))\""
    }

    // MARK: The vault

    /// Passkeys of a domain, those of the item that was changed last first.
    func passkeys(_ site: String, among ids: [[UInt8]]?) throws -> [FoundPasskey] {
        let place = WebPlace(protocolName: "https", host: site)
        var found: [FoundPasskey] = []
        for record in try desk.records(nil, for: .browser) {
            let vault = try desk.vault(record)
            for candidate in try desk.within(LoginMatch.candidates(place, vault)) {
                let item = try vault.item(candidate.id)
                guard Self.isForBrowsers(item) else { continue }
                for field in item.fields where field.kind == .passkey {
                    guard let passkey = Passkey(field: field.value), passkey.site == site,
                        ids?.contains(passkey.credentialID) ?? true
                    else { continue }
                    found.append(FoundPasskey(item: item, passkey: passkey))
                }
            }
        }
        return found.sorted { $0.item.modified > $1.item.modified }
    }

    /// Keeps a new passkey in the page's login of that user name, or in a new one.
    func keep(_ passkey: Passkey, _ origin: WebOrigin) throws -> Item {
        let random = desk.surroundings.random
        let label = "Passkey of \(passkey.site)"
        let value = try passkey.field()
        func field(after fields: [ItemField]) -> ItemField {
            ItemField(
                key: .generate(from: random),
                label: label.utf8.count <= ItemField.labelByteCountMax ? label : "Passkey",
                kind: .passkey, value: value, position: (fields.map(\.position).max() ?? 0) + 1)
        }
        if !passkey.userName.isEmpty,
            let login = try logins(origin).first(where: { Self.username($0) == passkey.userName })
        {
            let place = try desk.find(login.id.uuid.hex, vault: nil)
            _ = try desk.edit(place) { item in item.fields.append(field(after: item.fields)) }
            return try place.vault.item(place.id)
        }
        var draft = ItemDraft(kind: .login, title: passkey.site, text: "")
        for (name, value) in [("username", passkey.userName), ("url", origin.text)] where !value.isEmpty {
            try FieldChange(name: name, value: value, isSecret: nil).apply(
                to: &draft.fields, kind: .login, random: random)
        }
        draft.fields.append(field(after: draft.fields))
        try desk.requireWithin(draft)
        let record = try desk.record(nil)
        return try desk.writing(record) { vault in
            let id = try vault.create(draft)
            desk.subject = (record.vaultID, id)
            return try vault.item(id)
        }
    }
}
