// Every format through one harness of harm: cut, altered, nested, endless, and packed with paths and links that climb. Invariant: a
// harmed export is refused by a named error, or comes in as a whole; refused, it leaves the vault with the same state hash (R41).

import CoffretBase
import CoffretCore
import CoffretLogs
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("Hostile exports of every program")
struct HostileImportsTests {
    static let samples = ImportedSample.all

    /// Files whose content is one structure, so that a piece of it is none.
    private static func isStructured(_ text: String) -> Bool { ["{", "[", "<?xml"].contains { text.hasPrefix($0) } }

    /// Imports what lies at a path into a vault with one note.
    ///
    /// - Returns: the refusal; nil if it came in.
    private func refusal(_ path: String) throws -> ImportExportError.Code? {
        let fixture = try ImportFixture()
        _ = try fixture.vault.create(ItemDraft(text: "# Before"))
        let (hash, count) = (try fixture.vault.present.snapshot.stateHash(), try fixture.commitCount())
        let keys = ForeignTrial.keys("words")
        keys.decryptOpenPGP = { $0 }
        do {
            _ = try fixture.vault.importFrom(
                openImportSource(atPath: path), keys: keys, files: fixture.files, random: fixture.random)
            #expect(try ForeignTrial.all(fixture).contains { $0.title == "Before" })
            return nil
        } catch let error as ImportExportError {
            #expect(try fixture.commitCount() == count && fixture.vault.present.snapshot.stateHash() == hash, "\(path)")
            #expect(error.code != .vaultFailed, "\(path): \(error)")
            return error.code
        }
    }

    /// The refusal of a sample, one file of which is another.
    private func refusal(_ sample: ImportedSample, _ changed: String, _ content: [UInt8]) throws
        -> ImportExportError.Code?
    {
        let folder = try TemporaryFolder()
        let isFile = sample.files[sample.place] != nil
        for (path, text) in sample.files {
            let bytes = path == changed ? content : Array(text.utf8)
            try folder.write(Data(bytes), to: isFile ? path : "\(sample.place)/\(path)")
        }
        return try refusal(folder.path + "/" + sample.place)
    }

