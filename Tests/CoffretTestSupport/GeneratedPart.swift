// Parts of pages that tests make.

import Foundation
import Testing

/// A part of a page between two lines of its own.
package enum GeneratedPart {
    /// Writes the part if COFFRET_UPDATE_SNAPSHOTS is set.
    ///
    /// - Parameters:
    ///   - path: of the page, below the package.
    ///   - begin: the last text before the part.
    ///   - end: the first text behind it.
    /// - Returns: the part as the page has it.
    package static func update(_ path: String, from begin: String, to end: String, _ made: String) throws -> String {
        let url = SharedData.packageRoot.appendingPathComponent(path)
        var text = try String(contentsOf: url, encoding: .utf8)
        let start = try #require(text.range(of: begin)).upperBound
        let stop = try #require(text.range(of: end, range: start..<text.endIndex)).lowerBound
        guard ProcessInfo.processInfo.environment["COFFRET_UPDATE_SNAPSHOTS"] != nil else {
            return String(text[start..<stop])
        }
        text.replaceSubrange(start..<stop, with: made)
        try text.write(to: url, atomically: true, encoding: .utf8)
        return made
    }
}
