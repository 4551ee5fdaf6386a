// Arrays of fields in fixed places, stated once. Invariant: what is written, what is read with its bounds, and the form that
// Spec shows come from one list.

/// How values of one kind lie in CBOR, with their bounds.
package struct CBORForm<Value>: Sendable {
    /// As Spec writes it: `bstr32`, `uint`.
    package let notation: String
    package let encode: @Sendable (Value, inout CBOREncoder) -> Void
    /// - Throws: `.unexpectedItem` for a value out of its bounds, and what the decoder throws.
    package let decode: @Sendable (inout CBORDecoder) throws(CBORError) -> Value

    package init(
        _ notation: String, encode: @escaping @Sendable (Value, inout CBOREncoder) -> Void,
        decode: @escaping @Sendable (inout CBORDecoder) throws(CBORError) -> Value
    ) {
        self.notation = notation
        self.encode = encode
        self.decode = decode
    }

    /// Other values that are written as these.
    ///
    /// - Parameter value: nil for one that there is no other value for.
    package func mapped<Other>(
        _ notation: String? = nil, to value: @escaping @Sendable (Value) -> Other?,
        from other: @escaping @Sendable (Other) -> Value
    ) -> CBORForm<Other> {
        CBORForm<Other>(notation ?? self.notation, encode: { encode(other($0), &$1) }) { decoder throws(CBORError) in
            let start = decoder.byteOffset
            guard let result = value(try decode(&decoder)) else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            return result
        }
    }

    /// The same, by the name that Spec defines it under.
    package func named(_ name: String) -> Self { CBORForm(name, encode: encode, decode: decode) }

    /// One of them, or null for none.
    package var orNull: CBORForm<Value?> {
        CBORForm<Value?>(
            "\(notation) / null",
            encode: { value, encoder in
                if let value { encode(value, &encoder) } else { encoder.encodeNull() }
            },
            decode: { (decoder) throws(CBORError) in
                guard decoder.isNextNull else { return try decode(&decoder) }
                try decoder.readNull()
                return nil
            })
    }

    /// Up to so many of them.
    package func list(countMax: Int, name: String? = nil) -> CBORForm<[Value]> {
        CBORForm<[Value]>(
            "[* \(name.map { $0 + ": " } ?? "")\(notation)]",
            encode: { values, encoder in
                encoder.encodeArrayHeader(count: values.count)
                for value in values { encode(value, &encoder) }
            },
            decode: { (decoder) throws(CBORError) in
                let start = decoder.byteOffset
                let count = try decoder.readArrayHeader()
                guard count <= countMax else { throw CBORError(.unexpectedItem, byteOffset: start) }
                var values: [Value] = []
                values.reserveCapacity(count)
                for _ in 0..<count { values.append(try decode(&decoder)) }
                return values
            })
    }
}

extension CBORForm<UInt64> {
    package static var unsigned: Self {
        CBORForm("uint", encode: { $1.encode(unsigned: $0) }) { decoder throws(CBORError) in try decoder.readUnsigned()
        }
    }

    /// Small numbers.
    package func narrowed<Number: FixedWidthInteger & UnsignedInteger & SendableMetatype>(to type: Number.Type)
        -> CBORForm<Number>
    {
        mapped(to: { Number(exactly: $0) }, from: { UInt64($0) })
    }
}

extension CBORForm<UInt32> {
    package static var unsigned32: Self { CBORForm<UInt64>.unsigned.narrowed(to: UInt32.self) }
}

extension CBORForm<Bool> {
    package static var bool: Self {
        CBORForm("bool", encode: { $1.encode(bool: $0) }) { decoder throws(CBORError) in try decoder.readBool() }
    }
}

extension CBORForm<String> {
    package static func text(byteCountMax: Int) -> Self {
        CBORForm("tstr .size (0..\(byteCountMax))", encode: { $1.encode(text: $0) }) { decoder throws(CBORError) in
            try decoder.readText(byteCountMax: byteCountMax)
        }
    }
}

extension CBORForm<[UInt8]> {
    package static func bytes(count: Int) -> Self {
        CBORForm("bstr\(count)", encode: { $1.encode(bytes: $0) }) { decoder throws(CBORError) in
            try decoder.readBytes(count: count)
        }
    }

    package static func bytes(countMax: Int) -> Self {
        CBORForm("bstr .size (0..\(countMax))", encode: { $1.encode(bytes: $0) }) { decoder throws(CBORError) in
            try decoder.readBytes(countMax: countMax)
        }
    }
}

