// Service, collection and entries. Invariant: nothing of an entry is answered before the session with the store has said that it
// is one.

internal import CoffretBase
internal import CoffretBus
internal import CoffretClient
internal import CoffretCrypto

extension SecretService {
    // MARK: Service

    func answerService(_ call: SecretCall) throws(BusRefusal) -> [BusValue] {
        switch call.member {
        case "OpenSession":
            let values = try call.arguments("sv")
            return try openSession(values[0].text ?? "", values[1].inner, for: call.sender)
        case "SearchItems":
            guard let attributes = try call.arguments("a{ss}")[0].texts else { throw .arguments }
            let (open, locked) = try search(attributes)
            return [.paths(open), .paths(locked)]
        case "Unlock":
            let objects = call.paths(try call.arguments("ao")[0])
            guard try !isOpen else { return [.paths(opened(objects)), .path("/")] }
            return [.paths([]), .path(try makePrompt(objects, for: call.sender))]
        case "Lock":
            // The whole store would lock, which is the person's to say.
            _ = try call.arguments("ao")
            return [.paths([]), .path("/")]
        case "GetSecrets":
            let values = try call.arguments("aoo")
            return [try secrets(call.paths(values[0]), values[1].path ?? "", for: call.sender)]
        case "ReadAlias":
            let name = try call.arguments("s")[0].text ?? ""
            return [.path(SecretPath.aliases.contains(name) ? SecretPath.collectionPath : "/")]
        case "CreateCollection":
            // There is one, and it is there.
            guard let alias = try call.arguments("a{sv}s")[1].text, SecretPath.aliases.contains(alias) else {
                throw .unsupported("there is one collection: the vault that this service shows")
            }
            return [.path(SecretPath.collectionPath), .path("/")]
        case "SetAlias": throw .unsupported("there is one collection, with the aliases that it has")
        default: throw .unknown
        }
    }

    private func openSession(
        _ name: String, _ input: BusValue, for sender: String
    ) throws(BusRefusal) -> [BusValue] {
        guard let algorithm = SecretTransport.Algorithm(rawValue: name) else {
            throw .unsupported("the transport \(name.prefix(64)) is not known")
        }
        guard sessions.count < Self.sessionCountMax else { throw .limits }
        let transport: SecretTransport
        do throws(CryptoError) {
            transport = try SecretTransport(algorithm, input: input.bytes ?? [])
        } catch { throw .arguments }
        let path = SecretPath.path(ofSession: next())
        sessions[path] = Session(owner: sender, transport: transport)
        let output: BusValue = algorithm == .plain ? .text("") : .bytes(transport.output)
        return [.variant(output), .path(path)]
    }

    /// Entries that are open, and what stands for those that may be there while the store is locked: an object that the client can have
    /// unlocked, and that is then the entry.
    private func search(_ attributes: [String: String]) throws(BusRefusal) -> (open: [String], locked: [String]) {
        guard SecretVault.isWithinLimits(attributes) else { throw .limits }
        guard !attributes.isEmpty else { return ([], []) }
        if try isOpen {
            do throws(SecretVaultError) {
                return (try vault.find(attributes).map { SecretPath.path(ofItem: $0) }, [])
            } catch {
                // It may have been locked meanwhile.
                guard error == .locked else { throw BusRefusal(error) }
            }
        }
        if let known = searches.last(where: { $0.attributes == attributes }) { return ([], [known.path]) }
        let search = Search(path: SecretPath.path(ofSearch: next()), attributes: attributes)
        searches.append(search)
        if searches.count > Self.searchCountMax { searches.removeFirst() }
        return ([], [search.path])
    }

    private func secrets(_ paths: [String], _ session: String, for sender: String) throws(BusRefusal) -> BusValue {
        guard sessions[session]?.owner == sender else { throw .noSession }
        var entries: [BusValue] = []
        for path in paths {
            guard let object = SecretPath(path), let id = try? entryID(object),
                let secret = try? secret(id, session, for: sender)
            else { continue }
            entries.append(.entry(.path(path), secret))
        }
        return .array("{o(oayays)}", entries)
    }

