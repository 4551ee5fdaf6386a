// Encrypted backups of Standard Notes, protocol 004: a key of the password opens items keys, these open the key of each item,
// and that its content. Invariant: an item comes out as it was sealed, under its own id, or nothing comes out.

internal import CoffretBase
internal import CoffretCrypto

/// Opens a backup.
struct StandardNotesCipher {
    private var masterKey: [UInt8]
    private let subject: String

    private static let version = "004"
    private static let memoryByteCount = 64 << 20
    private static let passCount: UInt64 = 5

    /// The backup in clear; nil if it is.
    ///
    /// - Throws: `.passwordNeeded`, `.passwordWrong`, `.sourceUnsupported` for an older protocol, `.formatInvalid`.
    static func open(_ source: ForeignSource, _ keys: SourceKeys) throws(ImportExportError) -> ForeignPayload? {
        let backup = try parseForeignJSON(source.bytes(), limits: source.limits)
        let items = backup["items"]?.elements ?? []
        guard items.contains(where: { $0["content"]?.string != nil }) else { return nil }
        let subject = source.path.printable
        guard let parameters = backup["keyParams"] ?? backup["auth_params"], parameters["version"]?.string == version
        else {
            throw ImportExportError(
                .sourceUnsupported,
                subject: "\(subject) is a Standard Notes backup encrypted in an older way; export it there decrypted")
        }
        guard let identifier = parameters["identifier"]?.string, let seed = parameters["pw_nonce"]?.string else {
            throw ImportExportError(.formatInvalid, at: "keyParams", subject: subject)
        }
        let masterKey = try keys.withPassword(of: subject) { (password) throws(ImportExportError) in
            try Self.masterKey(password: password, identifier: identifier, seed: seed)
        }
        var cipher = StandardNotesCipher(masterKey: masterKey, subject: subject)
        defer { cipher.masterKey.zero() }
        return ForeignPayload(try cipher.opened(items))
    }

    /// The first half of the root key.
    ///
    /// - Complexity: Argon2id with 64 MiB and five passes.
    static func masterKey(
        password: [UInt8], identifier: String, seed: String
    ) throws(ImportExportError) -> [UInt8] {
        let text = Array("\(identifier):\(seed)".utf8)
        let salt = Array(unsafe HashAlgorithm.sha256.hash(text.span.bytes).prefix(16))
        do throws(CryptoError) {
            var root = try SodiumFormats.stretch(
                .id, password: password, salt: salt, memoryByteCount: memoryByteCount, passCount: passCount,
                byteCount: 64)
            defer { root.zero() }
            return Array(root.prefix(32))
        } catch {
            throw ImportExportError(.keyDerivationTooCostly, at: "argon2id", cause: error)
        }
    }

    /// The whole backup with every content in clear.
    private func opened(_ items: [JSONValue]) throws(ImportExportError) -> [UInt8] {
        var itemsKeys: [String: [UInt8]] = [:]
        for item in items where item["content_type"]?.string == "SN|ItemsKey" {
            guard item["content"]?.string != nil, item["deleted"]?.bool != true else { continue }
            guard let content = try? content(of: item, under: masterKey), let text = content["itemsKey"]?.string,
                let key = try? Hex.decode(text), let id = item["uuid"]?.string
            else { throw ImportExportError(.passwordWrong, subject: subject) }
            itemsKeys[id] = key
        }
        guard !itemsKeys.isEmpty else { throw ImportExportError(.formatInvalid, at: "no items key", subject: subject) }
        var result: [JSONValue] = []
        for item in items where item["content_type"]?.string != "SN|ItemsKey" {
            guard case .object(let members) = item, item["content"]?.string != nil else {
                result.append(item)
                continue
            }
            guard let key = item["items_key_id"]?.string.flatMap({ itemsKeys[$0] }) ?? itemsKeys.first?.value else {
                throw damaged("items_key_id")
            }
            let content = try content(of: item, under: key)
            result.append(
                .object(members.map { $0.name == "content" ? JSONValue.Member("content", content) : $0 }))
        }
        return Array(JSONValue.object([JSONValue.Member("items", .array(result))]).text().utf8)
    }

    private func content(of item: JSONValue, under key: [UInt8]) throws(ImportExportError) -> JSONValue {
        guard let sealedKey = item["enc_item_key"]?.string, let sealed = item["content"]?.string else {
            throw damaged("enc_item_key")
        }
        let id = item["uuid"]?.string ?? ""
        let itemKeyText = String(decoding: try open(sealedKey, key, of: id), as: UTF8.self)
        guard let itemKey = try? Hex.decode(itemKeyText) else { throw damaged("item key") }
        return try parseForeignJSON(try open(sealed, itemKey, of: id), limits: ImportLimits())
    }

    /// Opens `004:nonce:ciphertext:data`, with the data as it stands as associated data.
    private func open(_ text: String, _ key: [UInt8], of id: String) throws(ImportExportError) -> [UInt8] {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard parts.count >= 4, parts[0] == Self.version, let nonce = try? Hex.decode(parts[1]),
            let sealed = try? Base64.standard.decode(parts[2]), let data = try? Base64.standard.decode(parts[3])
        else { throw damaged("a sealed text") }
        // The id is sealed with the text, so that texts cannot change places.
        guard let stated = try? parseForeignJSON(data, limits: ImportLimits())["u"]?.string, stated == id else {
            throw damaged("authenticated data")
        }
        do throws(CryptoError) {
            return try SodiumFormats.open(sealed, key: key, nonce: nonce, associatedData: Array(parts[3].utf8))
        } catch {
            throw damaged("a sealed text does not open")
        }
    }

    private func damaged(_ what: String) -> ImportExportError {
        ImportExportError(.formatInvalid, at: what, subject: subject)
    }
}
