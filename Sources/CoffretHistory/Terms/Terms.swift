// The words of histories. The one thing to keep true: an entry is told by its dot, its number in its instance's log, and
// by its name, the hash of what was sealed; where both are stated, both have to fit.

package import CoffretBase
package import CoffretStorage
package import CoffretTrust

/// One copy of a store on one device, in one vault; it writes one log. 16 bytes, the hash of what its `EntryContext`
/// says, so that nobody claims another's.
package typealias InstanceID = UniqueID

/// The number of an entry in its log: from 1, without gaps, at most `HistoryLimits.numberMax`.
package typealias EntryNumber = UInt64

/// 1 + the greatest height among the entries that an entry's author had applied; at most `HistoryLimits.numberMax`.
package typealias Height = UInt64

extension Dot {
    /// The number of the entry in the log of `instance`.
    package var number: EntryNumber { sequence }

    package init(_ instance: InstanceID, _ number: EntryNumber) { self.init(instance: instance, sequence: number) }
}

/// Where an entry stands in the order in which facts are shown and texts are merged: height, then instance, then number.
///
/// The order means nothing but that all devices choose alike (S8, T3).
package struct EntryRank: Hashable, Comparable, Sendable {
    package let height: Height
    package let dot: Dot

    package init(height: Height, dot: Dot) {
        self.height = height
        self.dot = dot
    }

    package static func < (left: EntryRank, right: EntryRank) -> Bool {
        left.height != right.height ? left.height < right.height : left.dot < right.dot
    }
}

/// An entry of a log that is known already: its number there, and its name.
package struct EntryMark: Hashable, Sendable {
    package let number: EntryNumber
    package let name: BlobName

    package init(number: EntryNumber, name: BlobName) {
        self.number = number
        self.name = name
    }
}

/// A link of a chain, by number and hash: `[number, hash]`.
///
/// A number alone says nothing, since chains fork: whoever compares positions compares both.
package struct ChainPosition: Hashable, Sendable, CustomStringConvertible {
    package let number: UInt64
    package let hash: Bytes32

    package init(number: UInt64, hash: Bytes32) {
        self.number = number
        self.hash = hash
    }

    /// The newest link that was verified; nil if its hash has not 32 bytes.
    package init?(_ head: RememberedHead) {
        guard let hash = Bytes32(head.linkHash) else { return nil }
        self.init(number: head.sequenceNumber, hash: hash)
    }

    package var description: String { "link \(number) \(hash.hex.prefix(8))" }
}

extension AccountDevices {
    /// Where a link stands if number and hash fit each other.
    package func position(of stated: ChainPosition) -> DevicePosition? {
        guard let place = position(of: stated.hash), UInt64(place.number) == stated.number else { return nil }
        return place
    }
}

/// Bounds of section 16, as far as a format has them.
package enum HistoryLimits {
    /// Numbers and heights: they stay exact in JSON and in SQLite.
    package static let numberMax = FactLimits.numberMax
    /// Heights of others above this are not followed (E2a): no vault has so many entries.
    package static let followedHeightMax: Height = 1 << 48
    /// Changes of an entry in place; more make a tree (E6).
    package static let changeCountMax = 512
    /// The CBOR of an entry's list of changes, in bytes; more make a tree (E6).
    package static let changesByteCountMax = 256 << 10
    /// Instances of `seen`, instances whose facts an entry replaces, and dots that one change replaces.
    package static let referenceCountMax = 4_096
    package static let statementByteCountMax = 2_048
    package static let keyLogNoteByteCountMax = 512
    package static let saltByteCount = 16
}
