// CTAP over HID, on the side of a security key. Invariant: one message is under way at a time, its length was said before and is within
// bounds, and a report that does not belong to it changes nothing of it.

package import CoffretBase

/// Reports of 64 bytes in, messages of CTAP out, and back.
///
/// A program that uses the key first asks for a channel by `initialize`. Nothing of a channel is kept but its number.
/// Spec: Spec/authenticator.md section 2. Source: FIDO CTAP 2.0, section 8.1.
package struct CTAPTransport {
    package static let reportByteCount = 64
    private static let firstByteCount = reportByteCount - 7
    private static let nextByteCount = reportByteCount - 5
    /// As much as a first report and 128 others hold.
    package static let messageByteCountMax = firstByteCount + 128 * nextByteCount
    /// A message that stops for so long is forgotten.
    package static let pauseMax = Duration.seconds(2)
    private static let broadcast = UInt32.max
    /// CTAP 2 by `cbor`, and no U2F by `message`.
    private static let capabilities: UInt8 = 0x04 | 0x08

    private enum Command: UInt8 {
        case ping = 0x01
        case initialize = 0x06
        case cbor = 0x10
        case cancel = 0x11
        case keepAlive = 0x3B
        case failure = 0x3F
    }

    package enum Failure: UInt8, Sendable {
        case commandInvalid = 0x01
        case lengthInvalid = 0x03
        case sequenceInvalid = 0x04
        case messageTimeout = 0x05
        case channelBusy = 0x06
        case channelInvalid = 0x0B
    }

    package enum Event: Equatable, Sendable {
        /// A message of CTAP, which `answer` answers.
        case request([UInt8])
        /// The message that was not answered yet wants no answer any more.
        case cancelled
    }

    private struct Part {
        let channel: UInt32
        let command: Command
        let byteCount: Int
        var bytes: [UInt8]
        var next: UInt8 = 0
        var time: BootInstant
    }

    private enum State {
        case idle
        case receiving(Part)
        /// The message of this channel is being answered.
        case working(UInt32)
    }

    private var state = State.idle
    /// Channels are numbered from 1.
    private var channelCount: UInt32 = 0
    private var outgoing: [[UInt8]] = []

    package init() {}

    /// Reports that are to be sent.
    package mutating func takeReports() -> [[UInt8]] {
        defer { outgoing = [] }
        return outgoing
    }

    package var isWorking: Bool { if case .working = state { true } else { false } }
    package var isReceiving: Bool { if case .receiving = state { true } else { false } }

    /// Takes a report. Some systems put its number, 0, in front of it.
    package mutating func take(_ report: [UInt8], at now: BootInstant) -> Event? {
        let bytes = report.count == Self.reportByteCount + 1 && report[0] == 0 ? report.dropFirst() : report[...]
        guard bytes.count == Self.reportByteCount, let channel = UInt32(bigEndianBytes: bytes.prefix(4)) else {
            return nil
        }
        let rest = Array(bytes.dropFirst(4))
        guard rest[0] & 0x80 != 0 else { return goOn(channel, rest[0], rest[1...], at: now) }
        let byteCount = Int(rest[1]) << 8 | Int(rest[2])
        return begin(channel, rest[0] & 0x7F, byteCount, rest[3...], at: now)
    }

    private mutating func begin(
        _ channel: UInt32, _ number: UInt8, _ byteCount: Int, _ content: ArraySlice<UInt8>, at now: BootInstant
    ) -> Event? {
        let command = Command(rawValue: number)
        if command == .initialize { return initialize(channel, byteCount, Array(content.prefix(8))) }
        guard (1...max(channelCount, 1)).contains(channel), channelCount > 0 else {
            return fail(.channelInvalid, channel)
        }
        switch state {
        case .receiving(let part):
            guard part.channel == channel else { return fail(.channelBusy, channel) }
            state = .idle
            return fail(.sequenceInvalid, channel)
        case .working(let working):
            guard command == .cancel else { return fail(.channelBusy, channel) }
            guard working == channel else { return nil }
            answer([CTAPStatus.cancelled.rawValue])
            return .cancelled
        case .idle: break
        }
        guard command == .ping || command == .cbor, let command else {
            // There is nothing to cancel.
            return command == .cancel ? nil : fail(.commandInvalid, channel)
        }
        guard (command == .ping ? 0 : 1)...Self.messageByteCountMax ~= byteCount else {
            return fail(.lengthInvalid, channel)
        }
        return advance(
            Part(
                channel: channel, command: command, byteCount: byteCount, bytes: Array(content.prefix(byteCount)),
                time: now))
    }

    private mutating func goOn(
        _ channel: UInt32, _ sequence: UInt8, _ content: ArraySlice<UInt8>, at now: BootInstant
    ) -> Event? {
        // What belongs to no message is left alone.
        guard case .receiving(var part) = state, part.channel == channel else { return nil }
        guard sequence == part.next else {
            state = .idle
            return fail(.sequenceInvalid, channel)
        }
        part.bytes += content.prefix(part.byteCount - part.bytes.count)
        part.next += 1
        part.time = now
        return advance(part)
    }

    private mutating func advance(_ part: Part) -> Event? {
        guard part.bytes.count == part.byteCount else {
            state = .receiving(part)
            return nil
        }
        state = .idle
        if part.command == .ping {
            send(.ping, part.bytes, part.channel)
            return nil
        }
        state = .working(part.channel)
        return .request(part.bytes)
    }

    /// Gives a channel, or begins one anew.
    private mutating func initialize(_ channel: UInt32, _ byteCount: Int, _ nonce: [UInt8]) -> Event? {
        guard channel == Self.broadcast || (1...max(channelCount, 1)).contains(channel) && channelCount > 0 else {
            return fail(.channelInvalid, channel)
        }
        guard byteCount == nonce.count else { return fail(.lengthInvalid, channel) }
        var event: Event?
        var given = channel
        if channel == Self.broadcast {
            channelCount = channelCount < Self.broadcast - 1 ? channelCount + 1 : 1
            given = channelCount
        } else {
            switch state {
            case .working(channel):
                state = .idle
                event = .cancelled
            case .receiving(let part) where part.channel == channel: state = .idle
            default: break
            }
        }
        send(.initialize, nonce + given.bigEndianBytes + [2, 0, 0, 0, Self.capabilities], channel)
        return event
    }

    /// Forgets a message that has stopped.
    package mutating func expire(at now: BootInstant) {
        guard case .receiving(let part) = state, part.time.duration(to: now) > Self.pauseMax else { return }
        state = .idle
        _ = fail(.messageTimeout, part.channel)
    }

    /// Forgets the message under way: nobody has the device open any more.
    package mutating func close() {
        state = .idle
        outgoing = []
    }

    /// Says that the answer takes time, because a person is asked.
    package mutating func keepAlive() {
        guard case .working(let channel) = state else { return }
        send(.keepAlive, [2], channel)
    }

    /// Answers the message that is under way; an answer to nothing, or a longer one, is dropped.
    package mutating func answer(_ message: [UInt8]) {
        guard case .working(let channel) = state else { return }
        state = .idle
        send(.cbor, message.count <= Self.messageByteCountMax ? message : [CTAPStatus.other.rawValue], channel)
    }

    private mutating func fail(_ failure: Failure, _ channel: UInt32) -> Event? {
        send(.failure, [failure.rawValue], channel)
        return nil
    }

    private mutating func send(_ command: Command, _ message: [UInt8], _ channel: UInt32) {
        func add(_ head: [UInt8], _ content: ArraySlice<UInt8>) {
            let report = channel.bigEndianBytes + head + content
            outgoing.append(report + [UInt8](repeating: 0, count: Self.reportByteCount - report.count))
        }
        let count = message.count
        add([0x80 | command.rawValue, UInt8(count >> 8), UInt8(count & 0xFF)], message.prefix(Self.firstByteCount))
        var (rest, sequence) = (message.dropFirst(Self.firstByteCount), UInt8(0))
        while !rest.isEmpty {
            add([sequence], rest.prefix(Self.nextByteCount))
            (rest, sequence) = (rest.dropFirst(Self.nextByteCount), sequence + 1)
        }
    }
}
