// The contents of a note's sealed parts, as bytes. Invariant: the text is its bytes and nothing else, so that scheme 1
// seals the same bytes as the article.

internal import CoffretBase
internal import CoffretStorage

/// The values that a lock takes out of sight.
struct LockedContents: Equatable {
    var text: String
    /// Nil where the title stays visible; the same for tags and path.
    var title: String?
    var tags: [TagPath]?
    var path: String?
    var fields: [ItemField]

    /// The contents of an item whose parts are open.
    init(_ item: Item, hidesTitle: Bool) {
        text = item.text
        fields = item.fields
        guard hidesTitle else { return }
        title = item.givenTitle ?? ""
        tags = item.givenTags
        path = item.path
    }

    /// The bytes to seal for a part; nil if the part needs none.
    func bytes(_ part: LockedPart) -> [UInt8]? {
        switch part {
        case .text: Array(text.utf8)
        case .title: title.map { Array($0.utf8) }
        case .path: path.map { Array($0.utf8) }
        case .tags: tags.map(Self.encode)
        case .fields: fields.isEmpty ? nil : Self.encode(fields)
        }
    }

    private static func encode(_ tags: [TagPath]) -> [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: tags.count)
            for tag in tags.sorted() { encoder.encode(text: tag.path) }
        }
    }

    private static func encode(_ fields: [ItemField]) -> [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: fields.count)
            for field in fields.sorted(by: { $0.key < $1.key }) {
                encoder.encodeArrayHeader(count: 5)
                encoder.encode(text: field.key.name)
                encoder.encode(text: field.kind.rawValue)
                encoder.encode(text: field.value)
                encoder.encode(text: field.label)
                encoder.encode(unsigned: UInt64(field.position))
            }
        }
    }
}

/// Reads the bytes of opened parts.
enum LockedContent {
    static func text(_ bytes: [UInt8]) throws -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw CoreError(.valueInvalid, at: "text") }
        return text
    }

    static func tags(_ bytes: [UInt8]) throws -> [TagPath] {
        let texts = try decode(bytes) { (decoder) throws(CBORError) in
            var texts: [String] = []
            for _ in 0..<(try decoder.readArrayHeader()) { texts.append(try decoder.readText()) }
            return texts
        }
        var tags: [TagPath] = []
        for text in texts { tags.append(try TagPath(text)) }
        return tags
    }

    static func fields(_ bytes: [UInt8]) throws -> [ItemField] {
        let fields = try decode(bytes) { (decoder) throws(CBORError) in
            var fields: [ItemField] = []
            for _ in 0..<(try decoder.readArrayHeader()) {
                try decoder.readArrayHeader(count: 5)
                guard let key = FieldKey(try decoder.readText()) else {
                    throw CBORError(.unexpectedItem, byteOffset: decoder.byteOffset)
                }
                let kind = FieldKind(rawValue: try decoder.readText())
                let value = try decoder.readText()
                fields.append(
                    ItemField(
                        key: key, label: try decoder.readText(), kind: kind, value: value,
                        position: try decoder.readUnsigned(as: UInt32.self)))
            }
            return fields
        }
        for field in fields { try field.validate() }
        return fields
    }

    static func decode<Value>(
        _ bytes: [UInt8], _ body: (inout CBORDecoder) throws(CBORError) -> Value
    ) throws -> Value {
        do throws(CBORError) {
            return try withCBORDecoder(bytes, body)
        } catch {
            throw CoreError(.valueInvalid, at: error.code.rawValue, cause: error)
        }
    }
}

/// The sealed values of a locked note's file.
struct SealedFileContent: Equatable {
    var name: String
    var mediaType: String
    var byteCount: Int
    var reference: [UInt8]
    var path: String?
    /// The vault that the chunks are bound to.
    var home: [UInt8]

    func encode() -> [UInt8] {
        CBOREncoder.encode { encoder in
            encoder.encodeArrayHeader(count: 6)
            encoder.encode(text: name)
            encoder.encode(text: mediaType)
            encoder.encode(signed: Int64(byteCount))
            encoder.encode(bytes: reference)
            if let path { encoder.encode(text: path) } else { encoder.encodeNull() }
            encoder.encode(bytes: home)
        }
    }

    static func parse(_ bytes: [UInt8]) throws -> SealedFileContent {
        try LockedContent.decode(bytes) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: 6)
            let name = try decoder.readText(byteCountMax: 1_024)
            let mediaType = try decoder.readText(byteCountMax: 1_024)
            let byteCount = try decoder.readSigned()
            let reference = try decoder.readBytes(countMax: 1_024)
            var path: String?
            if try decoder.peekMajorType() == .text {
                path = try decoder.readText(byteCountMax: 4_096)
            } else {
                try decoder.readNull()
            }
            return SealedFileContent(
                name: name, mediaType: mediaType, byteCount: Attachment.byteCount(stated: byteCount),
                reference: reference, path: path,
                home: try decoder.readBytes(count: 32))
        }
    }
}
