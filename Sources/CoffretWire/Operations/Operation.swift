// Requests to an unlocked store, as types. Invariant: a request says which access it needs before anybody performs it, and
// its name never gets another meaning.

package import CoffretBase

/// The access that an operation needs.
package enum OperationAccess: String, CaseIterable, Comparable, Sendable {
    /// No store.
    case none
    /// Names of vaults, titles, tags, times; words around what was searched for.
    case list
    /// Contents, secrets among them.
    case read
    case write
    /// The store's own state, such as its lock.
    case control

    /// Each allows what those before it allow.
    package static func < (left: OperationAccess, right: OperationAccess) -> Bool {
        allCases.firstIndex(of: left)! < allCases.firstIndex(of: right)!
    }
}

/// One kind of request, and its answer.
package protocol StoreOperation: Record {
    associatedtype Answer: Record
    /// `item.read`: stable, for scripts, logs and tokens.
    static var name: String { get }
    static var access: OperationAccess { get }
    /// One sentence for the page.
    static var meaning: String { get }
}

extension StoreOperation {
    package static var recordName: String { name }
}

/// Whether a person asks, or a program by itself.
package enum Asker: String, RecordChoice {
    case person
    case program
}

/// A request of a session: which operation, and its fields, which are read by whoever knows the operation.
///
/// CBOR and JSON: a map of `do`, `by`, `progress`, `attended`, `parts` (all optional) and `with`. Spec: Spec/operations.md section 2.
package struct OperationRequest: Equatable, Sendable {
    package enum Fields: Equatable, Sendable {
        case cbor([UInt8])
        case json(JSONValue)
    }

    package let name: String
    package let asker: Asker
    /// Whether the session is to say meanwhile how far it has come.
    package let wantsProgress: Bool
    /// Whether somebody answers questions of the session meanwhile, and takes notices.
    package let isAttended: Bool
    /// Whether the session is to send parts of a long answer before the reply.
    package let wantsParts: Bool
    package let fields: Fields

    package var isJSON: Bool { if case .json = fields { true } else { false } }

    package init<Request: StoreOperation>(
        _ request: Request, by asker: Asker = .person, wantsProgress: Bool = false, isAttended: Bool = false,
        wantsParts: Bool = false, isJSON: Bool = false
    ) {
        name = Request.name
        self.asker = asker
        self.wantsProgress = wantsProgress
        self.isAttended = isAttended
        self.wantsParts = wantsParts
        fields = isJSON ? .json(request.json) : .cbor(request.encoded)
    }

    package var encoded: [UInt8] {
        switch fields {
        case .cbor(let bytes):
            CBOREncoder.encode { encoder in
                encoder.encodeMap { map in
                    map.put("do") { $0.encode(text: name) }
                    map.put("by") { asker.encode(to: &$0) }
                    if wantsProgress { map.put("progress") { $0.encode(bool: true) } }
                    if isAttended { map.put("attended") { $0.encode(bool: true) } }
                    if wantsParts { map.put("parts") { $0.encode(bool: true) } }
                    map.put("with") { $0.appendEncoded(bytes) }
                }
            }
        case .json(let value):
            Array(
                JSONValue.object(
                    [JSONValue.Member("do", .string(name)), JSONValue.Member("by", asker.json)]
                        + (wantsProgress ? [JSONValue.Member("progress", .bool(true))] : [])
                        + (isAttended ? [JSONValue.Member("attended", .bool(true))] : [])
                        + (wantsParts ? [JSONValue.Member("parts", .bool(true))] : [])
                        + [JSONValue.Member("with", value)]
                ).text().utf8)
        }
    }

    /// - Throws: `.malformed` with the field at fault.
    package init(decoding bytes: [UInt8], isJSON: Bool) throws(WireError) {
        self = try isJSON ? Self(json: bytes) : Self(cbor: bytes)
    }

    private init(cbor bytes: [UInt8]) throws(WireError) {
        var (name, asker, fields): (String?, Asker?, [UInt8]?) = (nil, nil, nil)
        var (wantsProgress, isAttended, wantsParts) = (false, false, false)
        try unsafe bytes.span.withUnsafeBytes { (buffer) throws(WireError) in
            var decoder = unsafe CBORDecoder(over: buffer)
            var map = try inWire(decoder.readMapHeader())
            while let key = try inWire(decoder.readTextKey(in: &map)) {
                switch key {
                case "do": name = try String(from: &decoder)
                case "by": asker = try Asker(from: &decoder)
                case "progress": wantsProgress = try Bool(from: &decoder)
                case "attended": isAttended = try Bool(from: &decoder)
                case "parts": wantsParts = try Bool(from: &decoder)
                case "with":
                    let start = decoder.byteOffset
                    try inWire(decoder.skipItem())
                    fields = decoder.bytes(in: start..<decoder.byteOffset)
                default: throw WireError(.malformed, place: key)
                }
            }
            try inWire(decoder.finish())
        }
        guard let name else { throw WireError(.malformed, place: "do") }
        self.name = name
        self.asker = asker ?? .person
        self.wantsProgress = wantsProgress
        self.isAttended = isAttended
        self.wantsParts = wantsParts
        self.fields = .cbor(fields ?? [0xA0])
    }

    private init(json bytes: [UInt8]) throws(WireError) {
        guard case .object(let members)? = try? JSONValue(parsing: bytes) else { throw WireError(.malformed) }
        var (name, asker, fields): (String?, Asker?, JSONValue?) = (nil, nil, nil)
        var (wantsProgress, isAttended, wantsParts) = (false, false, false)
        for member in members {
            switch member.name {
            case "do": name = try String(json: member.value)
            case "by": asker = try Asker(json: member.value)
            case "progress": wantsProgress = try Bool(json: member.value)
            case "attended": isAttended = try Bool(json: member.value)
            case "parts": wantsParts = try Bool(json: member.value)
            case "with": fields = member.value
            default: throw WireError(.malformed, place: member.name)
            }
        }
        guard let name else { throw WireError(.malformed, place: "do") }
        self.name = name
        self.asker = asker ?? .person
        self.wantsProgress = wantsProgress
        self.isAttended = isAttended
        self.wantsParts = wantsParts
        self.fields = .json(fields ?? .object([]))
    }

    /// The fields as those of one operation.
    package func read<Request: StoreOperation>(as type: Request.Type) throws(WireError) -> Request {
        switch fields {
        case .cbor(let bytes): try Request(decoding: bytes)
        case .json(let value): try Request(json: value)
        }
    }
}

