// The verified chains of each vault, beside it. Invariant: they are on the disk before a repository follows them, so that
// what it took is here again when it is opened; and they are never behind the keyring.

internal import CoffretBase
package import CoffretCrypto
internal import CoffretHistory
internal import CoffretKeys
package import CoffretLogs
internal import CoffretStorage
internal import CoffretTrust

/// The file `chains` in the directory of a vault: ENV(chains key, "heads/record", vault id ‖ 03, chains). Spec:
/// Spec/keys.md section 4.
struct ChainsFile {
    static let name = "chains"
    private static let byteCountMax = 64 << 20
    private static let kind: UInt8 = 3

    let path: String
    let key: HeadsKey
    let fileSystem: any FileSystem
    let random: any RandomSource

    private func associatedData(_ vault: VaultID) -> [UInt8] { vault.bytes + [Self.kind] }

    /// Nil for a file that is missing.
    var sealed: [UInt8]? { try? fileSystem.readFile(path, byteCountMax: Self.byteCountMax) }

    /// Nil for a file that is damaged or of another store.
    func open(_ sealed: [UInt8], _ vault: VaultID) -> FollowedChains? {
        guard
            let content = unsafe try? Envelope.open(
                sealed, key: key, context: .headRecord, associatedData: associatedData(vault),
                { content in unsafe [UInt8](content) }),
            let chains = FollowedChains(decoding: content), chains.vaultID == vault
        else { return nil }
        return chains
    }

    func write(_ chains: FollowedChains) throws(FileSystemError) {
        let sealed = Envelope.seal(
            chains.encoded, key: key, context: .headRecord, associatedData: associatedData(chains.vaultID),
            random: random)
        try fileSystem.replaceFile(path, with: sealed)
    }
}

/// The chains that were read last. Opening a vault reads them several times, and each time all rules run over all links: while the file
/// and the keyring are the same, so are the chains.
struct ReadChains {
    let sealed: [UInt8]
    /// As the file has them.
    let kept: FollowedChains
    /// With what this keyring knows, and verified.
    var followed: (generation: UInt64, chains: FollowedChains)?
}

/// The keys of a vault that the keyring has, to open sealed parts of links.
struct KeyringMemberKeys: MemberKeys {
    let keyring: UnlockedKeyring
    let vault: VaultID

    func vaultKey(ofEpoch epoch: UInt32) -> VaultKey? { try? keyring.vaultKey(of: vault, epoch: epoch) }
}

extension Store {
    private func chainsFile(_ vault: VaultID) throws -> ChainsFile {
        ChainsFile(
            path: PathText.join(layout.vaultPath(vault), ChainsFile.name),
            key: try inKeys(keyring.chainsKey(of: vault)),
            fileSystem: fileSystem, random: environment.random)
    }

    /// What the file beside a vault has; nil if it is missing, damaged or of another store.
    private func keptChains(of vault: VaultID) throws -> FollowedChains? {
        let file = try chainsFile(vault)
        guard let sealed = file.sealed else { return nil }
        if let last = readChains, last.kept.vaultID == vault, last.sealed == sealed { return last.kept }
        guard let chains = file.open(sealed, vault) else { return nil }
        readChains = ReadChains(sealed: sealed, kept: chains)
        return chains
    }

    /// The chains of a vault as this device has verified them; of the own account at least what the keyring has.
    package func followedChains(of vault: VaultID) throws -> FollowedChains {
        let kept = try keptChains(of: vault)
        // What is known of the own account and the vault's keys changes with the keyring alone.
        let generation = keyring.generation
        if kept != nil, let known = readChains?.followed, known.generation == generation { return known.chains }
        let chains = try followed(kept, of: vault)
        if kept != nil { readChains?.followed = (generation, chains) }
        return chains
    }

    private func followed(_ kept: FollowedChains?, of vault: VaultID) throws -> FollowedChains {
        let own = try ownAccount()
        var chains = kept ?? FollowedChains(vaultID: vault, own: own)
        if let known = chains.accounts[own.chain.accountID] {
            chains.set(Self.newer(known, own))
        } else {
            chains.set(own)
        }
        try addFormerAccounts(to: &chains)
        do throws(FollowFailure) {
            if chains.links.isEmpty {
                let founding = try? keyring.vault(vault).memberChain.links
                try chains.take(links: (founding ?? []).map(\.link), from: 0)
            }
            try chains.finish(keys: KeyringMemberKeys(keyring: keyring, vault: vault))
        } catch {
            throw CoreError(.keys, at: "chains", cause: error.cause)
        }
        return chains
    }

    /// The accounts as the file beside a vault has them, whatever the keyring has taken since; nil: there is none.
    func keptAccounts(of vault: VaultID) -> [ChainID: AccountDevices]? { (try? keptChains(of: vault))??.devices }

    /// Keeps chains, durably.
    package func keep(_ chains: FollowedChains) throws {
        let file = try chainsFile(chains.vaultID)
        try inFiles(file.write(chains))
    }

    /// The own account's chain and what recoveries replaced of it, by the keyring.
    private func ownAccount() throws -> FollowedAccount {
        if let known = knownAccount, known.generation == keyring.generation { return known.account }
        let account = try inKeys {
            let chain = try keyring.deviceChain()
            let replaced = try keyring.formerChains().filter { $0.accountID == chain.accountID }
            let watch = try keyring.server()?.watch ?? ChainWatch(confirmedAt: environment.clock.now)
            return FollowedAccount(chain, replaced: replaced, watch: watch)
        }
        knownAccount = (keyring.generation, account)
        return account
    }

    /// Accounts of before, whose devices founded vaults of this store.
    private func addFormerAccounts(to chains: inout FollowedChains) throws {
        let former = try inKeys(keyring.formerChains())
        let own = try inKeys(keyring.accountID())
        for chain in former where chain.accountID != own && chains.accounts[chain.accountID] == nil {
            chains.set(
                FollowedAccount(chain, replaced: [], watch: ChainWatch(confirmedAt: environment.clock.now)))
        }
    }

    /// The one of two that goes on from the other: a server may have told more than the keyring has taken.
    private static func newer(_ known: FollowedAccount, _ own: FollowedAccount) -> FollowedAccount {
        if known.knows(own.chain.head.linkHash) { return known }
        if own.chain.links.contains(where: { $0.hash == known.chain.head.linkHash }) {
            return FollowedAccount(own.chain, replaced: known.branches, watch: known.watch)
        }
        return own
    }

    /// This device as the author of entries.
    ///
    /// - Parameter isWritable: else nothing is signed.
    package func author(for vault: VaultID, isWritable: Bool = true) throws -> LogAuthor {
        let identity = try inKeys(keyring.authorIdentity(for: vault))
        guard let head = ChainPosition(try inKeys(keyring.deviceChain()).head) else {
            throw CoreError(.keys, at: "device chain")
        }
        return LogAuthor(
            accountID: identity.accountID, deviceID: identity.deviceID, deviceHead: head,
            signingKey: isWritable ? identity.signingKey : nil)
    }
}

extension FollowFailure {
    /// The error below it, if there is one.
    fileprivate var cause: any Error {
        switch self {
        case .devices(_, let error), .foundation(let error): error
        case .members(let error): error
        case .answerMalformed, .rolledBack: self
        }
    }
}
