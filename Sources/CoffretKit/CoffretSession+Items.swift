// What belongs to items: versions, flags, files, links, conflicts.

internal import CoffretBase
internal import CoffretWire

extension CoffretSession {
    // MARK: Versions

    /// The versions of an item, newest first.
    ///
    /// - Parameter limit: at most so many; nil for all.
    public func history(of name: String, vault: String? = nil, limit: Int? = nil) throws(CoffretError) -> [Version] {
        var request = ItemHistory()
        (request.item, request.vault, request.limit) = (name, vault, limit)
        return try ask(request).versions.map { Version(message: $0) }
    }

    /// Takes an item out of the trash, or brings back an earlier version, as one change.
    ///
    /// - Parameter version: as `history` names it; nil to take the item out of the trash.
    @discardableResult
    public func restore(
        _ name: String, vault: String? = nil, version: String? = nil
    ) throws(CoffretError) -> Item {
        var request = ItemRestore()
        (request.item, request.vault, request.version) = (name, vault, version)
        return Item(message: try ask(request).item)
    }

    // MARK: Flags and removal

    /// Sets flags of items of one vault, as one change. Nil leaves a flag as it is.
    ///
    /// - Returns: the items as they are now.
    @discardableResult
    public func setFlags(
        of names: [String], vault: String? = nil, isPinned: Bool? = nil, isArchived: Bool? = nil, isHidden: Bool? = nil
    ) throws(CoffretError) -> [Item] {
        var request = ItemFlag()
        (request.items, request.vault) = (names, vault)
        (request.isPinned, request.isArchived, request.isHidden) = (isPinned, isArchived, isHidden)
        return try ask(request).items.map { Item(message: $0) }
    }

    /// Removes items of one vault from lists and the trash, as one change. Their history stays.
    ///
    /// - Returns: their ids.
    @discardableResult
    public func remove(_ names: [String], vault: String? = nil) throws(CoffretError) -> [String] {
        var request = ItemRemove()
        (request.items, request.vault) = (names, vault)
        return try ask(request).removed
    }

    // MARK: Files

    /// The files of an item.
    public func files(of name: String, vault: String? = nil) throws(CoffretError) -> [File] {
        var request = FileList()
        (request.item, request.vault) = (name, vault)
        return try ask(request).files.map { File(message: $0) }
    }

    /// Attaches a file to an item.
    ///
    /// - Parameters:
    ///   - file: the file's name, without a path.
    ///   - descriptor: open for reading; the content is read to its end by the agent's process. It stays open.
    ///   - mediaType: nil for what the name tells.
    ///   - progress: is told how far the work is; false cancels it.
    @discardableResult
    public func addFile(
        _ file: String, to name: String, vault: String? = nil, reading descriptor: Int32, mediaType: String? = nil,
        progress: ((Progress) -> Bool)? = nil
    ) throws(CoffretError) -> File {
        var request = FileAdd()
        (request.item, request.vault, request.name, request.mediaType) = (name, vault, file, mediaType)
        return File(message: try ask(request, bringing: descriptor, progress: progress))
    }

    /// Writes the content of a file to a descriptor, piece by piece, each verified before it is written.
    ///
    /// - Parameter descriptor: open for writing. It stays open. After an error it may have a part of the content.
    @discardableResult
    public func readFile(
        _ file: String, of name: String, vault: String? = nil, writingTo descriptor: Int32,
        progress: ((Progress) -> Bool)? = nil
    ) throws(CoffretError) -> File {
        var request = FileRead()
        (request.item, request.vault, request.name) = (name, vault, file)
        return File(message: try ask(request, bringing: descriptor, progress: progress))
    }

    /// Gives a file another name.
    @discardableResult
    public func renameFile(
        _ file: String, of name: String, to newName: String, vault: String? = nil
    ) throws(CoffretError) -> File {
        var request = FileRename()
        (request.item, request.vault, request.name, request.newName) = (name, vault, file, newName)
        return File(message: try ask(request))
    }

