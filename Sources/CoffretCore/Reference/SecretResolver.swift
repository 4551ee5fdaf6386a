// From references to values. Invariant: a reference means one value or is an error that names the candidates (R34);
// nothing here changes a vault.

package import CoffretBase
internal import CoffretCrypto
package import CoffretKeys
package import CoffretStorage

/// The value of a reference.
package struct ResolvedSecret: Sendable {
    package let reference: SecretReference
    /// The value; its taker zeroes it.
    package var bytes: [UInt8]
    /// Whether screens mask it: secret fields, codes, texts and files, but not user names and addresses.
    package let isSecret: Bool

    package init(reference: SecretReference, bytes: [UInt8], isSecret: Bool) {
        self.reference = reference
        self.bytes = bytes
        self.isSecret = isSecret
    }
}

/// Reads the values of references out of a store. Opens each vault once, for reading.
package struct SecretResolver {
    /// The largest attachment that a reference gives; larger ones are written out as files.
    package static let attachmentByteCountMax = 16 << 20

    /// The items of a vault that may be read; nil for all.
    package typealias Limit = (Vault) throws -> Set<EntityID>?

    private let store: Store
    private let admits: (VaultRecord) -> Bool
    private let needsWholeIDs: (VaultRecord) throws -> Bool
    private let limit: Limit
    /// By id.
    private var vaults: [String: (vault: Vault, within: Set<EntityID>?)] = [:]

    /// - Parameters:
    ///   - admits: the vaults that references may name; another one is not there.
    ///   - needsWholeIDs: whether titles name nothing in a vault: there another person chooses what is called so.
    ///   - limit: asked once for each vault.
    package init(
        store: Store, admits: @escaping (VaultRecord) -> Bool = { _ in true },
        needsWholeIDs: @escaping (VaultRecord) throws -> Bool = { _ in false },
        limit: @escaping Limit = { _ in nil }
    ) {
        self.needsWholeIDs = needsWholeIDs
        self.store = store
        self.admits = admits
        self.limit = limit
    }

    /// The values in the order of the references; all of them or an error.
    ///
    /// - Parameter now: for one-time codes.
    /// - Throws: `CoreError` `.vaultNotFound`, `.vaultAmbiguous`, `.itemNotFound`, `.itemAmbiguous`, `.fieldNotFound`,
    ///   `.fieldAmbiguous`, `.attachmentNotFound`, `.attachmentAmbiguous`, `.referenceUnsupported`,
    ///   `.noteLocked`, `.noteHidden`.
    package mutating func values(
        of references: [SecretReference], now: Milliseconds
    ) throws -> [ResolvedSecret] {
        var values: [ResolvedSecret] = []
        do {
            for reference in references { values.append(try value(of: reference, now: now)) }
        } catch {
            for index in values.indices { values[index].bytes.zero() }
            throw error
        }
        return values
    }

    /// The first item behind references that is out of sight; nil if there is none.
    package mutating func veiledItem(among references: [SecretReference]) throws -> Item? {
        guard !store.hiddenGate.isOpen else { return nil }
        for reference in references {
            let item = try item(of: reference).item
            if item.isVeiled { return item }
        }
        return nil
    }

    private mutating func item(of reference: SecretReference) throws -> (item: Item, vault: Vault) {
        let record = try store.vaultRecord(reference.vault, among: admits)
        guard try Vault.isWholeID(reference.item) || !needsWholeIDs(record) else {
            throw CoreError(
                .referenceUnsupported,
                at: "another person founded that vault: name the item by its whole id, or allow it by "
                    + "coffret share settings \(record.vaultID.hex.prefix(8)) --use-for run")
        }
        let open: (vault: Vault, within: Set<EntityID>?)
        if let known = vaults[record.vaultID.hex] {
            open = known
        } else {
            let vault = try store.open(record, isWritable: false)
            open = (vault, try limit(vault))
            vaults[record.vaultID.hex] = open
        }
        let id = try open.vault.resolveForScripts(reference.item, within: open.within)
        return (try open.vault.item(id), open.vault)
    }

    private mutating func value(of reference: SecretReference, now: Milliseconds) throws -> ResolvedSecret {
        let (stored, vault) = try item(of: reference)
        let item: Item
        do {
            item = try vault.opened(stored)
        } catch let error as CoreError where error.code == .noteLocked {
            // No passphrase is asked for here, either. A sealed title is not known.
            throw CoreError(.noteLocked, at: "\(reference)")
        }
        let value = try item.value(of: reference.part, in: vault, now: now)
        return ResolvedSecret(reference: reference, bytes: value.bytes, isSecret: value.isSecret)
    }
}

