// What passes in a session beside requests and replies. Invariant: none of these is a reply, so that a client that asks for
// none of them gets replies alone.

internal import CoffretBase

/// A message of a client.
package enum SessionClientMessage: Equatable, Sendable {
    case request(OperationRequest)
    /// Nothing of what was asked for before this is wanted any more.
    case cancel
    /// To the session's question of that number: yes or no. A secret lies behind the descriptor that comes with a yes.
    case answer(Bool, question: Int)

    /// Layout: `{ "cancel": true }`.
    package static func encodedCancel(isJSON: Bool) -> [UInt8] {
        if isJSON { return Array(JSONValue.object([JSONValue.Member("cancel", .bool(true))]).text().utf8) }
        return CBOREncoder.encode { encoder in
            encoder.encodeMapHeader(count: 1)
            encoder.encode(text: "cancel")
            encoder.encode(bool: true)
        }
    }

    /// Layout: `{ "answer": bool, "question": number }`.
    package static func encodedAnswer(_ isYes: Bool, to question: Int, isJSON: Bool) -> [UInt8] {
        let answer = AnswerMessage(isYes: isYes, question: question)
        return isJSON ? Array(answer.json.text().utf8) : answer.encoded
    }

    private struct AnswerMessage: Record {
        static let recordName = "answer"
        var isYes = false
        var question = 0

        init() {}

        init(isYes: Bool, question: Int) { (self.isYes, self.question) = (isYes, question) }

        static let layout = RecordLayout<Self>(
            RecordField("answer", \.isYes, "yes or no"), RecordField("question", \.question, "its number"))
    }

    /// - Throws: `.malformed` with the field at fault.
    package init(decoding bytes: [UInt8], isJSON: Bool) throws(WireError) {
        // These are a few bytes long, and there is one way to write them in CBOR.
        if bytes.count <= 64, let brief = Self.brief(bytes, isJSON: isJSON) {
            self = brief
            return
        }
        self = .request(try OperationRequest(decoding: bytes, isJSON: isJSON))
    }

    private static func brief(_ bytes: [UInt8], isJSON: Bool) -> Self? {
        let answer: AnswerMessage?
        if isJSON {
            guard let value = try? JSONValue(parsing: bytes) else { return nil }
            if value["cancel"]?.bool == true { return .cancel }
            answer = try? AnswerMessage(json: value)
        } else {
            if bytes == encodedCancel(isJSON: false) { return .cancel }
            answer = try? AnswerMessage(decoding: bytes)
        }
        return answer.map { .answer($0.isYes, question: $0.question) }
    }
}

/// A part of an answer that comes before its reply.
package enum AnswerPart {
    /// As a message of a session: `{ "part": … }`.
    package static func message(_ record: any Record, isJSON: Bool) -> [UInt8] {
        OperationReplyForm.encode("part", record, isJSON: isJSON)
    }

    /// - Returns: nil for a message of another kind.
    package static func read<Answer: Record>(
        as type: Answer.Type, message bytes: [UInt8], isJSON: Bool
    ) throws(WireError) -> Answer? {
        try OperationReplyForm.decode("part", as: type, bytes, isJSON: isJSON)
    }
}

/// A question to whoever attends a request.
package struct SessionQuestion: Record {
    package static let recordName = "question"
    package static let refusesUnknownFields = false

    package enum Kind: String, RecordChoice {
        /// The answer is yes or no.
        case confirm
        /// The same for two things that a person compares; where nothing is typed the answer is no.
        case compare
        /// The answer brings a secret: the passphrase of locked notes.
        case notePassphrase
        /// That of the store, to show that a person is there.
        case passphrase
        /// The PIN, for the same.
        case pin
        /// The store's passphrase for a change of who gets in, also from a file that a script has named.
        case currentPassphrase
        /// A passphrase for locked notes that the person chooses.
        case newNotePassphrase
        /// A PIN that the person chooses.
        case newPIN
        /// That of an export of another program.
        case sourcePassword
        /// The question brings a file under OpenPGP, and a yes the opened one.
        case openPGP
        /// The code that another device shows. The question is over once the reply comes.
        case code

        package var wantsSecret: Bool { self != .confirm && self != .compare && self != .openPGP }
    }

    package var kind = Kind.confirm
    package var text = ""
    package var reason: String?
    /// Counts the questions of a session from 1.
    package var number = 0

    package init() {}

    package init(_ kind: Kind, _ text: String, reason: String? = nil) {
        self.init()
        (self.kind, self.text, self.reason) = (kind, text, reason)
    }

    package static let layout = RecordLayout<Self>(
        RecordField("kind", \.kind, "what is wanted: a yes or no, a secret, or an opened file"),
        RecordField("text", \.text, "the question as a person is asked"),
        RecordField("reason", \.reason, "what the answer is for; ends a sentence that begins with \"to\""),
        RecordField("number", \.number, "counts the questions of the session from 1; the answer names it"))

    /// As a message of a session: `{ "question": … }`.
    package func message(isJSON: Bool) -> [UInt8] { OperationReplyForm.encode("question", self, isJSON: isJSON) }

    /// - Returns: nil for a message of another kind.
    package init?(message bytes: [UInt8], isJSON: Bool) {
        guard let found = try? OperationReplyForm.decode("question", as: Self.self, bytes, isJSON: isJSON) else {
            return nil
        }
        self = found
    }
}

