// What compactions of a world may have removed. The one thing to keep true: it is found from the history as it lay
// before, by the rule that people are told, and not from what the compaction did.

internal import CoffretBase
internal import CoffretStorage
internal import CoffretTestSupport

/// Which devices of a world drop history, beside packing, which all do.
package enum HistoryDroppers: String, CaseIterable, Sendable {
    case none, first, all

    /// What `Scripts/simulate` is told for it.
    package var option: String? {
        switch self {
        case .none: nil
        case .first: "--drop-history"
        case .all: "--all-drop-history"
        }
    }

    func contains(_ number: Int) -> Bool { self == .all || self == .first && number == 0 }
}

/// The compactions of a world, and the lines whose commits have to be there after all of them.
final class SimulatedCompactions {
    private struct Line {
        let text: String
        let key: FactKey
    }

    private var lines: [BlobName: Line] = [:]
    /// Commits that somebody's compaction was to remove.
    private var removed: Set<BlobName> = []
    private(set) var isEmpty = true

    func note(_ text: String, under key: FactKey, in commit: BlobName) { lines[commit] = Line(text: text, key: key) }

    /// Packs a device's vault: merely so, or also without what is older than a moment, or without what led to a commit.
    func compact(_ device: SimulatedDevice, dropsHistory: Bool, _ random: SeededGenerator) throws {
        var commits: [CommitSummary] = []
        var cursor = try device.repository.log()
        while let commit = try cursor.next() { commits.append(commit) }
        isEmpty = false
        switch dropsHistory ? random.int(in: 0...5) : 0 {
        case 0: try device.compact()
        case 1 where !commits.isEmpty:
            let first = random.element(of: commits)
            remove(first.parents, of: commits)
            try device.compact(droppingParentsOf: first.name)
        default:
            let time = commits.isEmpty ? device.now : random.element(of: commits).timeMilliseconds
            remove(
                commits.filter { $0.timeMilliseconds < time && $0.name != device.head }.map(\.name), of: commits)
            try device.compact(olderThan: time)
        }
    }

    /// Commits go with all that they were made from.
    private func remove(_ names: [BlobName], of commits: [CommitSummary]) {
        let parents = Dictionary(commits.map { ($0.name, $0.parents) }) { one, _ in one }
        var pending = names
        var seen: Set<BlobName> = []
        while let name = pending.popLast() {
            if seen.insert(name).inserted { pending += parents[name] ?? [] }
        }
        removed.formUnion(seen)
    }

    /// Every line that was acknowledged is in the state of its commit, unless that was to be removed.
    ///
    /// - Parameters:
    ///   - aside: commits that count no more.
    ///   - forgotten: lines that nobody has to keep.
    func check(
        _ device: SimulatedDevice, _ random: SeededGenerator, except aside: Set<BlobName>, _ forgotten: Set<String>
    ) throws {
        var kept: Set<BlobName> = []
        var cursor = try device.repository.log()
        while let commit = try cursor.next() { kept.insert(commit.name) }
        for (name, line) in lines where !removed.contains(name) && !aside.contains(name) {
            if forgotten.contains(line.text) { continue }
            try require(kept.contains(name), "the commit of an acknowledged line is gone: \(line.text.prefix(8))")
            guard random.int(in: 0...3) == 0 else { continue }
            let state = try device.repository.snapshot(at: name)
            let texts = try state.facts(under: line.key).map {
                String(decoding: try state.value(of: $0), as: UTF8.self)
            }
            try require(
                texts.contains { $0.split(separator: "\n").contains { $0 == line.text } },
                "the past has lost an acknowledged line: \(line.text.prefix(8))")
        }
    }
}
