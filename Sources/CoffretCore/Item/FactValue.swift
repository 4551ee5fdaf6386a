// Values of facts: one item of deterministic CBOR each (Spec/items.md), so that a value says its own type and
// equal values are equal bytes, also for programs that do not know the attribute.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretStorage

/// Encodes and decodes the values of facts. Texts of items alone are no CBOR.
enum FactValue {
    static func encode(_ text: String) -> [UInt8] {
        CBOREncoder.encode(reservingByteCount: text.utf8.count + 5) { $0.encode(text: text) }
    }

    /// A text of an item, which lies as it is, so that devices merge and compress it alike.
    static func encode(itemText text: String) -> [UInt8] { Array(text.utf8) }

    static func encode(_ integer: Int64) -> [UInt8] {
        CBOREncoder.encode { $0.encode(signed: integer) }
    }

    static func encode(_ bytes: [UInt8]) -> [UInt8] {
        CBOREncoder.encode(reservingByteCount: bytes.count + 5) { $0.encode(bytes: bytes) }
    }

    /// `[kind, value]` for a standard field, `[kind, value, label, position]` for any other.
    static func encode(_ field: ItemField, isStandard: Bool) -> [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: isStandard ? 2 : 4)
            encoder.encode(text: field.kind.rawValue)
            encoder.encode(text: field.value)
            guard !isStandard else { return }
            encoder.encode(text: field.label)
            encoder.encode(unsigned: UInt64(field.position))
        }
    }

    /// `[vault id, [instance, number]]`
    static func encode(_ origin: ItemOrigin) -> [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(bytes: origin.vault.bytes)
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(bytes: origin.dot.instance.bytes)
            encoder.encode(unsigned: origin.dot.sequence)
        }
    }

    /// `[vault id, time]`
    static func encode(_ move: ItemDestination) -> [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 2)
            encoder.encode(bytes: move.vault.bytes)
            encoder.encode(signed: move.time)
        }
    }

    static func origin(_ bytes: [UInt8]) throws -> ItemOrigin {
        let (vault, instance, number) = try decode(bytes) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 2)
            let vault = try decoder.readBytes(count: VaultID.byteCount)
            try decoder.readArrayHeader(count: 2)
            return (vault, try decoder.readBytes(count: UniqueID.byteCount), try decoder.readUnsigned())
        }
        guard let vault = VaultID(vault), let instance = UniqueID(bytes: instance) else {
            throw CoreError(.valueInvalid, at: ItemAttribute.origin.name)
        }
        return ItemOrigin(vault: vault, dot: Dot(instance: instance, sequence: number))
    }

    static func move(_ bytes: [UInt8]) throws -> ItemDestination {
        let (vault, time) = try decode(bytes) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 2)
            return (try decoder.readBytes(count: VaultID.byteCount), try decoder.readSigned())
        }
        guard let vault = VaultID(vault) else { throw CoreError(.valueInvalid, at: ItemAttribute.moved.name) }
        return ItemDestination(vault: vault, time: time)
    }

    static func text(_ bytes: [UInt8]) throws -> String {
        try decode(bytes) { (decoder) throws(CBORError) in try decoder.readText() }
    }

    static func itemText(_ bytes: [UInt8]) throws -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw CoreError(.valueInvalid, at: "text") }
        return text
    }

    /// A tag, which must be written as `TagPath` writes it: its key is the hash of the value.
    static func tag(_ bytes: [UInt8]) throws -> TagPath {
        let text = try text(bytes)
        let tag = try TagPath(text)
        guard tag.path.utf8.elementsEqual(text.utf8) else { throw CoreError(.valueInvalid, at: "tag") }
        return tag
    }

    static func integer(_ bytes: [UInt8]) throws -> Int64 {
        try decode(bytes) { (decoder) throws(CBORError) in try decoder.readSigned() }
    }

    static func bytes(_ bytes: [UInt8]) throws -> [UInt8] {
        try decode(bytes) { (decoder) throws(CBORError) in try decoder.readBytes() }
    }

    static func field(_ bytes: [UInt8], key: FieldKey, of kind: ItemKind) throws -> ItemField {
        let field = try decode(bytes) { (decoder) throws(CBORError) -> ItemField in
            let count = try decoder.readArrayHeader()
            let fieldKind = FieldKind(rawValue: try decoder.readText())
            let value = try decoder.readText()
            if count == 2 {
                let standard = kind.standardFields.first { $0.key == key }
                return ItemField(key: key, label: standard?.label ?? key.name, kind: fieldKind, value: value)
            }
            guard count == 4 else { throw CBORError(.unexpectedItem, byteOffset: 0) }
            return ItemField(
                key: key, label: try decoder.readText(), kind: fieldKind, value: value,
                position: try decoder.readUnsigned(as: UInt32.self))
        }
        try field.validate()
        return field
    }

    private static func decode<Value>(
        _ bytes: [UInt8], _ body: (inout CBORDecoder) throws(CBORError) -> Value
    ) throws -> Value {
        do throws(CBORError) {
            return try withCBORDecoder(bytes, body)
        } catch {
            throw CoreError(.valueInvalid, at: error.code.rawValue, cause: error)
        }
    }
}
