// The SSH keys of a store, for the time of one connection. Invariant: a private key is in memory while it signs and
// not before; what is listed comes from public halves.

internal import CoffretBase
package import CoffretCore
internal import CoffretCrypto
package import CoffretKeys
package import CoffretSSH
internal import CoffretStorage
internal import CoffretTerminal

/// Has SSH keys, and signs with them.
package protocol SSHKeys: AnyObject {
    func identities() -> [SSHIdentity]
    /// - Returns: nil if there is no such key, or it may not be used.
    func sign(_ request: SSHSignRequest) -> [UInt8]?
}

extension SSHKeys {
    /// The answer to a message of an SSH client.
    func answer(_ message: [UInt8], in session: inout SSHAgentSession) -> SSHAgentResponse {
        switch session.receive(message) {
        case .answer(let response): response
        case .list: .identities(identities())
        case .sign(let request): sign(request).map { .signature($0) } ?? .failure
        }
    }
}

/// The keys of a store that this process has open.
package final class SSHKeyring: SSHKeys {
    /// The label or key of a field that says that each use has to be confirmed.
    package static let confirmField = "confirm"

    private let vaults: [Vault]
    /// Asks the person whether a key may be used; the text says which, and for whom.
    private let confirm: (String) -> Bool

    /// - Parameter records: the vaults in which keys may be.
    package init(_ store: Store, in records: [VaultRecord], confirm: @escaping (String) -> Bool) throws {
        vaults = try records.map { try store.openVault($0.vaultID.hex, isWritable: false) }
        self.confirm = confirm
    }

    /// The items with SSH keys, pinned ones first; neither archived nor in the trash.
    private func items() -> [Item] {
        var filter = ItemFilter()
        filter.kinds = [.sshKey]
        return vaults.flatMap { vault in
            let summaries = (try? vault.list(filter)) ?? []
            return summaries.compactMap { try? vault.item($0.id) }
        }
    }

    package func identities() -> [SSHIdentity] {
        var known: Set<[UInt8]> = []
        return items().compactMap { item in
            guard let key = Self.publicKey(of: item), known.insert(key.blob).inserted else { return nil }
            return SSHIdentity(blob: key.blob, comment: item.title)
        }
    }

    /// The public half: from its field, else of the private one.
    package static func publicKey(of item: Item) -> SSHPublicKey? { publicKey { value($0, of: item) } }

    /// - Parameter value: of the field with a name.
    package static func publicKey(_ value: (String) -> String?) -> SSHPublicKey? {
        if let line = value("public-key"), let key = try? SSHPublicKey.parse(line: line).key { return key }
        return try? privateKey(value).publicKey
    }

    private static func value(_ name: String, of item: Item) -> String? {
        item.fields.first { $0.key.name == name }?.value
    }

    /// The private key of an item.
    package static func privateKey(of item: Item) throws -> SSHPrivateKey { try privateKey { value($0, of: item) } }

    private static func privateKey(_ value: (String) -> String?) throws -> SSHPrivateKey {
        var text = Array((value("private-key") ?? "").utf8)
        var passphrase = Array((value("passphrase") ?? "").utf8)
        defer { text.zero() }
        return try OpenSSHKeyFile.parse(text, passphrase: SecretBytes(consuming: &passphrase)).key
    }

    package func sign(_ request: SSHSignRequest) -> [UInt8]? {
        sign(
            request.data, with: request.blob, flags: request.flags, host: request.hostFingerprint,
            isForwarded: request.isForwarded)
    }

    /// - Parameters:
    ///   - blob: the public key.
    ///   - host: the fingerprint of the host's key, if that is known.
    ///   - isForwarded: the request came through a host to which the agent was forwarded.
    package func sign(
        _ data: [UInt8], with blob: [UInt8], flags: UInt32, host: String?, isForwarded: Bool
    ) -> [UInt8]? {
        for item in items() where Self.publicKey(of: item)?.blob == blob {
            guard !Self.needsConfirmation(item) || confirm(Self.question(item, host, isForwarded)),
                let key = try? Self.privateKey(of: item), key.publicKey.blob == blob,
                let algorithm = try? key.algorithm(flags: flags)
            else { return nil }
            return try? key.signature(of: data, algorithm)
        }
        return nil
    }

    package static func needsConfirmation(_ item: Item) -> Bool {
        item.fields.contains { field in
            (field.key.name == confirmField || field.label.lowercased() == confirmField)
                && !["", "no", "false", "0"].contains(field.value.lowercased())
        }
    }

    private static func question(_ item: Item, _ host: String?, _ isForwarded: Bool) -> String {
        var lines = ["Allow use of the SSH key \"\(TextWidth.displaySafe(item.title))\"?"]
        if let host { lines.append("Host key \(host)") }
        if isForwarded { lines.append("The request comes from a host to which the agent was forwarded.") }
        return lines.joined(separator: "\n")
    }
}
