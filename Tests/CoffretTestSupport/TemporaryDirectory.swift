// Folders for one test. The one thing to keep true: the folder is gone when the test is.

internal import Foundation

/// A fresh folder that is removed with its content when the last reference goes.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init(_ name: String = "test") throws {
        let url = FileManager.default.temporaryDirectory
            .appendingPathComponent("coffret-\(name)-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        path = url.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of something inside.
    package func file(_ name: String) -> String { path + "/" + name }
}
