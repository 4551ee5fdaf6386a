// Finds test data: the project's own selection under `Tests/Vectors`, and the full sets in the
// `shared` folder beside the package. Must stay the only place that names a path outside the package.

package import Foundation

/// Where test vectors and sample data lie.
package enum SharedData {
    /// The root of the package, from this file's own path.
    package static let packageRoot: URL = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The folder `../shared` with the full sets, or nil in a clean clone.
    ///
    /// A second work tree lies deeper than the package itself, so two parents more are tried.
    package static let root: URL? = {
        var folder = packageRoot.deletingLastPathComponent()
        for _ in 0..<3 {
            let candidate = folder.appendingPathComponent("shared")
            if FileManager.default.fileExists(atPath: candidate.appendingPathComponent("vectors").path) {
                return candidate
            }
            folder = folder.deletingLastPathComponent()
        }
        return nil
    }()

    /// Whether the full sets are at hand. Tests that need them are skipped, visibly, without them.
    package static var isAvailable: Bool { root != nil }

    /// The project's own selection for an area, such as `themis`.
    package static func ownVectors(_ area: String) -> URL {
        packageRoot.appendingPathComponent("Tests/Vectors/\(area)")
    }

    /// The full set for an area, or nil in a clean clone.
    package static func fullVectors(_ area: String) -> URL? {
        root?.appendingPathComponent("vectors/\(area)")
    }
}
