// From a commit's bytes to a commit that may be believed. The one thing to keep true: only `verify`
// makes a `VerifiedCommit`, and only after the signature was checked against a key that somebody
// else vouches for.

internal import CoffretBase
package import CoffretCrypto

/// A commit as it was read: well formed, its signature not checked.
///
/// Content: body (deterministic CBOR) ‖ signature (64).
package struct UnverifiedCommit: Sendable {
    package let name: BlobName
    package let commit: Commit
    private let content: [UInt8]

    private init(name: BlobName, commit: Commit, content: [UInt8]) {
        self.name = name
        self.commit = commit
        self.content = content
    }

    var body: [UInt8] { Array(content.dropLast(signatureByteCount)) }
    var signature: [UInt8] { content.suffix(signatureByteCount) }

    /// - Throws: `.commitMalformed` naming the commit.
    package static func decode(_ content: [UInt8], name: BlobName) throws(StorageError) -> UnverifiedCommit {
        let bodyByteCount = content.count - signatureByteCount
        guard bodyByteCount > 0 else { throw StorageError(.commitMalformed, place: name.description) }
        let commit = try unsafe content.lending(0..<bodyByteCount) { (bytes) throws(StorageError) in
            do throws(CBORError) {
                return try unsafe withCBORDecoder(over: bytes) { (decoder) throws(CBORError) in
                    try Commit(from: &decoder)
                }
            } catch {
                throw StorageError(.commitMalformed, place: name.description, cause: error)
            }
        }
        return UnverifiedCommit(name: name, commit: commit, content: content)
    }
}

/// Tells which key signs for a device. Implemented by who verified the chains.
package protocol CommitSignerDirectory {
    /// The device's key, if it may have written a commit with this context; nil if it is unknown, or
    /// was not trusted at the chain heads that the context states.
    func verifyingKey(for context: CommitContext) -> VerifyingKey?

    /// Whether the chain heads that `later` states are those of `earlier`, or come after them.
    func areHeads(of later: CommitContext, atOrAfter earlier: CommitContext) -> Bool

    /// Where in its account's chain the author of a commit with this context was revoked, if it was.
    func revocation(ofAuthorOf context: CommitContext) -> UInt64?

    /// Where in its account's chain the head stands that a context states; nil if it is not known.
    func chainPosition(of context: CommitContext) -> UInt64?
}

extension CommitSignerDirectory {
    package func areHeads(of later: CommitContext, atOrAfter earlier: CommitContext) -> Bool {
        guard later.accountID == earlier.accountID, let new = chainPosition(of: later),
            let old = chainPosition(of: earlier)
        else { return true }
        return new >= old
    }

    package func revocation(ofAuthorOf context: CommitContext) -> UInt64? { nil }
    package func chainPosition(of context: CommitContext) -> UInt64? { nil }
}

/// Knows one device: its own.
package struct SingleSignerDirectory: CommitSignerDirectory {
    private let deviceID: [UInt8]
    private let accountID: [UInt8]
    private let key: VerifyingKey

    package init(author: CommitAuthor) {
        deviceID = author.deviceID
        accountID = author.accountID
        key = author.signingKey.verifyingKey
    }

    package func verifyingKey(for context: CommitContext) -> VerifyingKey? {
        context.deviceID == deviceID && context.accountID == accountID ? key : nil
    }
}

/// A commit whose signature is that of the device it names, in this vault.
package struct VerifiedCommit: Sendable {
    package let name: BlobName
    package let commit: Commit
    package let context: CommitContext

    fileprivate init(name: BlobName, commit: Commit, context: CommitContext) {
        self.name = name
        self.commit = commit
        self.context = context
    }
}

/// Verifies commits of one vault. Pure: what it needs is handed in.
package struct CommitVerifier {
    private let vaultID: [UInt8]
    private let signers: any CommitSignerDirectory

    package init(vaultID: [UInt8], signers: any CommitSignerDirectory) {
        self.vaultID = vaultID
        self.signers = signers
    }

    /// - Parameter context: the context that the commit names, read by that name.
    /// - Throws: `.commitWrongVault`, `.commitUnknownSigner`, `.commitAuthenticationFailed`, each
    ///   naming the commit.
    package func verify(
        _ unverified: UnverifiedCommit, context: CommitContext
    ) throws(StorageError) -> VerifiedCommit {
        let place = unverified.name.description
        guard context.vaultID == vaultID else { throw StorageError(.commitWrongVault, place: place) }
        guard let key = signers.verifyingKey(for: context) else {
            throw StorageError(.commitUnknownSigner, place: place)
        }
        do throws(CryptoError) {
            try key.verify(unverified.signature, .commit, scope: vaultID, message: unverified.body)
        } catch {
            throw StorageError(.commitAuthenticationFailed, place: place)
        }
        return VerifiedCommit(name: unverified.name, commit: unverified.commit, context: context)
    }
}

extension Commit {
    /// The content of the commit's blob: signed by its author.
    package func sign(with author: CommitAuthor, vaultID: [UInt8]) -> [UInt8] {
        let body = encodeBody()
        return body + author.signingKey.sign(.commit, scope: vaultID, message: body)
    }
}