/// An answer of a session, in the form of the request: `ok` with the operation's answer, or `error`.
package enum OperationReply<Answer: Record>: Equatable, Sendable {
    case answer(Answer)
    case failure(OperationFailure)

    package func encoded(isJSON: Bool) -> [UInt8] {
        switch self {
        case .answer(let answer): OperationReplyForm.encode("ok", answer, isJSON: isJSON)
        case .failure(let failure): OperationReplyForm.encode("error", failure, isJSON: isJSON)
        }
    }

    /// - Throws: `.malformed`.
    package init(decoding bytes: [UInt8], isJSON: Bool) throws(WireError) {
        if isJSON {
            guard case .object(let members)? = try? JSONValue(parsing: bytes), let member = members.first,
                members.count == 1
            else { throw WireError(.malformed) }
            self =
                try member.name == "ok" ? .answer(Answer(json: member.value)) : .failure(.init(json: member.value))
            return
        }
        self = try unsafe bytes.span.withUnsafeBytes { (buffer) throws(WireError) in
            var decoder = unsafe CBORDecoder(over: buffer)
            var map = try inWire(decoder.readMapHeader())
            let key = try inWire(decoder.readTextKey(in: &map))
            let reply: Self =
                try key == "ok" ? .answer(Answer(from: &decoder)) : .failure(OperationFailure(from: &decoder))
            try inWire(decoder.finish())
            return reply
        }
    }
}

enum OperationReplyForm {
    static func encode(_ name: String, _ record: some Record, isJSON: Bool) -> [UInt8] {
        if isJSON { return Array(JSONValue.object([JSONValue.Member(name, record.json)]).text().utf8) }
        return CBOREncoder.encode { encoder in
            encoder.encodeMapHeader(count: 1)
            encoder.encode(text: name)
            record.encode(to: &encoder)
        }
    }

