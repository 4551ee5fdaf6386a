// What tests of foreign formats share: a vault, an import of bytes, and the real exports beside the repository.

import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretImportExport

/// An import into a new vault.
struct ForeignTrial {
    let fixture: ImportFixture
    let report: ImportReport
    /// By title; of items with one title the last.
    let items: [String: Item]

    /// Imports what lies at a path.
    init(_ path: String, password: String? = nil, keyFile: String? = nil) throws {
        let fixture = try ImportFixture()
        report = try Self.run(path, fixture, password: password, keyFile: keyFile)
        self.fixture = fixture
        items = Dictionary(try Self.all(fixture).map { ($0.title, $0) }) { $1 }
    }

    /// Imports bytes as a file of a name.
    init(_ bytes: [UInt8], named name: String, password: String? = nil) throws {
        let folder = try TemporaryFolder()
        try self.init(folder.write(Data(bytes), to: name).path, password: password)
    }

    static func all(_ fixture: ImportFixture) throws -> [Item] {
        var items: [Item] = []
        try fixture.vault.present.forEachItem { items.append($0) }
        return items
    }

    @discardableResult
    static func run(
        _ path: String, _ fixture: ImportFixture, password: String? = nil, keyFile: String? = nil
    ) throws -> ImportReport {
        let key = try keyFile.map { [UInt8](try Data(contentsOf: URL(fileURLWithPath: $0))) }
        return try fixture.vault.importFrom(
            openImportSource(atPath: path), keys: keys(password, key), files: fixture.files, random: fixture.random)
    }

    static func keys(_ password: String?, _ keyFile: [UInt8]? = nil) -> SourceKeys {
        SourceKeys(keyFile: keyFile) { _ in
            guard let password else { throw ImportExportError(.passwordNeeded) }
            var bytes = Array(password.utf8)
            return SecretBytes(consuming: &bytes)
        }
    }

    /// The error of an import that must change nothing.
    static func refusal(
        _ path: String, password: String? = nil, keyFile: String? = nil
    ) throws -> ImportExportError.Code? {
        let fixture = try ImportFixture()
        let before = try fixture.commitCount()
        var code: ImportExportError.Code?
        do {
            try run(path, fixture, password: password, keyFile: keyFile)
        } catch let error as ImportExportError {
            code = error.code
        }
        #expect(try fixture.commitCount() == before && all(fixture).isEmpty)
        return code
    }

    static func refusal(_ bytes: [UInt8], named name: String, password: String? = nil) throws
        -> ImportExportError.Code?
    {
        let folder = try TemporaryFolder()
        return try refusal(folder.write(Data(bytes), to: name).path, password: password)
    }

    subscript(title: String) -> Item? { items[title] }

    /// The content of an item's file.
    func content(_ title: String, _ file: String) throws -> [UInt8]? {
        guard let attachment = items[title]?.attachments.first(where: { $0.name == file }) else { return nil }
        return try fixture.content(attachment.encodedReference)
    }
}

extension ImportFixture {
    /// All that two vaults with the same items have alike: the state hash of each item, its kind, times to the second, and files.
    func states() throws -> [String] {
        try ForeignTrial.all(self).map { item in
            let files = try item.attachments.map { file in
                try "\(file.name) \(Hex.encode(BLAKE2b.hash(content(file.encodedReference) ?? [])))"
            }
            let rest =
                "\(item.kind) \(item.created / 1_000) \(item.modified / 1_000) \(item.isTrashed) \(files.sorted())"
            return Hex.encode(itemStateHash(item)) + " \(item.title) \(rest)"
        }.sorted()
    }

    /// Attaches a file to an item.
    func attach(_ bytes: [UInt8], named name: String, to id: EntityID) throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(Data(bytes), to: "content").path
        _ = try vault.attach(to: id, fileAt: path, name: name, fileSystem: PosixFileSystem())
    }

    /// One item of each kind, with every field that the kind has.
    func makeEveryKind() throws {
        for kind in ItemKind.allCases {
            var draft = ItemDraft(
                kind: kind, title: "a \(kind.name)", text: "words", tags: [try TagPath("a/b"), try TagPath("c")])
            draft.fields = kind.standardFields.map { standard in
                let value = standard.key.name == "expiry" ? "05/2031" : "value of \(standard.key.name)"
                return ItemField(key: standard.key, label: standard.label, kind: standard.kind, value: value)
            }
            (draft.created, draft.modified) = (1_700_000_000_000, 1_700_000_001_000)
            _ = try vault.create(draft)
        }
    }
}

extension Item {
    /// The value of the field with a key or a label.
    func value(_ name: String) -> String? {
        fields.first { $0.key.name == name || $0.label == name }?.value
    }

    var tagPaths: [String] { tags.map(\.path) }
}

/// Real exports of other programs, which lie beside the repository and not in it.
enum RealExports {
    static let areThere = SharedData.isAvailable

    static func path(_ name: String) throws -> String {
        try #require(SharedData.root).appendingPathComponent("data/imports/" + name).path
    }

    static func bytes(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: path(name))))
    }
}
