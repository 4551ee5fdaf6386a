// The request that looks after passwords. Invariant: no password is in its answer, and nothing of which one could be computed.

package struct PasswordAudit: StoreOperation {
    package static let name = "password.audit"
    package static let access = OperationAccess.read
    package static let meaning =
        "Says what is wrong with passwords: of logins, and of custom items with a field \"Password\", that are not in the "
        + "trash. It works offline. A list of breached passwords comes as a descriptor: a file of SHA-1 hashes, sorted, one "
        + "on each line, with or without a colon and a number behind. It reports progress."

    /// The flaws, worst first.
    package enum Flaw: String, RecordChoice {
        case breached, weak, reused, similar, old, oneFactor
    }

    package var vault: String?
    package var flaws: [Flaw]?
    package var oldAfterDays: Int?
    package var bringsList: Bool?
    package var givesShortIDs: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .vaultOrAll(\.vault),
        RecordField(
            "flaws", \.flaws,
            "what is looked for; all without it. `breached`: it stands in the list. `weak`: zxcvbn gives it less than 40 bits. "
                + "`reused`: several items have the same. `similar`: others are an edit or two apart, or differ by digits "
                + "and marks at the ends. `old`: it was not changed for long. `oneFactor`: a login with an address has "
                + "neither a one-time code nor a passkey"),
        RecordField("oldAfterDays", \.oldAfterDays, "730 without it"),
        RecordField("bringsList", \.bringsList, "the request brings the descriptor of a list of breached passwords"),
        .givesShortIDs(\.givesShortIDs))

    package struct Answer: Record {
        package static let recordName = "audit"
        package static let refusesUnknownFields = false
        package var passwordCount = 0
        package var hiddenCount = 0
        package var isStrengthKnown = false
        package var counts: [FlawCountMessage] = []
        package var items: [AuditedItemMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("passwordCount", \.passwordCount, "passwords that were looked at"),
            RecordField("hiddenCount", \.hiddenCount, "hidden items, which were not looked at"),
            RecordField(
                "isStrengthKnown", \.isStrengthKnown,
                "false where zxcvbn is not installed: what is shorter than 12 bytes counts as weak then"),
            RecordField("counts", \.counts, "of each flaw that was looked for, worst first"),
            RecordField("items", \.items, "those with a flaw, worst first"))
    }
}

/// How many items have a flaw.
package struct FlawCountMessage: Record {
    package static let recordName = "flaw-count"
    package static let refusesUnknownFields = false

    package var flaw = PasswordAudit.Flaw.breached
    package var count = 0

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("flaw", \.flaw, "as in the request"), RecordField("count", \.count, "items that have it"))
}

/// An item whose password is to be put right.
package struct AuditedItemMessage: Record {
    package static let recordName = "audited-item"
    package static let refusesUnknownFields = false

    package var item = ""
    package var shortID: String?
    package var title = ""
    package var vault: String?
    package var flaws: [PasswordAudit.Flaw] = []
    package var changed = WireMoment(0)
    package var breachCount: Int?
    package var reuseGroup: Int?
    package var similarGroup: Int?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("item", \.item, "id"), .shortID(\.shortID), RecordField("title", \.title, "as in `item`"),
        RecordField("vault", \.vault, "its name, where several were looked at"),
        RecordField("flaws", \.flaws, "worst first"),
        RecordField("changed", \.changed, "the password was set then, or before"),
        RecordField("breachCount", \.breachCount, "how often breaches have it, as the list says"),
        RecordField("reuseGroup", \.reuseGroup, "items with the same number have the same password"),
        RecordField("similarGroup", \.similarGroup, "items with the same number have passwords that are alike"))
}
