// Requests that look after vaults. Invariant: nothing is changed by a check but an index, which is made again.

/// Reads and verifies everything.
package struct VaultVerify: StoreOperation {
    package static let name = "vault.verify"
    package static let access = OperationAccess.read
    package static let meaning =
        "Reads and verifies everything in a vault, or in all: files, signatures, states, attached files. It takes long, says how far it is, and can be cancelled."

    package var vault: String?

    package init() {}
    package static let layout = RecordLayout<Self>(.vaultOrAll(\.vault))

    package struct Answer: Record {
        package static let recordName = "verify-result"
        package static let refusesUnknownFields = false
        package var vaults: [VaultReportMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(RecordField("vaults", \.vaults, "in the order of the check"))
    }
}

/// What a check of one vault found.
package struct VaultReportMessage: Record {
    package static let recordName = "vault-report"
    package static let refusesUnknownFields = false

    package var vault = ""
    package var name = ""
    package var isClean = false
    package var changeCount = 0
    package var signatureCount = 0
    package var factCount = 0
    package var objectCount = 0
    package var attachmentCount = 0
    package var absentCount = 0
    package var isHistoryPending = false
    package var index: String?
    package var removals: [RemovalMessage] = []
    package var problemCount = 0
    package var problems: [ProblemMessage] = []

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.vault, "id"), RecordField("name", \.name, "of the vault"),
        RecordField("isClean", \.isClean, "whether nothing is wrong"),
        RecordField("changeCount", \.changeCount, "changes that were verified"),
        RecordField("signatureCount", \.signatureCount, "signatures that were verified"),
        RecordField("factCount", \.factCount, "facts of the present"),
        RecordField("objectCount", \.objectCount, "objects that they refer to"),
        RecordField("attachmentCount", \.attachmentCount, "files of items"),
        RecordField("absentCount", \.absentCount, "those of a synced vault that are not on this device"),
        RecordField("isHistoryPending", \.isHistoryPending, "older history has not come yet, and was not checked"),
        RecordField("index", \.index, "the search index: `whole`, `madeAnew` or `damaged`; left out if there is none"),
        RecordField("removals", \.removals, "compactions that dropped history"),
        RecordField("problemCount", \.problemCount, "things that are wrong"),
        RecordField("problems", \.problems, "the first 1,000 of them"))
}

/// A compaction that dropped history.
package struct RemovalMessage: Record {
    package static let recordName = "removal"
    package static let refusesUnknownFields = false

    package var commit = ""
    package var removedCount = 0

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("commit", \.commit, "that says so, in hexadecimal digits"),
        RecordField("removedCount", \.removedCount, "changes that are gone"))
}

/// Makes a vault smaller.
package struct VaultCompact: StoreOperation {
    package static let name = "vault.compact"
    package static let access = OperationAccess.control
    package static let meaning =
        "Packs a vault more tightly, and drops history from before a moment, which cannot be undone."

    package var vault: String?
    package var dropsBefore: WireMoment?
    package var isTrial: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .vaultOrDefault(\.vault),
        RecordField("dropsBefore", \.dropsBefore, "versions that were replaced before then go; the present stays"),
        RecordField("isTrial", \.isTrial, "changes nothing, and says how much would go"))

    package struct Answer: Record {
        package static let recordName = "compaction"
        package static let refusesUnknownFields = false
        package var removedCount = 0
        package var keptCount = 0
        package var behindCount: Int?
        package var commit: String?
        package var byteCountBefore: Int?
        package var byteCountAfter: Int?
        package var removedFileCount: Int?
        package var removedFileByteCount: Int?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("removedCount", \.removedCount, "changes that were dropped, or would be"),
            RecordField("keptCount", \.keptCount, "changes that stay"),
            RecordField("behindCount", \.behindCount, "of a trial: other devices that may not have everything yet"),
            RecordField("commit", \.commit, "the record of what was dropped"),
            RecordField("byteCountBefore", \.byteCountBefore, "of objects, before"),
            RecordField("byteCountAfter", \.byteCountAfter, "of objects, after"),
            RecordField("removedFileCount", \.removedFileCount, "files of items that nothing names any more"),
            RecordField("removedFileByteCount", \.removedFileByteCount, "their size"))
    }
}

/// One thing that is wrong.
package struct ProblemMessage: Record {
    package static let recordName = "problem"
    package static let refusesUnknownFields = false

    package var code = ""
    package var place: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("code", \.code, "of `errors.md`"), RecordField("place", \.place, "the file or object at fault"))
}