extension CBORForm<[UInt8]?> {
    /// Bytes, or an empty string for none.
    package static func bytesOrEmpty(count: Int) -> Self {
        CBORForm<[UInt8]>.bytes(countMax: count).mapped(
            "bstr\(count) / empty", to: { $0.isEmpty ? .some(nil) : $0.count == count ? .some($0) : nil },
            from: { $0 ?? [] })
    }
}

extension CBORForm<UniqueID> {
    package static var id: Self {
        CBORForm<[UInt8]>.bytes(count: UniqueID.byteCount).mapped(to: { UniqueID(bytes: $0) }, from: { $0.bytes })
    }
}

extension CBORForm<UniqueID?> {
    /// An id, or an empty string for nobody.
    package static var idOrEmpty: Self {
        CBORForm<[UInt8]?>.bytesOrEmpty(count: UniqueID.byteCount).mapped(
            to: { bytes in bytes.map { UniqueID(bytes: $0) } ?? .some(nil) }, from: { $0?.bytes })
    }
}

extension CBORForm where Value: CBORRecord {
    /// A record within another one.
    package static var record: Self {
        CBORForm(Value.layout.notation, encode: { $0.encode(to: &$1) }) { decoder throws(CBORError) in
            try Value(from: &decoder)
        }
    }
}

/// A field of a record: its name in Spec, where it lies in the program, and how it lies in CBOR.
package struct CBORField<Owner, Value>: Sendable {
    let name: String
    let path: any KeyPath<Owner, Value> & Sendable
    let form: CBORForm<Value>

    package init(_ name: String, _ path: any KeyPath<Owner, Value> & Sendable, _ form: CBORForm<Value>) {
        self.name = name
        self.path = path
        self.form = form
    }

    /// A field without a name is told by its form alone.
    fileprivate var notation: String {
        name.isEmpty || name == form.notation ? form.notation : "\(name): \(form.notation)"
    }
}

/// The fields of a record, in their order.
package struct CBORLayout<Owner, each Value>: Sendable {
    private let version: UInt64?
    private let make: @Sendable (repeat each Value) -> Owner
    private let fields: (repeat CBORField<Owner, each Value>)
    private let isValid: @Sendable (Owner) -> Bool
    private let fieldCount: Int

    /// - Parameters:
    ///   - version: a number before the fields; another one is refused.
    ///   - make: the record out of the values of its fields.
    ///   - isValid: whether the values fit each other.
    package init(
        version: UInt64? = nil, _ make: @escaping @Sendable (repeat each Value) -> Owner,
        _ fields: repeat CBORField<Owner, each Value>,
        where isValid: @escaping @Sendable (Owner) -> Bool = { _ in true }
    ) {
        self.version = version
        self.make = make
        self.fields = (repeat each fields)
        self.isValid = isValid
        var count = version == nil ? 0 : 1
        for _ in repeat each fields { count += 1 }
        fieldCount = count
    }
}

/// A layout, whatever its fields.
package protocol CBORRecordLayout<Owner>: Sendable {
    associatedtype Owner
    /// As Spec writes it: `[cursor: bstr, epoch: uint]`.
    var notation: String { get }
    func encode(_ owner: Owner, to encoder: inout CBOREncoder)
    func decode(from decoder: inout CBORDecoder) throws(CBORError) -> Owner
}

extension CBORLayout: CBORRecordLayout {
    package var notation: String {
        var texts = version.map { ["\($0)"] } ?? []
        for field in repeat each fields { texts.append(field.notation) }
        return "[\(texts.joined(separator: ", "))]"
    }

    package func encode(_ owner: Owner, to encoder: inout CBOREncoder) {
        encoder.encodeArrayHeader(count: fieldCount)
        if let version { encoder.encode(unsigned: version) }
        for field in repeat each fields { field.form.encode(owner[keyPath: field.path], &encoder) }
    }

    package func decode(from decoder: inout CBORDecoder) throws(CBORError) -> Owner {
        let start = decoder.byteOffset
        try decoder.readArrayHeader(count: fieldCount)
        if let version, try decoder.readUnsigned() != version { throw CBORError(.unexpectedItem, byteOffset: start) }
        let owner = make(repeat try (each fields).form.decode(&decoder))
        guard isValid(owner) else { throw CBORError(.unexpectedItem, byteOffset: start) }
        return owner
    }
}

/// A value with a layout.
package protocol CBORRecord: SendableMetatype {
    associatedtype Layout: CBORRecordLayout where Layout.Owner == Self
    static var layout: Layout { get }
}

extension CBORRecord {
    package func encode(to encoder: inout CBOREncoder) { Self.layout.encode(self, to: &encoder) }

    /// - Throws: `.unexpectedItem` for another count of fields or a value out of its bounds, and what the decoder throws.
    package init(from decoder: inout CBORDecoder) throws(CBORError) { self = try Self.layout.decode(from: &decoder) }
}