    // MARK: Secrets

    /// A secret as it crosses the bus.
    private func secret(_ id: String, _ path: String, for sender: String) throws(BusRefusal) -> BusValue {
        guard let session = sessions[path], session.owner == sender else { throw .noSession }
        var content = try inBus { () throws(SecretVaultError) in try vault.content(id) }
        defer { content.bytes.zero() }
        do throws(CryptoError) {
            let wrapped = try session.transport.wrap(content.bytes, random: random)
            return .structure([
                .path(path), .bytes(wrapped.parameters), .bytes(wrapped.value), .text(content.mediaType),
            ])
        } catch { throw .noSession }
    }

    private func content(_ value: BusValue, for sender: String) throws(BusRefusal) -> SecretContent {
        guard let parts = value.elements, parts.count == 4, let path = parts[0].path, let parameters = parts[1].bytes,
            let sealed = parts[2].bytes, let mediaType = parts[3].text
        else { throw .arguments }
        guard let session = sessions[path], session.owner == sender else { throw .noSession }
        do throws(CryptoError) {
            let bytes = try session.transport.unwrap(parameters: parameters, value: sealed)
            return SecretContent(bytes: bytes, mediaType: mediaType)
        } catch { throw .arguments }
    }

    // MARK: Collection

    func answerCollection(_ call: SecretCall) throws(BusRefusal) -> [BusValue] {
        switch call.member {
        case "SearchItems":
            guard let attributes = try call.arguments("a{ss}")[0].texts else { throw .arguments }
            let (open, locked) = try search(attributes)
            return [.paths(open + locked)]
        case "CreateItem": return try create(try call.arguments("a{sv}(oayays)b"), for: call.sender)
        case "Delete": throw .unsupported("a vault is removed by the person")
        default: throw .unknown
        }
    }

    private static let labelProperty = "org.freedesktop.Secret.Item.Label"
    private static let attributesProperty = "org.freedesktop.Secret.Item.Attributes"

    private func create(_ values: [BusValue], for sender: String) throws(BusRefusal) -> [BusValue] {
        guard try isOpen else { throw .locked }
        let label = values[0].property(Self.labelProperty)?.text ?? ""
        let attributes = values[0].property(Self.attributesProperty)?.texts ?? [:]
        guard SecretVault.isWithinLimits(attributes) else { throw .limits }
        var content = try content(values[1], for: sender)
        defer { content.bytes.zero() }
        if values[2].flag == true, let id = try same(attributes) {
            try inBus { () throws(SecretVaultError) in try vault.change(id, label: Self.title(label), content: content)
            }
            noteItem("ItemChanged", id)
            return [.path(SecretPath.path(ofItem: id)), .path("/")]
        }
        let id = try inBus { () throws(SecretVaultError) in
            try vault.create(label: Self.title(label), attributes: attributes, content: content)
        }
        noteItem("ItemCreated", id)
        return [.path(SecretPath.path(ofItem: id)), .path("/")]
    }

    /// An item of a vault has a title.
    private static func title(_ label: String) -> String {
        let line = label.prefix { !$0.isNewline }
        return line.isEmpty ? "Secret" : String(line.prefix(500))
    }

    /// The entry with these attributes and no others.
    private func same(_ attributes: [String: String]) throws(BusRefusal) -> String? {
        try inBus { () throws(SecretVaultError) -> String? in
            for id in try vault.find(attributes) where try vault.entry(id).attributes == attributes { return id }
            return nil
        }
    }

    private func noteItem(_ event: String, _ id: String) {
        bus.signal(
            SecretPath.collectionPath, "org.freedesktop.Secret.Collection", event, [.path(SecretPath.path(ofItem: id))])
    }

    // MARK: Entries

    /// The item behind a path, of which it is not known yet whether it is an entry.
    private func entryID(_ object: SecretPath) throws(BusRefusal) -> String {
        guard try isOpen else { throw .locked }
        switch object {
        case .item(let id): return id
        case .search(let path):
            guard let id = try found(path).first else { throw .noObject }
            return id
        default: throw .noObject
        }
    }

