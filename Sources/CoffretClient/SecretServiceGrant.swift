// The right of this desktop's Secret Service to one vault. Invariant: the file exists exactly while the service is switched on,
// and nobody else than its owner may read it.

internal import CoffretBase
package import CoffretTerminal
internal import Glibc

/// Which store, vault and tag the Secret Service of Coffret shows, and the token by which it asks.
///
/// `<state>/secret-service`: one line of JSON, mode 0600. Spec: Spec/secret-service.md section 2.
package struct SecretServiceGrant: Equatable, Sendable {
    /// The name of the token, and the one on the bus by which others know whose service it is.
    package static let tokenName = "secret-service"
    package static let busName = "io.coffret.SecretService"
    private static let byteCountMax = 16 << 10

    /// An absolute path without links.
    package var store: String
    /// The name of the vault when the service was switched on, for people.
    package var vault: String
    /// Entries carry it; the service sees no items without it.
    package var tag: String
    package var token: String

    package init(store: String, vault: String, tag: String, token: String) {
        (self.store, self.vault, self.tag, self.token) = (store, vault, tag, token)
    }

    private static func path(_ environment: ProcessEnvironment) -> String? {
        AgentLocation.stateDirectory(of: environment).map { path(in: $0) }
    }

    private static func path(in stateDirectory: String) -> String { PathText.join(stateDirectory, "secret-service") }

    /// Whether the service is switched on, also where its file cannot be read.
    package static func isOn(stateDirectory: String) -> Bool {
        var information = stat()
        return unsafe lstat(path(in: stateDirectory), &information) == 0
    }

    /// The same, for the state folder of a program's own variables.
    package static func isOn(_ environment: ProcessEnvironment) -> Bool {
        AgentLocation.stateDirectory(of: environment).map { isOn(stateDirectory: $0) } ?? false
    }

    /// - Returns: nil if it is switched off, or if the file is not this user's alone or holds something else.
    package static func read(_ environment: ProcessEnvironment) -> SecretServiceGrant? {
        var information = stat()
        guard let path = path(environment), let file = try? OwnedDescriptor.open(path, O_RDONLY | O_NOFOLLOW),
            unsafe fstat(file.number, &information) == 0, information.st_uid == geteuid(),
            information.st_mode & (S_IFMT | 0o077) == S_IFREG,
            let bytes = try? DescriptorIO.readAll(from: file.number, byteCountMax: byteCountMax),
            let value = try? JSONValue(parsing: bytes), let store = value["store"]?.string, store.hasPrefix("/"),
            let vault = value["vault"]?.string, let tag = value["tag"]?.string, let token = value["token"]?.string
        else { return nil }
        return SecretServiceGrant(store: store, vault: vault, tag: tag, token: token)
    }

    package func write(_ environment: ProcessEnvironment) throws {
        guard let path = Self.path(environment) else { throw SystemFailure(number: ENOENT) }
        let value = JSONValue.fields([
            "store": .string(store), "vault": .string(vault), "tag": .string(tag), "token": .string(token),
        ])
        try PrivateFile.replace(path, Array((value.text() + "\n").utf8))
    }

    package static func remove(_ environment: ProcessEnvironment) throws(SystemFailure) {
        guard let path = path(environment), unsafe unlink(path) != 0, errno != ENOENT else { return }
        throw SystemFailure.last
    }
}
