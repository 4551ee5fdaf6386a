// Folders and archives for the tests. Hostile archives are made by Python, whose modules write what
// well-behaved tools refuse to.

import CoffretTestSupport
import Foundation
import Testing

/// A temporary folder that is removed with the object.
final class TemporaryFolder {
    let url: URL

    init() throws {
        url = FileManager.default.temporaryDirectory.appendingPathComponent("coffret-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    var path: String { url.path }

    /// Writes a file, making its folders.
    @discardableResult
    func write(_ text: String, to name: String) throws -> URL {
        try write(Data(text.utf8), to: name)
    }

    @discardableResult
    func write(_ data: Data, to name: String) throws -> URL {
        let file = url.appendingPathComponent(name)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try data.write(to: file)
        return file
    }

    /// Runs Python in this folder.
    func python(_ script: String) throws {
        let result = try ProcessRunner.run("/usr/bin/env", ["python3", "-c", script], directory: url.path)
        #expect(result.exitCode == 0, "python failed: \(result.errorText)")
    }

    /// Every regular file below, by its relative path.
    func files(below folder: String = "") throws -> [String: Data] {
        try contents(of: folder.isEmpty ? url : url.appendingPathComponent(folder))
    }
}

/// Every regular file below a folder, by its relative path.
func contents(of folder: URL) throws -> [String: Data] {
    var result: [String: Data] = [:]
    let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
    for name in names {
        let file = folder.appendingPathComponent(name)
        var isFolder: ObjCBool = false
        guard unsafe FileManager.default.fileExists(atPath: file.path, isDirectory: &isFolder), !isFolder.boolValue
        else { continue }
        result[name] = try Data(contentsOf: file)
    }
    return result
}