    @Test("a file that is cut short", arguments: 0..<samples.count)
    func cut(_ index: Int) throws {
        let sample = Self.samples[index]
        for (path, text) in sample.files.sorted(by: { $0.key < $1.key }) {
            let bytes = Array(text.utf8)
            for count in Set([bytes.count / 4, bytes.count / 2, bytes.count - 2]) where count > 1 {
                let code = try refusal(sample, path, Array(bytes[..<count]))
                // What is cut before the signs of its format may be of another one, or no one's.
                let isRead = path != "export.attributes"
                #expect(
                    !Self.isStructured(text) || !isRead || code != nil, "\(sample.format): \(path) of \(count) bytes")
            }
        }
    }

    @Test("a file with flipped bits", arguments: 0..<samples.count)
    func flipped(_ index: Int) throws {
        let sample = Self.samples[index]
        let random = SeededGenerator.fromEnvironment()
        let paths = sample.files.keys.sorted()
        for _ in 0..<8 {
            let path = paths[Int(random.next() % UInt64(paths.count))]
            var bytes = Array((sample.files[path] ?? "").utf8)
            guard !bytes.isEmpty else { continue }
            bytes[Int(random.next() % UInt64(bytes.count))] ^= UInt8(1 << (random.next() % 8))
            _ = try refusal(sample, path, bytes)
        }
    }

    @Test("structures within structures, without end", arguments: 0..<samples.count)
    func deep(_ index: Int) throws {
        let sample = Self.samples[index]
        let depth = 5_000
        for (path, text) in sample.files {
            let array = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            let elements = String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
            let harmed =
                text.hasPrefix("<?xml")
                ? text.replacing("</note></en-export>", with: elements + "</note></en-export>")
                    .replacing("</Root>", with: elements + "</Root>")
                : text.replacing("\"odd\":\"odd value\"", with: "\"odd\":\(array)")
                    .replacing("<body>", with: "<body>" + String(repeating: "<div>", count: depth))
            guard harmed != text else { continue }
            #expect(try refusal(sample, path, Array(harmed.utf8)) == .formatInvalid, "\(sample.format): \(path)")
        }
    }

    @Test(
        "XML that declares entities",
        arguments: samples.indices.filter { samples[$0].files.values.contains { $0.hasPrefix("<?xml") } })
    func entities(_ index: Int) throws {
        let sample = Self.samples[index]
        let (path, text) = try #require(sample.files.first)
        let prolog = try #require(text.firstRange(of: "?>")).upperBound
        for declaration in ["SYSTEM \"file:///etc/hostname\"", "\"aaaaaaaaaa\""] {
            var harmed = text
            harmed.insert(
                contentsOf: "<!DOCTYPE x [<!ENTITY a \(declaration)><!ENTITY b \"&a;&a;&a;&a;\">]>", at: prolog)
            let used = harmed.replacing("odd value", with: "&b;")
            #expect(try refusal(sample, path, Array(used.utf8)) == .formatInvalid, "\(sample.format)")
        }
    }

    @Test(
        "a value of 17 MiB on one line",
        arguments: ["bitwarden", "keepass-xml", "pass"])
    func long(_ format: String) throws {
        let sample = try #require(Self.samples.first { $0.format == format })
        let (path, text) = try #require(sample.files.first { $0.value.contains("words") })
        let harmed = text.replacing("words", with: String(repeating: "x", count: 17 << 20))
        let code = try refusal(sample, path, Array(harmed.utf8))
        #expect(
            [.noteTooLarge, .lineTooLong, .fileTooLarge, .formatInvalid].contains(code),
            "\(format): \(String(describing: code))")
    }

    @Test("a line of 1 GiB", arguments: samples.indices.filter { samples[$0].files[samples[$0].place] != nil })
    func endless(_ index: Int) throws {
        let sample = Self.samples[index]
        let folder = try TemporaryFolder()
        let path = try folder.write(sample.files[sample.place] ?? "", to: sample.place).path
        // Zeros that take no place on the disk.
        try FileHandle(forWritingTo: URL(fileURLWithPath: path)).truncate(atOffset: 1 << 30)
        let code = try refusal(path)
        #expect(
            [.fileTooLarge, .noteTooLarge, .lineTooLong, .formatInvalid].contains(code),
            "\(sample.format): \(String(describing: code))")
    }

    @Test("archives with paths that climb, links, one path twice, and bombs", arguments: 0..<samples.count)
    func archives(_ index: Int) throws {
        let sample = Self.samples[index]
        let folder = try TemporaryFolder()
        for (path, text) in sample.files { try folder.write(text, to: "in/\(path)") }
        // Bear's backups are known by the ending of their name.
        let ending = sample.place.hasSuffix(".bear2bk") ? "bear2bk" : "zip"
        try folder.python(
            """
            import os, stat, warnings, zipfile
            warnings.simplefilter('ignore')
            def pack(name, add):
                with zipfile.ZipFile(name + '.\(ending)', 'w', zipfile.ZIP_DEFLATED) as z:
                    for base, _, files in os.walk('in'):
                        for file in files:
                            z.write(os.path.join(base, file), os.path.relpath(os.path.join(base, file), 'in'))
                    add(z)
            link = zipfile.ZipInfo('link')
            link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
            first = sorted(os.path.relpath(os.path.join(b, f), 'in') for b, _, fs in os.walk('in') for f in fs)[0]
            pack('plain', lambda z: None)
            pack('climbing', lambda z: z.writestr('../../evil.md', 'x'))
            pack('absolute', lambda z: z.writestr('/etc/evil.md', 'x'))
            pack('twice', lambda z: z.writestr(first, 'other'))
            pack('bomb', lambda z: z.writestr('bomb.bin', bytes(64 << 20)))
            pack('link', lambda z: z.writestr(link, '/etc/passwd'))
            """)
        func code(_ name: String) throws -> ImportExportError.Code? {
            try refusal("\(folder.path)/\(name).\(ending)")
        }
        #expect(try code("plain") == nil, "\(sample.format)")
        #expect(try code("climbing") == .pathUnsafe && code("absolute") == .pathUnsafe, "\(sample.format)")
        #expect(try code("twice") == .pathRepeated && code("bomb") == .ratioTooHigh, "\(sample.format)")
        let linked = try Self.report("\(folder.path)/link.\(ending)")
        #expect(linked.dropped == 1 && linked.imported > 0, "\(sample.format)")
    }

    /// The report of an import of a sample, whose password store stands in clear.
    private static func report(_ path: String) throws -> ImportReport {
        let fixture = try ImportFixture()
        let keys = ForeignTrial.keys("words")
        keys.decryptOpenPGP = { $0 }
        return try fixture.vault.importFrom(
            openImportSource(atPath: path), keys: keys, files: fixture.files, random: fixture.random)
    }
}
