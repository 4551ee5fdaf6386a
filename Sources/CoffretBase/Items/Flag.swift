// The flags of items as data. Invariant: a row says what a flag means, and what is stored of it is its name.

/// A flag that a person sets on items, such as *archived*.
///
/// Its raw value is the attribute of items, the key in lists and front matter, and the word after `is:` in a search.
package enum Flag: String, CaseIterable, Sendable {
    case pinned
    case archived
    case trashed

    /// Words about a flag.
    private struct Row {
        /// Of an item that has it; ends a sentence that begins with "It is".
        var state: String
        /// Its effect on lists, for pages.
        var meaning: String
        /// Of lists that are asked for nothing else: whether they have such items. Nil for both.
        var isListed: Bool?
        /// The word after `in:` in a search.
        var place: String?
        /// In a filter, for pages.
        var filterMeaning: String
    }

    private var row: Row {
        switch self {
        case .pinned: Row(state: "pinned", meaning: "first in lists", filterMeaning: "pinned ones, or the others")
        case .archived:
            Row(
                state: "archived", meaning: "out of lists", isListed: false, place: "archive",
                filterMeaning: "archived ones; false without it")
        case .trashed:
            Row(
                state: "in the trash", meaning: "in the trash", isListed: false, place: "trash",
                filterMeaning: "what is in the trash; false without it")
        }
    }

    package var state: String { row.state }
    package var meaning: String { row.meaning }
    package var filterMeaning: String { row.filterMeaning }
    package var isListed: Bool? { row.isListed }
    package var place: String? { row.place }

    /// The field in messages, such as `isPinned`.
    package var fieldName: String { "is" + rawValue.prefix(1).uppercased() + rawValue.dropFirst() }

    /// Its bit in a set of flags, and in the search index.
    package var bit: UInt8 {
        switch self {
        case .pinned: 1
        case .archived: 2
        case .trashed: 4
        }
    }
}

/// The flags that an item has.
package struct FlagSet: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package init(_ flags: some Sequence<Flag>) { rawValue = flags.reduce(0) { $0 | $1.bit } }

    package subscript(flag: Flag) -> Bool {
        get { rawValue & flag.bit != 0 }
        set { self = FlagSet(rawValue: newValue ? rawValue | flag.bit : rawValue & ~flag.bit) }
    }
}

/// A thing with flags.
package protocol Flagged {
    var flags: FlagSet { get set }
}

extension Flagged {
    package var isPinned: Bool {
        get { flags[.pinned] }
        set { flags[.pinned] = newValue }
    }
    package var isArchived: Bool {
        get { flags[.archived] }
        set { flags[.archived] = newValue }
    }
    package var isTrashed: Bool {
        get { flags[.trashed] }
        set { flags[.trashed] = newValue }
    }
}

/// A thing that wants flags set or not; nil for either.
package protocol FlagWanting {
    var flags: [Flag: Bool] { get set }
}

extension FlagWanting {
    package var isPinned: Bool? {
        get { flags[.pinned] }
        set { flags[.pinned] = newValue }
    }
    package var isArchived: Bool? {
        get { flags[.archived] }
        set { flags[.archived] = newValue }
    }
    package var isTrashed: Bool? {
        get { flags[.trashed] }
        set { flags[.trashed] = newValue }
    }

    /// Whether a thing has each flag as it is wanted.
    package func admits(_ found: FlagSet) -> Bool { FlagMask(flags).admits(found) }
}

/// Wanted flags as two bytes, for those who ask of every item.
package struct FlagMask: Sendable {
    private let asked: FlagSet
    private let wanted: FlagSet

    package init(_ flags: [Flag: Bool]) {
        asked = FlagSet(flags.keys)
        wanted = FlagSet(flags.filter(\.value).keys)
    }

    package func admits(_ found: FlagSet) -> Bool { found.intersection(asked) == wanted }
}

extension [Flag: Bool] {
    /// The wishes of a list that is asked for nothing else.
    package static var listed: [Flag: Bool] {
        Dictionary(uniqueKeysWithValues: Flag.allCases.compactMap { flag in flag.isListed.map { (flag, $0) } })
    }
}
