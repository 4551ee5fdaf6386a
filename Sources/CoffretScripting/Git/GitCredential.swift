// Git's credential protocol (git-credential(1)). Invariant: what git says is compared exactly; a login for one place
// is never handed to another, and several that fit are never chosen from.

package import CoffretCore

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

    package var place: WebPlace {
        WebPlace(protocolName: protocolName, host: host, path: path, username: username)
    }
}
