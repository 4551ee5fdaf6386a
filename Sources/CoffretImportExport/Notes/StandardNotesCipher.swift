// Encrypted backups of Standard Notes, protocols 004 and 003: a key of the password opens items keys, these open the key of each item,
// and that its content. Invariant: an item comes out as it was sealed, under its own id, or nothing comes out.

internal import CoffretBase
internal import CoffretCrypto

/// Opens a backup.
struct StandardNotesCipher {
    private var root: Keys
    private let subject: String

    /// A key of one level; in protocol 004 one key encrypts and authenticates.
    struct Keys {
        var cipher: [UInt8]
        var authentication: [UInt8] = []

        mutating func zero() {
            cipher.zero()
            authentication.zero()
        }
    }

    /// The passes of protocol 003 where a backup does not say them.
    private static let passCount003: UInt64 = 110_000

    /// The backup in clear; nil if it is.
    ///
    /// - Throws: `.passwordNeeded`, `.passwordWrong`, `.sourceUnsupported` for an older protocol, `.formatInvalid`.
    static func open(_ source: ForeignSource, _ keys: SourceKeys) throws(ImportExportError) -> ForeignPayload? {
        let backup = try parseForeignJSON(source.bytes(), limits: source.limits)
        let items = backup["items"]?.elements ?? []
        guard items.contains(where: { $0["content"]?.string != nil }) else { return nil }
        let subject = source.path.printable
        let parameters = backup["keyParams"] ?? backup["auth_params"]
        guard let parameters, let version = parameters["version"]?.string, ["003", "004"].contains(version) else {
            throw ImportExportError(
                .sourceUnsupported,
                subject:
                    "\(subject) is a Standard Notes backup encrypted before protocol 003; export it there decrypted")
        }
        guard let identifier = (parameters["identifier"] ?? parameters["email"])?.string,
            let seed = parameters["pw_nonce"]?.string
        else { throw ImportExportError(.formatInvalid, at: "keyParams", subject: subject) }
        let passes = parameters["pw_cost"]?.integer.flatMap { UInt64(exactly: $0) } ?? passCount003
        let root = try keys.withPassword(of: subject) { (password) throws(ImportExportError) in
            version == "004"
                ? try rootKeys004(password: password, identifier: identifier, seed: seed)
                : try rootKeys003(
                    password: password, identifier: identifier, seed: seed, passes: passes, limits: source.limits)
        }
        var cipher = StandardNotesCipher(root: root, subject: subject)
        defer { cipher.root.zero() }
        return ForeignPayload(try cipher.opened(items))
    }

    /// The first half of the root key of protocol 004.
    ///
    /// - Complexity: Argon2id with 64 MiB and five passes.
    static func rootKeys004(
        password: [UInt8], identifier: String, seed: String
    ) throws(ImportExportError) -> Keys {
        let text = Array("\(identifier):\(seed)".utf8)
        let salt = Array(unsafe HashAlgorithm.sha256.hash(text.span.bytes).prefix(16))
        do throws(CryptoError) {
            var root = try SodiumFormats.stretch(
                .id, password: password, salt: salt, memoryByteCount: 64 << 20, passCount: 5, byteCount: 64)
            defer { root.zero() }
            return Keys(cipher: Array(root.prefix(32)))
        } catch {
            throw ImportExportError(.keyDerivationTooCostly, at: "argon2id", cause: error)
        }
    }

    /// The second and third part of the root key of protocol 003.
    ///
    /// - Complexity: PBKDF2 with SHA-512, as many passes as the backup says, within the limits.
    static func rootKeys003(
        password: [UInt8], identifier: String, seed: String, passes: UInt64 = passCount003, limits: ImportLimits
    ) throws(ImportExportError) -> Keys {
        let text = Array("\(identifier):SF:003:\(passes):\(seed)".utf8)
        let salt = Array(Hex.encode(unsafe HashAlgorithm.sha256.hash(text.span.bytes)).utf8)
        var root = try ForeignKeys.pbkdf2(
            password, salt: salt, passes: passes, byteCount: 96, algorithm: .sha512, limits)
        defer { root.zero() }
        return Keys(cipher: Array(root[32..<64]), authentication: Array(root[64...]))
    }

