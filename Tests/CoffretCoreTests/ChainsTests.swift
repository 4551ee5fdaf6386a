// The chains beside a vault: what links said is not forgotten with the file that keeps them.

import CoffretBase
import CoffretKeys
import CoffretLogs
import CoffretStorage
import CoffretTestSupport
import Foundation
import Testing

@testable import CoffretCore

@Suite("Chains beside a vault")
struct ChainsTests {
    let fixture: StoreFixture
    private let store: Store
    private let record: VaultRecord
    private var path: String { PathText.join(store.layout.vaultPath(record.vaultID), ChainsFile.name) }

    init() throws {
        fixture = try StoreFixture()
        store = try fixture.create()
        record = try #require(try store.vaults.first)
    }

    /// Two entries, the older of which is dropped below a link of the vault.
    private func drop() throws -> (id: EntityID, before: Data) {
        let vault = try store.openVault(isWritable: true)
        defer { vault.close() }
        let id = try vault.create(ItemDraft(text: "first"))
        let before = try Data(contentsOf: URL(fileURLWithPath: path))
        fixture.clock.advance(by: 1_000)
        try vault.update(id) { $0.text = "second" }
        fixture.clock.advance(by: 1_000)
        #expect(try vault.compact(dropHistoryOlderThan: fixture.clock.now).link != nil)
        return (id, before)
    }

    @Test("an older file of chains, put back, or none keeps everybody out until it is there again")
    func olderChains() throws {
        let (id, before) = try drop()
        let newest = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(newest != before)
        let whole = try store.followedChains(of: record.vaultID)
        var damaged = newest
        damaged[damaged.count / 2] ^= 1
        for content in [before, damaged, nil] {
            try FileManager.default.removeItem(atPath: path)
            try content?.write(to: URL(fileURLWithPath: path))
            let other = try fixture.open()
            for isWritable in [true, false] {
                #expect(throws: CoreError(.vaultChainsBehind, at: record.name)) {
                    try other.openVault(isWritable: isWritable)
                }
            }
            // A sync opens it, and what was stored stays as it was.
            let repaired = try other.openVault(isWritable: true, admitsOlderChains: true)
            _ = try repaired.presentMark()
            #expect(try !repaired.repository.checkpoint())
            try other.keep(whole)
            try repaired.repository.follow(whole.vaultChains)
            #expect(try repaired.item(id).text == "second")
            repaired.close()
            try newest.write(to: URL(fileURLWithPath: path))
        }
        let writer = try fixture.open().openVault(isWritable: true)
        defer { writer.close() }
        #expect(try writer.update(id) { $0.text = "third" })
    }

    @Test("a vault without links of its own needs no file of chains")
    func founding() throws {
        let vault = try store.openVault(isWritable: true)
        let id = try vault.create(ItemDraft(text: "first"))
        vault.close()
        try FileManager.default.removeItem(atPath: path)
        let writer = try fixture.open().openVault(isWritable: true)
        defer { writer.close() }
        #expect(try writer.update(id) { $0.text = "second" })
        #expect(try writer.check().isClean)
    }
}
