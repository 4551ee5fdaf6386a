// A vault as Bitwarden's JSON. Invariant: what that format has no place for goes into a field of its item, so that it comes
// back with the next import.

internal import CoffretBase
package import CoffretCore
internal import CoffretCrypto
internal import CoffretStorage

/// Makes the export that `ForeignFormat.bitwardenJSON` reads.
struct BitwardenWriter {
    private var folders: [(path: String, id: String)] = []
    private var items: [JSONValue] = []

    /// The name of a field that says the type of an item that Bitwarden has no type for.
    static let typeMark = "coffret type"
    /// The name of a field that has the tags beside the first.
    static let tagsMark = "coffret tags"

    private static let types: [ItemKind: Int] = [.login: 1, .note: 2, .card: 3, .identity: 4, .sshKey: 5]

    /// Adds an item; one that Bitwarden has no type for becomes a secure note with fields.
    mutating func add(_ item: Item) {
        var rest = RemainingFields(item.fields)
        var members: [JSONValue.Member] = [
            .init("id", .string(Self.uuid(item.id.uuid.hex))), .init("organizationId", .null),
            .init("folderId", item.givenTags.first.map { .string(folder($0.path)) } ?? .null),
            .init("type", .integer(Self.types[item.kind] ?? 2)), .init("reprompt", .integer(0)),
            .init("name", .string(item.title)),
            .init("notes", item.text.isEmpty ? .null : .string(item.text)), .init("favorite", .bool(item.isPinned)),
            .init("creationDate", .string(CivilTime.format(item.created))),
            .init("revisionDate", .string(CivilTime.format(item.modified))),
            .init("archivedDate", item.flagTimes[.archived].map { .string(CivilTime.format($0)) } ?? .null),
            .init("deletedDate", item.flagTimes[.trashed].map { .string(CivilTime.format($0)) } ?? .null),
        ]
        switch item.kind {
        case .login: members.append(.init("login", rest.takeLogin()))
        case .card: members.append(.init("card", rest.takeCard()))
        case .identity: members.append(.init("identity", rest.takeIdentity()))
        case .sshKey: members.append(.init("sshKey", rest.takeKey()))
        case .note, .apiToken, .custom: members.append(.init("secureNote", .object([.init("type", .integer(0))])))
        }
        let previous = rest.takePrevious()
        func field(_ name: String, _ value: String, _ isSecret: Bool) -> JSONValue {
            .object([
                .init("name", .string(name)), .init("value", .string(value)),
                .init("type", .integer(isSecret ? 1 : 0)),
            ])
        }
        // Bitwarden has one folder for an item, and fewer types; both marks are read back.
        let marks = [
            (Self.typeMark, Self.types[item.kind] == nil ? item.kind.name : ""),
            (Self.tagsMark, item.givenTags.dropFirst().map(\.path).joined(separator: ",")),
        ]
        let fields =
            marks.filter { !$0.1.isEmpty }.map { field($0.0, $0.1, false) }
            + rest.fields.map { field($0.label, $0.value, $0.kind.isSecret) }
        members += [
            .init("fields", .array(fields)), .init("passwordHistory", .array(previous)), .init("collectionIds", .null),
        ]
        items.append(.object(members))
    }

    private mutating func folder(_ path: String) -> String {
        if let known = folders.first(where: { $0.path == path }) { return known.id }
        // The same folder has the same id in each export.
        let id = Self.uuid(Hex.encode(BLAKE2b.hash(Array(path.utf8), byteCount: 16)))
        folders.append((path, id))
        return id
    }

    private static func uuid(_ hex: String) -> String {
        let digits = Array(hex)
        let ends = [0, 8, 12, 16, 20, 32]
        return zip(ends, ends.dropFirst()).map { String(digits[$0..<$1]) }.joined(separator: "-")
    }

    /// The whole file.
    var text: JSONValue {
        .object([
            .init("encrypted", .bool(false)),
            .init(
                "folders",
                .array(
                    folders.map { .object([.init("id", .string($0.id)), .init("name", .string($0.path))]) })),
            .init("items", .array(items)),
        ])
    }
}

/// The fields of an item on their way into Bitwarden's members; what no member takes stays.
private struct RemainingFields {
    private(set) var fields: [ItemField]

    init(_ fields: [ItemField]) { self.fields = fields }

