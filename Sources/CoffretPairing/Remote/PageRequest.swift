// The device's side of a one-time request, and of letting a browser on another machine ask: a page there shows a code, and gets one frame.
// Invariant: that frame is sealed once, for the page whose key the code holds, after that page has answered.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretInterop

/// The text of the page's QR code.
///
/// A beginning and the base32 (RFC 4648, no padding) of length of the relay's host (1) ‖ host ‖ relay id (16) ‖ the page's public
/// key (32) ‖ secret (32). Spec: Spec/remote.md sections 4 and 5.
package struct PageCode: Equatable, Sendable {
    package enum Kind: String, Sendable {
        /// A page that gets one value.
        case value = "COFFRET-ASK:1:"
        /// An extension that wants to ask for logins from then on.
        case browser = "COFFRET-BROWSER:1:"

        var prologue: [UInt8] { Array((self == .value ? "coffret/ask/1" : "coffret/remote/browser/1").utf8) }
    }

    private static let hostByteCountMax = 128

    package let kind: Kind

    /// Host and port of the server whose relay the page waits at, as in its address.
    package let host: String
    package let relayID: [UInt8]
    package let pageKey: [UInt8]
    let secret: [UInt8]

    init(_ kind: Kind, host: String, relayID: [UInt8], pageKey: [UInt8], secret: [UInt8]) {
        self.kind = kind
        (self.host, self.relayID, self.pageKey, self.secret) = (host, relayID, pageKey, secret)
    }

    package var text: String {
        let host = Array(host.utf8)
        return kind.rawValue
            + Base32.rfc4648Unpadded.encode([UInt8(host.count)] + host + relayID + pageKey + secret)
    }

    /// Reads what a person scanned, or pasted: blanks and small letters do no harm.
    ///
    /// - Throws: `.codeMalformed`.
    package static func parse(_ text: String, as kind: Kind = .value) throws(RemoteError) -> PageCode {
        let cleaned = text.filter { !$0.isWhitespace }.uppercased()
        guard cleaned.hasPrefix(kind.rawValue),
            let bytes = try? Base32.rfc4648Unpadded.decode(String(cleaned.dropFirst(kind.rawValue.count))),
            let first = bytes.first, case let count = Int(first), (1...hostByteCountMax).contains(count),
            bytes.count == 1 + count + 80, bytes[1...count].allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw RemoteError(.codeMalformed) }
        let rest = Array(bytes[(1 + count)...])
        return PageCode(
            kind, host: String(decoding: bytes[1...count], as: UTF8.self), relayID: Array(rest[..<16]),
            pageKey: Array(rest[16..<48]), secret: Array(rest[48...]))
    }
}

/// Sends one frame to the page of a code. One isolation domain at a time.
package final class PageSender {
    private static let placeByteCountMax = 300

    private let kind: PageCode.Kind
    private let handshake: NoiseHandshake
    private var sender: NoiseSender?

    /// - Throws: `.codeMalformed` for a key that is none.
    package convenience init(_ code: PageCode) throws(RemoteError) { try self.init(code, ephemeral: nil) }

    /// With an ephemeral key that is fixed: for vectors.
    init(_ code: PageCode, ephemeral: AgreementKey?) throws(RemoteError) {
        kind = code.kind
        do throws(InteropError) {
            handshake = try NoiseHandshake(
                NoiseProtocol(.nkPSK0, .aesGCM), role: .initiator,
                prologue: code.kind.prologue + code.relayID, staticKey: nil,
                remoteStaticKey: NoisePublicKey(code.pageKey), preSharedKey: code.secret, ephemeralKey: ephemeral)
        } catch {
            throw RemoteError(.codeMalformed)
        }
    }

    /// The first frame. It holds nothing of a store.
    package func opening() throws(RemoteError) -> [UInt8] {
        do throws(InteropError) { return try handshake.writeMessage() } catch { throw RemoteError(.mismatch) }
    }

    /// Reads the page's answer.
    ///
    /// - Returns: where the page says that it came from: an origin, or nothing for a file; an extension says its browser's name. An altered
    ///   page says what it likes.
    /// - Throws: `.mismatch` for an answer of anybody but the page.
    package func receive(_ frame: [UInt8]) throws(RemoteError) -> String {
        do throws(InteropError) {
            let place = try handshake.readMessage(frame)
            guard place.count <= Self.placeByteCountMax,
                place.allSatisfy({ ((kind == .browser ? 0x20 : 0x21)...0x7E).contains($0) })
            else {
                throw InteropError(.authenticationFailed)
            }
            sender = try handshake.makeSession().sender
            return String(decoding: place, as: UTF8.self)
        } catch {
            throw RemoteError(.mismatch)
        }
    }

    /// The frame with the value: JSON of `label`, `value` and perhaps `seconds`, filled. A second one cannot be made.
    ///
    /// - Throws: `.valueTooLong`; `.mismatch` before the page has answered, and after a value.
    package func frame(_ sent: RemoteValue) throws(RemoteError) -> [UInt8] {
        guard sent.value.utf8.count <= RemoteLimits.valueByteCountMax else { throw RemoteError(.valueTooLong) }
        return try frame(sent.members)
    }

    /// The frame that lets a browser ask. A second one cannot be made.
    ///
    /// - Throws: `.mismatch` before the page has answered, and after a frame.
    package func frame(_ admission: RemoteAdmission) throws(RemoteError) -> [UInt8] { try frame(admission.members) }

    private func frame(_ members: [JSONValue.Member]) throws(RemoteError) -> [UInt8] {
        guard let sender else { throw RemoteError(.mismatch) }
        self.sender = nil
        var plain = RemoteFilling.filled(members)
        defer { plain.zero() }
        do throws(InteropError) { return try sender.encrypt(plain) } catch { throw RemoteError(.valueTooLong) }
    }
}
