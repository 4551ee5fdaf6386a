// What the conformance test asks, in this order. Invariant: every operation stands here with a request that is answered; where
// it can be asked wrongly, with one that is refused.

import CoffretApp
import CoffretWire

extension OperationTests {
    /// A request, and the code of its refusal; nil for one that is answered.
    struct Row {
        let request: OperationRequest
        let refusal: String?
    }

    static var requests: [OperationRequest] { rows.map(\.request) }

    /// In their order; the last ends the session.
    static let rows: [Row] = {
        var list: [Row] = []
        func add<Request: StoreOperation>(
            _ request: Request, refusedAs refusal: String? = nil, _ fill: (inout Request) -> Void = { _ in }
        ) {
            var request = request
            fill(&request)
            list.append(Row(request: OperationRequest(request), refusal: refusal))
        }
        add(Hello())
        add(VaultList())
        add(VaultVerify()) { $0.vault = "Work" }
        add(VaultVerify(), refusedAs: "core.vault.not-found") { $0.vault = "no such vault" }
        add(ItemList())
        add(ItemList()) { ($0.includesAll, $0.order, $0.limit, $0.vault) = (true, .title, 2, "personal") }
        add(ItemList()) { $0.isTrashed = true }
        add(ItemList(), refusedAs: "core.moment.before-history") { $0.at = WireMoment(0) }
        add(ItemSearch()) { ($0.query, $0.marksMatches) = ("bli", true) }
        add(ItemSearch()) { $0.query = "beans soak" }
        add(ItemSearch(), refusedAs: "search.query.missing-value") { $0.query = "tag:" }
        add(ItemRead()) { $0.item = "tomatoes" }
        add(ItemRead()) { $0.item = "beans" }
        add(ItemRead()) { ($0.item, $0.revealsSecrets) = (OperationWorld.login, true) }
        add(ItemRead()) { $0.item = OperationWorld.login }
        add(ItemRead(), refusedAs: "core.item.not-found") { $0.item = "nothing like it" }
        add(ItemHistory()) { $0.item = "tomatoes" }
        add(ItemHistory()) { ($0.item, $0.limit) = ("tomatoes", 1) }
        add(ItemCompare()) { $0.item = "tomatoes" }
        add(ItemCompare()) { ($0.item, $0.at) = (OperationWorld.login, WireMoment(4_000_000_000_000)) }
        add(ItemCompare(), refusedAs: "cli.version.not-found") { $0.item = OperationWorld.login }
        add(ItemCompare(), refusedAs: "operation.request.invalid") {
            ($0.item, $0.newAt, $0.newVersion) = ("tomatoes", WireMoment(1), "abcd")
        }
        add(ConflictList())
        add(ConflictRead()) { $0.item = "Plan" }
        add(ConflictRead()) { $0.item = "tomatoes" }
        add(ConflictSettle(), refusedAs: "cli.input.invalid") { ($0.item, $0.number) = ("Plan", 2) }
        add(ConflictSettle(), refusedAs: "cli.input.invalid") { ($0.item, $0.number) = ("Plan", -1) }
        add(ConflictSettle(), refusedAs: "core.field.not-found") { ($0.item, $0.attribute) = ("Plan", "title") }
        add(ConflictSettle(), refusedAs: "operation.request.invalid") {
            ($0.item, $0.number, $0.keepsAll) = ("Plan", 1, true)
        }
        add(ConflictSettle()) { ($0.item, $0.number) = ("Plan", 1) }
        add(ConflictSettle()) { $0.item = "Plan" }
        add(TagList())
        add(CodeRead(), refusedAs: "cli.field.not-found") { $0.item = "tomatoes" }
        add(ItemCreate()) { ($0.text, $0.tags) = ("# Leeks\n", ["#garden"]) }
        add(ItemCreate()) {
            ($0.kind, $0.title, $0.vault) = ("login", "Forge", "Work")
            $0.fields = [FieldDraft(name: "username", value: "ada"), FieldDraft(name: "password", value: "hush")]
        }
        add(ItemCreate(), refusedAs: "operation.request.invalid") { $0.kind = "teapot" }
        add(ItemEdit()) { ($0.item, $0.text) = ("leeks", "# Leeks\n\nSow in March.\n\nEarth up.\n") }
        add(ItemEdit()) {
            ($0.item, $0.baseText) = ("leeks", "# Leeks\n\nSow.\n\nEarth up.\n")
            $0.text = "# Leeks\n\nSow.\n\nEarth up twice.\n"
        }
        add(ItemEdit(), refusedAs: "operation.text.changed") {
            ($0.item, $0.baseText, $0.text) = ("leeks", "# Leeks\n\nSow.\n", "# Leeks\n\nSow in May.\n")
        }
        add(ItemFlag()) { ($0.items, $0.isPinned) = (["leeks", "tomatoes"], true) }
        add(ItemFlag()) { ($0.items, $0.isPinned, $0.isArchived) = (["leeks", "tomatoes", "leeks"], true, false) }
        add(ItemFlag(), refusedAs: "operation.request.invalid") { $0.items = [] }
        add(LinkAdd()) { ($0.item, $0.target) = ("leeks", "tomatoes") }
        add(LinkAdd()) { ($0.item, $0.target) = ("leeks", "tomatoes") }
        add(LinkAdd(), refusedAs: "core.item.not-found") { ($0.item, $0.target) = ("leeks", "beans") }
        add(LinkList()) { $0.item = "leeks" }
        add(LinkList()) { $0.item = "tomatoes" }
        add(ItemEdit()) {
            ($0.item, $0.title) = ("Forge", "The forge")
            $0.setFields = [FieldDraft(name: "password", value: "louder"), FieldDraft(name: "username", value: "")]
        }
        add(ItemEdit(), refusedAs: "core.field.not-found") { ($0.item, $0.removeFields) = ("The forge", ["username"]) }
        add(ItemEdit()) { ($0.item, $0.removeFields) = ("The forge", ["Password"]) }
        add(ItemEdit()) { ($0.item, $0.setFields) = ("The forge", [FieldDraft(name: "colour", value: "")]) }
        add(ItemRead()) { ($0.item, $0.revealsSecrets) = ("The forge", true) }
        add(TagChange()) { ($0.item, $0.add, $0.remove) = ("tomatoes", ["red"], ["garden/beds"]) }
        add(TagChange(), refusedAs: "core.tag.invalid") { ($0.item, $0.remove) = ("tomatoes", ["never there"]) }
        add(TagRename()) { ($0.tag, $0.newTag) = ("#garden", "yard") }
        add(TagRename(), refusedAs: "cli.tag.not-found") { ($0.tag, $0.newTag) = ("never there", "yard") }
        add(TagList())
        add(ItemTrash()) { $0.items = ["leeks", "tomatoes"] }
        add(ItemList())
        add(ItemRestore()) { $0.item = "leeks" }
        add(ItemRestore(), refusedAs: "cli.input.invalid") { $0.item = "leeks" }
        add(ItemSearch()) { $0.query = "sow march" }
        add(ItemRemove()) { $0.items = ["Old", "tomatoes"] }
        add(ItemRestore(), refusedAs: "core.item.not-found") { $0.item = "tomatoes" }
        add(CodeRead()) { $0.item = OperationWorld.login }
        add(StoreLock())
        return list
    }()
}
