// The security key's reports and messages, without a device. `Tests/Interop/security_key.py` holds the same with libfido2, through the programs.

import CoffretBase
import CoffretTestSupport
import Testing

@testable import CoffretWire

@Suite("Security key")
struct CTAPTests {
    private static let start = BootInstant(nanoseconds: 1_000_000_000)

    private static func report(_ channel: UInt32, _ head: [UInt8], _ content: [UInt8] = []) -> [UInt8] {
        let bytes = channel.bigEndianBytes + head + content
        return bytes + [UInt8](repeating: 0, count: 64 - bytes.count)
    }

    /// A transport with channel 1.
    private static func opened() -> CTAPTransport {
        var transport = CTAPTransport()
        _ = transport.take(report(.max, [0x86, 0, 8], [1, 2, 3, 4, 5, 6, 7, 8]), at: start)
        _ = transport.takeReports()
        return transport
    }

    private static func reports(of message: [UInt8], _ command: UInt8) -> [[UInt8]] {
        var reports = [
            report(
                1, [0x80 | command, UInt8(message.count >> 8), UInt8(message.count & 0xFF)], Array(message.prefix(57)))
        ]
        var (rest, sequence) = (Array(message.dropFirst(57)), UInt8(0))
        while !rest.isEmpty {
            reports.append(report(1, [sequence], Array(rest.prefix(59))))
            (rest, sequence) = (Array(rest.dropFirst(59)), sequence + 1)
        }
        return reports
    }

