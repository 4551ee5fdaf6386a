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
    package var isClean = false
    package var changeCount = 0
    package var objectCount = 0
    package var attachmentCount = 0
    package var absentCount = 0
    package var problems: [ProblemMessage] = []

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.vault, "id"), RecordField("isClean", \.isClean, "whether nothing is wrong"),
        RecordField("changeCount", \.changeCount, "changes that were verified"),
        RecordField("objectCount", \.objectCount, "objects that they refer to"),
        RecordField("attachmentCount", \.attachmentCount, "files of items"),
        RecordField("absentCount", \.absentCount, "those of a synced vault that are not on this device"),
        RecordField("problems", \.problems, "what is wrong, the first 100"))
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
