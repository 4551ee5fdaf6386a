// An origin as a browser writes it. Invariant: a text that a browser would write in another way is refused, so that two origins
// are the same if and only if their texts are.

/// Scheme, host and port of a page that may be given a login: `https`, or `http` of this computer.
///
/// Spec: Spec/bridge.md section 4.
package struct WebOrigin: Equatable, Sendable {
    /// As the browser writes it: `https://example.org`, `http://localhost:8080`.
    package let text: String
    package let scheme: String
    /// Without the port; in small letters, in ASCII.
    package let hostName: String
    /// The port, if it is not the usual one of the scheme.
    package let port: UInt16?

    /// The host, with the port if it is not the usual one.
    package var host: String { port.map { "\(hostName):\($0)" } ?? hostName }

    /// - Throws: `.originRefused` for any other text.
    package init(_ text: String) throws(BridgeError) {
        guard let origin = Self(parsing: text) else { throw BridgeError(.originRefused) }
        self = origin
    }

    private init?(parsing text: String) {
        let schemes = ["https": UInt16(443), "http": 80]
        guard text.utf8.count <= 300,
            let (scheme, usual) = schemes.first(where: { text.hasPrefix($0.key + "://") })
        else { return nil }
        var rest = text.dropFirst(scheme.count + 3)
        self.text = text
        self.scheme = scheme
        if rest.hasPrefix("[") {
            guard let end = rest.firstIndex(of: "]") else { return nil }
            let name = rest[...end]
            guard name.dropFirst().dropLast().allSatisfy({ "0123456789abcdef:".contains($0) }) else { return nil }
            hostName = String(name)
            rest = rest[rest.index(after: end)...]
        } else {
            let name = rest.prefix { $0 != ":" }
            guard Self.isName(name) else { return nil }
            hostName = String(name)
            rest = rest.dropFirst(name.count)
        }
        if rest.isEmpty {
            port = nil
        } else {
            let digits = rest.dropFirst()
            guard rest.first == ":", let number = UInt16(digits), number > 0, String(number) == digits, number != usual
            else { return nil }
            port = number
        }
        // On the way to another computer everybody could read it.
        guard scheme == "https" || isOfThisComputer else { return nil }
    }

    /// Labels of small letters, digits, `-` and `_`, with one dot between two. A dot at the end makes another host.
    private static func isName(_ name: Substring) -> Bool {
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        return labels.allSatisfy { label in
            (1...63).contains(label.utf8.count)
                && label.utf8.allSatisfy { byte in
                    (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D || byte == 0x5F
                }
        }
    }

    private var isOfThisComputer: Bool {
        ["localhost", "127.0.0.1", "[::1]"].contains(hostName) || hostName.hasSuffix(".localhost")
    }
}
