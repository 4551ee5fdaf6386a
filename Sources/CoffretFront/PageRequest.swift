// What a page may ask. Invariant: a request is passed on only if this table has its operation for this front.

internal import CoffretBase

/// Which program serves the page.
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

    /// What this front refuses of the table, sorted.
    package static func refused(by kind: FrontKind) -> [String] { kind == .tab ? windowOnly.sorted() : [] }

    /// All operations of the table, sorted.
    package static var operations: [String] { everywhere.union(windowOnly).sorted() }

    /// - Throws: `.requestInvalid`, `.requestRefused`.
    package init(judging body: [UInt8], for kind: FrontKind) throws(FrontError) {
        guard body.count <= Self.byteCountMax, case .object(let members)? = try? JSONValue(parsing: body) else {
            throw FrontError(.requestInvalid)
        }
        var name: String?
        var fields: [JSONValue.Member] = []
        for member in members {
            switch (member.name, member.value) {
            case ("do", .string(let text)): name = text
            case ("by", .string("person")), ("by", .string("program")): continue
            case ("with", .object(let given)): fields = given
            default: throw FrontError(.requestInvalid, at: member.name)
            }
        }
        guard let name else { throw FrontError(.requestInvalid, at: "do") }
        if name.hasPrefix("front.") {
            self = .front(try FrontRequest(name, fields))
            return
        }
        guard Self.everywhere.contains(name) || kind == .window && Self.windowOnly.contains(name) else {
            throw FrontError(.requestRefused, at: name)
        }
        // A tab shows no secret, whatever the value says.
        if kind == .tab, fields.contains(where: { $0.name == "revealsSecrets" }) {
            throw FrontError(.requestRefused, at: "revealsSecrets")
        }
        self = .operation(name: name)
    }
}

/// What a page asks of its front.
package enum FrontRequest: Equatable, Sendable {
    case hello
    /// A field's value to the clipboard; without a field the password, else the first secret.
    case copy(item: String, vault: String?, field: String?)
    case copyCode(item: String, vault: String?)

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
