// Descriptors that a request of the conformance test brings. Invariant: all of them are closed with this object, whoever was
// given copies.

import CoffretBase
import CoffretTerminal
import CoffretTestSupport
import Foundation
import Glibc

/// Descriptors for one request.
final class BroughtDescriptors {
    private(set) var numbers: [Int32] = []
    private let folder: TemporaryDirectory
    private var sinks: [String] = []
    private var targets: [String] = []

    init(_ wanted: [OperationTests.Descriptor]) throws {
        // As the program does: a pipe that nobody reads is an error, and no end.
        _ = signal(SIGPIPE, SIG_IGN)
        folder = try TemporaryDirectory("brought")
        for descriptor in wanted {
            switch descriptor {
            case .content(let text):
                let (reader, writer) = try ChildProcess.makePipe()
                numbers.append(reader)
                try DescriptorIO.write(Array(text.utf8), to: writer)
                close(writer)
            case .file(let text):
                let path = folder.file("file")
                try Data(text.utf8).write(to: URL(fileURLWithPath: path))
                try open(path, O_RDONLY)
            case .sink:
                let path = folder.file("sink \(sinks.count)")
                sinks.append(path)
                try open(path, O_WRONLY | O_CREAT)
            case .directory: try open("/", O_RDONLY | O_DIRECTORY)
            case .broken:
                let (reader, writer) = try ChildProcess.makePipe()
                numbers.append(writer)
                close(reader)
            case .readOnly: try open("/dev/null", O_RDONLY)
            case .notes:
                let path = folder.file("notes")
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
                for (name, text) in [("A", "# A\n\nSee [[B]].\n"), ("B", "# B #from/outside\n")] {
                    try Data(text.utf8).write(to: URL(fileURLWithPath: "\(path)/\(name).md"))
                }
                try open(path, O_RDONLY | O_DIRECTORY)
            case .backups:
                let path = folder.file("backups")
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
                let marker = "Backups of Coffret, see `coffret backup --help`.\n"
                try Data(marker.utf8).write(to: URL(fileURLWithPath: path + "/coffret-backups"))
                try open(path, O_RDONLY | O_DIRECTORY)
            case .target:
                let path = folder.file("target \(targets.count)")
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
                targets.append(path)
                try open(path, O_RDONLY | O_DIRECTORY)
            }
        }
    }

    deinit { for number in numbers { close(number) } }

    private func open(_ path: String, _ flags: Int32) throws {
        let descriptor = try OwnedDescriptor.open(path, flags)
        numbers.append(try descriptor.duplicate())
    }

    /// Copies, for a desk in this process, which closes them.
    func take() -> [Int32] { numbers.map { dup($0) } }

    /// What was written.
    func text() throws -> String {
        let files = try sinks.map { String(decoding: try Data(contentsOf: URL(fileURLWithPath: $0)), as: UTF8.self) }
        let names = targets.flatMap { FileManager.default.subpaths(atPath: $0)?.sorted() ?? [] }
        // Backups and their volumes have names of their moment, or random ones.
        return (files + names).map { " wrote " + $0.replacing(/(backups|volumes)\/[0-9a-zTZ-]+/, with: "NAME") }
            .joined()
    }
}
