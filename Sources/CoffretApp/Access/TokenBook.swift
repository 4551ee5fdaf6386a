// The tokens of a store on this machine. Invariant: a file that this store's own key did not seal, or that is older than what a
// TPM or the desktop's keyring remembers, holds no token.

internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretStorage
internal import CoffretWire

/// A token that was just made.
struct NewToken {
    /// To be shown once.
    let secret: String
    let token: TokenMessage
}

/// Makes, finds and removes tokens.
///
/// File `<state>/<store id>/tokens`: ENV(access key, "access/tokens", store id ‖ instance id, CBOR of `KeptTokens`). Spec:
/// Spec/access.md.
final class TokenBook {
    static let tokenCountMax = 64
    static let nameByteCountMax = 64
    static let reasonByteCountMax = 256
    static let scopeCountMax = 64
    /// 64 tokens with 64 longest tags, ids of vaults and names of operations each take less.
    private static let byteCountMax = 2 << 20
    private static let memoryKind = "tokens"

    private let path: String
    private let associatedData: [UInt8]
    private let key: AccessKey
    private let storeID: UniqueID
    private let environment: StoreEnvironment

    init(_ store: Store) throws {
        storeID = store.keyring.storeID
        path = PathText.join(PathText.join(store.environment.stateDirectory, storeID.hex), "tokens")
        associatedData = try storeID.bytes + store.keyring.instanceID().bytes
        key = try store.keyring.accessKey()
        environment = store.environment
    }

    /// Changes with each change of the file; costs one call of the system.
    var stamp: FileStamp { FileStamp(path) }

    /// All tokens, by name.
    ///
    /// - Throws: `AccessError.altered`.
    func tokens() throws -> [TokenMessage] { try read().tokens.map(\.token) }

    /// The token that was offered, by its id.
    ///
    /// - Complexity: compares with each token in constant time.
    /// - Throws: `AccessError` `.invalid`, `.expired`, `.altered`.
    func find(_ offered: borrowing AccessToken) throws -> (id: String, token: TokenMessage) {
        let hash = Array(Hex.encode(offered.hash).utf8)
        var found: KeptToken?
        for kept in try read().tokens where ConstantTime.isEqual(Array(kept.hash.utf8), hash) { found = kept }
        guard let found else { throw AccessError(.invalid) }
        try checkTime(found.token)
        return (found.id, found.token)
    }

    /// The token with this id, as it is now.
    ///
    /// - Throws: as `find`.
    func token(_ id: String) throws -> TokenMessage {
        guard let kept = try read().tokens.first(where: { $0.id == id }) else { throw AccessError(.invalid) }
        try checkTime(kept.token)
        return kept.token
    }

    /// - Throws: `AccessError.expired`.
    func checkTime(_ token: TokenMessage) throws {
        if let until = token.until, until.milliseconds <= environment.clock.now { throw AccessError(.expired) }
    }

    /// Makes a token.
    ///
    /// - Parameter token: its `created` is set here.
    /// - Returns: the secret, which is kept nowhere, and the token as it was made.
    /// - Throws: `AccessError` `.exists`, `.exhausted`, `.scopeInvalid`, `.altered`.
    func add(_ token: TokenMessage) throws -> NewToken {
        try check(token)
        let secret = AccessToken.generate(from: environment.random)
        var kept = KeptToken()
        kept.id = UniqueID.generate(from: environment.random).hex
        kept.hash = Hex.encode(secret.hash)
        kept.token = token
        kept.token.created = WireMoment(environment.clock.now)
        try change { tokens in
            guard !tokens.contains(where: { $0.token.name == token.name }) else {
                throw AccessError(.exists, at: token.name)
            }
            guard tokens.count < Self.tokenCountMax else { throw AccessError(.exhausted) }
            tokens.append(kept)
            tokens.sort { $0.token.name < $1.token.name }
        }
        return NewToken(secret: secret.text, token: kept.token)
    }

