// A place on the relay where two devices meet. Invariant: whatever comes out of it is unverified.

package import CoffretBase
package import CoffretHTTP
internal import CoffretNet
internal import CoffretWire

/// One end of a relayed connection. One thread at a time.
package final class RelayChannel {
    private let socket: WebSocketConnection
    /// 16 bytes, made by the relay.
    package let id: [UInt8]

    /// Waits on the relay: asks for an id.
    ///
    /// - Parameters:
    ///   - account: the one whose devices are notified.
    ///   - device: the only one of them that is, because it is asked for a value.
    package init(
        waitingAt settings: HTTPSettings, account: AccountName? = nil, device: UniqueID? = nil, random: any RandomSource
    ) throws {
        var query = account.map { "?account=" + Hex.encode($0.bytes) } ?? ""
        if let device { query += "&device=" + device.hex }
        socket = try inAccount(
            WebSocketConnection(
                settings, path: "/v1/relay" + query, messageByteCountMax: ServerLimits.relayMessageByteCountMax,
                random: random))
        let socket = socket
        let first = try inAccount(socket.receive(within: .seconds(20)))
        guard case .text(let text)? = first, let id = try? Hex.decode(text), id.count == 16 else {
            throw AccountError(.answerMalformed, at: "relay id")
        }
        self.id = id
    }

    /// Joins the device that waits at `id`.
    ///
    /// - Throws: `.relayUnknown`.
    package init(joining id: [UInt8], at settings: HTTPSettings, random: any RandomSource) throws {
        do throws(HTTPError) {
            socket = try WebSocketConnection(
                settings, path: "/v1/relay/" + Hex.encode(id),
                messageByteCountMax: ServerLimits.relayMessageByteCountMax, random: random)
        } catch {
            if error.code == .upgradeRefused { throw AccountError(.relayUnknown, cause: error) }
            throw AccountError(.failed, cause: error)
        }
        self.id = id
    }

    package func send(_ frame: [UInt8]) throws {
        try translate(socket.send(.binary(frame)))
    }

    /// The next frame; nil if none came in `time`.
    package func receive(within time: Duration) throws -> [UInt8]? {
        switch try translate(socket.receive(within: time)) {
        case .binary(let frame)?: return frame
        case .text?: throw AccountError(.answerMalformed, at: "relay message")
        case nil: return nil
        }
    }

    package func close() { socket.close() }

    private func translate<Result>(_ value: @autoclosure () throws(HTTPError) -> Result) throws -> Result {
        do throws(HTTPError) {
            return try value()
        } catch {
            throw AccountError(error.code == .closed ? .relayClosed : .failed, cause: error)
        }
    }
}
