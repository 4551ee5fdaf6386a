// Entries of the Secret Service as items of one vault. Invariant: everything is asked in a session with the service's own token,
// so that items outside of its vault and tag do not exist here; an item that is no entry is treated alike.

internal import CoffretBase
package import CoffretClient
internal import CoffretNet
package import CoffretTerminal
internal import CoffretWire
internal import Glibc

/// An entry without its secret.
struct SecretEntry {
    var id = ""
    var label = ""
    var attributes: [String: String] = [:]
    var createdMilliseconds: Int64 = 0
    var modifiedMilliseconds: Int64 = 0
}

/// The secret of an entry.
struct SecretContent {
    var bytes: [UInt8]
    var mediaType: String
}

/// Why something was not done.
enum SecretVaultError: Error, Equatable {
    case locked
    /// The agent could not be asked, so that it is not known whether the store is open.
    case unasked(code: String)
    case missing
    case tooLarge
    case failed(code: String)
}

/// - Concurrency: one thread.
package final class SecretVault {
    /// An entry has at most so many attributes, and as many bytes in them.
    static let attributeCountMax = 64
    static let attributeByteCountMax = 16 << 10
    static let secretByteCountMax = 256 << 10
    /// The most entries that are listed, and that one search looks into.
    static let entryCountMax = 4_096
    private static let phraseCountMax = 8

    private enum Label {
        static let attributes = "Attributes"
        static let secret = "Secret"
        static let encoded = "Secret (base64)"
        static let mediaType = "Content type"
    }

    private static let kind = "custom"
    private static let usualMediaType = "text/plain"

    let grant: SecretServiceGrant
    private let environment: ProcessEnvironment
    private var client: SessionClient?

    package init(_ grant: SecretServiceGrant, _ environment: ProcessEnvironment) {
        (self.grant, self.environment) = (grant, environment)
    }

    /// Can be read once the session has ended, as after a lock.
    var descriptor: Int32? { client?.descriptor }

    /// The session has said something by itself, which is that it ends.
    func sessionEnded() { client = nil }

    /// Whether the store is unlocked. Asks nobody, and opens no session, which would have the keys unsealed.
    ///
    /// - Throws: `.unasked`.
    func isOpen() throws(SecretVaultError) -> Bool {
        if let client {
            // A session speaks by itself only to end.
            var entry = pollfd(fd: client.descriptor, events: Int16(POLLIN), revents: 0)
            if unsafe poll(&entry, 1, 0) == 0 { return true }
            self.client = nil
        }
        do {
            return try AgentClient.connect(environment)?.status(of: grant.store).first?.isUnlocked == true
        } catch {
            let failure = Self.failure(error)
            if failure != .locked { throw failure }
            return false
        }
    }

    /// The meaning of an agent that gave no answer: one that has gone took the keys with it.
    private static func failure(_ error: any Error) -> SecretVaultError {
        switch error {
        case let broken as NetError where broken.code != .closed: .unasked(code: broken.code.rawValue)
        case let refused as AgentRefused where refused.code != AgentErrorCode.storeLocked.rawValue:
            .failed(code: refused.code)
        default: .locked
        }
    }

    /// - Throws: `.locked`, `.unasked`, `.failed` for a token that counts no more.
    private func session() throws(SecretVaultError) -> SessionClient {
        if let client { return client }
        do {
            client = try SessionClient.open(environment, store: grant.store, token: grant.token)
        } catch { throw Self.failure(error) }
        guard let client else { throw .locked }
        return client
    }

    private func perform<Request: StoreOperation>(_ request: Request) throws(SecretVaultError) -> Request.Answer {
        let session = try session()
        do {
            return try session.perform(request, by: .program)
        } catch let failure as OperationFailure {
            switch failure.code {
            case "core.item.not-found", "cli.presence.unavailable", "core.note.hidden": throw .missing
            default: throw .failed(code: failure.code)
            }
        } catch {
            client = nil
            throw Self.failure(error)
        }
    }

    // MARK: Finding

    /// The ids of the entries that have all of these attributes, with the same values. None for no attributes at all.
    func find(_ attributes: [String: String]) throws(SecretVaultError) -> [String] {
        guard !attributes.isEmpty, Self.isWithinLimits(attributes) else { return [] }
        var ids: [String] = []
        for id in try candidates(attributes) {
            guard let entry = try? entry(id), attributes.allSatisfy({ entry.attributes[$0.key] == $0.value }) else {
                continue
            }
            ids.append(id)
        }
        return ids
    }

    static func isWithinLimits(_ attributes: [String: String]) -> Bool {
        attributes.count <= attributeCountMax
            && attributes.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count } <= attributeByteCountMax
    }

    /// Items in which the words of each attribute stand side by side, out of the index. The index has no signs; attributes without
    /// words leave all entries.
    private func candidates(_ attributes: [String: String]) throws(SecretVaultError) -> [String] {
        let phrases = attributes.values.compactMap(Self.phrase).sorted { $0.utf8.count > $1.utf8.count }
        guard !phrases.isEmpty else { return try entries() }
        var request = ItemSearch()
        request.query = "type:\(Self.kind) " + phrases.prefix(Self.phraseCountMax).joined(separator: " ")
        request.limit = Self.entryCountMax
        return try perform(request).hits.filter(isCandidate).map(\.id)
    }

    /// - Returns: nil for a value of which it is not sure that the index has its words side by side.
    private static func phrase(_ value: String) -> String? {
        let isPlain = value.allSatisfy { character in
            character.isLetter || character.isNumber
                || character.asciiValue.map { (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C } ?? false
        }
        let words = value.split { !$0.isLetter && !$0.isNumber }
        guard isPlain, value.utf8.count <= 500, (1...40).contains(words.count) else { return nil }
        return "fields:\"" + words.joined(separator: " ") + "\""
    }

    private func isCandidate(_ item: SummaryMessage) -> Bool {
        item.kind == Self.kind && !item.isLocked && !item.isArchived && !item.isTrashed
    }

    /// The ids of all entries, last changed first.
    func entries() throws(SecretVaultError) -> [String] {
        var request = ItemList()
        (request.kind, request.tags, request.limit) = (Self.kind, [grant.tag], Self.entryCountMax)
        return try perform(request).items.filter(isCandidate).map(\.id)
    }

    // MARK: Reading

    /// - Throws: `.missing` for what is no entry, in this vault or elsewhere.
    func entry(_ id: String) throws(SecretVaultError) -> SecretEntry { try Self.entry(read(id, revealsSecrets: false)) }

    private static func entry(_ item: ItemMessage) throws(SecretVaultError) -> SecretEntry {
        guard let text = item.value(Label.attributes), let value = try? JSONValue(parsing: Array(text.utf8)),
            case .object(let members) = value
        else { throw .missing }
        var entry = SecretEntry()
        (entry.id, entry.label) = (item.id, item.title)
        (entry.createdMilliseconds, entry.modifiedMilliseconds) = (
            item.created.milliseconds, item.modified.milliseconds
        )
        for member in members { entry.attributes[member.name] = member.value.string ?? "" }
        return entry
    }

    func content(_ id: String) throws(SecretVaultError) -> SecretContent {
        let item = try read(id, revealsSecrets: true)
        _ = try Self.entry(item)
        let bytes =
            item.value(Label.encoded).flatMap { try? Base64.standard.decode($0) }
            ?? Array((item.value(Label.secret) ?? "").utf8)
        return SecretContent(bytes: bytes, mediaType: item.value(Label.mediaType) ?? Self.usualMediaType)
    }

    private func read(_ id: String, revealsSecrets: Bool) throws(SecretVaultError) -> ItemMessage {
        guard id.utf8.count == 32 else { throw .missing }
        var request = ItemRead()
        (request.item, request.revealsSecrets, request.asksNobody) = (id, revealsSecrets, true)
        let item = try perform(request)
        guard item.id == id, item.kind == Self.kind, !item.isHidden, !item.isLocked, !item.isArchived, !item.isTrashed
        else {
            throw .missing
        }
        return item
    }

    // MARK: Writing

    /// - Returns: its id.
    func create(
        label: String, attributes: [String: String], content: SecretContent
    ) throws(SecretVaultError) -> String {
        var request = ItemCreate()
        (request.kind, request.title, request.tags) = (Self.kind, label, [grant.tag])
        request.fields = try [Self.field(attributes)] + Self.fields(content)
        return try perform(request).id
    }

    /// Changes the parts that are named.
    func change(
        _ id: String, label: String? = nil, attributes: [String: String]? = nil, content: SecretContent? = nil
    ) throws(SecretVaultError) {
        _ = try entry(id)
        var request = ItemEdit()
        (request.item, request.title) = (id, label)
        var fields: [FieldDraft] = []
        if let attributes { fields.append(try Self.field(attributes)) }
        if let content { fields += try Self.fields(content) }
        request.setFields = fields.isEmpty ? nil : fields
        _ = try perform(request)
    }

    /// Moves an entry to the trash, where the person finds it.
    func remove(_ id: String) throws(SecretVaultError) {
        _ = try entry(id)
        var request = ItemTrash()
        request.items = [id]
        _ = try perform(request)
    }

    private static func field(_ attributes: [String: String]) throws(SecretVaultError) -> FieldDraft {
        guard isWithinLimits(attributes) else { throw .tooLarge }
        let sorted = attributes.sorted { $0.key < $1.key }.map { JSONValue.Member($0.key, .string($0.value)) }
        return FieldDraft(name: Label.attributes, value: JSONValue.object(sorted).text(), isSecret: false)
    }

    /// Text stands as it is, so that a person can read it; an empty value takes a field away.
    private static func fields(_ content: SecretContent) throws(SecretVaultError) -> [FieldDraft] {
        guard content.bytes.count <= secretByteCountMax, content.mediaType.utf8.count <= 256 else { throw .tooLarge }
        let text = content.bytes.contains(0) ? nil : String(validating: content.bytes, as: UTF8.self)
        return [
            FieldDraft(name: Label.secret, value: text ?? "", isSecret: true),
            FieldDraft(
                name: Label.encoded, value: text == nil ? Base64.standard.encode(content.bytes) : "", isSecret: true),
            FieldDraft(
                name: Label.mediaType, value: content.mediaType == usualMediaType ? "" : content.mediaType,
                isSecret: false),
        ]
    }
}

extension ItemMessage {
    fileprivate func value(_ label: String) -> String? { fields.first { $0.label == label }?.value }
}
