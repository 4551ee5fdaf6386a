// An owner whose program lies: in this process, with the keys of a real store and the real server's chains. The one thing to
// keep true: all it makes is signed and sealed as the real program does it, and only what is said is false.

import CoffretAccount
import CoffretApp
import CoffretBase
import CoffretCore
import CoffretCrypto
import CoffretHistory
import CoffretKeys
import CoffretLogs
import CoffretSharing
import CoffretStorage
import CoffretSync
import CoffretTestSupport
import CoffretTrust
import CoffretWire
import Foundation
import Testing

/// Writes letters and history objects of one vault with contents of a test's choice.
final class LawlessOwner {
    private let store: Store
    private let account: Account
    private let vaultID: VaultID
    private let chains: FollowedChains
    private let random = SystemRandomSource()
    private let clock = SystemWallClock()

    /// - Parameter runner: an owner's store, which nobody else uses meanwhile.
    init(_ runner: CoffretRunner, vault: String) throws {
        let environment = StoreEnvironment(
            stateDirectory: runner.folder.file("home/.local/state/coffret"), fileSystem: PosixFileSystem(),
            random: random, clock: clock)
        var typed = Array(CoffretRunner.passphrase.utf8)
        store = try Store.open(
            at: runner.storePath, with: .passphrase(Passphrase(typed: &typed)), environment: environment)
        vaultID = try #require(store.vaults.first { $0.name == vault }).vaultID
        account = try Account(store, random: random, clock: clock)
        let account = account
        let transport = HTTPZoneTransport(
            client: account.connection.client, zone: vaultID.bytes, device: try store.keyring.deviceID().bytes,
            fields: { account.connection.fields }, renew: { false })
        var follower = MemberFollower(vaultID: vaultID)
        follower.begin()
        while let request = follower.request {
            guard case .chains(let updates) = try transport.send(.chains(request), page: { _ in }) else { break }
            try follower.take(updates, now: clock.now)
        }
        _ = try follower.finish(keys: NoKeys())
        chains = follower.chains
    }

    deinit { account.connection.logOut() }

    var epoch: UInt32 { chains.rights?.rights.epoch ?? 0 }

    /// A letter about the newest epoch. Without other contents it is true.
    func letter(to id: String, vaultKey: VaultKey? = nil, splitKey: SplitKey? = nil) throws -> String {
        let recipient = try #require(ChainID(Hex.decode(id)))
        let person = try #require(chains.accounts[recipient])
        let identity = try #require(try account.identities(of: [person])[recipient])
        let newest = try #require(chains.rights?.links.last)
        let trueKey = try #require(try store.keyring.vaultKey(of: vaultID, epoch: epoch))
        let content = VaultKeyContent(
            vaultKey: vaultKey ?? trueKey, splitKey: try splitKey ?? store.keyring.splitKey(of: vaultID))
        let sender = LetterSender(
            accountID: try store.keyring.accountID(), deviceID: try store.keyring.deviceID(),
            head: StatedLink(try store.keyring.deviceChain().head), signingKey: try store.keyring.letterSigner())
        let letter = try LetterSealing.seal(
            .vaultKey(content), scope: vaultID.bytes,
            subject: .key(epoch: epoch, memberHead: StatedLink(number: UInt64(newest.number), hash: newest.hash)),
            from: sender, to: LetterRecipient(identity.receivingKeys(for: person.devices), now: clock.now),
            random: random)
        return Hex.encode(letter.encoded)
    }

    /// A history object under the newest key, with wrong keys for all older epochs.
    func wrongHistory() throws -> String {
        let key = try #require(try store.keyring.vaultKey(of: vaultID, epoch: epoch))
        let wrong = Dictionary(
            uniqueKeysWithValues: (1..<epoch).map { ($0, VaultKey.generate(from: random)) })
        return Hex.encode(EpochHistory.seal(wrong, in: vaultID, epoch: epoch, key: key, random: random))
    }

    private struct NoKeys: MemberKeys {
        func vaultKey(ofEpoch _: UInt32) -> VaultKey? { nil }
    }
}
