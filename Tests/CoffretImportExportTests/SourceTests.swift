// Folders, files and archives as sources, friendly and hostile (R41).

import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

@Suite("Import sources")
struct SourceTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func open(_ name: String, _ change: (inout ImportLimits) -> Void = { _ in }) throws -> any ImportSource {
        var limits = ImportLimits()
        change(&limits)
        return try openImportSource(atPath: folder.url.appendingPathComponent(name).path, limits: limits)
    }

    private func readAll(_ source: any ImportSource) throws -> [String: String] {
        var result: [String: String] = [:]
        try source.visit({ _ in true }) { (index, reader) throws(ImportExportError) in
            let bytes = try reader.readAll(byteCountMax: 1 << 26)
            result[source.listing.entries[index].path.printable] = String(decoding: bytes, as: UTF8.self)
        }
        return result
    }

    private func code(_ body: () throws -> Void) -> ImportExportError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? ImportExportError)?.code
        }
    }

    @Test("a folder is listed in order, hidden entries, links and devices left out and counted")
    func folderListing() throws {
        try folder.write("b", to: "f/b.md")
        try folder.write("aa", to: "f/a/x.md")
        try folder.write("secret", to: "f/.git/config")
        try folder.write("secret", to: "f/a/.DS_Store")
        try folder.write("secret", to: "f/a/._x.md")
        try folder.write("dot", to: "f/a/..md")
        try folder.write("outside", to: "outside.md")
        try FileManager.default.createSymbolicLink(
            atPath: folder.path + "/f/link.md", withDestinationPath: folder.path + "/outside.md")
        try FileManager.default.createSymbolicLink(atPath: folder.path + "/f/loop", withDestinationPath: "..")
        try folder.python("import os; os.mkfifo('f/pipe.md')")
        let source = try open("f")
        #expect(source.name == "f")
        #expect(source.listing.entries.map(\.path.printable) == ["a/..md", "a/x.md", "b.md"])
        #expect(source.listing.totalByteCount == 6)
        #expect(source.listing.skippedCounts == [.hidden: 3, .symbolicLink: 2, .specialFile: 1])
        #expect(try readAll(source) == ["a/..md": "dot", "a/x.md": "aa", "b.md": "b"])
        #expect(try source.prefix(ofEntry: 1, byteCount: 1) == [0x61])
    }

    @Test("a file swapped for a link after the listing is refused")
    func swappedFile() throws {
        try folder.write("b", to: "f/b.md")
        let source = try open("f")
        try FileManager.default.removeItem(atPath: folder.path + "/f/b.md")
        try FileManager.default.createSymbolicLink(atPath: folder.path + "/f/b.md", withDestinationPath: "/etc/passwd")
        #expect(code { _ = try readAll(source) } == .sourceUnreadable)
    }

    @Test("missing files, pipes and files that grow are named errors")
    func unreadableSources() throws {
        #expect(code { _ = try open("none") } == .sourceMissing)
        try folder.python("import os; os.mkfifo('pipe')")
        #expect(code { _ = try open("pipe") } == .sourceUnreadable)
        try folder.write("12345678", to: "one.md")
        let source = try open("one.md")
        #expect(
            code {
                try source.visit({ _ in true }) { (_, reader) throws(ImportExportError) in
                    _ = try reader.readAll(byteCountMax: 7)
                }
            } == .fileTooLarge)
    }

    @Test("each limit holds at its value and refuses one past it (R41)")
    func limits() throws {
        for index in 0..<5 { try folder.write("12345", to: "f/\(index).md") }
        try folder.write("x", to: "deep/1/2/3/x.md")
        #expect(code { _ = try open("f") { $0.entryCountMax = 5 } } == nil)
        #expect(code { _ = try open("f") { $0.entryCountMax = 4 } } == .tooManyEntries)
        #expect(code { _ = try open("f") { $0.totalByteCountMax = 25 } } == nil)
        #expect(code { _ = try open("f") { $0.totalByteCountMax = 24 } } == .totalTooLarge)
        #expect(code { _ = try open("f") { $0.fileByteCountMax = 5 } } == nil)
        #expect(code { _ = try open("f") { $0.fileByteCountMax = 4 } } == .fileTooLarge)
        #expect(code { _ = try open("deep") { $0.pathDepthMax = 3 } } == nil)
        #expect(code { _ = try open("deep") { $0.pathDepthMax = 2 } } == .pathTooLong)
        #expect(code { _ = try open("deep") { $0.pathByteCountMax = 10 } } == nil)
        #expect(code { _ = try open("deep") { $0.pathByteCountMax = 9 } } == .pathTooLong)
    }

    @Test(
        "an archive reads like its folder, whatever packs it",
        arguments: ["w:", "w:gz", "w:xz", "w:bz2", "zip"])
    func archives(_ mode: String) throws {
        try folder.write("one", to: "f/b.md")
        try folder.write("zwei ü", to: "f/ä/ü.md")
        try folder.write("hidden", to: "f/.obsidian/app.json")
        try folder.python(
            """
            import tarfile, zipfile, os
            if '\(mode)' == 'zip':
                z = zipfile.ZipFile('a.bin', 'w', zipfile.ZIP_DEFLATED)
                for d, _, fs in os.walk('f'):
                    for f in fs: z.write(os.path.join(d, f))
                z.close()
            else:
                t = tarfile.open('a.bin', '\(mode)'); t.add('f'); t.close()
            """)
        let source = try open("a.bin")
        #expect(source.name == "f")
        #expect(
            source.listing.entries
                == (try open("f")).listing.entries.map { entry in
                    SourceEntry(
                        path: entry.path, byteCount: entry.byteCount,
                        modifiedMilliseconds: source.listing.entries.first { $0.path == entry.path }?
                            .modifiedMilliseconds)
                })
        #expect(source.listing.skippedCounts == [.hidden: 1])
        #expect(try readAll(source) == ["b.md": "one", "ä/ü.md": "zwei ü"])
    }

    @Test(
        "paths that would leave the target are refused (R41)",
        arguments: ["../x.md", "/etc/x.md", "a/../../x.md", "a/..", "..", "", "/"])
    func unsafePaths(_ path: String) throws {
        for (mode, script) in [
            (
                "tar",
                "t = tarfile.open('t', 'w'); i = tarfile.TarInfo('ok'); t.addfile(i); i = tarfile.TarInfo(p); t.addfile(i)"
            ),
            ("zip", "z = zipfile.ZipFile('z', 'w'); z.writestr('ok', b''); z.writestr(p or '/', b'x')"),
        ] {
            try folder.python("import tarfile, zipfile; p = '\(path)'; \(script)\n")
            let opened = code { _ = try open(mode == "tar" ? "t" : "z") }
            // A zip entry whose name ends in a slash is a folder, and tar drops a trailing slash.
            #expect(opened == .pathUnsafe, "\(mode) \(path)")
        }
    }

    @Test("links and devices in archives are skipped and reported, repeated names refused (R41)")
    func linksInArchives() throws {
        try folder.python(
            """
            import tarfile, io
            t = tarfile.open('t', 'w')
            def add(name, kind, link=''):
                i = tarfile.TarInfo(name); i.type = kind; i.linkname = link; t.addfile(i)
            i = tarfile.TarInfo('f/a.md'); i.size = 1; t.addfile(i, io.BytesIO(b'x'))
            add('f/s.md', tarfile.SYMTYPE, '/etc/passwd')
            add('f/h.md', tarfile.LNKTYPE, 'f/a.md')
            add('f/c', tarfile.CHRTYPE); add('f/p', tarfile.FIFOTYPE)
            t.close()
            t = tarfile.open('twice', 'w')
            for name in ['a.md', './a.md']:
                t.addfile(tarfile.TarInfo(name))
            t.close()
            """)
        let source = try open("t")
        #expect(source.listing.skippedCounts == [.symbolicLink: 1, .hardLink: 1, .specialFile: 2])
        #expect(source.listing.skippedSamples.count == 4)
        #expect(try readAll(source) == ["a.md": "x"])
        #expect(code { _ = try open("twice") } == .pathRepeated)
    }

    @Test("bombs are refused before they are unpacked (R41)")
    func bombs() throws {
        try folder.python(
            """
            import tarfile, io, zipfile, gzip, struct
            class Zeros(io.RawIOBase):
                def readable(self): return True
                def readinto(self, b): b[:] = bytes(len(b)); return len(b)
            t = tarfile.open('bomb.tgz', 'w:gz', compresslevel=1)
            i = tarfile.TarInfo('a.md'); i.size = 200 << 20; t.addfile(i, io.BufferedReader(Zeros())); t.close()
            z = zipfile.ZipFile('bomb.zip', 'w', zipfile.ZIP_DEFLATED)
            z.writestr('a.bin', bytes(80 << 20)); z.close()
            # A zip that states a small size in both headers and unpacks to a large one.
            b = bytearray(open('bomb.zip', 'rb').read())
            size = struct.pack('<I', 80 << 20)
            b = b.replace(size, struct.pack('<I', 10))
            open('liar.zip', 'wb').write(b)
            """)
        #expect(code { _ = try open("bomb.tgz") } == .ratioTooHigh)
        #expect(code { _ = try open("bomb.zip") } == .ratioTooHigh)
        let liar = code {
            let source = try open("liar.zip")
            try source.visit({ _ in true }) { (_, reader) throws(ImportExportError) in
                try reader.forEachPiece(byteCountMax: 1 << 40) { _ in }
            }
        }
        #expect(liar == .ratioTooHigh || liar == .archiveDamaged)
    }

    @Test("archives that are cut, flipped or encrypted are named errors")
    func damagedArchives() throws {
        try folder.python(
            """
            import tarfile, io, random
            r = random.Random(1)
            t = tarfile.open('t.tgz', 'w:gz'); i = tarfile.TarInfo('a.md'); i.size = 100000
            t.addfile(i, io.BytesIO(r.randbytes(100000))); t.close()
            b = open('t.tgz', 'rb').read()
            open('cut.tgz', 'wb').write(b[:len(b) // 2])
            t = tarfile.open('t.txz', 'w:xz'); t.addfile(i, io.BytesIO(r.randbytes(100000))); t.close()
            f = bytearray(open('t.txz', 'rb').read()); f[len(f) // 2] ^= 0x55; open('flipped.txz', 'wb').write(f)
            open('noise.gz', 'wb').write(b'\\x1f\\x8b' + r.randbytes(500))
            import zipfile
            z = zipfile.ZipFile('e.zip', 'w'); z.writestr('a.md', b'x'); z.close()
            f = bytearray(open('e.zip', 'rb').read())
            f[6] |= 1; c = f.find(b'PK\\x01\\x02'); f[c + 8] |= 1
            open('e.zip', 'wb').write(f)
            """)
        func readWhole(_ name: String) throws {
            let source = try open(name)
            try source.visit({ _ in true }) { (_, reader) throws(ImportExportError) in
                try reader.forEachPiece(byteCountMax: 1 << 30) { _ in }
            }
        }
        #expect(code { try readWhole("cut.tgz") } == .archiveDamaged)
        #expect(code { try readWhole("flipped.txz") } == .archiveDamaged)
        #expect(code { try readWhole("noise.gz") } == .archiveDamaged)
        #expect(code { try readWhole("e.zip") } == .archiveEncrypted)
    }

    @Test("names that are not UTF-8 keep their bytes and are shown escaped")
    func foreignNames() throws {
        try folder.python("import os; os.mkdir('f'); open(b'f/\\xff\\n.md', 'w').write('x')")
        let source = try open("f")
        #expect(source.listing.entries.map(\.path.bytes) == [[0xFF, 0x0A] + Array(".md".utf8)])
        #expect(source.listing.entries.first?.path.printable == "\u{FFFD}\\u{a}.md")
        #expect(try readAll(source).values.first == "x")
    }

    @Test("the shipped corpora list as their README says", .enabled(if: SharedData.isAvailable))
    func corpora() throws {
        let data = try #require(SharedData.root).appendingPathComponent("data/notes")
        let tldr = try openImportSource(atPath: data.appendingPathComponent("tldr-pages-en.tar.gz").path)
        #expect(tldr.name == "tldr-pages-en")
        #expect(tldr.listing.entries.filter { $0.path.bytes.starts(with: "pages/".utf8) }.count == 7_425)
        let book = try openImportSource(atPath: data.appendingPathComponent("rust-book.tar.gz").path)
        #expect(book.listing.entries.filter { $0.path.fileExtension == "md" }.count == 112)
    }
}