    /// The whole backup with every content in clear.
    private func opened(_ items: [JSONValue]) throws(ImportExportError) -> [UInt8] {
        var itemsKeys: [String: Keys] = [:]
        defer { for id in itemsKeys.keys { itemsKeys[id]?.zero() } }
        for item in items where item["content_type"]?.string == "SN|ItemsKey" {
            guard item["content"]?.string != nil, item["deleted"]?.bool != true else { continue }
            guard let content = try? content(of: item, under: root), let key = hex(content["itemsKey"]),
                let id = item["uuid"]?.string
            else { throw ImportExportError(.passwordWrong, subject: subject) }
            itemsKeys[id] = Keys(cipher: key, authentication: hex(content["dataAuthenticationKey"]) ?? [])
        }
        // Accounts of protocol 003 have none at first: the root key opens the items.
        guard !itemsKeys.isEmpty || !root.authentication.isEmpty else {
            throw ImportExportError(.formatInvalid, at: "no items key", subject: subject)
        }
        var result: [JSONValue] = []
        for item in items where item["content_type"]?.string != "SN|ItemsKey" {
            guard case .object(let members) = item, item["content"]?.string != nil else {
                result.append(item)
                continue
            }
            let named = item["items_key_id"]?.string.flatMap { itemsKeys[$0] } ?? itemsKeys.first?.value
            // The first that the root key itself opens shows whether the password is right.
            if named == nil, result.isEmpty, (try? itemKeys(of: item, under: root)) == nil {
                throw ImportExportError(.passwordWrong, subject: subject)
            }
            let content = try content(of: item, under: named ?? root)
            result.append(
                .object(members.map { $0.name == "content" ? JSONValue.Member("content", content) : $0 }))
        }
        return Array(JSONValue.object([JSONValue.Member("items", .array(result))]).text().utf8)
    }

    private func hex(_ value: JSONValue?) -> [UInt8]? { (value?.string).flatMap { try? Hex.decode($0) } }

    private func content(of item: JSONValue, under keys: Keys) throws(ImportExportError) -> JSONValue {
        guard let sealed = item["content"]?.string else { throw damaged("content") }
        var itemKeys = try itemKeys(of: item, under: keys)
        defer { itemKeys.zero() }
        return try parseForeignJSON(
            try open(sealed, itemKeys, of: item["uuid"]?.string ?? ""), limits: ImportLimits())
    }

    /// The keys of one item.
    private func itemKeys(of item: JSONValue, under keys: Keys) throws(ImportExportError) -> Keys {
        guard let sealed = item["enc_item_key"]?.string else { throw damaged("enc_item_key") }
        let text = String(decoding: try open(sealed, keys, of: item["uuid"]?.string ?? ""), as: UTF8.self)
        guard let key = try? Hex.decode(text) else { throw damaged("item key") }
        return key.count == 64 ? Keys(cipher: Array(key[..<32]), authentication: Array(key[32...])) : Keys(cipher: key)
    }

    private func open(_ text: String, _ keys: Keys, of id: String) throws(ImportExportError) -> [UInt8] {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        switch parts.first {
        case "003": return try open003(parts, keys, of: id)
        case "004": return try open004(parts, keys, of: id)
        default: throw damaged("a sealed text")
        }
    }

    /// Opens `004:nonce:ciphertext:data`, with the data as it stands as associated data.
    private func open004(_ parts: [String], _ keys: Keys, of id: String) throws(ImportExportError) -> [UInt8] {
        guard parts.count >= 4, let nonce = try? Hex.decode(parts[1]),
            let sealed = try? Base64.standard.decode(parts[2]), let data = try? Base64.standard.decode(parts[3])
        else { throw damaged("a sealed text") }
        // The id is sealed with the text, so that texts cannot change places.
        guard let stated = try? parseForeignJSON(data, limits: ImportLimits())["u"]?.string, stated == id else {
            throw damaged("authenticated data")
        }
        do throws(CryptoError) {
            return try SodiumFormats.open(
                sealed, key: keys.cipher, nonce: nonce, associatedData: Array(parts[3].utf8))
        } catch {
            throw damaged("a sealed text does not open")
        }
    }

    /// Opens `003:code:id:vector:ciphertext`: AES-256 in cipher block chaining, and HMAC-SHA-256 over all parts but the code.
    private func open003(_ parts: [String], _ keys: Keys, of id: String) throws(ImportExportError) -> [UInt8] {
        guard parts.count >= 5, let code = try? Hex.decode(parts[1]), let vector = try? Hex.decode(parts[3]),
            let ciphertext = try? Base64.standard.decode(parts[4]), parts[2] == id, !keys.authentication.isEmpty
        else { throw damaged("a sealed text") }
        let message = [parts[0], parts[2], parts[3], parts[4]].joined(separator: ":")
        let expected = HMAC.authenticationCode(.sha256, key: keys.authentication, message: Array(message.utf8))
        guard ConstantTime.isEqual(expected, code) else { throw damaged("a sealed text does not open") }
        return try ForeignKeys.wrapping(subject) { () throws(CryptoError) in
            try ForeignCBC.open(ciphertext, key: keys.cipher, vector: vector)
        }
    }

    private func damaged(_ what: String) -> ImportExportError {
        ImportExportError(.formatInvalid, at: what, subject: subject)
    }
}
