// The kernel's device for devices that a program makes. Invariant: an event that is shorter than it says is no event.

internal import CoffretBase
internal import CoffretTerminal
internal import Glibc

/// `/dev/uhid` on standard input: events of `linux/uhid.h`, one in each read and write, numbers in the order of the machine.
struct UserDevice {
    enum Event {
        /// A program has sent a report to the device.
        case report([UInt8])
        /// The last program has closed the device.
        case closed
        /// A question for a report that this device does not have, by its number.
        case unanswerable(reply: UInt32, id: [UInt8])
        case other
    }

    private enum Kind {
        static let close: UInt32 = 5
        static let output: UInt32 = 6
        static let getReport: UInt32 = 9
        static let getReportReply: UInt32 = 10
        static let create: UInt32 = 11
        static let input: UInt32 = 12
        static let setReport: UInt32 = 13
        static let setReportReply: UInt32 = 14
    }

    private static let dataByteCount = 4_096
    /// Type (4), and the longest event, which makes a device.
    private static let eventByteCount = 4 + 128 + 64 + 64 + 2 + 2 + 4 * 4 + dataByteCount
    private static let bus: UInt16 = 0x03
    /// Numbers that pid.codes keeps for tests; no driver looks for them.
    private static let (vendor, product): (UInt32, UInt32) = (0x1209, 0x0001)
    /// Usage page FIDO, 64 bytes in and 64 bytes out (CTAP 2.0, section 8.1.8.2).
    private static let descriptor: [UInt8] = [
        0x06, 0xD0, 0xF1, 0x09, 0x01, 0xA1, 0x01, 0x09, 0x20, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95, 0x40,
        0x81, 0x02, 0x09, 0x21, 0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95, 0x40, 0x91, 0x02, 0xC0,
    ]

    /// Makes the device; it goes with the descriptor.
    func create() throws(SystemFailure) {
        func padded(_ text: String, _ count: Int) -> [UInt8] {
            Array(text.utf8) + [UInt8](repeating: 0, count: count - text.utf8.count)
        }
        var event = padded("Coffret passkeys", 128) + padded("coffret", 64) + padded("", 64)
        event += Self.bytes(UInt16(Self.descriptor.count)) + Self.bytes(Self.bus)
        for number in [Self.vendor, Self.product, 1, 0] { event += Self.bytes(number) }
        try send(Kind.create, event + Self.descriptor)
    }

    /// Waits for an event.
    ///
    /// - Returns: nil once the device is gone.
    func receive() -> Event? {
        var event = [UInt8](repeating: 0, count: Self.eventByteCount)
        var count: Int
        repeat { count = unsafe read(STDIN_FILENO, &event, event.count) } while count < 0 && errno == EINTR
        guard count > 0 else { return nil }
        let body = Array(event.prefix(count).dropFirst(4))
        guard count >= 4, case let kind = Self.number(event.prefix(4)) else { return .other }
        switch kind {
        case Kind.close: return .closed
        case Kind.output:
            guard body.count >= Self.dataByteCount + 2 else { return .other }
            let size = Int(Self.number(body[Self.dataByteCount..<Self.dataByteCount + 2]))
            return size <= Self.dataByteCount ? .report(Array(body.prefix(size))) : .other
        case Kind.getReport where body.count >= 4:
            return .unanswerable(reply: Kind.getReportReply, id: Array(body.prefix(4)))
        case Kind.setReport where body.count >= 4:
            return .unanswerable(reply: Kind.setReportReply, id: Array(body.prefix(4)))
        default: return .other
        }
    }

    func send(report: [UInt8]) throws(SystemFailure) {
        try send(Kind.input, Self.bytes(UInt16(report.count)) + report)
    }

    func refuse(_ reply: UInt32, _ id: [UInt8]) throws(SystemFailure) {
        try send(reply, id + Self.bytes(UInt16(EIO)))
    }

    /// The kernel fills a shorter event with zeros.
    private func send(_ kind: UInt32, _ body: [UInt8]) throws(SystemFailure) {
        try DescriptorIO.write(Self.bytes(kind) + body, to: STDIN_FILENO)
    }

    private static func bytes(_ value: some FixedWidthInteger) -> [UInt8] {
        unsafe withUnsafeBytes(of: value) { unsafe [UInt8]($0) }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        // The machines that this is built for have the smallest byte first.
        bytes.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
}
