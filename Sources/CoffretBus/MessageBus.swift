// A connection to a message bus. Invariant: a call waits a second at most, so that a service that hangs does not keep its
// caller from locking.

internal import CSystemd
internal import Glibc

/// The system's bus, or that of the person's session.
@safe package final class MessageBus {
    package enum Kind {
        case system, session
    }

    // SAFETY: a reference of this object's own, given back with it.
    private let bus: OpaquePointer
    private static let patienceMicroseconds: UInt64 = 1_000_000

    /// - Returns: nil where there is no bus.
    package init?(_ kind: Kind) {
        var opened: OpaquePointer?
        let status =
            switch kind {
            case .system: unsafe sd_bus_open_system(&opened)
            case .session: unsafe sd_bus_open_user(&opened)
            }
        guard status >= 0, let opened = unsafe opened else { return nil }
        unsafe bus = unsafe opened
        unsafe sd_bus_set_method_call_timeout(bus, Self.patienceMicroseconds)
    }

    deinit { unsafe sd_bus_flush_close_unref(bus) }

    /// -1 once the bus is gone.
    package var descriptor: Int32 { unsafe max(sd_bus_get_fd(bus), -1) }
    package var pollEvents: Int16 { Int16(truncatingIfNeeded: unsafe max(sd_bus_get_events(bus), 0)) }
    package var isOpen: Bool { unsafe sd_bus_is_open(bus) > 0 }

    /// Milliseconds until the bus wants to be looked at; -1 for never.
    package var timeoutMilliseconds: Int32 {
        var moment: UInt64 = 0
        guard unsafe sd_bus_get_timeout(bus, &moment) > 0, moment != .max else { return -1 }
        var now = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &now)
        let microseconds = UInt64(now.tv_sec) * 1_000_000 + UInt64(now.tv_nsec) / 1000
        return moment <= microseconds ? 0 : Int32(clamping: (moment - microseconds) / 1000 + 1)
    }

    /// The next message that arrived, without waiting; nil if there is none.
    package func next() -> BusMessage? {
        while true {
            var message: OpaquePointer?
            guard unsafe sd_bus_process(bus, &message) > 0 else { return nil }
            if let message = unsafe message { return unsafe BusMessage(message) }
        }
    }

    package func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ texts: [String]
    ) -> BusMessage? {
        call(destination, path, interface, member) { request in texts.allSatisfy(request.append) }
    }

    /// - Parameter fill: writes the arguments; false if that failed.
    package func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, fill: (BusMessage) -> Bool
    ) -> BusMessage? {
        var made: OpaquePointer?
        guard unsafe sd_bus_message_new_method_call(bus, &made, destination, path, interface, member) >= 0,
            let made = unsafe made
        else { return nil }
        let request = unsafe BusMessage(made)
        guard fill(request) else { return nil }
        var answer: OpaquePointer?
        guard unsafe sd_bus_call(bus, request.pointer, 0, nil, &answer) >= 0, let answer = unsafe answer else {
            return nil
        }
        return unsafe BusMessage(answer)
    }

    // MARK: Serving

    /// Takes a name on the bus.
    ///
    /// - Returns: false if another program has it. It is never taken from one.
    package func take(_ name: String) -> Bool { unsafe sd_bus_request_name(bus, name, 0) >= 0 }

    /// Asks for signals, as for a call.
    package func listen(_ rule: String) -> Bool {
        call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch", [rule]) != nil
    }

    /// The process at the other end of a connection, as the bus knows it.
    package func processID(of name: String) -> UInt32? {
        call(
            "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "GetConnectionUnixProcessID",
            [name])?.readUnsigned()
    }

    /// The program of a process, by the kernel's word; nil for one that hides it.
    package static func program(of process: UInt32) -> String? {
        var path = [CChar](repeating: 0, count: 4096)
        let count = unsafe readlink("/proc/\(process)/exe", &path, path.count - 1)
        return count > 0 ? String(decoding: path[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self) : nil
    }

    /// Answers a call.
    package func answer(_ request: BusMessage, _ values: [BusValue]) {
        var made: OpaquePointer?
        guard unsafe sd_bus_message_new_method_return(request.pointer, &made) >= 0, let made = unsafe made else {
            return
        }
        send(unsafe BusMessage(made), values)
    }

    /// Refuses a call.
    package func refuse(_ request: BusMessage, _ name: String, _ words: String) {
        var made: OpaquePointer?
        var error = unsafe sd_bus_error()
        _ = unsafe sd_bus_error_set(&error, name, words)
        defer { unsafe sd_bus_error_free(&error) }
        guard unsafe sd_bus_message_new_method_error(request.pointer, &made, &error) >= 0, let made = unsafe made else {
            return
        }
        send(unsafe BusMessage(made), [])
    }

    /// - Parameter receiver: a connection; nil for everybody who listens.
    package func signal(
        _ path: String, _ interface: String, _ member: String, _ values: [BusValue], to receiver: String? = nil
    ) {
        var made: OpaquePointer?
        guard unsafe sd_bus_message_new_signal(bus, &made, path, interface, member) >= 0, let made = unsafe made else {
            return
        }
        let message = unsafe BusMessage(made)
        if let receiver, unsafe sd_bus_message_set_destination(message.pointer, receiver) < 0 { return }
        send(message, values)
    }

    /// A message that cannot be written or sent is dropped: its receiver waits no longer than for one that was lost.
    private func send(_ message: BusMessage, _ values: [BusValue]) {
        message.markSensitive()
        guard values.allSatisfy(message.append) else { return }
        _ = unsafe sd_bus_send(bus, message.pointer, nil)
    }
}
