// Requests about work that counts and that nobody here had seen. Invariant: it is named before it is taken back, and taken back by new
// entries alone.

/// Work of a device that counts, though this device had not seen it when the device lost its right to write.
package struct UnseenWork: Record {
    package static let recordName = "unseen-work"
    package static let refusesUnknownFields = false

    package var vault = ""
    package var vaultID = ""
    package var entryCount = 0
    package var items: [UnseenItem] = []
    package var versions: [String] = []

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.vault, "its name"), RecordField("vaultID", \.vaultID, "in hexadecimal digits"),
        RecordField("entries", \.entryCount, "how many changed something"),
        RecordField("items", \.items, "that they touched"),
        RecordField("versions", \.versions, "the first of it in each log: `share.undo` takes it back from there on"))
}

package struct UnseenItem: Record {
    package static let recordName = "unseen-item"
    package static let refusesUnknownFields = false

    package var id = ""
    package var title: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("id", \.id, "in hexadecimal digits"),
        RecordField("title", \.title, "now; none where it was removed"))
}

package struct ShareUndo: StoreOperation {
    package static let name = "share.undo"
    package static let access = OperationAccess.control
    package static let meaning =
        "Takes back, by new entries, all that some logs wrote from a version on; what others wrote meanwhile stays."

    package var vault = ""
    package var versions: [String] = []
    package var isTrial: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.vault, "name or id"),
        RecordField(
            "versions", \.versions, "beginnings of names of entries, one for each log"),
        RecordField("isTrial", \.isTrial, "takes nothing back, and says what that would be"))

    package struct Answer: Record {
        package static let recordName = "share-undone"
        package static let refusesUnknownFields = false
        package var work = UnseenWork()
        package var isDone = false

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("work", \.work, "that was, or would be, taken back"),
            RecordField("done", \.isDone, "whether anything was changed"))
    }
}
