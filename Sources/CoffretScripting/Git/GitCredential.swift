// Git's credential protocol (git-credential(1)). Invariant: what git says is compared exactly; a login for one place
// is never handed to another, and several that fit are never chosen from.

internal import CoffretBase
internal import CoffretTerminal

/// A question of git: the lines `name=value` that it writes.
package struct GitCredential: Equatable {
    package var protocolName = ""
    /// With the port, if it is not the usual one.
    package var host = ""
    /// Nil if git does not tell it, which is the usual case.
    package var path: String?
    package var username: String?
    package var password: String?
    /// When the password ends to work; such passwords are not kept.
    package var expiry: String?

    /// The most that git is listened to.
    package static let byteCountMax = 64 << 10

    /// Reads the lines up to the end or an empty line. Names that are not known are passed over, as the protocol wants.
    ///
    /// - Returns: nil for what is no such text.
    package init?(_ text: String) {
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.isEmpty { break }
            guard let equals = line.utf8.firstIndex(of: UInt8(ascii: "=")), !line.utf8.contains(0),
                !line.utf8.contains(0x0D)
            else { return nil }
            let value = String(line[line.utf8.index(after: equals)...])
            switch line[..<equals] {
            case "protocol": protocolName = value.lowercased()
            case "host": host = value.lowercased()
            case "path": path = value
            case "username": username = value
            case "password": password = value
            case "password_expiry_utc": expiry = value
            default: break
            }
        }
        guard !protocolName.isEmpty, !host.isEmpty else { return nil }
    }

    /// How well an address of an item fits.
    ///
    /// Protocol, host and port are the same, or the address is for somewhere else. If the address has a path and git
    /// gives one, they are the same too; if git gives none, the address may have any.
    package func matches(_ address: String) -> Bool {
        guard let address = Address(address) else { return false }
        guard address.protocolName == protocolName, Self.withoutUsualPort(host, protocolName) == address.host else {
            return false
        }
        if let own = address.username, let username, own != username { return false }
        guard let path, !address.path.isEmpty else { return true }
        return Self.plain(path) == address.path
    }

    /// The words of the host, as they stand side by side in every address for it. None for a host without any, or one that
    /// is longer than a search may be.
    package var searchWords: [String] {
        guard host.utf8.count <= 1_000 else { return [] }
        let words = Self.withoutUsualPort(host, protocolName).split { !$0.isLetter && !$0.isNumber }.map(String.init)
        return words.count <= 40 ? words : []
    }

    /// A path without slashes around it.
    private static func plain(_ path: String) -> String {
        var path = path[...]
        while path.first == "/" { path.removeFirst() }
        while path.last == "/" { path.removeLast() }
        return String(path)
    }

    /// `host:443` is `host` for https.
    private static func withoutUsualPort(_ host: String, _ protocolName: String) -> String {
        let usual = [":443": "https", ":80": "http"]
        for (port, name) in usual where name == protocolName && host.hasSuffix(port) {
            return String(host.dropLast(port.count))
        }
        return host
    }

    /// The parts of an address that are compared.
    package struct Address {
        package let protocolName: String
        package let host: String
        package let username: String?
        package let path: String

        /// - Returns: nil for what is no address with a protocol and a host.
        package init?(_ text: String) {
            guard let colon = text.range(ofLiteral: "://") else { return nil }
            protocolName = text[..<colon.lowerBound].lowercased()
            let rest = text[colon.upperBound...]
            let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
            var authority = rest[..<end]
            if let at = authority.lastIndex(of: "@") {
                let user = authority[..<at].split(separator: ":", maxSplits: 1).first.map(String.init)
                username = user
                authority = authority[authority.index(after: at)...]
            } else {
                username = nil
            }
            guard !protocolName.isEmpty, !authority.isEmpty else { return nil }
            host = GitCredential.withoutUsualPort(authority.lowercased(), protocolName)
            let path = rest[end...].prefix { $0 != "?" && $0 != "#" }
            self.path = GitCredential.plain(String(path))
        }
    }
}

extension String {
    fileprivate func range(ofLiteral text: String) -> Range<String.Index>? {
        let sought = Array(text.utf8)
        var index = utf8.startIndex
        while index < utf8.endIndex {
            if utf8[index...].starts(with: sought) {
                return index..<utf8.index(index, offsetBy: sought.count)
            }
            index = utf8.index(after: index)
        }
        return nil
    }
}
