// Password records: what is kept of a note passphrase. Invariant: a record never changes; its id is the hash of what
// decides how keys are derived, so that nobody can lower a scheme or swap a salt.

package import CoffretBase
package import CoffretCrypto
package import CoffretStorage

/// A vault's record of one note passphrase: enough to check a typed one, and to derive from it.
///
/// Spec: Spec/locked-notes.md section 3.
package struct PasswordRecord: Equatable, Sendable {
    /// How keys are derived; hashed to the record's id.
    package struct Identity: Equatable, Sendable {
        package let scheme: LockScheme
        /// When the record was made, by the clock of the device that made it.
        package let created: Milliseconds
        /// The vault that it was made in; all seals under it are bound to that.
        package let home: VaultID
        /// 16 random bytes. Scheme 1 knows no salt and only becomes unique by it.
        package let salt: [UInt8]
        /// Memory in KiB and passes of Argon2id; nil in scheme 1, which stretches nothing.
        package let effort: Effort?
        /// Whose constants the chain of scheme 1 has.
        package var application = LockApplication.coffret

        package struct Effort: Equatable, Sendable {
            package let memoryKibibytes: UInt32
            package let passCount: UInt32

            package init(memoryKibibytes: UInt32, passCount: UInt32) {
                self.memoryKibibytes = memoryKibibytes
                self.passCount = passCount
            }
        }
    }

    /// A record that this one replaces.
    package struct Previous: Equatable, Sendable {
        package let id: UniqueID
        /// Its key under this record's key; nil after a compromise.
        package let sealedKey: [UInt8]?
    }

    package let id: UniqueID
    package let identity: Identity
    /// Random bytes, sealed: a wrong passphrase does not open them.
    package let check: [UInt8]
    /// The records that this one replaces, in the order of their ids.
    package let previous: [Previous]
    /// The constants of an application other than Coffret, where somebody gave them.
    package internal(set) var constants: LockConstants?

    package var scheme: LockScheme { identity.scheme }
    package var created: Milliseconds { identity.created }

    init(identity: Identity, check: [UInt8], previous: [Previous]) {
        id = Self.id(of: Self.encode(identity))
        self.identity = identity
        self.check = check
        self.previous = previous.sorted { $0.id < $1.id }
    }

    /// The order in which records supersede each other where nothing else decides.
    package static func isOlder(_ left: PasswordRecord, _ right: PasswordRecord) -> Bool {
        left.created != right.created ? left.created < right.created : left.id < right.id
    }

    // MARK: Bytes

    private static let formatVersion: UInt64 = 1
    private static let previousCountMax = 64
    private static let checkByteCountMax = 1_024
    private static let idPrefix = Array("coffret/locked/record/1".utf8)

    static func id(of identity: [UInt8]) -> UniqueID {
        guard let id = UniqueID(bytes: BLAKE2b.hash(idPrefix, identity, byteCount: UniqueID.byteCount)) else {
            preconditionFailure("a hash of 16 bytes is an id")
        }
        return id
    }

    /// The entity of a record.
    package static func entity(_ id: UniqueID) -> EntityID { EntityID(kind: EntityKind.passwordRecord, uuid: id) }

    static func encode(_ identity: Identity) -> [UInt8] {
        CBOREncoder.encode { encoder in
            let isForeign = identity.application != .coffret
            encoder.encodeArrayHeader(count: identity.effort != nil ? 6 : isForeign ? 5 : 4)
            encoder.encode(unsigned: identity.scheme.rawValue)
            encoder.encode(signed: identity.created)
            encoder.encode(bytes: identity.home.bytes)
            encoder.encode(bytes: identity.salt)
            if let effort = identity.effort {
                encoder.encode(unsigned: UInt64(effort.memoryKibibytes))
                encoder.encode(unsigned: UInt64(effort.passCount))
            } else if isForeign {
                encoder.encode(text: identity.application.rawValue)
            }
        }
    }

    /// The value of the record's fact.
    package func encode() -> [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 4)
            encoder.encode(unsigned: Self.formatVersion)
            encoder.encode(bytes: Self.encode(identity))
            encoder.encode(bytes: check)
            encoder.encodeArrayHeader(count: previous.count)
            for entry in previous {
                encoder.encodeArrayHeader(count: 2)
                encoder.encode(bytes: entry.id.bytes)
                if let key = entry.sealedKey { encoder.encode(bytes: key) } else { encoder.encodeNull() }
            }
        }
    }

    /// Reads the value of a record's fact.
    ///
    /// - Parameter id: of the entity that the fact is about.
    /// - Throws: `CoreError` `.recordUnsupported` for a newer format or scheme (R18); `.recordChanged` if the value
    ///   is not the one that the id stands for (R12, R13); `.valueInvalid` if it is none at all.
    package static func parse(_ bytes: [UInt8], id: UniqueID) throws -> PasswordRecord {
        let outer = try decoding(bytes) { (decoder) throws(CBORError) -> Outer? in
            let count = try decoder.readArrayHeader()
            guard count > 0, try decoder.readUnsigned() == formatVersion else {
                for _ in 0..<max(0, count - 1) { try decoder.skipItem() }
                return nil
            }
            guard count == 4 else { throw CBORError(.unexpectedItem, byteOffset: 0) }
            let identity = try decoder.readBytes(countMax: 256)
            let check = try decoder.readBytes(countMax: checkByteCountMax)
            return Outer(identity: identity, check: check, previous: try readPrevious(&decoder))
        }
        guard let outer else { throw CoreError(.recordUnsupported, at: id.hex) }
        guard Self.id(of: outer.identity) == id else { throw CoreError(.recordChanged, at: id.hex) }
        let identity = try decoding(outer.identity, readIdentity)
        guard let identity else { throw CoreError(.recordUnsupported, at: id.hex) }
        return PasswordRecord(identity: identity, check: outer.check, previous: outer.previous)
    }

    private struct Outer {
        let identity: [UInt8]
        let check: [UInt8]
        let previous: [Previous]
    }

    private static func readPrevious(_ decoder: inout CBORDecoder) throws(CBORError) -> [Previous] {
        var list: [Previous] = []
        let count = try decoder.readArrayHeader()
        guard count <= previousCountMax else { throw CBORError(.unexpectedItem, byteOffset: decoder.byteOffset) }
        for _ in 0..<count {
            try decoder.readArrayHeader(count: 2)
            let bytes = try decoder.readBytes(count: UniqueID.byteCount)
            var key: [UInt8]?
            if try decoder.peekMajorType() == .bytes {
                key = try decoder.readBytes(countMax: 64 << 10)
            } else {
                try decoder.readNull()
            }
            guard let id = UniqueID(bytes: bytes), list.last.map({ $0.id < id }) ?? true else {
                throw CBORError(.unexpectedItem, byteOffset: decoder.byteOffset)
            }
            list.append(Previous(id: id, sealedKey: key))
        }
        return list
    }

    /// Nil for a scheme that this version does not know.
    private static func readIdentity(_ decoder: inout CBORDecoder) throws(CBORError) -> Identity? {
        let count = try decoder.readArrayHeader()
        guard count > 0 else { throw CBORError(.unexpectedItem, byteOffset: 0) }
        guard let scheme = LockScheme(rawValue: try decoder.readUnsigned()) else {
            for _ in 1..<count { try decoder.skipItem() }
            return nil
        }
        guard scheme == .bear ? (4...5).contains(count) : count == 6 else {
            throw CBORError(.unexpectedItem, byteOffset: 0)
        }
        let created = try decoder.readSigned()
        let home = try decoder.readBytes(count: VaultID.byteCount)
        let salt = try decoder.readBytes(count: PasswordParameters.saltByteCount)
        var effort: Identity.Effort?
        if scheme != .bear {
            effort = Identity.Effort(
                memoryKibibytes: try decoder.readUnsigned(as: UInt32.self),
                passCount: try decoder.readUnsigned(as: UInt32.self))
        }
        guard let home = VaultID(home) else { throw CBORError(.unexpectedItem, byteOffset: 0) }
        var identity = Identity(scheme: scheme, created: created, home: home, salt: salt, effort: effort)
        if count == 5 {
            guard let application = LockApplication(rawValue: try decoder.readText()), application != .coffret else {
                return nil
            }
            identity.application = application
        }
        return identity
    }

    private static func decoding<Value>(
        _ bytes: [UInt8], _ body: (inout CBORDecoder) throws(CBORError) -> Value
    ) throws -> Value {
        do throws(CBORError) {
            return try withCBORDecoder(bytes, body)
        } catch {
            throw CoreError(.valueInvalid, at: error.code.rawValue, cause: error)
        }
    }
}
