// What the conformance test asks, in this order. Invariant: every operation stands here with a request that is answered; where
// it can be asked wrongly, with one that is refused.

import CoffretApp
import CoffretBase
import CoffretWire

extension OperationTests {
    /// A request, and the code of its refusal; nil for one that is answered.
    struct Row {
        /// One that is attended gets the store's passphrase as the answer to each question.
        let request: OperationRequest
        let refusal: String?
        var descriptors: [Descriptor] = []
        /// Whether the keyring changes by it, which ends the session.
        let endsSession: Bool
        /// Whether the agent locks the store after it.
        let locksStore: Bool
    }

    /// What a request brings.
    enum Descriptor {
        /// A pipe from which this is read.
        case content(String)
        /// A file with this, open for reading.
        case file(String)
        /// A file that takes what is written, which becomes a part of the transcript.
        case sink
        case directory
        /// A pipe that nobody reads.
        case broken
        /// A file that cannot be written.
        case readOnly
        /// A folder with two notes.
        case notes
        /// A folder of backups without one.
        case backups
        /// An empty folder; the names of what is written there become a part of the transcript.
        case target
    }

    private static let invalidDescriptor = "operation.descriptor.invalid"

    static var requests: [OperationRequest] { rows.map(\.request) }

    /// In their order; the last ends the session.
    static let rows: [Row] = {
        var list: [Row] = []
        func add<Request: StoreOperation>(
            _ request: Request, refusedAs refusal: String? = nil, bringing descriptors: Descriptor...,
            isAttended: Bool = false, endsSession: Bool = false,
            locksStore: Bool = false, fill: (inout Request) -> Void = { _ in }
        ) {
            var request = request
            fill(&request)
            list.append(
                Row(
                    request: OperationRequest(request, isAttended: isAttended), refusal: refusal,
                    descriptors: descriptors, endsSession: endsSession, locksStore: locksStore))
        }
        add(Hello())
        add(VaultList())
        add(VaultVerify()) { $0.vault = "Work" }
        add(VaultVerify(), refusedAs: "core.vault.not-found") { $0.vault = "no such vault" }
        add(ItemList())
        add(ItemList()) { ($0.includesAll, $0.order, $0.limit, $0.vault) = (true, .title, 2, "personal") }
        add(ItemList()) { $0.isTrashed = true }
        add(ItemList(), refusedAs: "core.moment.before-history") { $0.at = WireMoment(0) }
        add(ItemList()) { ($0.vault, $0.givesShortIDs) = ("Work", true) }
        add(ItemList()) { ($0.vault, $0.givesExcerpts) = ("personal", true) }
        add(ItemSearch()) { ($0.query, $0.marksMatches) = ("bli", true) }
        add(ItemSearch()) { $0.query = "beans soak" }
        add(ItemSearch(), refusedAs: "search.query.missing-value") { $0.query = "tag:" }
        add(ItemRead()) { $0.item = "tomatoes" }
        add(ItemRead()) { $0.item = "beans" }
        add(ItemRead()) { ($0.item, $0.revealsSecrets) = (OperationWorld.login, true) }
        add(ItemRead()) { $0.item = OperationWorld.login }
        add(ItemRead(), refusedAs: "core.item.not-found") { $0.item = "nothing like it" }
        add(ItemLabel()) { $0.items = ["tomatoes", OperationWorld.login] }
        add(ItemLabel(), refusedAs: "core.item.not-found") { $0.items = ["tomatoes", "nothing like it"] }
        add(FieldRead()) { $0.item = OperationWorld.login }
        add(FieldRead()) { ($0.item, $0.field) = (OperationWorld.login, "Username") }
        add(FieldRead()) { $0.item = "beans" }
        add(FieldRead(), refusedAs: "core.field.not-found") { ($0.item, $0.field) = ("beans", "password") }
        add(VaultCompact()) { ($0.vault, $0.isTrial) = ("Work", true) }
        add(VaultCompact(), refusedAs: "core.vault.not-found") { $0.vault = "no such vault" }
        add(PassphraseList()) { $0.vault = "Work" }
        add(PassphraseList(), refusedAs: "core.vault.not-found") { $0.vault = "no such vault" }
        add(NoteInspect(), refusedAs: "core.note.not-locked") { $0.note = "beans" }
        add(LogRead()) { ($0.vault, $0.limit) = ("Work", 2) }
        add(LogRead(), refusedAs: "core.vault.not-found") { $0.vault = "no such vault" }
        add(NameList()) { $0.beginning = "TOM" }
        add(NameList()) { ($0.kind, $0.limit) = (.tags, 1) }
        add(NameList()) { $0.kind = .vaults }
        add(NameList()) { ($0.kind, $0.item) = (.fields, OperationWorld.login) }
        add(NameList(), refusedAs: "core.vault.not-found") { $0.vault = "no such vault" }
        add(PasswordAudit())
        add(PasswordAudit(), bringing: .file("1F21E30BFDA8E780C172B9F75B7EBBFC18E6C879:7\r\n")) {
            ($0.flaws, $0.bringsList, $0.vault, $0.givesShortIDs) = ([.breached, .weak], true, "personal", true)
        }
        add(PasswordAudit(), refusedAs: "core.breach-list.invalid", bringing: .file("hush:7\n")) {
            $0.bringsList = true
        }
        add(PasswordAudit(), refusedAs: invalidDescriptor, bringing: .content("")) { $0.bringsList = true }
        add(PasswordAudit(), refusedAs: invalidDescriptor) { $0.bringsList = true }
        add(PasswordAudit(), refusedAs: "operation.request.invalid") { $0.oldAfterDays = 0 }
        add(PasswordAudit(), refusedAs: "core.vault.not-found") { $0.vault = "no such vault" }
        add(LoginMatch()) { ($0.protocolName, $0.host) = ("https", "example.org") }
        add(LoginMatch(), refusedAs: "core.vault.not-found") {
            ($0.protocolName, $0.host, $0.vault) = ("https", "example.org", "no such vault")
        }
        add(DraftKeep()) {
            ($0.draft, $0.item, $0.text) = (String(repeating: "0a", count: 16), "tomatoes", "# Tomatoes\n")
            $0.baseText = $0.text
        }
        add(DraftKeep(), refusedAs: "operation.request.invalid") { ($0.draft, $0.item) = ("../0", "tomatoes") }
        add(DraftSettle())
        add(DraftSettle(), refusedAs: "core.vault.not-found") { $0.vault = "no such vault" }
        add(ItemRemove()) { ($0.items, $0.isTrial) = (["tomatoes"], true) }
        add(ItemHistory()) { ($0.item, $0.namesDevices) = ("tomatoes", true) }
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
        add(ItemRead()) { ($0.item, $0.givesForm) = ("The forge", true) }
        add(ItemEdit()) {
            ($0.item, $0.form) = ("The forge", "Title: The forge\nTags: work\nUsername: ada\n---\nBehind the house.\n")
        }
        add(ItemEdit(), refusedAs: "cli.input.invalid") { ($0.item, $0.form) = ("The forge", "Title: The forge\n") }
        add(ItemEdit(), refusedAs: "operation.request.invalid") {
            ($0.item, $0.form, $0.title) = ("The forge", "---\n", "Another")
        }
        add(ItemRead()) { ($0.item, $0.revealsSecrets) = ("The forge", true) }
        add(TagChange()) { ($0.item, $0.add, $0.remove) = ("tomatoes", ["red"], ["garden/beds"]) }
        add(TagChange(), refusedAs: "core.tag.invalid") { ($0.item, $0.remove) = ("tomatoes", ["never there"]) }
        add(TagRename()) { ($0.tag, $0.newTag) = ("#garden", "yard") }
        add(TagRename(), refusedAs: "cli.tag.not-found") { ($0.tag, $0.newTag) = ("never there", "yard") }
        add(TagList())
        add(FileAdd(), bringing: .content("blight, row 2\n")) { ($0.item, $0.name) = ("tomatoes", "map.txt") }
        add(FileAdd(), bringing: .content("")) {
            ($0.item, $0.name, $0.mediaType) = ("tomatoes", "empty", "image/png")
        }
        add(FileAdd(), refusedAs: invalidDescriptor) { ($0.item, $0.name) = ("tomatoes", "a") }
        add(FileAdd(), refusedAs: invalidDescriptor, bringing: .directory) { ($0.item, $0.name) = ("tomatoes", "a") }
        add(FileAdd(), refusedAs: invalidDescriptor, bringing: .content("a"), .content("b")) {
            ($0.item, $0.name) = ("tomatoes", "a")
        }
        add(FileAdd(), refusedAs: "core.field.invalid", bringing: .content("a")) {
            ($0.item, $0.name) = ("tomatoes", "../a")
        }
        add(FileAdd(), refusedAs: "core.item.not-found", bringing: .content("a")) { ($0.item, $0.name) = ("no", "a") }
        add(FileList()) { $0.item = "tomatoes" }
        add(FileRead(), bringing: .sink) { ($0.item, $0.name) = ("tomatoes", "map.txt") }
        add(FileRead(), refusedAs: invalidDescriptor) { ($0.item, $0.name) = ("tomatoes", "map.txt") }
        add(FileRead(), refusedAs: "cli.file.unreadable", bringing: .broken) {
            ($0.item, $0.name) = ("tomatoes", "map.txt")
        }
        add(FileRead(), refusedAs: "cli.file.unreadable", bringing: .readOnly) {
            ($0.item, $0.name) = ("tomatoes", "map.txt")
        }
        add(FileRead(), refusedAs: "core.attachment.not-found", bringing: .sink) {
            ($0.item, $0.name) = ("tomatoes", "no")
        }
        add(FileRename()) { ($0.item, $0.name, $0.newName) = ("tomatoes", "map.txt", "map.md") }
        add(FileRename(), refusedAs: "core.field.invalid") {
            ($0.item, $0.name, $0.newName) = ("tomatoes", "map.md", "a/b")
        }
        add(FileRead(), bringing: .sink) { ($0.item, $0.name) = ("tomatoes", "map.md") }
        add(FileFetch()) { $0.item = "tomatoes" }
        add(FileFetch(), refusedAs: "core.attachment.not-found") { ($0.item, $0.names) = ("tomatoes", ["no"]) }
        add(FileFetch(), refusedAs: "cli.vault.not-synced") { $0.item = "beans" }
        add(FileRemove()) { ($0.item, $0.name) = ("tomatoes", "map.md") }
        add(FileRemove(), refusedAs: "core.attachment.not-found") { ($0.item, $0.name) = ("tomatoes", "map.md") }
        add(FileList()) { $0.item = "tomatoes" }
        add(ReferenceRead()) {
            $0.references = ["username", "password", "otp/totp", "title"].map {
                "coffret://Personal/\(OperationWorld.login)/\($0)"
            }
        }
        add(ReferenceRead()) { $0.references = [] }
        add(ReferenceRead(), refusedAs: "core.item.not-found") {
            $0.references = ["coffret://Personal/nothing/password"]
        }
        add(ReferenceRead(), refusedAs: "core.reference.invalid") { $0.references = ["password"] }
        add(ReferenceRead(), refusedAs: "cli.input.too-large") {
            $0.references = Array(repeating: "coffret://a/b/c", count: 10_001)
        }
        add(SecretGenerate())
        add(SecretGenerate()) {
            ($0.kind, $0.length, $0.separator, $0.capitalises) = (.passphrase, 4, "-", true)
        }
        add(SecretGenerate()) { ($0.kind, $0.length) = (.pin, 8) }
        add(SecretGenerate()) { ($0.length, $0.excludesSymbols, $0.excludesAmbiguous) = (64, true, true) }
        add(SecretGenerate(), refusedAs: "core.generator.invalid") { $0.length = 3 }
        add(SecretGenerate(), refusedAs: "core.generator.invalid") { ($0.kind, $0.length) = (.passphrase, 65) }
        add(ItemTrash()) { $0.items = ["leeks", "tomatoes"] }
        add(ItemList())
        add(ItemRestore()) { $0.item = "leeks" }
        add(ItemRestore(), refusedAs: "cli.input.invalid") { $0.item = "leeks" }
        add(ItemSearch()) { $0.query = "sow march" }
        add(ItemRemove()) { $0.items = ["Old", "tomatoes"] }
        add(ItemRestore(), refusedAs: "core.item.not-found") { $0.item = "tomatoes" }
        add(CodeRead()) { $0.item = OperationWorld.login }
        add(NoteLock(), bringing: .content("a diary's own secret\n")) {
            ($0.notes, $0.isNew, $0.hint) = (["beans"], true, "as always")
        }
        add(ItemRead(), refusedAs: "core.note.locked") { $0.item = "beans" }
        add(NoteInspect()) { $0.note = "beans" }
        add(PassphraseList()) { $0.vault = "Work" }
        add(NoteLock(), refusedAs: "core.note.already-locked", bringing: .content("x\n")) {
            ($0.notes, $0.isNew) = (["beans"], true)
        }
        add(NoteLock(), refusedAs: "core.note.kind", bringing: .content("x\n")) {
            ($0.notes, $0.isNew) = ([OperationWorld.login], true)
        }
        add(NoteLock(), refusedAs: "core.note.wrong-passphrase", bringing: .content("x\n")) { $0.notes = ["Plan"] }
        add(NoteLock(), refusedAs: "operation.request.invalid", bringing: .content("x\n")) {
            ($0.notes, $0.hint) = (["Plan"], "none without a new one")
        }
        add(NoteUnlock(), refusedAs: invalidDescriptor) { $0.note = "beans" }
        add(NoteUnlock(), refusedAs: "core.note.passphrase-invalid", bringing: .content("")) { $0.note = "beans" }
        add(NoteUnlock(), refusedAs: "core.note.wrong-passphrase", bringing: .content("x\n")) { $0.note = "beans" }
        add(NoteUnlock(), refusedAs: "core.note.not-locked", bringing: .content("x\n")) { $0.note = "Plan" }
        add(NoteUnlock(), bringing: .content("a diary's own secret\n")) { $0.note = "beans" }
        add(ItemEdit()) { ($0.item, $0.text) = ("beans", "# Beans\n\nNobody knows.\n") }
        add(ItemRead()) { $0.item = "beans" }
        add(NoteClose()) { $0.notes = ["beans"] }
        add(ItemRead(), refusedAs: "core.note.locked") { $0.item = "beans" }
        add(NoteClose(), refusedAs: "core.note.not-locked") { $0.notes = ["Plan"] }
        add(NoteLock()) { ($0.notes, $0.isTrial) = (["Plan"], true) }
        add(NoteLock(), refusedAs: "core.note.kind") { ($0.notes, $0.isTrial) = ([OperationWorld.login], true) }
        add(ItemForget()) { ($0.items, $0.isTrial) = (["beans"], true) }
        add(ItemForget(), refusedAs: "core.history.kept") { ($0.items, $0.agreedCount) = (["beans"], 1) }
        add(ItemForget()) { $0.items = ["beans"] }
        add(ItemForget()) { ($0.items, $0.isTrial) = (["beans"], true) }
        add(NoteUnlock(), bringing: .content("a diary's own secret\n")) { $0.note = "beans" }
        add(NoteLock()) { ($0.notes, $0.isTrial) = (["beans"], true) }
        add(NoteRelock(), refusedAs: "operation.unanswered") { $0.notes = ["beans"] }
        add(NoteRelock(), isAttended: true) {
            var effort = LockEffortMessage()
            (effort.memoryKibibytes, effort.passCount) = (65_536, 3)
            ($0.notes, $0.hint, $0.effort) = (["beans"], "the store's", effort)
        }
        add(NoteRelease(), refusedAs: "core.note.locked") { $0.notes = ["beans"] }
        add(NoteRelease(), refusedAs: "core.note.not-locked", isAttended: true) { $0.notes = ["Plan"] }
        add(NoteRelease(), isAttended: true) { $0.notes = ["beans"] }
        add(NoteRelock(), refusedAs: "cli.version.not-found") { $0.vault = "Work" }
        add(ImportRun(), bringing: .notes) { $0.isDryRun = true }
        add(ImportRun(), bringing: .notes) { $0.vault = "Work" }
        add(ImportRun(), refusedAs: invalidDescriptor)
        add(ImportRun(), refusedAs: invalidDescriptor, bringing: .content("# A pipe\n"))
        add(ImportRun(), refusedAs: "operation.request.invalid", bringing: .notes) { $0.format = "teapot" }
        add(ImportRun(), refusedAs: invalidDescriptor, bringing: .notes) { $0.bringsKeyFile = true }
        add(ImportRun(), refusedAs: invalidDescriptor, bringing: .notes, .notes) { $0.bringsKeyFile = true }
        add(ImportRun(), bringing: .notes, .content("a key"), .content("constants")) {
            ($0.vault, $0.isDryRun, $0.bringsKeyFile, $0.bringsConstants) = ("Work", true, true, true)
        }
        add(ItemList()) { ($0.vault, $0.order) = ("Work", .title) }
        add(ExportRun()) { ($0.vault, $0.isTrial) = ("Work", true) }
        add(ExportRun(), refusedAs: "operation.request.invalid", bringing: .target) { $0.vault = "Work" }
        add(ExportRun(), bringing: .target) { ($0.vault, $0.name) = ("Work", "notes") }
        add(ExportRun(), bringing: .target) { ($0.format, $0.name) = (.json, "all.json") }
        add(ExportRun(), bringing: .target) { ($0.onlyUnsent, $0.name) = (true, "unsent") }
        for format in [ExportRun.Format.textbundle, .textpack, .html, .bitwarden, .csv] {
            add(ExportRun(), bringing: .target) { ($0.format, $0.name) = (format, "out") }
        }
        add(ExportRun(), refusedAs: "operation.request.invalid", bringing: .sink) { $0.bringsStream = true }
        add(ExportRun(), refusedAs: "operation.request.invalid", bringing: .sink) {
            ($0.format, $0.bringsStream, $0.name) = (.json, true, "all.json")
        }
        add(ExportRun(), refusedAs: "export.target.unwritable", bringing: .broken) {
            ($0.format, $0.bringsStream) = (.json, true)
        }
        add(ExportRun(), bringing: .target, .content("mule\n")) {
            ($0.format, $0.name, $0.bringsPassword) = (.kdbx, "out.kdbx", true)
        }
        add(ExportRun(), refusedAs: invalidDescriptor, bringing: .target) {
            ($0.format, $0.name, $0.bringsPassword) = (.kdbx, "out.kdbx", true)
        }
        for (format, bringsPassword) in [(ExportRun.Format.kdbx, false), (.csv, true)] {
            add(ExportRun(), refusedAs: "operation.request.invalid", bringing: .target) {
                ($0.format, $0.name, $0.bringsPassword) = (format, "out", bringsPassword)
            }
        }
        add(ExportRun(), refusedAs: "operation.request.invalid", bringing: .target, .content("\n")) {
            ($0.format, $0.name, $0.bringsPassword) = (.kdbx, "out.kdbx", true)
        }
        add(ExportRun(), refusedAs: invalidDescriptor, bringing: .content("")) { $0.name = "notes" }
        add(ExportRun(), refusedAs: "cli.vault.not-synced", bringing: .target) {
            ($0.vault, $0.onlyUnsent, $0.name) = ("Work", true, "unsent")
        }
        for name in ["", "..", "a/b"] {
            add(ExportRun(), refusedAs: "operation.request.invalid", bringing: .target) { $0.name = name }
        }
        add(SSHList())
        add(SSHList(), refusedAs: "core.vault.not-found") { $0.vault = "no such vault" }
        add(SSHSign()) { ($0.key, $0.data) = ("AAAA", "AAAA") }
        add(SSHSign(), refusedAs: "operation.request.invalid") { ($0.key, $0.data) = ("AAAA", "not Base64!") }
        add(StoreRead()) { $0.vault = "Personal" }
        add(StoreRead(), refusedAs: "core.vault.not-found") { $0.vault = "no such vault" }
        add(ServerRead())
        add(ServerLogRead())
        add(DeviceFollow())
        add(DeviceRename(), endsSession: true) { ($0.device, $0.newName) = ("Phone", "Telephone") }
        add(DeviceRename(), refusedAs: "cli.device.not-found") { ($0.device, $0.newName) = ("Phone", "Telephone") }
        add(DeviceRename(), refusedAs: "cli.input.invalid") { $0.device = "Telephone" }
        add(TokenCreate(), refusedAs: "cli.presence.unavailable") {
            ($0.name, $0.reason, $0.access) = ("alone", "a test", .list)
        }
        add(TokenCreate(), refusedAs: "token.scope.invalid", isAttended: true) {
            ($0.name, $0.reason, $0.operations) = ("all", "a test", ["token.create"])
        }
        add(TokenCreate(), refusedAs: "core.vault.not-found", isAttended: true) {
            ($0.name, $0.reason, $0.access, $0.vaults) = ("lost", "a test", .read, ["no such vault"])
        }
        add(TokenCreate(), isAttended: true) {
            ($0.name, $0.reason, $0.access) = ("reader", "a test", .read)
            ($0.vaults, $0.tags, $0.until) = (["work"], ["#public"], WireMoment(4_000_000_000_000))
        }
        add(TokenList())
        add(TokenRemove(), refusedAs: "operation.request.invalid")
        add(TokenRemove(), refusedAs: "token.not-found") { $0.name = "writer" }
        add(TokenRemove()) { $0.name = "reader" }
        add(TokenRemove()) { $0.isAll = true }
        add(AccessList()) { $0.limit = 0 }
        add(BrowserList())
        add(BrowserRemove(), refusedAs: "bridge.pairing.not-found") { $0.name = "Firefox" }
        add(BrowserRemove(), refusedAs: "operation.request.invalid")
        add(BrowserRemove()) { $0.isAll = true }
        add(BrowserNotices())
        add(BrowserNotices()) { $0.isOn = true }
        add(RecoveryList())
        add(BackupCreate(), bringing: .target) { $0.name = "all.backup" }
        add(BackupCreate(), refusedAs: invalidDescriptor) { $0.name = "all.backup" }
        add(BackupCreate(), refusedAs: "operation.request.invalid", bringing: .target) { $0.name = "../all.backup" }
        add(BackupVerify(), refusedAs: invalidDescriptor)
        add(BackupVerify(), bringing: .backups)
        add(BackupVerify(), refusedAs: "core.backup.unknown-format", bringing: .notes) { $0.readsAll = true }
        add(KeyAdd(), refusedAs: "cli.presence.unavailable") { ($0.profile, $0.place) = ("ada", .file) }
        add(KeyAdd(), isAttended: true, endsSession: true) { ($0.profile, $0.place) = ("ada", .file) }
        add(KeyList())
        add(KeyEdit(), refusedAs: "cli.key.not-found", isAttended: true) { $0.profile = "bob" }
        add(KeyEdit(), isAttended: true, locksStore: true) { $0.profile = "ada" }
        add(KeyRemove(), refusedAs: "cli.presence.unavailable") { $0.key = "ada" }
        add(KeyRemove(), refusedAs: "cli.key.not-found", isAttended: true) { $0.key = "bob" }
        add(KeyRemove(), isAttended: true, locksStore: true) { $0.key = "ada" }
        add(DeviceList())
        add(RescueList())
        add(DeviceRevoke()) { ($0.device, $0.isTrial) = ("Telephone", true) }
        add(DeviceRevoke(), refusedAs: "cli.presence.unavailable") { $0.device = "Telephone" }
        add(DeviceRevoke(), refusedAs: "cli.device.not-found") { $0.device = "Phone" }
        add(DeviceApprove(), refusedAs: "cli.presence.unavailable")
        add(DeviceApprove(), refusedAs: "cli.pairing.not-found", isAttended: true)
        add(DeviceApprove(), refusedAs: "cli.input.invalid") { $0.pairing = "12ab" }
        add(BrowserAllow(), refusedAs: "remote.code.malformed") { $0.code = "COFFRET-BROWSER:1:A" }
        add(RemoteAsk(), refusedAs: "cli.device.not-found") { ($0.item, $0.device) = ("Garden", "Phone") }
        add(RemoteAnswer(), refusedAs: "remote.code.malformed") { ($0.code, $0.item) = ("COFFRET-ASK:1:A", "Garden") }
        add(ServerJoin(), refusedAs: "account.already-joined") { $0.url = "https://127.0.0.1:1" }
        add(ServerJoin(), refusedAs: "operation.request.invalid") { $0.authorities = "here" }
        add(ServerLeave()) { $0.isTrial = true }
        add(ServerLeave(), refusedAs: "cli.presence.unavailable")
        add(RescueList(), refusedAs: "core.vault.not-found") { $0.vault = "no such vault" }
        add(RescueSettle()) { $0.isTaken = true }
        list += sharing
        add(RescueSettle(), refusedAs: "operation.request.invalid") { $0.itemCount = 1 }
        add(SettingsEdit()) { ($0.syncs, $0.opensWhenAsked, $0.look) = (false, true, .dark) }
        add(SettingsRead())
        add(SyncRun()) { $0.vault = "Personal" }
        add(SyncRun()) { ($0.leavesFiles, $0.patienceSeconds) = (true, 1) }
        add(SyncRun(), refusedAs: "cli.vault.not-synced") { $0.vault = "Work" }
        add(ChangeWait())
        add(ChangeWait()) { ($0.after, $0.seconds) = ("keyring=0", 1) }
        add(SyncRead())
        add(SyncRead(), refusedAs: "cli.vault.not-synced") { $0.vault = "Work" }
        add(VaultCreate(), endsSession: true) { $0.name = "Third" }
        add(VaultCreate(), refusedAs: "core.vault.name-invalid") { $0.name = "work" }
        add(VaultEdit(), endsSession: true) { ($0.vault, $0.newName) = ("Third", "Fourth") }
        add(VaultEdit()) { ($0.vault, $0.isDefault) = ("Fourth", true) }
        add(VaultEdit()) { ($0.vault, $0.files) = ("Personal", .asked) }
        add(VaultEdit(), refusedAs: "cli.vault.not-synced") { ($0.vault, $0.files) = ("Fourth", .all) }
        add(VaultEdit(), refusedAs: "operation.request.invalid") { ($0.vault, $0.isDefault) = ("Fourth", false) }
        add(VaultList())
        add(VaultSyncEnd(), refusedAs: "cli.vault.not-synced") { $0.vault = "Fourth" }
        add(VaultSyncBegin(), refusedAs: "core.vault.not-found") { $0.vault = "no such vault" }
        add(VaultSyncBegin(), endsSession: true) { $0.vault = "Fourth" }
        add(VaultSyncEnd()) { ($0.vault, $0.isTrial) = ("Fourth", true) }
        add(VaultSyncEnd(), endsSession: true) { ($0.vault, $0.deletesFromServer) = ("Fourth", true) }
        add(VaultRemove(), refusedAs: "operation.request.invalid") { ($0.vault, $0.itemCount) = ("Fourth", 1) }
        add(VaultRemove(), refusedAs: "cli.vault.synced") { $0.vault = "Personal" }
        add(VaultRemove(), endsSession: true) { $0.vault = "Fourth" }
        add(VaultList())
        add(StoreLock())
        return list
    }()
}