/// What whoever attends a request is told beside its reply.
package struct SessionNotice: Record {
    package static let recordName = "notice"
    package static let refusesUnknownFields = false

    package enum Kind: String, RecordChoice {
        case note
        /// Something needs attention.
        case warning
        /// What storage did by itself.
        case storage
        /// The text is a code to be typed on another device.
        case code
    }

    package var kind = Kind.note
    package var text = ""
    package var code: String?

    package init() {}

    package init(_ kind: Kind, _ text: String, code: String? = nil) {
        self.init()
        (self.kind, self.text, self.code) = (kind, text, code)
    }

    package static let layout = RecordLayout<Self>(
        RecordField("kind", \.kind, "how much it matters"), RecordField("text", \.text, "the words for a person"),
        RecordField("code", \.code, "stable code of `errors.md`"))

    /// As a message of a session: `{ "notice": … }`.
    package func message(isJSON: Bool) -> [UInt8] { OperationReplyForm.encode("notice", self, isJSON: isJSON) }

    /// - Returns: nil for a message of another kind.
    package init?(message bytes: [UInt8], isJSON: Bool) {
        guard let found = try? OperationReplyForm.decode("notice", as: Self.self, bytes, isJSON: isJSON) else {
            return nil
        }
        self = found
    }
}

/// How far an operation has come.
package struct OperationProgress: Record {
    package static let recordName = "progress"
    package static let refusesUnknownFields = false

    /// The stage of any operation that has to wait until a search index is made.
    package static let indexing = "indexing"

    package var stage: String?
    package var done = 0
    package var total: Int?
    package var byteCount: Int?
    package var totalByteCount: Int?

    package init() {}

    package init(
        done: Int, total: Int? = nil, stage: String? = nil, byteCount: Int? = nil, totalByteCount: Int? = nil
    ) {
        self.stage = stage
        self.done = done
        self.total = total
        self.byteCount = byteCount
        self.totalByteCount = totalByteCount
    }

    package static let layout = RecordLayout<Self>(
        RecordField("stage", \.stage, "what is done now, in a word such as `reading`"),
        RecordField("done", \.done, "parts of this stage that are done"),
        RecordField("total", \.total, "parts in all, where that is known"),
        RecordField("byteCount", \.byteCount, "bytes that are done, where bytes are read or written"),
        RecordField("totalByteCount", \.totalByteCount, "bytes in all, where that is known"))

    /// As a message of a session: `{ "progress": … }`.
    package func message(isJSON: Bool) -> [UInt8] { OperationReplyForm.encode("progress", self, isJSON: isJSON) }

    /// - Returns: nil for a message of another kind, such as a reply.
    package init?(message bytes: [UInt8], isJSON: Bool) {
        do throws(WireError) {
            guard let progress = try OperationReplyForm.decode("progress", as: Self.self, bytes, isJSON: isJSON) else {
                return nil
            }
            self = progress
        } catch { return nil }
    }
}

/// The last message of a session that ends by itself. A request whose reply it stands for was not looked at.
package enum SessionEnd: String, RecordChoice {
    /// Nobody asked for so long that the keys go.
    case idle
    /// The agent wants the process to end.
    case stopped

    /// Layout: `{ "end": why }`.
    package func message(isJSON: Bool) -> [UInt8] {
        if isJSON { return Array(JSONValue.object([JSONValue.Member("end", json)]).text().utf8) }
        return CBOREncoder.encode { encoder in
            encoder.encodeMapHeader(count: 1)
            encoder.encode(text: "end")
            encode(to: &encoder)
        }
    }

    /// - Returns: nil for a message of another kind.
    package init?(message bytes: [UInt8], isJSON: Bool) {
        guard let end = Self.allCases.first(where: { $0.message(isJSON: isJSON) == bytes }) else { return nil }
        self = end
    }
}