    private mutating func take(_ name: String) -> JSONValue {
        guard let index = fields.firstIndex(where: { $0.key.name == name }) else { return .null }
        return .string(fields.remove(at: index).value)
    }

    private mutating func labelled(_ label: String) -> JSONValue {
        guard let index = fields.firstIndex(where: { $0.label == label }) else { return .null }
        return .string(fields.remove(at: index).value)
    }

    private mutating func takeAll(_ isWanted: (ItemField) -> Bool) -> [ItemField] {
        let wanted = fields.filter(isWanted)
        fields.removeAll(where: isWanted)
        return wanted
    }

    mutating func takeLogin() -> JSONValue {
        let (name, password, code, address) = (take("username"), take("password"), take("totp"), take("url"))
        let more = takeAll { $0.label == "Website" && $0.kind == .url }.map { JSONValue.string($0.value) }
        let uris = ([address] + more).filter { $0 != .null }.map {
            JSONValue.object([.init("match", .null), .init("uri", $0)])
        }
        let passkeys = takeAll { $0.kind == .passkey }
        let objects = passkeys.map { try? JSONValue(parsing: Array($0.value.utf8)) }
        fields += zip(passkeys, objects).filter { $0.1 == nil }.map(\.0)
        return .object([
            .init("uris", .array(uris)), .init("username", name), .init("password", password),
            .init("totp", code), .init("fido2Credentials", .array(objects.compactMap { $0 })),
        ])
    }

    mutating func takeCard() -> JSONValue {
        let expiry = fields.first { $0.key.name == "expiry" }?.value.split(separator: "/") ?? []
        let isPlain = expiry.count == 2 && expiry[1].utf8.count == 4
        if isPlain { _ = take("expiry") }
        return .object([
            .init("cardholderName", take("cardholder")), .init("brand", take("brand")),
            .init("number", take("number")),
            .init("expMonth", isPlain ? .string(String(expiry[0])) : .null),
            .init("expYear", isPlain ? .string(String(expiry[1])) : .null), .init("code", take("code")),
        ])
    }

    mutating func takeIdentity() -> JSONValue {
        .object([
            .init("title", labelled("Title")), .init("firstName", take("first-name")),
            .init("middleName", labelled("Middle name")), .init("lastName", take("last-name")),
            .init("address1", take("street")), .init("address2", labelled("Address 2")),
            .init("address3", labelled("Address 3")), .init("city", take("city")),
            .init("state", labelled("State")), .init("postalCode", take("postcode")),
            .init("country", take("country")), .init("company", take("company")),
            .init("email", take("email")), .init("phone", take("phone")),
            .init("ssn", labelled("Social security number")), .init("username", labelled("Username")),
            .init("passportNumber", labelled("Passport number")),
            .init("licenseNumber", labelled("License number")),
        ])
    }

    mutating func takeKey() -> JSONValue {
        .object([
            .init("privateKey", take("private-key")), .init("publicKey", take("public-key")),
            .init("keyFingerprint", take("fingerprint")),
        ])
    }

    /// Earlier passwords of which the day is known.
    mutating func takePrevious() -> [JSONValue] {
        let mark = "Previous password, until "
        return takeAll { $0.label.hasPrefix(mark) && $0.kind == .secret }.map { field in
            JSONValue.object([
                .init("lastUsedDate", .string(field.label.dropFirst(mark.count) + "T00:00:00.000Z")),
                .init("password", .string(field.value)),
            ])
        }
    }
}

extension Vault {
    /// Writes all items but locked ones as Bitwarden's JSON, in clear, into one new file of mode 0600.
    ///
    /// That format holds no attachments and no earlier versions; the report says how many attachments stay behind.
    /// - Parameter isStopped: asked before each item; of a file that was stopped nothing is left.
    /// - Throws: `.targetOccupied`, `.targetUnwritable`, `.vaultFailed`, `.stopped`.
    /// - Complexity: memory for all items.
    package func exportBitwarden(
        to path: String, progress: (WorkProgress) -> Void = { _ in }, isStopped: () -> Bool = { false }
    ) throws(ImportExportError) -> ExportReport {
        var writer = BitwardenWriter()
        var report = try exportItems(leavesOutTrash: false, progress: progress, isStopped: isStopped) {
            writer.add($0)
        }
        var bytes = Array(writer.text.text(.pretty).utf8)
        defer { bytes.zero() }
        report.byteCount = UInt64(bytes.count)
        try writeNewFile(bytes, to: path)
        return report
    }
}
