// The lock of an item. Invariant: an item that was read from facts alone holds nothing but sealed bytes of its locked
// contents, even while the vault is open.

package import CoffretBase
package import CoffretStorage

/// The versions of one sealed part; more than one after a merge.
package struct SealedVersions: Equatable, Sendable {
    /// In the order of their facts.
    package let values: [SealedValue]
    package let dots: [Dot]
    /// Index of the one that a register shows.
    package let preferred: Int

    init(values: [SealedValue], dots: [Dot], preferred: Int) {
        self.values = values
        self.dots = dots
        self.preferred = preferred
    }
}

/// A file of a locked note: its name, its kind and its key are sealed.
package struct SealedFile: Equatable, Sendable {
    package let id: EntityID
    /// Names the file on the disk, so that it can be kept, checked and carried without its key.
    package let fileID: UniqueID
    package let created: Milliseconds
    package let versions: SealedVersions
}

/// How an item is locked.
package struct ItemLock: Equatable, Sendable {
    package internal(set) var parts: [LockedPart: SealedVersions] {
        didSet { if parts[.title] != nil { sealsTitle = true } }
    }
    package internal(set) var files: [SealedFile] = []
    /// Text that another device wrote in clear while this one locked the note.
    package internal(set) var clearText: String?
    /// Sealed parts that this version of the program does not know.
    package internal(set) var unknownParts: [String] = []
    /// Whether title, tags and path are to be sealed too.
    package internal(set) var sealsTitle: Bool
    /// Whether the item that carries this holds the opened contents.
    package internal(set) var isOpen = false

    init(parts: [LockedPart: SealedVersions]) {
        self.parts = parts
        sealsTitle = parts[.title] != nil
    }

    /// The records whose passphrases open the note's parts, in the order of their ids.
    package var records: [UniqueID] {
        let sealed = parts.values.flatMap(\.values) + files.flatMap(\.versions.values)
        return Set(sealed.map(\.record)).sorted()
    }

}

extension Item {
    /// The title that people see where the real one is sealed.
    package static let lockedTitle = "Locked note"

    /// The title that may stand in lists and in the index: never one that a lock seals.
    var visibleTitle: String {
        if let lock, lock.isOpen {
            let given = lock.sealsTitle ? "" : givenTitle ?? ""
            return given.isEmpty ? Item.lockedTitle : given
        }
        return title
    }

    /// The tags that may stand there.
    var visibleTags: [TagPath] {
        guard let lock, lock.isOpen else { return tags }
        return lock.sealsTitle ? [] : givenTags
    }

    /// Whether files belong to it, sealed or not.
    package var hasAttachments: Bool { veil?.whole.hasAttachments ?? hasOwnAttachments }

    private var hasOwnAttachments: Bool { !attachments.isEmpty || !(lock?.files.isEmpty ?? true) }

    /// Whether the note is sealed under a passphrase of its own; also while its contents are open.
    package var isLocked: Bool { lock != nil }
    /// Whether contents are missing here because nobody gave the passphrase.
    package var isSealed: Bool { lock.map { !$0.isOpen } ?? false }
}