    /// Removes a token; sessions that it opened are refused from their next request on.
    ///
    /// - Throws: `AccessError` `.notFound`, `.altered`.
    func remove(named name: String) throws {
        try change { tokens in
            guard let index = tokens.firstIndex(where: { $0.token.name == name }) else {
                throw AccessError(.notFound, at: name)
            }
            tokens.remove(at: index)
        }
    }

    /// Removes all, also where the file was altered.
    func removeAll() throws {
        try exclusively { try write([], number: (try? read().number) ?? 0) }
    }

    private func check(_ token: TokenMessage) throws {
        let isNamed = !token.name.isEmpty && token.name.utf8.count <= Self.nameByteCountMax
        guard isNamed, !token.name.contains(where: \.isNewline) else { throw AccessError(.scopeInvalid, at: "name") }
        guard !token.reason.isEmpty, token.reason.utf8.count <= Self.reasonByteCountMax else {
            throw AccessError(.scopeInvalid, at: "reason")
        }
        guard token.access != nil || token.operations?.isEmpty == false else {
            throw AccessError(.scopeInvalid, at: "operations")
        }
        for name in token.operations ?? [] {
            guard let operation = Operations.all.first(where: { $0.name == name }), operation.access != .control else {
                throw AccessError(.scopeInvalid, at: name)
            }
            if token.vaults != nil || token.tags != nil, !AccessGrant.limitedOperations.contains(name) {
                throw AccessError(.scopeInvalid, at: name)
            }
        }
        for scope in [token.vaults, token.tags, token.operations] {
            guard scope.map({ (1...Self.scopeCountMax).contains($0.count) }) ?? true else {
                throw AccessError(.scopeInvalid, at: "too many")
            }
        }
        _ = try token.grant
    }

    // MARK: The file

    private func read() throws -> KeptTokens {
        let remembered = environment.memory?.count(Self.memoryKind, of: storeID) ?? 0
        guard try environment.fileSystem.exists(path) else {
            guard remembered == 0 else { throw AccessError(.altered) }
            return KeptTokens()
        }
        let sealed = try environment.fileSystem.readFile(path, byteCountMax: Self.byteCountMax)
        guard let tokens = opened(sealed), tokens.number >= 0, UInt64(tokens.number) >= remembered else {
            throw AccessError(.altered)
        }
        return tokens
    }

    /// Nil for bytes that this store's key did not seal.
    private func opened(_ sealed: [UInt8]) -> KeptTokens? {
        let content = unsafe try? Envelope.open(
            sealed, key: key, context: .accessTokens, associatedData: associatedData,
            { (content) throws(CryptoError) in unsafe [UInt8](content) })
        return content.flatMap { try? KeptTokens(decoding: $0) }
    }

    private func change(_ body: (inout [KeptToken]) throws -> Void) throws {
        try exclusively {
            var kept = try read()
            try body(&kept.tokens)
            try write(kept.tokens, number: kept.number)
        }
    }

    private func write(_ tokens: [KeptToken], number: Int) throws {
        let remembered = Int(clamping: environment.memory?.count(Self.memoryKind, of: storeID) ?? 0)
        var kept = KeptTokens()
        kept.number = max(number, remembered) + 1
        kept.tokens = tokens
        let sealed = Envelope.seal(
            kept.encoded, key: key, context: .accessTokens, associatedData: associatedData, random: environment.random)
        // Read back before it replaces the file of before.
        guard sealed.count <= Self.byteCountMax, opened(sealed) == kept else {
            throw AccessError(.exhausted)
        }
        try environment.fileSystem.replaceFile(path, with: sealed, isLocked: true)
        environment.memory?.remember(UInt64(kept.number), Self.memoryKind, of: storeID)
    }

    private func exclusively<Result>(_ body: () throws -> Result) throws -> Result {
        try environment.fileSystem.makeDirectories(PathText.parent(of: path))
        let lock = try environment.fileSystem.open(path + ".lock", .createIfAbsent)
        try lock.lock(.exclusive, waits: true)
        defer { withExtendedLifetime(lock) {} }
        return try body()
    }
}