    /// - Returns: nil if the message has another name.
    static func decode<Content: Record>(
        _ name: String, as type: Content.Type, _ bytes: [UInt8], isJSON: Bool
    ) throws(WireError) -> Content? {
        if isJSON {
            // A message of another name is not read any further.
            var reader = JSONReader(bytes)
            guard (try? reader.next()) == .beginObject, (try? reader.next()) == .name(name),
                let content = try? JSONValue(from: &reader), (try? reader.next()) == .endObject,
                (try? reader.next()) == .end
            else { return nil }
            return try Content(json: content)
        }
        return try unsafe bytes.span.withUnsafeBytes { (buffer) throws(WireError) in
            var decoder = unsafe CBORDecoder(over: buffer)
            var map = try inWire(decoder.readMapHeader())
            guard try inWire(decoder.readTextKey(in: &map)) == name else { return nil }
            return try Content(from: &decoder)
        }
    }
}

/// A request that was refused.
package struct OperationFailure: Record, Error {
    package static let recordName = "failure"
    package static let refusesUnknownFields = false

    package var code = ""
    package var message = ""
    package var hint: String?
    package var waitSeconds: Int?
    package var candidates: [OperationCandidate]?
    package var exitCode: Int?
    package var details: [String]?
    package var facts: [OperationFact]?
    package var cause: String?

    package init() {}

    package static let layout = RecordLayout<Self>(
        RecordField("code", \.code, "stable code of `errors.md`"),
        RecordField("message", \.message, "the words for a person, lower case, without full stop"),
        RecordField("hint", \.hint, "what helps"),
        RecordField("waitSeconds", \.waitSeconds, "seconds until another try is possible"),
        RecordField("candidates", \.candidates, "the things that an ambiguous name could mean"),
        RecordField("exitCode", \.exitCode, "with which `coffret` ends"),
        RecordField("details", \.details, "lines below the message"),
        RecordField("facts", \.facts, "what `coffret --json` says beside the code, such as the server's own code"),
        RecordField("cause", \.cause, "what lies behind it, for whoever attends"))
}

/// Something that a refusal says beside its code.
package struct OperationFact: Record {
    package static let recordName = "fact"
    package static let refusesUnknownFields = false

    package var name = ""
    package var value = ""

    package init() {}

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    package static let layout = RecordLayout<Self>(
        RecordField("name", \.name, "stable"), RecordField("value", \.value, "text"))
}

/// One meaning of an ambiguous name.
package struct OperationCandidate: Record {
    package static let recordName = "candidate"
    package static let refusesUnknownFields = false

    package var id = ""
    package var title = ""
    package var vault: String?
    package var kind: String?
    package var tags: [String]?
    package var modified: WireMoment?

    package init() {}

    package static let layout = RecordLayout<Self>(
        RecordField("id", \.id, "id in hexadecimal digits"),
        RecordField("title", \.title, "title of the item, or name of the vault or field"),
        RecordField("vault", \.vault, "name of the vault that has it"),
        RecordField("kind", \.kind, "of an item"), RecordField("tags", \.tags, "of an item"),
        RecordField("modified", \.modified, "of an item: when it was changed last"))
}

/// Fields that many requests have.
extension RecordField {
    static func item(_ path: any WritableKeyPath<Owner, String> & Sendable) -> Self {
        RecordField("item", path, "as in `item.read`")
    }

    static func items(_ path: any WritableKeyPath<Owner, [String]> & Sendable) -> Self {
        RecordField("items", path, "as in `item.read`")
    }

    static func shortID(_ path: any WritableKeyPath<Owner, String?> & Sendable) -> Self {
        RecordField("shortID", path, "the beginning of the id that names no other item of its vault, if asked for")
    }

    static func givesShortIDs(_ path: any WritableKeyPath<Owner, Bool?> & Sendable) -> Self {
        RecordField("givesShortIDs", path, "whether to give the shortest ids too, as a person types them")
    }

    static func vaultOfItem(_ path: any WritableKeyPath<Owner, String?> & Sendable) -> Self {
        RecordField("vault", path, "name or id; without it the vault that has it")
    }

    static func vaultOfFirst(_ path: any WritableKeyPath<Owner, String?> & Sendable) -> Self {
        RecordField("vault", path, "name or id; without it the vault that has the first")
    }

    static func vaultOrDefault(_ path: any WritableKeyPath<Owner, String?> & Sendable) -> Self {
        RecordField("vault", path, "name or id; without it the default")
    }

    static func vaultOrAll(_ path: any WritableKeyPath<Owner, String?> & Sendable) -> Self {
        RecordField("vault", path, "name or id; without it all vaults")
    }
}
