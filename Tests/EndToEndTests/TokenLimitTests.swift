// The limits of tokens, through a real agent. Invariant: what lies outside is refused as what is not there, and each operation is
// tried with limits or refused.

import CoffretApp
import CoffretBase
import CoffretClient
import CoffretTerminal
import CoffretTestSupport
import CoffretWire
import Foundation
import Glibc
import Testing

@Suite("Limits of tokens", .serialized, .enabled(if: AgentRunner.isAvailable, "needs coffret-agent"))
struct TokenLimitTests {
    @Test(
        "R164: outside of a tag nothing exists: same refusal as for what is absent, in lists, counts, searches and tags"
    )
    func tags() throws {
        let world = try TokenTests.unlocked()
        defer { try? world.agent.stop() }
        try world.agent.succeed("new", input: "# Tomato soup\n\nNo blight, see [[Blighted leeks]]. #private\n")
        try world.agent.succeed("new", input: "# Blighted leeks\n\nBlight, as in [[Tomato soup]]. #garden\n")
        try world.agent.succeed(
            "new", "--type", "login", "Shed", "--set", "url=https://shed.example", "--secret", "password",
            input: "hush\n")
        let all = try world.session(isJSON: false)
        let session = try world.session(
            isJSON: false, token: try world.token("gardener", "--allow", "write", "--tag", "#garden"))
        let titles = try session.perform(ItemList()).items.map(\.title)
        #expect(titles.sorted() == ["Blighted leeks", "Tomatoes"])
        var list = ItemList()
        (list.limit, list.offset, list.order, list.includesAll) = (1, 1, .title, true)
        #expect(try session.perform(list).items.map(\.title) == ["Tomatoes"])
        #expect(try session.perform(list).total == 2, "a count of what may be seen")
        var search = ItemSearch()
        search.query = "blight"
        #expect(try session.perform(search).total == 2 && all.perform(search).total == 3)
        search.query = "soop"
        #expect(try session.perform(search).didYouMean == nil && all.perform(search).didYouMean != nil)
        #expect(try session.perform(TagList()).tags.map(\.tag).sorted() == ["garden", "garden/beds", "kitchen"])
        // `tom` would be ambiguous for the person; here there is one.
        var read = ItemRead()
        read.item = "tom"
        #expect(try all.code(read) == "core.item.ambiguous")
        #expect(try session.perform(read).title == "Tomatoes")
        let soup = try #require(try all.perform(ItemList()).items.first { $0.title == "Tomato soup" })
        try expectAbsent(session, soup.id, soup.title)
        try expectNoneOutside(session, all)
        for operation in Operations.all where ![.none, .control].contains(operation.access) {
            let isListed = try session.perform(Hello()).operations.contains(operation.name)
            #expect(
                isListed == Self.keepsToLimits.contains(operation.name), "\(operation.name): tried or refused")
        }
        // In and out again.
        #expect(try session.code(ItemCreate()) { $0.text = "# Nowhere" } == "operation.not-allowed")
        #expect(try session.code(ItemCreate()) { $0.text = "# Sown\n#garden/new" } == nil)
        #expect(try session.code(ItemCreate()) { ($0.text, $0.tags) = ("# Sown too", ["Garden"]) } == nil)
        #expect(try session.code(TagChange()) { ($0.item, $0.remove) = ("sown too", ["garden"]) } == nil)
        #expect(try session.code(ItemRead()) { $0.item = "sown too" } == "core.item.not-found")
    }

    /// Operations that this suite tries with limits. All others are refused to a session that has some.
    private static let keepsToLimits: Set<String> = [
        "vault.list", "item.list", "item.search", "item.read", "item.create", "item.edit", "item.flag", "item.trash",
        "item.restore", "item.remove", "item.history", "item.compare", "conflict.list", "conflict.read",
        "conflict.settle", "link.list", "link.add", "tag.list", "tag.change", "file.list", "file.add", "file.read",
        "file.rename", "file.remove", "code.read", "reference.read", "field.read", "name.list", "login.match",
        "password.audit",
    ]
    /// Beside those, with limits to vaults alone.
    private static let keepsToVaults: Set<String> = ["tag.rename", "import.run", "export.run", "item.label"]

    /// Each operation that names an item answers as for one that does not exist.
    private func expectAbsent(_ session: SessionClient, _ id: String, _ title: String) throws {
        let absent = String(repeating: "0123", count: 8)
        func same<Request: StoreOperation>(_ request: Request, _ fill: (inout Request, String) -> Void) throws {
            let wanted = try #require(try session.failure(request) { fill(&$0, absent) }, "\(Request.name)")
            for name in [id, String(id.prefix(8)), title] {
                let failure = try #require(try session.failure(request) { fill(&$0, name) }, "\(Request.name) \(name)")
                #expect(failure.code == wanted.code && failure.candidates == nil, "\(Request.name) \(name)")
                #expect(
                    failure.message.replacing(name, with: absent) == wanted.message && failure.hint == wanted.hint,
                    "\(Request.name): \(failure.message)")
            }
        }
        try same(ItemRead()) { $0.item = $1 }
        try same(ItemRead()) { ($0.item, $0.at) = ($1, WireMoment(4_000_000_000_000)) }
        try same(ItemEdit()) { ($0.item, $0.title) = ($1, "Taken") }
        try same(ItemTrash()) { $0.items = [$1] }
        try same(ItemTrash()) { $0.items = ["Tomatoes", $1] }
        try same(ItemRestore()) { $0.item = $1 }
        try same(ItemRestore()) { ($0.item, $0.at) = ($1, WireMoment(4_000_000_000_000)) }
        try same(ItemHistory()) { $0.item = $1 }
        try same(ItemFlag()) { ($0.items, $0.isPinned) = (["Tomatoes", $1], true) }
        try same(ItemRemove()) { $0.items = [$1] }
        try same(ItemCompare()) { $0.item = $1 }
        try same(ConflictRead()) { $0.item = $1 }
        try same(ConflictSettle()) { $0.item = $1 }
        try same(TagChange()) { ($0.item, $0.add) = ($1, ["garden"]) }
        try same(CodeRead()) { $0.item = $1 }
        try same(FieldRead()) { ($0.item, $0.field) = ($1, "password") }
        try same(FileList()) { $0.item = $1 }
        try same(FileRename()) { ($0.item, $0.name, $0.newName) = ($1, "map.bin", "plan.bin") }
        try same(FileRemove()) { ($0.item, $0.name) = ($1, "map.bin") }
        try same(LinkList()) { $0.item = $1 }
        try same(LinkAdd()) { ($0.item, $0.target) = ($1, "Tomatoes") }
        try same(LinkAdd()) { ($0.item, $0.target) = ("Tomatoes", $1) }
        try same(ReferenceRead()) { $0.references = ["coffret://Personal/\($1)/title"] }
        let null = try OwnedDescriptor.open("/dev/null", O_RDWR)
        for name in [id, title] {
            let add = Self.made(FileAdd()) { ($0.item, $0.name) = (name, "x") }
            let read = Self.made(FileRead()) { ($0.item, $0.name) = (name, "x") }
            #expect(try session.code(add, bringing: null.number) == "core.item.not-found")
            #expect(try session.code(read, bringing: null.number) == "core.item.not-found")
        }
    }

    private static func made<Request>(_ request: Request, _ fill: (inout Request) -> Void) -> Request {
        var request = request
        fill(&request)
        return request
    }

    /// What lies outside shows neither as the end of a link nor among conflicts, and references of items within work.
    private func expectNoneOutside(_ session: SessionClient, _ all: SessionClient) throws {
        let links = Self.made(LinkList()) { $0.item = "Blighted leeks" }
        let (seen, whole) = (try session.perform(links), try all.perform(links))
        #expect(whole.links.map(\.items.count) == [1] && whole.backlinks.count == 1, "the person sees both")
        #expect(seen.links.map(\.items.count) == [0] && seen.backlinks.isEmpty)
        let reference = Self.made(ReferenceRead()) { $0.references = ["coffret://Personal/tom/title"] }
        #expect(try session.perform(reference).values.map(\.value) == ["Tomatoes"], "there is one with this beginning")
        #expect(try all.code(reference) == "core.item.ambiguous")
        #expect(try session.perform(ConflictList()).items.isEmpty)
        let names = Self.made(NameList()) { ($0.kind, $0.beginning) = (.items, "tom") }
        #expect(try session.perform(names).names == ["Tomatoes"] && all.perform(names).names.count == 2)
        let fields = Self.made(NameList()) { ($0.kind, $0.item) = (.fields, "Shed") }
        #expect(try session.perform(fields).names.isEmpty && !all.perform(fields).names.isEmpty)
        let login = Self.made(LoginMatch()) { ($0.protocolName, $0.host) = ("https", "shed.example") }
        #expect(try session.perform(login).logins.isEmpty && all.perform(login).logins.map(\.title) == ["Shed"])
        let audits = try [session, all].map { try $0.perform(PasswordAudit()) }
        #expect(audits.map(\.passwordCount) == [0, 2] && audits.map(\.items.count) == [0, 2])
        #expect(audits[1].items.map(\.reuseGroup) == [1, 1], "what the session sees not, it does not count")
        #expect(try session.code(TagRename()) { ($0.tag, $0.newTag) = ("garden", "yard") } == "operation.not-allowed")
    }

    @Test("R164: outside of a vault nothing exists, and a new item goes where the token may write")
    func vaults() throws {
        let world = try TokenTests.unlocked()
        defer { try? world.agent.stop() }
        let session = try world.session(
            isJSON: false, token: try world.token("worker", "--allow", "write", "--vault", "Work"))
        #expect(try session.perform(VaultList()).vaults.map(\.name) == ["Work"])
        #expect(try session.perform(ItemList()).items.map(\.title) == ["Beans"])
        let outside = try #require(try session.failure(ItemList()) { $0.vault = "Personal" })
        let absent = try #require(try session.failure(ItemList()) { $0.vault = "Nothing" })
        #expect(outside.code == absent.code && outside.message.replacing("Personal", with: "Nothing") == absent.message)
        #expect(try session.code(ItemRead()) { $0.item = "Tomatoes" } == "core.item.not-found")
        #expect(try session.code(ItemCreate()) { ($0.text, $0.vault) = ("# Leeks", "Personal") } == absent.code)
        #expect(try session.code(ItemCreate()) { $0.text = "# Leeks" } == nil)
        #expect(try world.agent.succeed("ls", "--vault", "Work").contains("Leeks"))
        try expectWholeVaults(session)
    }

    /// Operations on all of a vault: in the one of the token they work, and no other is there.
    private func expectWholeVaults(_ session: SessionClient) throws {
        let operations = try session.perform(Hello()).operations
        for operation in Operations.all where ![.none, .control].contains(operation.access) {
            let isExpected = Self.keepsToLimits.union(Self.keepsToVaults).contains(operation.name)
            #expect(operations.contains(operation.name) == isExpected, "\(operation.name): tried or refused")
        }
        let folder = try TemporaryDirectory()
        try Data("# Chard\n\n#plot\n".utf8).write(to: URL(fileURLWithPath: folder.file("Chard.md")))
        let place = try OwnedDescriptor.open(folder.path, O_RDONLY | O_DIRECTORY)
        let run = ImportRun()
        #expect(try session.perform(run, descriptors: [place.number]).items?.imported == 1)
        #expect(try session.code(TagRename()) { ($0.tag, $0.newTag) = ("plot", "field") } == nil)
        let export = Self.made(ExportRun()) { ($0.name, $0.format) = ("out", .markdown) }
        #expect(try session.perform(export, descriptors: [place.number]).items != nil)
        let written = try FileManager.default.contentsOfDirectory(atPath: folder.file("out"))
        #expect(written.contains { $0.hasPrefix("Chard") } && !written.contains { $0.hasPrefix("Tomatoes") })
        for vault in ["Personal", "Nothing"] {
            let (absentRun, absentExport) = (
                Self.made(run) { $0.vault = vault }, Self.made(export) { ($0.vault, $0.name) = (vault, "more") }
            )
            #expect(try session.code(absentRun, bringing: place.number) == "core.vault.not-found")
            #expect(try session.code(absentExport, bringing: place.number) == "core.vault.not-found")
            let rename = Self.made(TagRename()) { ($0.tag, $0.newTag, $0.vault) = ("field", "plot", vault) }
            #expect(try session.code(rename) == "core.vault.not-found")
            let reference = "coffret://\(vault)/Tomatoes/title"
            #expect(try session.code(ReferenceRead()) { $0.references = [reference] } == "core.vault.not-found")
        }
    }
}
