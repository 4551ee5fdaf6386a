// Messages inside the Noise session, cut to what the relay passes on. Invariant: what does not open, or comes out of
// turn, ends the attempt.

internal import CoffretBase
internal import CoffretCrypto
internal import CoffretInterop

/// A message of the pairing protocol.
///
/// Layout, deterministic CBOR: [1, c, B_N], [2, r_T, B_T, proof or empty], [3, r_N, signature, proof or empty],
/// [4], [5, sequence number], [6, sequence number, countersignature], [7, content], [8].
/// Spec: Spec/pairing.md.
enum PairingMessage: Equatable {
    case commit(commitment: [UInt8], requester: [UInt8])
    case challenge(nonce: [UInt8], approver: [UInt8], proof: [UInt8])
    case reveal(nonce: [UInt8], signature: [UInt8], proof: [UInt8])
    /// The new device trusts the other one.
    case confirm
    case askCountersignature(sequenceNumber: UInt64)
    case countersignature(sequenceNumber: UInt64, signature: [UInt8])
    case content([UInt8])
    case giveUp

    private static let identityByteCountMax = 8_192

    var encoded: [UInt8] {
        func encode(_ code: UInt64, _ items: [[UInt8]] = [], number: UInt64? = nil) -> [UInt8] {
            CBOREncoder.encode { encoder in
                encoder.encodeArrayHeader(count: 1 + items.count + (number == nil ? 0 : 1))
                encoder.encode(unsigned: code)
                if let number { encoder.encode(unsigned: number) }
                for item in items { encoder.encode(bytes: item) }
            }
        }
        return switch self {
        case .commit(let commitment, let requester): encode(1, [commitment, requester])
        case .challenge(let nonce, let approver, let proof): encode(2, [nonce, approver, proof])
        case .reveal(let nonce, let signature, let proof): encode(3, [nonce, signature, proof])
        case .confirm: encode(4)
        case .askCountersignature(let number): encode(5, number: number)
        case .countersignature(let number, let signature): encode(6, [signature], number: number)
        case .content(let bytes): encode(7, [bytes])
        case .giveUp: encode(8)
        }
    }

    init(decoding bytes: [UInt8]) throws {
        self = try withCBORDecoder(bytes, convert: { _ in PairingError(.mismatch) }) { (decoder) throws(CBORError) in
            let start = decoder.byteOffset
            let count = try decoder.readArrayHeader()
            let code = try decoder.readUnsigned()
            guard (1...8).contains(code), count == [3, 4, 4, 1, 2, 3, 2, 1][Int(code) - 1] else {
                throw CBORError(.unexpectedItem, byteOffset: start)
            }
            switch code {
            case 1:
                let commitment = try decoder.readBytes(count: 32)
                return .commit(
                    commitment: commitment, requester: try decoder.readBytes(countMax: Self.identityByteCountMax))
            case 2:
                let nonce = try decoder.readBytes(count: PairingTranscript.nonceByteCount)
                let approver = try decoder.readBytes(countMax: Self.identityByteCountMax)
                return .challenge(nonce: nonce, approver: approver, proof: try decoder.readBytes(countMax: 32))
            case 3:
                let nonce = try decoder.readBytes(count: PairingTranscript.nonceByteCount)
                let signature = try decoder.readBytes(count: signatureByteCount)
                return .reveal(nonce: nonce, signature: signature, proof: try decoder.readBytes(countMax: 32))
            case 4: return .confirm
            case 5: return .askCountersignature(sequenceNumber: try decoder.readUnsigned())
            case 6:
                let number = try decoder.readUnsigned()
                return .countersignature(
                    sequenceNumber: number, signature: try decoder.readBytes(count: signatureByteCount))
            case 7: return .content(try decoder.readBytes())
            default: return .giveUp
            }
        }
    }
}

/// What two devices meet for. The machines of one purpose do not meet those of another: their handshakes differ.
package enum PairingPurpose: String, Sendable {
    /// A new device joins the account of the other one (Spec/pairing.md).
    case device = "coffret/pair/1"
    /// A new machine asks a recovery contact for a share (Spec/recovery.md section 6).
    case recovery = "coffret/recover/1"
}

/// The session of one attempt.
struct PairingChannel {
    /// Of one message, assembled.
    static let messageByteCountMax = 16 << 20
    /// Of one frame on the relay, before sealing.
    private static let pieceByteCountMax = 32 << 10

    private let session: NoiseSession
    private var pieces: [UInt8] = []

    init(_ session: NoiseSession) { self.session = session }

    /// The hash that both sides use and compare.
    var handshakeHash: [UInt8] { session.handshakeHash }
    var remoteStaticKey: [UInt8] { session.remoteStaticKey?.bytes ?? [] }

    static func prologue(relayID: [UInt8], purpose: PairingPurpose) -> [UInt8] {
        var bytes = Array(purpose.rawValue.utf8)
        bytes.appendLengthPrefixed(relayID)
        return bytes
    }

    /// Frames for the relay, each: Noise message over (1 if more follows, else 0) ‖ piece.
    func seal(_ message: PairingMessage) throws -> [[UInt8]] {
        var encoded = message.encoded
        defer { encoded.zero() }
        guard encoded.count <= Self.messageByteCountMax else { throw PairingError(.outOfOrder) }
        var frames: [[UInt8]] = []
        var start = 0
        repeat {
            let end = min(start + Self.pieceByteCountMax, encoded.count)
            var piece = [end < encoded.count ? 1 : 0] + encoded[start..<end]
            defer { piece.zero() }
            do throws(InteropError) {
                frames.append(try session.sender.encrypt(piece))
            } catch {
                throw PairingError(.outOfOrder)
            }
            start = end
        } while start < encoded.count
        return frames
    }

    /// Takes a frame; nil until a message is complete.
    mutating func open(_ frame: [UInt8]) throws -> PairingMessage? {
        var piece: [UInt8]
        do throws(InteropError) {
            piece = try session.receiver.decrypt(frame)
        } catch {
            throw PairingError(.mismatch)
        }
        defer { piece.zero() }
        guard let mark = piece.first, mark <= 1, pieces.count + piece.count <= Self.messageByteCountMax else {
            throw PairingError(.mismatch)
        }
        pieces += piece.dropFirst()
        guard mark == 0 else { return nil }
        defer {
            pieces.zero()
            pieces = []
        }
        return try PairingMessage(decoding: pieces)
    }
}
