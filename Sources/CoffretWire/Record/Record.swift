// Messages whose fields are stated once. Invariant: CBOR, JSON and the page in Spec come from the same list of fields, so none
// of them can know a field that another one does not.

package import CoffretBase

/// A message of named fields.
///
/// CBOR: a map from names to values; JSON: an object, in the order of the layout. A field without a value is left out.
/// Spec: Spec/operations.md.
package protocol Record: RecordValue {
    /// As the page names it.
    static var recordName: String { get }
    static var layout: RecordLayout<Self> { get }
    /// Requests refuse fields that they do not know: a misspelt one would be ignored in silence. Answers pass over them, so that
    /// an older program understands a newer one.
    static var refusesUnknownFields: Bool { get }
    /// All fields empty, to be filled by decoding.
    init()
}

extension Record {
    package static var refusesUnknownFields: Bool { true }
    package static var shape: RecordShape { .record(recordName, layout.shapes) }

    package func encode(to encoder: inout CBOREncoder) {
        let present = Self.layout.sorted.filter { $0.isPresent(self) }
        encoder.encodeMapHeader(count: present.count)
        for field in present {
            encoder.appendEncoded(field.key)
            field.encode(self, &encoder)
        }
    }

    package init(from decoder: inout CBORDecoder) throws(WireError) {
        self.init()
        var filling = RecordFilling<Self>()
        var map = try inWire(decoder.readMapHeader())
        while let name = try inWire(decoder.readTextKey(in: &map)) {
            if let field = try filling.field(name) {
                try field.decode(&self, &decoder)
            } else {
                try inWire(decoder.skipItem())
            }
        }
        try filling.finish()
    }

    package var json: JSONValue {
        .object(Self.layout.fields.compactMap { field in field.json(self).map { JSONValue.Member(field.name, $0) } })
    }

    package init(json: JSONValue) throws(WireError) {
        guard case .object(let members) = json else { throw WireError(.malformed, place: Self.recordName) }
        self.init()
        var filling = RecordFilling<Self>()
        for member in members { try filling.field(member.name)?.decodeJSON(&self, member.value) }
        try filling.finish()
    }

    /// Decodes all of `bytes`.
    ///
    /// - Throws: `.malformed` with the field at fault.
    package init(decoding bytes: [UInt8]) throws(WireError) {
        self = try unsafe bytes.span.withUnsafeBytes { (buffer) throws(WireError) in
            var decoder = unsafe CBORDecoder(over: buffer)
            let record = try Self(from: &decoder)
            try inWire(decoder.finish())
            return record
        }
    }

    /// The deterministic encoding.
    package var encoded: [UInt8] { CBOREncoder.encode { encode(to: &$0) } }
}

/// The fields of a record.
package struct RecordLayout<Owner: Record>: Sendable {
    /// In the order of the page and of JSON.
    package let fields: [RecordField<Owner>]
    /// In the order of CBOR's keys.
    fileprivate let sorted: [RecordField<Owner>]
    fileprivate let byName: [String: Int]

    package init(_ fields: RecordField<Owner>...) { self.init(fields) }

    /// The layout with more fields behind one that it has.
    package func adding(_ more: [RecordField<Owner>], after name: String) -> Self {
        guard let index = fields.firstIndex(where: { $0.name == name }) else {
            preconditionFailure("there is no field \(name)")
        }
        return Self(fields[...index] + more + fields[(index + 1)...])
    }

    private init(_ fields: [RecordField<Owner>]) {
        self.fields = fields
        sorted = fields.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        byName = Dictionary(uniqueKeysWithValues: fields.enumerated().map { ($1.name, $0) })
    }

    /// For the page.
    package var shapes: [RecordFieldShape] {
        fields.map {
            RecordFieldShape(name: $0.name, shape: $0.shape, isOptional: $0.isOptional, meaning: $0.meaning)
        }
    }
}

/// One field of a record: its name, its meaning, and where it lies.
package struct RecordField<Owner: Record>: Sendable {
    package let name: String
    package let meaning: String
    package let shape: RecordShape
    package let isOptional: Bool
    /// The name in CBOR.
    fileprivate let key: [UInt8]
    fileprivate let isPresent: @Sendable (Owner) -> Bool
    fileprivate let encode: @Sendable (Owner, inout CBOREncoder) -> Void
    fileprivate let decode: @Sendable (inout Owner, inout CBORDecoder) throws(WireError) -> Void
    fileprivate let json: @Sendable (Owner) -> JSONValue?
    fileprivate let decodeJSON: @Sendable (inout Owner, JSONValue) throws(WireError) -> Void

    /// A field that is always there.
    package init<Value: RecordValue>(
        _ name: String, _ path: any WritableKeyPath<Owner, Value> & Sendable, _ meaning: String
    ) {
        self.name = name
        self.meaning = meaning
        shape = Value.shape
        isOptional = false
        key = CBOREncoder.encode { $0.encode(text: name) }
        isPresent = { _ in true }
        encode = { owner, encoder in owner[keyPath: path].encode(to: &encoder) }
        decode = { (owner, decoder) throws(WireError) in
            owner[keyPath: path] = try atField(name) { () throws(WireError) in try Value(from: &decoder) }
        }
        json = { $0[keyPath: path].json }
        decodeJSON = { (owner, value) throws(WireError) in
            owner[keyPath: path] = try atField(name) { () throws(WireError) in try Value(json: value) }
        }
    }

    /// A field that may be left out.
    package init<Value: RecordValue>(
        _ name: String, _ path: any WritableKeyPath<Owner, Value?> & Sendable, _ meaning: String
    ) {
        self.name = name
        self.meaning = meaning
        shape = Value.shape
        isOptional = true
        key = CBOREncoder.encode { $0.encode(text: name) }
        isPresent = { $0[keyPath: path] != nil }
        encode = { owner, encoder in owner[keyPath: path]?.encode(to: &encoder) }
        decode = { (owner, decoder) throws(WireError) in
            owner[keyPath: path] = try atField(name) { () throws(WireError) in try Value(from: &decoder) }
        }
        json = { $0[keyPath: path]?.json }
        decodeJSON = { (owner, value) throws(WireError) in
            owner[keyPath: path] = try atField(name) { () throws(WireError) in try Value(json: value) }
        }
    }
}

/// Which fields of a record that is being decoded have come.
private struct RecordFilling<Owner: Record> {
    private let layout = Owner.layout
    private var seen: Set<Int> = []

    /// - Returns: nil for a field to be passed over.
    mutating func field(_ name: String) throws(WireError) -> RecordField<Owner>? {
        guard let index = layout.byName[name] else {
            if Owner.refusesUnknownFields { throw WireError(.malformed, place: name) }
            return nil
        }
        seen.insert(index)
        return layout.fields[index]
    }

    func finish() throws(WireError) {
        for (index, field) in layout.fields.enumerated() where !field.isOptional && !seen.contains(index) {
            throw WireError(.malformed, place: field.name)
        }
    }
}

/// Names the field in an error that says none.
private func atField<Value>(
    _ name: String, _ body: () throws(WireError) -> Value
) throws(WireError) -> Value {
    do throws(WireError) {
        return try body()
    } catch {
        throw WireError(error.code, byteOffset: error.byteOffset, place: error.place ?? name)
    }
}