    /// Takes a file away from an item; earlier versions keep it.
    @discardableResult
    public func removeFile(_ file: String, of name: String, vault: String? = nil) throws(CoffretError) -> File {
        var request = FileRemove()
        (request.item, request.vault, request.name) = (name, vault, file)
        return File(message: try ask(request))
    }

    // MARK: Links

    /// The links in an item's text, and the items that link to it.
    public func links(
        of name: String, vault: String? = nil
    ) throws(CoffretError) -> (links: [Link], backlinks: [ItemSummary]) {
        var request = LinkList()
        (request.item, request.vault) = (name, vault)
        let answer = try ask(request)
        return (answer.links.map { Link(message: $0) }, answer.backlinks.map { ItemSummary(message: $0) })
    }

    /// Writes a link to another item of the vault at the end of a text, unless there is one.
    ///
    /// - Returns: whether it was written.
    @discardableResult
    public func link(_ name: String, to target: String, vault: String? = nil) throws(CoffretError) -> Bool {
        var request = LinkAdd()
        (request.item, request.target, request.vault) = (name, target, vault)
        return try ask(request).isChanged
    }

    // MARK: Conflicts

    /// The items of which several devices wrote something at the same time, and what of each waits for a decision.
    public func conflicts(vault: String? = nil) throws(CoffretError) -> [Conflict] {
        var request = ConflictList()
        request.vault = vault
        return try ask(request).items.map { Conflict(message: $0) }
    }

    /// Decides conflicts of an item, as one change.
    ///
    /// - Parameters:
    ///   - attribute: what is decided, as in `Conflict.attributes`; nil for everything.
    ///   - number: the other value with this number, from 1; nil keeps what is shown.
    /// - Returns: how many were decided.
    @discardableResult
    public func settleConflicts(
        of name: String, vault: String? = nil, attribute: String? = nil, taking number: Int? = nil
    ) throws(CoffretError) -> Int {
        var request = ConflictSettle()
        (request.item, request.vault, request.attribute, request.number) = (name, vault, attribute, number)
        return try ask(request).settledCount
    }
}

/// A version of an item.
public struct Version: Hashable, Sendable {
    /// The name for `item(_:version:)` and `restore(_:version:)`: 64 hexadecimal digits.
    public let name: String
    /// When it was written, in milliseconds since 1970.
    public let timeMilliseconds: Int64
    /// What it changed, in words.
    public let summary: String

    init(message: VersionMessage) {
        (name, timeMilliseconds, summary) = (message.version, message.time.milliseconds, message.summary)
    }
}

/// A file of an item.
public struct File: Hashable, Sendable {
    /// Without a path.
    public let name: String
    /// As far as it is known, such as `image/png`.
    public let mediaType: String
    /// The size of its content.
    public let byteCount: Int
    /// Whether its content is on this device; nil where nobody looked.
    public let isHere: Bool?

    init(message: AttachmentMessage) {
        (name, mediaType, byteCount) = (message.name, message.mediaType, message.byteCount)
        isHere = message.isHere
    }
}

/// A link in a text.
public struct Link: Sendable {
    /// The target as it is written.
    public let target: String
    /// None if it leads nowhere, several if its title is not one item's alone.
    public let items: [ItemSummary]

    init(message: LinkMessage) {
        (target, items) = (message.target, message.items.map { ItemSummary(message: $0) })
    }
}

/// An item that waits for a decision.
public struct Conflict: Hashable, Sendable {
    /// 32 hexadecimal digits.
    public let id: String
    /// The title of the item.
    public let title: String
    /// What several devices wrote: `title`, `text`, names of fields.
    public let attributes: [String]
    /// The name of its vault, in a list over several vaults.
    public let vault: String?

    init(message: ConflictedItem) {
        (id, title, attributes, vault) = (message.id, message.title, message.conflicts, message.vault)
    }
}
