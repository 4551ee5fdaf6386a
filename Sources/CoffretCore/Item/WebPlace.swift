// A place on the web that a login is for. Invariant: protocol, host and port are compared exactly; a login for one place is never
// taken for one of another.

internal import CoffretBase

/// A protocol and a host, and what else is known of where somebody wants to log in.
package struct WebPlace: Equatable, Sendable {
    package var protocolName: String
    /// With the port, if it is not the usual one.
    package var host: String
    /// Nil if it is not known.
    package var path: String?
    package var username: String?

    package init(protocolName: String, host: String, path: String? = nil, username: String? = nil) {
        self.protocolName = protocolName.lowercased()
        self.host = host.lowercased()
        self.path = path
        self.username = username
    }

    /// How well an address of an item fits.
    ///
    /// Protocol, host and port are the same, or the address is for somewhere else. If the address has a path and one
    /// is wanted, they are the same too; if none is wanted, the address may have any.
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
            host = WebPlace.withoutUsualPort(authority.lowercased(), protocolName)
            let path = rest[end...].prefix { $0 != "?" && $0 != "#" }
            self.path = WebPlace.plain(String(path))
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