    @Test("the worked example of Spec/authenticator.md")
    func example() throws {
        var transport = CTAPTransport()
        #expect(transport.take(Self.report(.max, [0x86, 0, 8], [1, 2, 3, 4, 5, 6, 7, 8]), at: Self.start) == nil)
        #expect(
            transport.takeReports() == [
                Self.report(.max, [0x86, 0, 17], [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 1, 2, 0, 0, 0, 0x0C])
            ])
        #expect(transport.take(Self.report(1, [0x90, 0, 1], [4]), at: Self.start) == .request([4]))
        #expect(try CTAPRequest([4]) == .information)
        transport.answer(CTAPReply.information)
        let message = try Hex.decode(
            "00a40181684649444f5f325f300350" + String(repeating: "00", count: 16)
                + "04a462726bf5627570f5627576f564706c6174f405191db9")
        #expect(transport.takeReports() == Self.reports(of: message, 0x10))
    }

    @Test("a message of each length comes out as it went in, and its answer goes out in as many reports")
    func lengths() {
        for count in [1, 56, 57, 58, 116, 117, 1_000, CTAPTransport.messageByteCountMax] {
            var transport = Self.opened()
            let message = (0..<count).map { UInt8($0 % 251) }
            var events: [CTAPTransport.Event] = []
            for (index, report) in Self.reports(of: message, 0x10).enumerated() {
                // Every second one with its number in front, as some systems have it.
                if let event = transport.take(index % 2 == 0 ? report : [0] + report, at: Self.start) {
                    events.append(event)
                }
            }
            #expect(events == [.request(message)] && transport.isWorking)
            transport.answer(message)
            #expect(transport.takeReports() == Self.reports(of: message, 0x10) && !transport.isWorking)
        }
        var transport = Self.opened()
        let tooLong = CTAPTransport.messageByteCountMax + 1
        _ = transport.take(Self.report(1, [0x90, UInt8(tooLong >> 8), UInt8(tooLong & 0xFF)]), at: Self.start)
        #expect(transport.takeReports() == [Self.report(1, [0xBF, 0, 1], [3])])
        _ = transport.take(Self.report(1, [0x90, 0, 1], [4]), at: Self.start)
        transport.answer([UInt8](repeating: 0, count: tooLong))
        #expect(transport.takeReports() == [Self.report(1, [0x90, 0, 1], [CTAPStatus.other.rawValue])])
    }

    @Test("a message that stops is forgotten by the clock, and not before")
    func pauses() {
        var transport = Self.opened()
        _ = transport.take(Self.report(1, [0x90, 0, 100]), at: Self.start)
        transport.expire(at: Self.start.advanced(by: CTAPTransport.pauseMax))
        #expect(transport.isReceiving && transport.takeReports().isEmpty)
        transport.expire(at: Self.start.advanced(by: CTAPTransport.pauseMax + .nanoseconds(1)))
        #expect(!transport.isReceiving)
        #expect(transport.takeReports() == [Self.report(1, [0xBF, 0, 1], [5])])
    }

    @Test("cancelling ends the message of its own channel, and its answer goes nowhere")
    func cancelling() {
        var transport = Self.opened()
        _ = transport.take(Self.report(.max, [0x86, 0, 8]), at: Self.start)
        _ = transport.take(Self.report(1, [0x90, 0, 1], [4]), at: Self.start)
        _ = transport.takeReports()
        #expect(transport.take(Self.report(2, [0x91, 0, 0]), at: Self.start) == nil && transport.isWorking)
        #expect(transport.take(Self.report(1, [0x91, 0, 0]), at: Self.start) == .cancelled)
        #expect(transport.takeReports() == [Self.report(1, [0x90, 0, 1], [0x2D])])
        transport.answer([0])
        transport.keepAlive()
        #expect(transport.takeReports().isEmpty)
        _ = transport.take(Self.report(1, [0x90, 0, 1], [4]), at: Self.start)
        transport.keepAlive()
        #expect(transport.takeReports() == [Self.report(1, [0xBB, 0, 1], [2])])
        // A channel that begins anew wants no answer either.
        #expect(transport.take(Self.report(1, [0x86, 0, 8]), at: Self.start) == .cancelled && !transport.isWorking)
    }

    @Test("whatever reports come, the key answers a channel that begins")
    func anyReports() {
        var random = SeededGenerator(seed: 11)
        var transport = Self.opened()
        for _ in 0..<20_000 {
            var report = (0..<64).map { _ in UInt8.random(in: 0...255, using: &random) }
            if Bool.random(using: &random) { report.replaceSubrange(0..<4, with: [0, 0, 0, 1]) }
            if Bool.random(using: &random) {
                report[4] = [0x81, 0x86, 0x90, 0x91, 0, 1].randomElement(using: &random)!
            }
            if Bool.random(using: &random) { report[5] = UInt8.random(in: 0...1, using: &random) }
            if case .request? = transport.take(report, at: Self.start) {
                transport.answer([0])
            }
            for made in transport.takeReports() { #expect(made.count == 64) }
        }
        _ = transport.take(Self.report(1, [0x86, 0, 8], [8, 7, 6, 5, 4, 3, 2, 1]), at: Self.start)
        #expect(transport.takeReports().last?[7..<15].elementsEqual([8, 7, 6, 5, 4, 3, 2, 1]) == true)
    }

    @Test("requests are read whole, and any bytes return")
    func requests() throws {
        let sign = CBOREncoder.encode { encoder in
            encoder.encodeMapHeader(count: 4)
            encoder.encode(unsigned: 1)
            encoder.encode(text: "shop.example")
            encoder.encode(unsigned: 2)
            encoder.encode(bytes: [UInt8](repeating: 7, count: 32))
            encoder.encode(unsigned: 3)
            encoder.encodeArrayHeader(count: 2)
            for type in ["public-key", "other"] {
                encoder.encodeMapHeader(count: 2)
                encoder.encode(text: "id")
                encoder.encode(bytes: [1, 2])
                encoder.encode(text: "type")
                encoder.encode(text: type)
            }
            encoder.encode(unsigned: 5)
            encoder.encodeMapHeader(count: 1)
            encoder.encode(text: "up")
            encoder.encode(bool: false)
        }
        guard case .sign(let signing) = try CTAPRequest([2] + sign) else { throw CTAPStatus.other }
        #expect(signing.site == "shop.example" && signing.credentials == [[1, 2]] && signing.isSilent)
        #expect(signing.clientDataHash == [UInt8](repeating: 7, count: 32))
        var random = SeededGenerator(seed: 12)
        for _ in 0..<20_000 {
            var bytes = [UInt8.random(in: 1...2, using: &random)] + sign
            for _ in 0..<3 {
                bytes[Int.random(in: 1..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            _ = try? CTAPRequest(Array(bytes.prefix(.random(in: 0...bytes.count, using: &random))))
        }
        #expect(throws: CTAPStatus.commandInvalid) { try CTAPRequest([]) }
    }
}