    func answerItem(_ object: SecretPath, _ call: SecretCall) throws(BusRefusal) -> [BusValue] {
        let id = try entryID(object)
        switch call.member {
        case "GetSecret":
            let session = try call.arguments("o")[0].path ?? ""
            return [try secret(id, session, for: call.sender)]
        case "SetSecret":
            var content = try content(try call.arguments("(oayays)")[0], for: call.sender)
            defer { content.bytes.zero() }
            try inBus { () throws(SecretVaultError) in try vault.change(id, content: content) }
            noteItem("ItemChanged", id)
            return []
        case "Delete":
            try inBus { () throws(SecretVaultError) in try vault.remove(id) }
            noteItem("ItemDeleted", id)
            return [.path("/")]
        default: throw .unknown
        }
    }

    // MARK: Properties

    func answerProperties(_ object: SecretPath, _ call: SecretCall) throws(BusRefusal) -> [BusValue] {
        switch call.member {
        case "GetAll":
            _ = try call.arguments("s")
            return [.properties(try properties(of: object))]
        case "Get":
            let name = try call.arguments("ss")[1].text
            guard let value = try properties(of: object).first(where: { $0.0 == name })?.1 else { throw .arguments }
            return [.variant(value)]
        case "Set":
            let values = try call.arguments("ssv")
            try set(values[1].text ?? "", values[2].inner, of: object)
            return []
        default: throw .unknown
        }
    }

    private func properties(of object: SecretPath) throws(BusRefusal) -> [(String, BusValue)] {
        let isOpen = try isOpen
        switch object {
        case .service: return [("Collections", .paths([SecretPath.collectionPath]))]
        case .collection:
            let ids = isOpen ? try inBus { () throws(SecretVaultError) in try vault.entries() } : []
            return [
                ("Items", .paths(ids.map { SecretPath.path(ofItem: $0) })), ("Label", .text(vault.grant.vault)),
                ("Locked", .flag(!isOpen)), ("Created", .number(0)), ("Modified", .number(0)),
            ]
        case .item, .search:
            guard isOpen else { return try lockedProperties(object) }
            let id = try entryID(object)
            let entry = try inBus { () throws(SecretVaultError) in try vault.entry(id) }
            return [
                ("Locked", .flag(false)), ("Attributes", .texts(entry.attributes)), ("Label", .text(entry.label)),
                ("Type", .text(entry.attributes["xdg:schema"] ?? "")),
                ("Created", .number(Self.seconds(entry.createdMilliseconds))),
                ("Modified", .number(Self.seconds(entry.modifiedMilliseconds))),
            ]
        case .session, .prompt: throw .noObject
        }
    }

    /// A client knows the attributes that it has searched for. Of other items nothing is known, not even whether they are.
    private func lockedProperties(_ object: SecretPath) throws(BusRefusal) -> [(String, BusValue)] {
        var attributes: [String: String] = [:]
        if case .search(let path) = object {
            guard let search = searches.last(where: { $0.path == path }) else { throw .noObject }
            attributes = search.attributes
        }
        return [
            ("Locked", .flag(true)), ("Attributes", .texts(attributes)), ("Label", .text("")), ("Type", .text("")),
            ("Created", .number(0)), ("Modified", .number(0)),
        ]
    }

    private static func seconds(_ milliseconds: Int64) -> UInt64 { UInt64(max(0, milliseconds / 1_000)) }

    private func set(_ name: String, _ value: BusValue, of object: SecretPath) throws(BusRefusal) {
        guard object != .collection else { throw .unsupported("a vault is renamed by the person") }
        let id = try entryID(object)
        switch (name, value.text, value.texts) {
        case ("Label", let label?, _):
            try inBus { () throws(SecretVaultError) in try vault.change(id, label: Self.title(label)) }
        case ("Attributes", _, let attributes?):
            try inBus { () throws(SecretVaultError) in try vault.change(id, attributes: attributes) }
        default: throw .arguments
        }
        noteItem("ItemChanged", id)
    }
}
