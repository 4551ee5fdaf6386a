// Attachments whose files are missing or damaged, in words. The one thing to keep true: each is named, with its item.

internal import CoffretCore
internal import CoffretMessages
internal import CoffretTerminal
internal import CoffretWire

enum FaultyFiles {
    /// So many are named one by one.
    private static let namedCountMax = 20

    /// - Parameter isSynced: whether a file that is missing may lie at a server.
    static func lines(_ faulty: [FaultyFileMessage], isSynced: Bool) -> [String] {
        var lines = faulty.prefix(namedCountMax).map { file in
            let (name, title) = (TextWidth.displaySafe(file.attachment), TextWidth.displaySafe(file.title ?? ""))
            let fault = AttachmentFault(rawValue: file.fault)
            let words = isSynced && fault == .missing ? "the file is not on this device" : fault?.words ?? file.fault
            return "\(name) of \"\(title)\": \(words)"
        }
        if faulty.count > namedCountMax {
            lines.append("and \(NumberText.grouped(faulty.count - namedCountMax)) more")
        }
        return lines
    }

    /// The end of a command that did everything but for these files.
    static func failure(_ faulty: [FaultyFileMessage], isSynced: Bool, _ consequence: String) -> CommandFailure {
        CommandFailure(
            .damaged, .attachmentsFaulty,
            "\(NumberText.counted(faulty.count, "attachment")) \(consequence)",
            details: lines(faulty, isSynced: isSynced),
            hint: isSynced && faulty.contains { $0.fault == AttachmentFault.missing.rawValue }
                ? "coffret attach get ITEM fetches what lies at the server"
                : "a backup may have them: coffret backup restore FILE --store PATH")
    }
}

/// Values that no program can read: they are named, with their items.
enum UnreadableValues {
    private static let namedCountMax = 20

    /// The end of a command that did everything but for these values.
    ///
    /// - Parameter others: lines about what else was left out.
    static func failure(
        _ unreadable: [UnreadableValueMessage], _ consequence: String, also others: [String] = []
    ) -> CommandFailure {
        var lines = unreadable.prefix(namedCountMax).map { value in
            let title = value.title.map { "\"\(TextWidth.displaySafe($0))\"" } ?? value.item
            return "\(value.attributes.map { TextWidth.displaySafe($0) }.joined(separator: ", ")) of \(title)"
        }
        if unreadable.count > namedCountMax {
            lines.append("and \(NumberText.grouped(unreadable.count - namedCountMax)) more")
        }
        return CommandFailure(
            .damaged, code: "storage.fact.malformed-value",
            "\(NumberText.counted(unreadable.count, "item")) with values that cannot be read, \(consequence)",
            details: lines + others,
            hint: "coffret history ITEM shows versions from before; a new value takes the place of a bad one")
    }
}
