// The history of a device as text, for a world that failed and is run again. The one thing to keep true: it says all that
// a merge or a compaction goes by, and changes nothing.

import CoffretBase
import CoffretStorage

extension SimulatedDevice {
    /// A line for each commit, newest first: name, parents, number, flags, and version vector and record where it states them; then
    /// what was set aside.
    var historyText: String {
        var lines: [String] = []
        do {
            var cursor = try repository.log()
            while let commit = try cursor.next() { lines.append(Self.text(commit)) }
            for commit in try repository.setAsideSummaries() { lines.append("set aside: " + Self.text(commit)) }
        } catch {
            lines.append("\(error)")
        }
        return lines.map { "    \($0)\n" }.joined()
    }

    private static func text(_ summary: CommitSummary) -> String {
        var text = "\(short(summary.name)) of \(names(summary.parents)), \(dot(summary.instance, summary.sequence))"
        text += ", root \(short(summary.commit.root))"
        if !summary.flags.isEmpty { text += ", flags \(summary.flags.rawValue)" }
        if let vector = summary.commit.versionVector { text += ", has seen \(versions(vector))" }
        if let record = summary.commit.compaction {
            let beginnings = (record.beginnings ?? [:]).keys.sorted()
            text += ", removed \(names(record.removedParents)) up to \(versions(record.removedVersions))"
            text += " and begins with \(names(beginnings))"
        }
        return text
    }

    private static func short(_ name: BlobName) -> String { String(name.description.prefix(6)) }
    private static func names(_ names: [BlobName]) -> String { "[\(names.map(short).joined(separator: " "))]" }
    private static func dot(_ instance: UniqueID, _ sequence: UInt64) -> String {
        "\(instance.hex.prefix(3)):\(sequence)"
    }
    private static func versions(_ vector: VersionVector) -> String {
        "[\(vector.sorted.map { dot($0.instance, $0.sequence) }.joined(separator: " "))]"
    }
}
