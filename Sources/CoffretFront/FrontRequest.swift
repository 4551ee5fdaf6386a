// The requests of a page to its front itself. Invariant: a request has the fields of this table and no others, and none names a path.

internal import CoffretBase
internal import CoffretClient
internal import CoffretTerminal

/// A request of a page to its front itself. Spec: Spec/page.md section 2.
package enum FrontRequest: Equatable, Sendable {
    case hello
    /// A field's value to the clipboard; without a field the password, else the first secret.
    case copy(item: String, vault: String?, field: String?)
    case copyCode(item: String, vault: String?)
    /// Begins a file in memory.
    case hold
    /// Bytes to its end.
    case put(ticket: String, bytes: [UInt8])
    /// Bytes from a place on.
    case get(ticket: String, offset: Int)
    case drop(ticket: String)
    /// How far what carries it has come.
    case progress(ticket: String)
    case cancel(ticket: String)
    /// A file or a folder of the person's choice.
    case choose(Choice, name: String)
    /// An operation that takes the file.
    case carry(Carried)

    /// What a person is asked to choose.
    package enum Choice: String, Sendable {
        /// A folder to read.
        case folder
        /// A folder to write into.
        case target
        /// A file to write.
        case file
        /// The next of the files and folders that were dropped on the window; nobody is asked.
        case dropped
    }

    /// An operation that takes the descriptor of a file that the front holds.
    package struct Carried: Equatable, Sendable {
        let ticket: String
        let operation: String
        let fields: [JSONValue.Member]
        let isPersons: Bool

        /// The request as a session takes it.
        func message(isAttended: Bool) -> [UInt8] {
            func member(_ name: String, _ value: JSONValue) -> JSONValue.Member { JSONValue.Member(name, value) }
            let request = JSONValue.object([
                member("do", .string(operation)), member("by", .string(isPersons ? "person" : "program")),
                member("progress", .bool(true)), member("attended", .bool(isAttended)), member("with", .object(fields)),
            ])
            return Array(request.text().utf8)
        }
    }

    /// Seconds until a copied value is taken away again.
    package static let clipboardSeconds = 45
    /// Of one `front.put` and one `front.get`.
    package static let pieceByteCountMax = 4 << 20

    /// Names of requests that carry a file into an operation, the operation, and its fields that a page may set.
    private static let carried: [String: (operation: String, fields: Set<String>)] = [
        "front.attach": ("file.add", ["item", "vault", "name"]),
        "front.fetch": ("file.read", ["item", "vault", "name"]),
        "front.import": ("import.run", ["vault", "format", "isDryRun"]),
        "front.export": ("export.run", ["vault", "format", "name"]),
    ]

    /// The words of the command that copies, which is `coffret` beside the front; nil where nothing is copied. The value is
    /// in neither the page nor its front.
    package func clipboardCommand(store: String) -> [String]? {
        guard let own = AgentLocation.canonical("/proc/self/exe") else { return nil }
        let program = PathText.join(PathText.parent(of: own), "coffret")
        let options = ["--store", store, "--quiet"]
        func place(_ item: String, _ vault: String?) -> [String] {
            (vault.map { ["--vault", $0] } ?? []) + ["--", item]
        }
        switch self {
        case .copy(let item, let vault, let field):
            return [program, "copy", "--clear-after", "\(Self.clipboardSeconds)"] + options + place(item, vault)
                + (field.map { [$0] } ?? [])
        case .copyCode(let item, let vault): return [program, "otp", "--copy"] + options + place(item, vault)
        default: return nil
        }
    }

    init(_ name: String, _ members: [JSONValue.Member], isPersons: Bool) throws(FrontError) {
        var fields = Fields(members)
        switch name {
        case "front.hello": self = .hello
        case "front.copy":
            self = .copy(
                item: try fields.text("item"), vault: try fields.optional("vault"), field: try fields.optional("field"))
        case "front.copyCode": self = .copyCode(item: try fields.text("item"), vault: try fields.optional("vault"))
        case "front.hold": self = .hold
        case "front.put":
            let ticket = try fields.text("ticket")
            guard let bytes = try? Base64.standard.decode(fields.text("bytes")), bytes.count <= Self.pieceByteCountMax
            else {
                throw FrontError(.requestInvalid, at: "bytes")
            }
            self = .put(ticket: ticket, bytes: bytes)
        case "front.get":
            guard let offset = fields.take("offset")?.integer, (0...Int64(1) << 40).contains(offset) else {
                throw FrontError(.requestInvalid, at: "offset")
            }
            self = .get(ticket: try fields.text("ticket"), offset: Int(offset))
        case "front.drop": self = .drop(ticket: try fields.text("ticket"))
        case "front.progress": self = .progress(ticket: try fields.text("ticket"))
        case "front.cancel": self = .cancel(ticket: try fields.text("ticket"))
        case "front.choose":
            guard let choice = Choice(rawValue: try fields.text("kind")) else {
                throw FrontError(.requestInvalid, at: "kind")
            }
            self = .choose(choice, name: try fields.optional("name") ?? "")
        default:
            guard let carried = Self.carried[name] else { throw FrontError(.requestInvalid, at: name) }
            let ticket = try fields.text("ticket")
            let rest = fields.takeAll(carried.fields)
            self = .carry(Carried(ticket: ticket, operation: carried.operation, fields: rest, isPersons: isPersons))
        }
        try fields.requireEnd()
    }
}

/// Fields of a request, each of which is taken once.
private struct Fields {
    private var members: [JSONValue.Member]

    init(_ members: [JSONValue.Member]) { self.members = members }

    mutating func take(_ name: String) -> JSONValue? {
        guard let index = members.firstIndex(where: { $0.name == name }) else { return nil }
        return members.remove(at: index).value
    }

    mutating func text(_ name: String) throws(FrontError) -> String {
        guard let text = take(name)?.string else { throw FrontError(.requestInvalid, at: name) }
        return text
    }

    mutating func optional(_ name: String) throws(FrontError) -> String? {
        guard let value = take(name) else { return nil }
        guard let text = value.string else { throw FrontError(.requestInvalid, at: name) }
        return text
    }

    mutating func takeAll(_ names: Set<String>) -> [JSONValue.Member] {
        defer { members.removeAll { names.contains($0.name) } }
        return members.filter { names.contains($0.name) }
    }

    func requireEnd() throws(FrontError) {
        if let other = members.first { throw FrontError(.requestInvalid, at: other.name) }
    }
}
