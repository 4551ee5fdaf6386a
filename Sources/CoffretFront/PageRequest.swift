// The requests that a page may make. Invariant: a request is passed on only if this table has its operation for this front.

internal import CoffretBase

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
        "device.list", "settings.read", "change.wait", "lock", "draft.keep", "draft.settle",
    ]

    /// Those that show a secret or ask for one, decide on locking, or write where the page says.
    private static let windowOnly: Set<String> = [
        "field.read", "secret.generate", "password.audit", "note.unlock", "note.lock", "note.release", "settings.edit",
        "device.approve", "device.follow", "front.choose", "front.export",
    ]

    /// The operations of the table, and requests to the front, that this front refuses, sorted.
    package static func refused(by kind: FrontKind) -> [String] { kind == .tab ? windowOnly.sorted() : [] }

    /// All operations of the table, sorted.
    package static var operations: [String] { everywhere.union(windowOnly).filter { !$0.hasPrefix("front.") }.sorted() }

    /// Whether it shows or copies a secret that stands for others.
    var isReveal: Bool {
        switch self {
        case .operation("field.read"), .front(.copy), .front(.copyCode): true
        default: false
        }
    }

    /// - Throws: `.requestInvalid`, `.requestRefused`.
    package init(judging body: [UInt8], for kind: FrontKind) throws(FrontError) {
        let (name, fields) = try Self.read(body)
        if name.hasPrefix("front.") {
            let request = try? JSONValue(parsing: body)
            guard case .object(let fields)? = request?["with"] ?? .object([]) else { throw FrontError(.requestInvalid) }
            guard kind == .window || !Self.windowOnly.contains(name) else {
                throw FrontError(.requestRefused, at: name)
            }
            self = .front(try FrontRequest(name, fields, isPersons: request?["by"]?.string != "program"))
            return
        }
        guard Self.everywhere.contains(name) || kind == .window && Self.windowOnly.contains(name) else {
            throw FrontError(.requestRefused, at: name)
        }
        // Secrets come one by one, where they can be counted.
        if fields.contains("revealsSecrets") {
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
