// Device chains that were read a moment ago, as they were verified. The one thing to keep true: a chain from here is
// used only where its newest link is the stored one, and all of them together take a bounded amount of memory.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretTrust
internal import Synchronization

/// A device chain as it is stored, with the times at which its links came.
struct StoredDeviceChain: Sendable {
    let chain: VerifiedDeviceChain
    let times: [Int64]
    /// What recoveries replaced, each from link 0 on, the oldest first.
    let branches: [VerifiedDeviceChain]

    /// The newest link; those before it are under its hash.
    var newest: [UInt8] { chain.links[chain.links.count - 1].link.encoded }

    /// Announcements count from when they came here, whatever they state.
    func watch(now: Int64) -> ChainWatch {
        var announced: [UInt64: Milliseconds] = [:]
        for announcement in chain.announcements {
            announced[announcement.sequenceNumber] = times[Int(announcement.sequenceNumber)]
        }
        return ChainWatch(confirmedAt: now, announcedAfter: announced)
    }
}

/// The chains that were used last.
final class ChainMemory: Sendable {
    private struct Entry {
        let chain: StoredDeviceChain
        let byteCount: Int
        var usedAt: UInt64
    }

    private struct State {
        var entries: [[UInt8]: Entry] = [:]
        var byteCount = 0
        var time: UInt64 = 0
    }

    private static let byteCountMax = 24 << 20
    /// What a link takes beside its parts.
    private static let linkByteCount = 768

    private let state = Mutex(State())

    /// - Parameter newest: the stored chain's newest link.
    func chain(of account: [UInt8], newest: [UInt8]) -> StoredDeviceChain? {
        let found = state.withLock { state -> StoredDeviceChain? in
            guard let entry = state.entries[account] else { return nil }
            state.time += 1
            state.entries[account]?.usedAt = state.time
            return entry.chain
        }
        return found?.newest == newest ? found : nil
    }

    func keep(_ chain: StoredDeviceChain) {
        let account = chain.chain.accountID.bytes
        let byteCount = (chain.branches + [chain.chain]).lazy.flatMap(\.links).reduce(0) {
            $0 + $1.link.publicPart.count + $1.link.sealedPart.count + Self.linkByteCount
        }
        guard byteCount <= Self.byteCountMax / 4 else { return }
        state.withLock { state in
            state.time += 1
            let before = state.entries.updateValue(
                Entry(chain: chain, byteCount: byteCount, usedAt: state.time), forKey: account)
            state.byteCount += byteCount - (before?.byteCount ?? 0)
            guard state.byteCount > Self.byteCountMax else { return }
            // A quarter at once, so that the walk over all is rare.
            for (account, entry) in state.entries.sorted(by: { $0.value.usedAt < $1.value.usedAt }) {
                guard state.byteCount > Self.byteCountMax / 4 * 3 else { break }
                state.byteCount -= entry.byteCount
                state.entries[account] = nil
            }
        }
    }
}

/// Member chains that were read a moment ago, as they were verified.
final class MemberMemory: Sendable {
    private struct State {
        var chains: [[UInt8]: VerifiedMemberRights] = [:]
        var linkCount = 0
    }

    /// Links of all chains together, each of some hundred bytes.
    private static let linkCountMax = 16_384

    private let state = Mutex(State())

    /// - Parameter newest: the hash of the stored chain's newest link.
    func chain(of vault: [UInt8], newest: Bytes32) -> VerifiedMemberRights? {
        let found = state.withLock { $0.chains[vault] }
        return found?.links.last?.hash == newest ? found : nil
    }

    func keep(_ chain: VerifiedMemberRights) {
        guard chain.count <= Self.linkCountMax / 4 else { return }
        state.withLock { state in
            state.linkCount += chain.count - (state.chains[chain.vaultID.bytes]?.count ?? 0)
            if state.linkCount > Self.linkCountMax {
                // Read again when they are needed.
                state.chains = [:]
                state.linkCount = chain.count
            }
            state.chains[chain.vaultID.bytes] = chain
        }
    }
}
