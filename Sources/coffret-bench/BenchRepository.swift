// A vault with its chains, without a store around it. Invariant: it passes the same checks as one that a store founded.

import CoffretBase
import CoffretCrypto
import CoffretHistory
import CoffretLogs
import CoffretStorage
import CoffretTrust

struct BenchRepositories {
    let keys: VaultKeys
    let author: LogAuthor
    let chains: VaultChains
    let environment: StorageEnvironment

    init() throws {
        let random = SystemRandomSource()
        environment = StorageEnvironment(fileSystem: PosixFileSystem(), random: random, clock: SystemWallClock())
        let (device, signing) = (UniqueID.generate(from: random), SigningKey.generate(from: random))
        let deviceKeys = DeviceKeys(
            signing: signing.verifyingKey, box: AgreementKey.generate(from: random).publicKey,
            noise: AgreementKey.generate(from: random).publicKey)
        let chain = try VerifiedDeviceChain.verify([
            VerifiedDeviceChain.found(deviceID: device, keys: deviceKeys, details: [], with: signing)
        ])
        let account = AccountDevices(chain)
        let foundation = VaultFoundation(
            random: random.bytes(count: 32), accountID: chain.accountID, deviceChainHead: chain.head.linkHash,
            keyCommitment: random.bytes(count: 32))
        let members = try VerifiedMembers(
            founding: VerifiedMemberChain.found(foundation, details: [], with: signing), founder: account, chain: chain)
        guard let head = ChainPosition(chain.head) else { preconditionFailure("a hash has 32 bytes") }
        author = LogAuthor(accountID: chain.accountID, deviceID: device, deviceHead: head, signingKey: signing)
        chains = VaultChains(accounts: [chain.accountID: account], members: members.state)
        keys = VaultKeys.generate(vaultID: members.vaultID, from: random)
    }

    func create(_ directory: String) throws -> LogRepository {
        try LogRepository.create(
            directory: directory, keys: keys, author: author, chains: chains, environment: environment,
            isText: { $0.attribute == "text" })
    }

    func open(_ directory: String, _ mode: BlobStore.Mode) throws -> LogRepository {
        try LogRepository.open(
            directory: directory, keys: keys, author: author, chains: chains, mode: mode, environment: environment,
            isText: { $0.attribute == "text" })
    }
}