extension Vault {
    /// The item that a script means: stricter than `resolve`, because nobody looks at the result.
    ///
    /// A whole id is that item. Otherwise ids that begin so and titles that are exactly so, in any case, count
    /// together; without either, titles that begin so. Items in the trash answer to their ids only.
    ///
    /// - Parameter within: items that may be meant; nil for all.
    /// - Throws: `CoreError` `.itemNotFound`, `.itemAmbiguous` with the candidates.
    package func resolveForScripts(
        _ reference: String, within: Set<EntityID>? = nil
    ) throws -> EntityID {
        func isWithin(_ id: EntityID) -> Bool { within?.contains(id) ?? true }
        let reader = try present.reader
        let resolver = ReferenceResolver(reference)
        let byID = try resolver.itemIDs(in: reader).filter(isWithin)
        if byID.count == 1, Self.isWholeID(reference) { return byID[0] }
        let named = try titled(reference).filter { isWithin($0.id) }
        var found = byID
        for item in named where !item.isTrashed && !found.contains(item.id) { found.append(item.id) }
        if found.isEmpty && named.isEmpty {
            found = try titles(beginningWith: reference).filter { !$0.isTrashed && isWithin($0.id) }.map(\.id)
        }
        guard found.count > 1 else {
            guard let only = found.first else { throw CoreError(.itemNotFound, at: reference) }
            return only
        }
        var candidates: [CoreError.Candidate] = []
        for id in found.prefix(ReferenceResolver.candidateCountMax) {
            let item = try reader.item(id)
            candidates.append(
                item.map { CoreError.Candidate(ItemSummary($0)) } ?? CoreError.Candidate(id: id.uuid.hex, title: ""))
        }
        throw CoreError(.itemAmbiguous, at: reference, candidates: candidates)
    }
}

extension Vault {
    fileprivate static func isWholeID(_ reference: String) -> Bool {
        reference.utf8.count { $0 != UInt8(ascii: "-") } == 32
            && reference.allSatisfy { $0 == "-" || $0.isHexDigit }
    }
}

extension Item {
    fileprivate typealias Value = (bytes: [UInt8], isSecret: Bool)

    /// The value of a part of the item.
    fileprivate func value(
        of part: SecretReference.Part, in vault: Vault, now: Milliseconds
    ) throws -> Value {
        switch part {
        case .field(let name): return try value(named: name, now: now)
        case .oneTimeCode(let name): return try Self.code(of: field(forScripts: name), now: now)
        case .attachment(let name):
            let attachment = try attachment(named: name)
            guard attachment.byteCount <= SecretResolver.attachmentByteCountMax else {
                throw CoreError(.referenceUnsupported, at: "the file is too large; coffret attach extract writes it")
            }
            var bytes: [UInt8] = []
            try unsafe vault.read(attachment) { piece in unsafe bytes.append(contentsOf: piece) }
            return (bytes, true)
        }
    }

    /// A field, or one of `otp`, `title` and `text`. A key wins; a label that is such a word is ambiguous.
    private func value(named name: String, now: Milliseconds) throws -> Value {
        let codes = fields.filter { $0.kind == .oneTimeCode }
        let isKey = fields.contains { $0.key.name == name }
        let special: Bool =
            switch name {
            case "otp": !codes.isEmpty
            case "title": true
            case "text": !text.isEmpty || kind == .note
            default: false
            }
        guard special, !isKey else {
            let field = try field(forScripts: name)
            return (Array(field.value.utf8), field.kind.isSecret)
        }
        var candidates = labelled(name)
        if name == "otp", codes.count > 1 { candidates += codes }
        guard candidates.isEmpty else { throw Self.ambiguous(name, candidates, orThe: name == "otp" ? nil : name) }
        switch name {
        case "otp": return try Self.code(of: codes[0], now: now)
        case "title": return (Array(title.utf8), false)
        default: return (Array(text.utf8), true)
        }
    }

    /// The field with a key, or else the only one with a label, in any case.
    private func field(forScripts name: String) throws -> ItemField {
        if let field = fields.first(where: { $0.key.name == name }) { return field }
        let named = labelled(name)
        guard named.count <= 1 else { throw Self.ambiguous(name, named, orThe: nil) }
        guard let field = named.first else { throw fieldNotFound(name) }
        return field
    }

    private func labelled(_ name: String) -> [ItemField] {
        let sought = name.lowercased()
        return fields.filter { $0.label.lowercased() == sought }
    }

    private static func ambiguous(_ name: String, _ fields: [ItemField], orThe part: String?) -> CoreError {
        var candidates: [CoreError.Candidate] = []
        for field in fields where !candidates.contains(where: { $0.id == field.key.name }) {
            candidates.append(CoreError.Candidate(id: field.key.name, title: field.label))
        }
        if let part { candidates.append(CoreError.Candidate(id: part, title: "the item's own \(part)")) }
        return CoreError(.fieldAmbiguous, at: name, candidates: candidates)
    }

    /// The present code of a time-based generator. A counted one would have to be moved on, which is a change.
    private static func code(of field: ItemField, now: Milliseconds) throws -> Value {
        let generator = try OneTimeCode.parse(field.value)
        guard case .time = generator.movement else {
            throw CoreError(
                .referenceUnsupported, at: "counted codes are given by coffret otp, which moves the counter")
        }
        return (Array(try generator.code(unixMilliseconds: now).digits.utf8), true)
    }
}
