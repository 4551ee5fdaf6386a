// What others were shown of a log, beside what was read here. Invariant: two checkpoints are taken for one log only if the
// entries between them lead from one root to the other.

internal import CoffretBase

/// Compares a checkpoint that another device states with what was read of the same log. No I/O.
///
/// The log gives hashes of the tree at the smaller size: they have to make the other checkpoint's root. Then it gives the
/// entries up to the size that was read: they have to make that root. A log that showed two histories can do one of both.
///
/// Complexity: a tile for each level, and the entries between the sizes. Spec: Spec/log.md section 4.
package struct KeyLogComparison: Sendable {
    private let other: KeyLogCheckpoint
    private let own: KeyLogCheckpoint
    private let verifier: KeyLogVerifier
    /// Tiles of hashes that are still to come, the highest level first.
    private var tiles: [KeyLogTile] = []
    private var levels: [[Bytes32]] = []
    /// The entries behind the other checkpoint, once its tree is there.
    private var reading: KeyLogReading?

    /// - Parameter view: what was read here, after the other checkpoint was made.
    /// - Returns: nil for what is no checkpoint of this log, which says nothing.
    /// - Throws: `.rolledBack`: another device was shown more; `.forked`.
    package init?(of note: [UInt8], with view: KeyLogView) throws(KeyLogError) {
        guard let other = try? KeyLogCheckpoint(verifying: note, by: view.verifier), let own = view.checkpoint else {
            return nil
        }
        (self.other, self.own, verifier) = (other, own, view.verifier)
        guard other.size <= own.size else {
            throw KeyLogError(.rolledBack, at: "\(own.size) < \(other.size)")
        }
        guard other.size < own.size else {
            guard other.root == own.root else { throw KeyLogError(.forked, at: String(own.size)) }
            return
        }
        var (width, level) = (other.size, 0)
        while width > 0 {
            let rest = Int(width % KeyLogTile.width)
            if rest > 0 { tiles.append(KeyLogTile(level: level, index: width / KeyLogTile.width, count: rest)) }
            levels.append([])
            width /= KeyLogTile.width
            level += 1
        }
        if tiles.isEmpty { try begin() }
    }

    /// What to fetch next; nil when both are known to be of one log.
    package var wanted: KeyLogTile? { tiles.last ?? reading?.wanted }

    /// Takes what was wanted.
    ///
    /// - Throws: `.checkpointInvalid`, `.forked`.
    package mutating func take(_ bytes: [UInt8]) throws(KeyLogError) {
        guard let tile = tiles.popLast(), let level = tile.level else { return try takeEntries(bytes) }
        let hashes = stride(from: 0, to: bytes.count, by: 32).compactMap { start in
            Bytes32(bytes[start..<min(start + 32, bytes.count)])
        }
        guard bytes.count == 32 * tile.count, hashes.count == tile.count else {
            throw KeyLogError(.checkpointInvalid, at: "tile")
        }
        levels[level] = hashes
        if tiles.isEmpty { try begin() }
    }

    private mutating func takeEntries(_ bytes: [UInt8]) throws(KeyLogError) {
        guard reading != nil else { throw KeyLogError(.checkpointInvalid, at: "bundle") }
        try reading?.take(bytes)
        if wanted == nil { _ = try reading?.finished(now: 0, isFollowed: false) }
    }

    /// The other checkpoint's tree is there: it is read on from its end.
    private mutating func begin() throws(KeyLogError) {
        let range = KeyLogRange(levels: levels)
        guard range.size == other.size, range.root == other.root else {
            throw KeyLogError(.forked, at: String(other.size))
        }
        var view = KeyLogView(verifier: verifier, begunAt: 0)
        (view.range, view.checkpoint) = (range, other)
        reading = try KeyLogReading(view, note: own.note, chains: [])
    }
}
