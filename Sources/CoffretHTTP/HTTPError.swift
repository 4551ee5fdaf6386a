// Errors on the way to a server. Invariant: a server that is not the pinned one has an error of its own, and nothing
// was sent to it.

/// An error of a request as a whole; a status is no error here.
package struct HTTPError: Error, Equatable, Sendable {
    package enum Code: String, Sendable, CaseIterable {
        /// libcurl is not installed, or too old.
        case unavailable = "http.unavailable"
        /// An address that is no https URL, or plain http to another machine.
        case addressInvalid = "http.address-invalid"
        /// No connection: no such host, refused, no network.
        case unreachable = "http.unreachable"
        /// The server's key is not the one that was pinned.
        case pinDiffers = "http.pin-differs"
        /// The certificate is not signed by anybody trusted, or for another name, and there is no pin.
        case certificateUntrusted = "http.certificate-untrusted"
        /// A limit of time was reached.
        case timedOut = "http.timed-out"
        /// The connection ended within the request or its answer.
        case interrupted = "http.interrupted"
        /// The answer is no HTTP, or no TLS.
        case failed = "http.failed"
        /// The answer is longer than the caller accepts.
        case tooLarge = "http.too-large"
        /// The caller's own source or sink ended the transfer.
        case aborted = "http.aborted"
        /// The server does not speak WebSocket there; `place` is the status.
        case upgradeRefused = "http.upgrade-refused"
        /// The WebSocket was closed by the other side; `place` is its code.
        case closed = "http.closed"
    }

    package let code: Code
    /// A short technical hint; never part of a body, a header or a secret.
    package let place: String?

    package init(_ code: Code, at place: String? = nil) {
        self.code = code
        self.place = place
    }

    package static func == (left: HTTPError, right: HTTPError) -> Bool { left.code == right.code }
}
