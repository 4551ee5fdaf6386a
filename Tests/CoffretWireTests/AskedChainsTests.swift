// Many chains in one question: whole, in order, bounded.

import CoffretBase
import CoffretWire
import Testing

@Suite("Chains that are asked for together")
struct AskedChainsTests {
    private static func id(_ number: Int) -> [UInt8] {
        [UInt8](repeating: UInt8(number & 255), count: 31) + [UInt8(number >> 8)]
    }

    private func identity(_ number: Int, known: Int = 0) -> AskedChain {
        AskedChain(kind: 2, id: Self.id(number), known: known)
    }

    private func chain(_ number: Int, start: UInt64 = 0, _ links: [[UInt8]]) -> ChainUpdates.Chain {
        ChainUpdates.Chain(kind: 2, chainID: Self.id(number), branches: [], start: start, links: links)
    }

    @Test("three hundred chains are two questions; those of which nothing came have no links")
    func questions() throws {
        var asked = AskedChains((0..<300).map { identity($0) })
        var (given, counts) = ([AskedChain](), [Int]())
        while let request = asked.request {
            counts.append(request.items.count)
            // Every third account has none.
            let chains = request.items.enumerated().filter { $0.offset % 3 != 0 }.map { item in
                ChainUpdates.Chain(kind: 2, chainID: item.element.chainID, branches: [], start: 0, links: [[1]])
            }
            given += try asked.take(ChainUpdates(chains, hasMore: false))
        }
        #expect(counts == [ServerLimits.chainCountMaxPerRequest, 300 - ServerLimits.chainCountMaxPerRequest])
        #expect(given.map(\.id) == (0..<300).map(Self.id))
        #expect(given.filter(\.links.isEmpty).count == 100)
    }

    @Test("an answer that is cut is asked on from there, and the known newest link is asked for again")
    func parts() throws {
        var asked = AskedChains([identity(0, known: 3), identity(1), identity(2)])
        #expect(asked.request?.items.map(\.linkCount) == [2, 0, 0])
        #expect(try asked.take(ChainUpdates([chain(0, start: 2, [[2], [3]])], hasMore: true)).isEmpty)
        #expect(asked.request?.items.map(\.linkCount) == [4, 0, 0])
        #expect(try asked.take(ChainUpdates([chain(1, [[0], [1]])], hasMore: true)).isEmpty)
        #expect(asked.request?.items.map(\.linkCount) == [2, 0], "of the first one nothing came any more")
        let given = try asked.take(ChainUpdates([chain(1, start: 2, [[2]]), chain(2, [[7]])], hasMore: false))
        #expect(given.map(\.links) == [[[2], [3]], [[0], [1], [2]], [[7]]])
        #expect(given.map(\.start) == [2, 0, 0] && asked.request == nil)
    }

    @Test("chains in another order, twice, of nobody, with holes, branches, or without end are no answer")
    func lies() throws {
        let branch = ChainUpdates.Branch(start: 0, links: [[1]])
        let lies: [[ChainUpdates.Chain]] = [
            [chain(1, [[1]]), chain(0, [[1]])], [chain(0, [[1]]), chain(0, [[1]])], [chain(5, [[1]])],
            [chain(0, start: 1, [[1]])], [chain(0, start: .max, [[1]])], [chain(0, [])],
            [ChainUpdates.Chain(kind: 1, chainID: Self.id(0), branches: [], start: 0, links: [[1]])],
            [ChainUpdates.Chain(kind: 2, chainID: Self.id(0), branches: [branch], start: 0, links: [[1]])],
        ]
        for lie in lies {
            var asked = AskedChains([identity(0), identity(1)])
            #expect(throws: AskedChains.Unfitting.self, "\(lie)") {
                try asked.take(ChainUpdates(lie, hasMore: false))
            }
        }
        var asked = AskedChains([identity(0)])
        #expect(throws: AskedChains.Unfitting.self) { try asked.take(ChainUpdates([], hasMore: true)) }
        asked = AskedChains([identity(0)])
        var number: UInt64 = 0
        #expect(throws: AskedChains.Unfitting.self) {
            while true {
                let link = [UInt8](repeating: 0, count: 100_000)
                _ = try asked.take(ChainUpdates([chain(0, start: number, [link])], hasMore: true))
                number += 1
            }
        }
        #expect((1..<100).contains(number), "bounded in bytes")
    }
}
