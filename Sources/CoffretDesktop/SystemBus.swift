// A connection to the system's message bus. Invariant: a call waits a second at most, so that a service that hangs
// does not keep the agent from locking.

internal import CSystemd
internal import CoffretTerminal
internal import Glibc

/// A message of the bus, released with this object.
@safe final class BusMessage {
    // SAFETY: a reference of this object's own, given back with it.
    let pointer: OpaquePointer

    /// Takes over a message.
    init(_ pointer: OpaquePointer) {
        unsafe self.pointer = unsafe pointer
    }

    deinit { unsafe sd_bus_message_unref(pointer) }

    func isSignal(_ interface: String, _ member: String) -> Bool {
        unsafe sd_bus_message_is_signal(pointer, interface, member) > 0
    }

    var path: String? {
        guard let path = unsafe sd_bus_message_get_path(pointer) else { return nil }
        return unsafe String(cString: path)
    }

    func append(_ text: String) -> Bool {
        unsafe text.withCString { text in unsafe sd_bus_message_append_basic(pointer, Self.type("s"), text) >= 0 }
    }

    func append(unsigned value: UInt32) -> Bool {
        var value = value
        return unsafe sd_bus_message_append_basic(pointer, Self.type("u"), &value) >= 0
    }

    func append(signed value: Int32) -> Bool {
        var value = value
        return unsafe sd_bus_message_append_basic(pointer, Self.type("i"), &value) >= 0
    }

    /// A container with nothing in it.
    func appendEmpty(_ kind: Character, _ contents: String) -> Bool {
        guard unsafe sd_bus_message_open_container(pointer, Self.type(kind), contents) >= 0 else { return false }
        return unsafe sd_bus_message_close_container(pointer) >= 0
    }

    func readBoolean() -> Bool? {
        var value: Int32 = 0
        guard unsafe sd_bus_message_read_basic(pointer, Self.type("b"), &value) > 0 else { return nil }
        return value != 0
    }

    func readUnsigned() -> UInt32? {
        var value: UInt32 = 0
        guard unsafe sd_bus_message_read_basic(pointer, Self.type("u"), &value) > 0 else { return nil }
        return value
    }

    func readText() -> String? {
        var value: UnsafePointer<CChar>?
        guard unsafe sd_bus_message_read_basic(pointer, Self.type("s"), &value) > 0, let value = unsafe value else {
            return nil
        }
        return unsafe String(cString: value)
    }

    /// A descriptor of the caller's own; nil if the message has none here.
    func readDescriptor() -> Int32? {
        var value: Int32 = -1
        guard unsafe sd_bus_message_read_basic(pointer, Self.type("h"), &value) > 0 else { return nil }
        let copy = fcntl(value, F_DUPFD_CLOEXEC, 3)
        return copy >= 0 ? copy : nil
    }

    /// Goes into a container and out again; nil if the next item is not one.
    func inside<Result>(_ kind: Character, _ contents: String, _ body: () -> Result?) -> Result? {
        guard unsafe sd_bus_message_enter_container(pointer, Self.type(kind), contents) > 0 else { return nil }
        defer { unsafe sd_bus_message_exit_container(pointer) }
        return body()
    }

    func skip(_ contents: String) { unsafe sd_bus_message_skip(pointer, contents) }

    private static func type(_ character: Character) -> CChar { CChar(character.asciiValue ?? 0) }
}

/// The system's bus.
@safe final class SystemBus {
    // SAFETY: a reference of this object's own, given back with it.
    private let bus: OpaquePointer
    private static let patienceMicroseconds: UInt64 = 1_000_000

    /// - Returns: nil where there is no bus.
    init?() {
        var opened: OpaquePointer?
        guard unsafe sd_bus_open_system(&opened) >= 0, let opened = unsafe opened else { return nil }
        unsafe bus = unsafe opened
        unsafe sd_bus_set_method_call_timeout(bus, Self.patienceMicroseconds)
    }

    deinit { unsafe sd_bus_flush_close_unref(bus) }

    /// -1 once the bus is gone.
    var descriptor: Int32 { unsafe max(sd_bus_get_fd(bus), -1) }
    var pollEvents: Int16 { Int16(truncatingIfNeeded: unsafe max(sd_bus_get_events(bus), 0)) }

    /// Milliseconds until the bus wants to be looked at; -1 for never.
    var timeoutMilliseconds: Int32 {
        var moment: UInt64 = 0
        guard unsafe sd_bus_get_timeout(bus, &moment) > 0, moment != .max else { return -1 }
        var now = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &now)
        let microseconds = UInt64(now.tv_sec) * 1_000_000 + UInt64(now.tv_nsec) / 1000
        return moment <= microseconds ? 0 : Int32(clamping: (moment - microseconds) / 1000 + 1)
    }

    /// The next message that arrived, without waiting; nil if there is none.
    func next() -> BusMessage? {
        while true {
            var message: OpaquePointer?
            guard unsafe sd_bus_process(bus, &message) > 0 else { return nil }
            if let message = unsafe message { return unsafe BusMessage(message) }
        }
    }

    func call(
        _ destination: String, _ path: String, _ interface: String, _ member: String, _ texts: [String]
    ) -> BusMessage? {
        var made: OpaquePointer?
        guard unsafe sd_bus_message_new_method_call(bus, &made, destination, path, interface, member) >= 0,
            let made = unsafe made
        else { return nil }
        let request = unsafe BusMessage(made)
        for text in texts { guard request.append(text) else { return nil } }
        var answer: OpaquePointer?
        guard unsafe sd_bus_call(bus, request.pointer, 0, nil, &answer) >= 0, let answer = unsafe answer else {
            return nil
        }
        return unsafe BusMessage(answer)
    }
}
