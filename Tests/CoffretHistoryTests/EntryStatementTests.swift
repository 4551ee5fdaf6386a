// What entries say of other vaults: sealed for one vault and instance, of one layout, whatever the bytes.

import CoffretBase
import CoffretCrypto
import CoffretStorage
import CoffretTestSupport
import Testing

@testable import CoffretHistory

@Suite("Statements of entries")
struct EntryStatementTests {
    private static func heads(_ generator: SeededGenerator, count: Int) -> [WitnessedHead] {
        let maker = EntryMaker(generator)
        return (0..<count).map { _ in
            WitnessedHead(
                vaultID: EntryMaker.context(generator).vaultID, frontier: maker.name(),
                newest: Dot(.generate(from: generator), maker.number()), newestName: maker.name(),
                memberLink: UInt64(generator.int(in: 0...9_999)))
        }
    }

    @Test("a statement opens in its vault and for its instance, and nowhere else")
    func sealing() {
        forAll(count: 20) { generator in
            let heads = Self.heads(generator, count: generator.int(in: 1...8))
            let key = HeadsKey.generate(from: generator)
            let (vault, instance) = (EntryMaker.context(generator).vaultID, UniqueID.generate(from: generator))
            let sealed = EntryStatement.seal(heads, key: key, vaultID: vault, instance: instance, random: generator)
            try require(sealed.count <= HistoryLimits.statementByteCountMax)
            let opened = EntryStatement.open(sealed, key: key, vaultID: vault, instance: instance)
            try require(opened.map(Set.init) == Set(heads) && opened?.count == heads.count)
            let other = UniqueID.generate(from: generator)
            try require(EntryStatement.open(sealed, key: key, vaultID: vault, instance: other) == nil)
            let elsewhere = EntryMaker.context(generator).vaultID
            try require(EntryStatement.open(sealed, key: key, vaultID: elsewhere, instance: instance) == nil)
        }
    }

    @Test("no bytes crash the reading of statements, and what is read is written the same again: fuzz")
    func hostileBytes() {
        let generator = SeededGenerator(seed: 2)
        fuzz((1...8).map { EntryStatement.encode(Self.heads(generator, count: $0)) }, rounds: 2_000) { bytes in
            guard let heads = EntryStatement.decode(bytes) else { return }
            #expect(EntryStatement.encode(heads) == bytes)
        }
    }
}
