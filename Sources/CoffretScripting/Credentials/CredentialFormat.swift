// How programs ask for logins, as one table. Invariant: a row narrows what a program gets; the place is compared by
// `WebPlace` for all of them alike.

package import CoffretCore

/// A program that asks for logins by their place, and the rules for it.
package struct CredentialFormat: Sendable {
    /// The word that names it on the command line.
    package let name: String
    /// Logins that the program had kept carry it. It changes and removes no others, but for git's new passwords.
    package let tag: String
    /// The kind of a login that it keeps.
    package let kind: ItemKind
    /// The fields that may answer it.
    package let secretFields: Set<String>
    /// Whether an item whose address has no path is for the place without a path alone, not for all paths.
    package var comparesWholeAddress = false
    /// Whether it knows one login for each place: the one that it kept itself goes before others, and it keeps one at most.
    package var keepsOne = false

    package static let git = CredentialFormat(
        name: "git", tag: "git-credential", kind: .login, secretFields: ["password", "token"])
    /// podman, skopeo and buildah ask in the same way.
    package static let docker = CredentialFormat(
        name: "docker", tag: "docker-credential", kind: .login, secretFields: ["password", "token"], keepsOne: true)
    /// A password of a web site is no token of a registry that lies there.
    package static let cargo = CredentialFormat(
        name: "cargo", tag: "cargo-credential", kind: .apiToken, secretFields: ["token"], comparesWholeAddress: true,
        keepsOne: true)
    package static let pip = CredentialFormat(
        name: "pip", tag: "pip-credential", kind: .login, secretFields: ["password", "token"])
    /// It asks, and keeps nothing.
    package static let kubectl = CredentialFormat(
        name: "kubectl", tag: "kubectl-credential", kind: .apiToken, secretFields: ["token"],
        comparesWholeAddress: true)
}

/// A place as a program writes it, in one text.
package struct CredentialAddress: Equatable, Sendable {
    /// The longest that is listened to.
    package static let byteCountMax = 4 << 10
    private static let usualProtocol = "https"

    /// Compared with the addresses of items. Its path is known, and empty for the root.
    package var place: WebPlace
    /// As it stands in an item.
    package let text: String

    /// - Parameter text: an address, or a host alone, which is reached by https; `sparse+` before it is passed over.
    /// - Returns: nil for what names no host, and for what cannot stand in an address.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.byteCountMax, !text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F }) else {
            return nil
        }
        // Bytes are compared: a sign that joins the one before it makes another character of that.
        var bytes = Array(text.utf8)[...]
        for prefix in ["sparse+", "registry+"] where bytes.starts(with: prefix.utf8) {
            bytes = bytes.dropFirst(prefix.utf8.count)
        }
        let hasProtocol = bytes.indices.contains { bytes[$0...].starts(with: "://".utf8) }
        let whole = (hasProtocol ? "" : "\(Self.usualProtocol)://") + String(decoding: bytes, as: UTF8.self)
        guard let address = WebPlace.Address(whole), !address.host.isEmpty,
            !(address.protocolName + address.host).utf8.contains(UInt8(ascii: "+"))
        else { return nil }
        self.text = whole
        place = WebPlace(
            protocolName: address.protocolName, host: address.host, path: address.path, username: address.username)
    }

    /// As docker names the place: the host alone, unless there is more to say.
    package var forDocker: String {
        place.protocolName == Self.usualProtocol && place.path == "" ? place.host : text
    }
}
