// The first contact with a server. Invariant: its key is pinned only if an authority vouches for it, a fingerprint was given, or a
// person said yes.

internal import CoffretBase
package import CoffretHTTP
internal import CoffretMessages
internal import CoffretTerminal
internal import CoffretWire

/// A server that this device is to meet for the first time.
package struct ServerIntroduction {
    package let address: ServerAddress
    private let fingerprint: String?
    private let authorities: String?

    /// - Parameters:
    ///   - url: as a person gives it.
    ///   - allowsPlain: whether another machine may be spoken to without TLS.
    ///   - fingerprint: of the server's key, if it is known.
    ///   - authorities: a file of authorities in place of the system's.
    /// - Throws: a failure of wrong usage for what can be no server's address or fingerprint. Nothing is sent.
    package init(
        _ url: String, allowsPlain: Bool, fingerprint: String? = nil, authorities: String? = nil
    ) throws {
        do throws(HTTPError) {
            address = try ServerAddress(url, allowsPlain: allowsPlain)
        } catch {
            guard error.place == "plain http" else { throw error }
            throw CommandFailure(
                .usage, code: error.code.rawValue, "without TLS a server is spoken to on this machine only",
                hint: "https:// instead of http://; or --plain-http inside a tunnel that is encrypted itself")
        }
        if let fingerprint, !address.isPlain, ServerPin.parse(fingerprint) == nil {
            throw CommandFailure(.usage, .fingerprintInvalid, "that is not a fingerprint: 64 hex digits are needed")
        }
        (self.fingerprint, self.authorities) = (fingerprint, authorities)
    }

    /// Meets the server.
    ///
    /// - Parameter person: compares the key where no authority vouches for it; nil for nobody.
    /// - Returns: how it is reached, its key included.
    package func settings(askedOf person: (any OperationPerson)?) throws -> HTTPSettings {
        var settings = HTTPSettings(address)
        settings.authoritiesPath = authorities
        guard !address.isPlain else { return settings }
        let client = try HTTPClient(settings)
        if let given = fingerprint.flatMap(ServerPin.parse) {
            try Self.check(given, client)
            settings.pin = given
        } else if let pin = try Self.vouchedPin(of: client) {
            settings.pin = pin
        } else {
            let pin = try client.readPin(checksCertificate: false)
            try Self.confirm(pin, person)
            settings.pin = pin
        }
        return settings
    }

    /// Says which key the server shows where it is not the one that was given.
    private static func check(_ pin: ServerPin, _ client: HTTPClient) throws {
        let shown = try client.readPin(checksCertificate: false)
        guard shown != pin else { return }
        throw CommandFailure(
            .notAuthentic, code: HTTPError.Code.pinDiffers.rawValue,
            "the server's key is not the one that you gave; nothing was sent",
            details: ["given      \(pin.text)", "shown now  \(shown.text)"],
            hint: "compare both with the first line that coffret-server logs")
    }

    /// nil if no authority vouches for it.
    private static func vouchedPin(of client: HTTPClient) throws(HTTPError) -> ServerPin? {
        do throws(HTTPError) {
            return try client.readPin(checksCertificate: true)
        } catch {
            if error.code == .certificateUntrusted { return nil }
            throw error
        }
    }

    private static func confirm(_ pin: ServerPin, _ person: (any OperationPerson)?) throws {
        let question = SessionQuestion(
            .compare,
            """
            No known authority signed this server's certificate. Its key has the fingerprint

                \(pin.text)

            The server's operator finds it in the first line of its log.
            Are they the same?
            """, reason: "trust the server")
        guard let isSame = try person?.confirm(question) else {
            throw CommandFailure(
                .notConfirmed, .serverUnknown, "no known authority signed this server's certificate",
                details: ["fingerprint  \(pin.text)"],
                hint: "compare it with what coffret-server shows, and add --fingerprint")
        }
        guard isSame else {
            throw CommandFailure(.notConfirmed, .notConfirmed, "not confirmed; nothing was sent")
        }
    }
}
