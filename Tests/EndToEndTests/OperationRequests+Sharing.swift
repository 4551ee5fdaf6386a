// Requests about sharing, to a store that shares nothing yet.

import CoffretWire

extension OperationTests.Row {
    init<Request: StoreOperation>(
        _ request: Request, refusedAs refusal: String? = nil, fill: (inout Request) -> Void = { _ in }
    ) {
        var request = request
        fill(&request)
        self.init(
            request: OperationRequest(request, isAttended: false), refusal: refusal, endsSession: false,
            locksStore: false)
    }
}

extension OperationTests {
    static let sharing: [Row] = [
        Row(ShareList()), Row(ShareList()) { $0.vault = "Personal" },
        Row(ShareRequests()) { $0.includesStrangers = true },
        Row(ShareAdd(), refusedAs: "sharing.contact.unknown") {
            ($0.vault, $0.person, $0.isTrial) = ("Personal", "nobody", true)
        },
        Row(ShareAnswer(), refusedAs: "sharing.member.unknown") { $0.vault = "no such vault" },
        Row(ShareChange(), refusedAs: "sharing.member.unknown") { ($0.vault, $0.person) = ("Personal", "nobody") },
        Row(ShareChange(), refusedAs: "cli.vault.not-synced") { ($0.vault, $0.person) = ("Work", "nobody") },
        Row(ShareLeave(), refusedAs: "cli.vault.not-synced") { $0.vault = "Work" },
        Row(ShareReview()) { $0.vault = "Personal" },
        Row(ShareUndo(), refusedAs: "core.commit.not-found") { ($0.vault, $0.versions) = ("Personal", ["ffffffffff"]) },
        Row(ShareUndo(), refusedAs: "operation.request.invalid") { $0.vault = "Personal" },
        Row(ShareItem(), refusedAs: "sharing.contact.unknown") {
            ($0.item, $0.people, $0.isTrial) = ("beans", ["nobody"], true)
        },
        Row(ShareItem(), refusedAs: "operation.request.invalid") { $0.item = "beans" },
        Row(ShareRestart()) { ($0.vault, $0.isTrial) = ("Personal", true) },
        Row(ShareRestart(), refusedAs: "cli.presence.unavailable") { $0.vault = "Personal" },
        Row(ShareSeen(), refusedAs: "sharing.member.unknown") { ($0.vault, $0.person) = ("Personal", "nobody") },
        Row(ShareSettings()) { ($0.vault, $0.uses) = ("Personal", [.git, .ssh]) },
        Row(ShareActivity()) { $0.vault = "Personal" },
        Row(ShareActivity()) { ($0.vault, $0.person, $0.limit) = ("Work", "you", 1) },
        Row(ContactsList()),
        Row(ContactMe()) { $0.newName = "Alice" },
        Row(ContactMe(), refusedAs: "sharing.contact.name-invalid") { $0.newName = "a#b" },
        Row(ContactInvite()) { ($0.seconds, $0.useCount) = (3_600, 2) },
        Row(ContactInvite(), refusedAs: "operation.request.invalid") { $0.useCount = 0 },
        Row(ContactAdd(), refusedAs: "sharing.contact.unknown") { $0.person = "nobody" },
        Row(ContactRead(), refusedAs: "sharing.contact.unknown") { $0.contact = "nobody" },
        Row(ContactEdit(), refusedAs: "sharing.contact.unknown") { ($0.contact, $0.newName) = ("nobody", "Bob") },
        Row(ContactRemove(), refusedAs: "sharing.contact.unknown") { $0.contact = "nobody" },
        Row(ContactVerify(), refusedAs: "sharing.contact.unknown") { ($0.contact, $0.areEqual) = ("nobody", true) },
        Row(ContactRequests()),
        Row(ContactAnswer(), refusedAs: "sharing.contact.unknown") { $0.request = "0000" },
        Row(CircleList()),
        Row(CircleMake(), refusedAs: "recovery.sheet-required") { $0.people = ["nobody"] },
        Row(CircleTest(), refusedAs: "recovery.contacts.unknown"),
        Row(CircleForbid(), refusedAs: "recovery.request.unrecorded"),
        Row(CircleEnd(), refusedAs: "recovery.contacts.unknown"),
        Row(CircleHelp(), refusedAs: "sharing.contact.unknown") { $0.person = "nobody" },
        Row(CircleHelp(), refusedAs: "pairing.invitation-malformed") { ($0.person, $0.machine) = ("nobody", "x") },
        Row(ItemMove(), refusedAs: "core.item.not-found") {
            ($0.items, $0.vault, $0.to) = (["beans"], "Personal", "Personal")
        },
        Row(ItemMove()) { ($0.items, $0.to, $0.isCopy) = (["beans"], "Personal", true) },
        Row(ItemMove(), refusedAs: "core.vault.not-found") { ($0.items, $0.to) = (["beans"], "no such vault") },
    ]
}
