// The requests that a page may make. Invariant: a request is passed on only if this table has its operation for this front.

internal import CoffretBase
internal import CoffretClient
internal import CoffretTerminal

/// The program that serves the page.
package enum FrontKind: String, Sendable {
    case window
    case tab
}

/// A request of a page that its front has judged. Spec: Spec/page.md sections 1 to 3.
package enum PageRequest: Equatable, Sendable {
    /// To the front itself.
    case front(FrontRequest)
    /// To the session, as the page wrote it.
    case operation(name: String)

    package static let byteCountMax = 8 << 20

    /// Operations that both fronts pass on.
    private static let everywhere: Set<String> = [
        "hello", "item.list", "item.search", "item.read", "item.create", "item.edit", "item.flag", "item.trash",
        "item.restore", "item.remove", "item.history", "item.compare", "conflict.list", "conflict.read",
        "conflict.settle", "link.list", "link.add", "tag.list", "tag.change", "tag.rename", "name.list", "file.list",
        "file.rename", "file.remove", "code.read", "note.close", "vault.list", "store.read", "sync.read", "sync.run",
        "device.list", "settings.read", "change.wait", "lock",
    ]

    /// Those that show a secret or ask for one.
    private static let windowOnly: Set<String> = [
        "field.read", "secret.generate", "password.audit", "note.unlock", "note.lock", "note.release",
    ]

    /// The operations of the table that this front refuses, sorted.
    package static func refused(by kind: FrontKind) -> [String] { kind == .tab ? windowOnly.sorted() : [] }

    /// All operations of the table, sorted.
    package static var operations: [String] { everywhere.union(windowOnly).sorted() }

    /// - Throws: `.requestInvalid`, `.requestRefused`.
    package init(judging body: [UInt8], for kind: FrontKind) throws(FrontError) {
        let (name, fields) = try Self.read(body)
        if name.hasPrefix("front.") {
            let request = try? JSONValue(parsing: body)
            guard case .object(let fields)? = request?["with"] ?? .object([]) else { throw FrontError(.requestInvalid) }
            self = .front(try FrontRequest(name, fields))
            return
        }
        guard Self.everywhere.contains(name) || kind == .window && Self.windowOnly.contains(name) else {
            throw FrontError(.requestRefused, at: name)
        }
        // A tab shows no secret, whatever the value says.
        if kind == .tab, fields.contains("revealsSecrets") {
            throw FrontError(.requestRefused, at: "revealsSecrets")
        }
        self = .operation(name: name)
    }

    /// The name of a request and those of its fields. Their values are not copied: a front keeps no text of its page.
    private static func read(_ body: [UInt8]) throws(FrontError) -> (name: String, fields: Set<String>) {
        guard body.count <= byteCountMax else { throw FrontError(.requestInvalid) }
        var (name, fields, members): (String?, Set<String>, Set<String>) = (nil, [], [])
        var place: String?
        do {
            var reader = JSONReader(body)
            guard try reader.next() == .beginObject else { throw FrontError(.requestInvalid) }
            while case .name(let member) = try reader.next() {
                place = member
                guard members.insert(member).inserted else { throw FrontError(.requestInvalid, at: member) }
                switch (member, try reader.next()) {
                case ("do", .string(let text)): name = text
                case ("by", .string("person")), ("by", .string("program")): continue
                case ("with", .beginObject):
                    while case .name(let field) = try reader.next() {
                        guard fields.insert(field).inserted else { throw FrontError(.requestInvalid, at: field) }
                        try reader.skipValue()
                    }
                default: throw FrontError(.requestInvalid, at: member)
                }
            }
            _ = try reader.next()
        } catch let error as FrontError {
            throw error
        } catch {
            throw FrontError(.requestInvalid, at: place)
        }
        guard let name else { throw FrontError(.requestInvalid, at: "do") }
        return (name, fields)
    }
}

/// A request of a page to its front itself.
package enum FrontRequest: Equatable, Sendable {
    case hello
    /// A field's value to the clipboard; without a field the password, else the first secret.
    case copy(item: String, vault: String?, field: String?)
    case copyCode(item: String, vault: String?)

    /// Seconds until a copied value is taken away again.
    package static let clipboardSeconds = 45

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
        case .hello: return nil
        case .copy(let item, let vault, let field):
            return [program, "copy", "--clear-after", "\(Self.clipboardSeconds)"] + options + place(item, vault)
                + (field.map { [$0] } ?? [])
        case .copyCode(let item, let vault): return [program, "otp", "--copy"] + options + place(item, vault)
        }
    }

    fileprivate init(_ name: String, _ fields: [JSONValue.Member]) throws(FrontError) {
        var texts: [String: String] = [:]
        for field in fields {
            guard let text = field.value.string else { throw FrontError(.requestInvalid, at: field.name) }
            texts[field.name] = text
        }
        let known: Set<String>
        switch name {
        case "front.hello": known = []
        case "front.copy": known = ["item", "vault", "field"]
        case "front.copyCode": known = ["item", "vault"]
        default: throw FrontError(.requestInvalid, at: name)
        }
        if let other = texts.keys.first(where: { !known.contains($0) }) { throw FrontError(.requestInvalid, at: other) }
        guard known.contains("item") else {
            self = .hello
            return
        }
        guard let item = texts["item"] else { throw FrontError(.requestInvalid, at: "item") }
        self =
            name == "front.copy"
            ? .copy(item: item, vault: texts["vault"], field: texts["field"])
            : .copyCode(item: item, vault: texts["vault"])
    }
}
