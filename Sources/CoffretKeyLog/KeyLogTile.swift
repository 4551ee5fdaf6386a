// Names of tiles and bundles. Invariant: each tile has one name, and a name that is not written so names nothing.

internal import CoffretBase

/// A part of the tree that is fetched at once: up to 256 hashes of a level, or 256 entries.
///
/// Source: C2SP tlog-tiles, with tiles of height 8.
package struct KeyLogTile: Equatable, Sendable {
    package static let width: UInt64 = 256
    /// 256 to the power of so many levels is above 2⁶³.
    private static let levelMax = 7

    /// 0 is just above the entries; nil is a bundle of entries.
    package let level: Int?
    package let index: UInt64
    /// 1 to 256.
    package let count: Int

    package init(level: Int?, index: UInt64, count: Int) {
        self.level = level
        self.index = index
        self.count = count
    }

    /// How many hashes or entries a tile has in a tree of some size; 0 for none.
    package static func count(level: Int?, index: UInt64, size: UInt64) -> Int {
        let width = size >> (8 * UInt64(level ?? 0))
        let (start, isTooLarge) = index.multipliedReportingOverflow(by: Self.width)
        guard !isTooLarge, start < width else { return 0 }
        return Int(min(width - start, Self.width))
    }

    /// The path behind `tile/`.
    package var path: String {
        var groups = [Self.digits(index % 1_000)]
        var rest = index / 1_000
        while rest > 0 {
            groups.insert("x" + Self.digits(rest % 1_000), at: 0)
            rest /= 1_000
        }
        let end = count < Int(Self.width) ? ".p/\(count)" : ""
        return (level.map(String.init) ?? "entries") + "/" + groups.joined(separator: "/") + end
    }

    private static func digits(_ number: UInt64) -> String {
        let text = String(number)
        return String(repeating: "0", count: 3 - text.count) + text
    }

    /// Reads a path behind `tile/`; nil for another spelling of it.
    package init?(path: String) {
        var parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard path.utf8.count <= 64, parts.count >= 2 else { return nil }
        let first = parts.removeFirst()
        let level = UInt8(first).map(Int.init)
        guard first == "entries" || (level ?? .max) <= Self.levelMax else { return nil }
        var count = Self.width
        if parts.count >= 2, parts[parts.count - 2].hasSuffix(".p") {
            guard let partial = UInt64(parts.removeLast()) else { return nil }
            count = partial
            parts[parts.count - 1].removeLast(2)
        }
        var index: UInt64 = 0
        for part in parts {
            guard let group = UInt64(part.drop { $0 == "x" }), group < 1_000 else { return nil }
            let (shifted, isTooLarge) = index.multipliedReportingOverflow(by: 1_000)
            guard !isTooLarge else { return nil }
            index = shifted + group
        }
        guard (1...Self.width).contains(count) else { return nil }
        self.init(level: first == "entries" ? nil : level, index: index, count: Int(count))
        guard self.path == path else { return nil }
    }
}

/// Entries as one answer: each with its length before it, in two bytes.
package enum KeyLogBundle {
    private static let rowByteCount = KeyLogEntry.byteCount + 2
    package static let byteCountMax = Int(KeyLogTile.width) * rowByteCount

    package static func encode(_ entries: some Sequence<[UInt8]>) -> [UInt8] {
        entries.reduce(into: []) { bytes, entry in
            bytes.appendBigEndian(UInt16(entry.count))
            bytes += entry
        }
    }

    /// - Parameter count: how many it has to have.
    /// - Throws: `.checkpointInvalid`.
    package static func decode(_ bytes: [UInt8], count: Int) throws(KeyLogError) -> [KeyLogEntry] {
        guard bytes.count == count * rowByteCount else { throw KeyLogError(.checkpointInvalid, at: "bundle") }
        var entries: [KeyLogEntry] = []
        for start in stride(from: 0, to: bytes.count, by: rowByteCount) {
            guard UInt16(bigEndianBytes: bytes[start..<start + 2]) == UInt16(KeyLogEntry.byteCount) else {
                throw KeyLogError(.checkpointInvalid, at: "bundle")
            }
            entries.append(try KeyLogEntry(decoding: bytes[start + 2..<start + rowByteCount]))
        }
        return entries
    }
}
