// A message of D-Bus. Invariant: what is read out of one is bounded, however much it holds.

internal import CSystemd
internal import Glibc

/// A message of the bus, released with this object.
@safe package final class BusMessage {
    // SAFETY: a reference of this object's own, given back with it.
    let pointer: OpaquePointer

    /// Takes over a message.
    init(_ pointer: OpaquePointer) {
        unsafe self.pointer = unsafe pointer
    }

    deinit { unsafe sd_bus_message_unref(pointer) }

    package func isSignal(_ interface: String, _ member: String) -> Bool {
        unsafe sd_bus_message_is_signal(pointer, interface, member) > 0
    }

    package var isCall: Bool {
        var type: UInt8 = 0
        return unsafe sd_bus_message_get_type(pointer, &type) >= 0 && type == UInt8(SD_BUS_MESSAGE_METHOD_CALL)
    }

    package var path: String? { unsafe Self.text(sd_bus_message_get_path(pointer)) }
    package var interface: String? { unsafe Self.text(sd_bus_message_get_interface(pointer)) }
    package var member: String? { unsafe Self.text(sd_bus_message_get_member(pointer)) }
    /// The name that the bus gave the sender's connection.
    package var sender: String? { unsafe Self.text(sd_bus_message_get_sender(pointer)) }
    /// The types of its contents.
    package var signature: String { unsafe Self.text(sd_bus_message_get_signature(pointer, 1)) ?? "" }

    private static func text(_ text: UnsafePointer<CChar>?) -> String? {
        guard let text = unsafe text else { return nil }
        return unsafe String(cString: text)
    }

    /// Its bytes are overwritten before they are freed.
    package func markSensitive() { _ = unsafe sd_bus_message_sensitive(pointer) }

    package func append(_ text: String) -> Bool { append(text, as: "s") }

    /// - Parameter kind: `s` for a text, `o` for a path, `g` for a signature.
    func append(_ text: String, as kind: Character) -> Bool {
        unsafe text.withCString { text in unsafe sd_bus_message_append_basic(pointer, Self.type(kind), text) >= 0 }
    }

    package func append(unsigned value: UInt32) -> Bool {
        var value = value
        return unsafe sd_bus_message_append_basic(pointer, Self.type("u"), &value) >= 0
    }

    package func append(signed value: Int32) -> Bool {
        var value = value
        return unsafe sd_bus_message_append_basic(pointer, Self.type("i"), &value) >= 0
    }

    package func append(_ value: BusValue) -> Bool {
        switch value {
        case .text(let text): return append(text)
        case .path(let path): return append(path, as: "o")
        case .flag(let flag):
            var number: Int32 = flag ? 1 : 0
            return unsafe sd_bus_message_append_basic(pointer, Self.type("b"), &number) >= 0
        case .number(let number):
            var number = number
            return unsafe sd_bus_message_append_basic(pointer, Self.type("t"), &number) >= 0
        case .integer(let number): return append(signed: number)
        case .unsigned(let number): return append(unsigned: number)
        case .bytes(let bytes):
            return unsafe bytes.withUnsafeBytes { bytes in
                unsafe sd_bus_message_append_array(pointer, Self.type("y"), bytes.baseAddress, bytes.count) >= 0
            }
        case .array(let contents, let values): return append("a", contents, values)
        case .structure(let values): return append("r", values.map(\.signature).joined(), values)
        case .entry(let key, let value): return append("e", key.signature + value.signature, [key, value])
        case .variant(let value): return append("v", value.signature, [value])
        case .other: return false
        }
    }

    private func append(_ kind: Character, _ contents: String, _ values: [BusValue]) -> Bool {
        guard unsafe sd_bus_message_open_container(pointer, Self.type(kind), contents) >= 0 else { return false }
        guard values.allSatisfy(append) else { return false }
        return unsafe sd_bus_message_close_container(pointer) >= 0
    }

    /// A container with nothing in it.
    package func appendEmpty(_ kind: Character, _ contents: String) -> Bool { append(kind, contents, []) }

    package func readBoolean() -> Bool? {
        var value: Int32 = 0
        guard unsafe sd_bus_message_read_basic(pointer, Self.type("b"), &value) > 0 else { return nil }
        return value != 0
    }

    package func readUnsigned() -> UInt32? {
        var value: UInt32 = 0
        guard unsafe sd_bus_message_read_basic(pointer, Self.type("u"), &value) > 0 else { return nil }
        return value
    }

    package func readText() -> String? { readText(as: "s") }

    private func readText(as kind: Character) -> String? {
        var value: UnsafePointer<CChar>?
        guard unsafe sd_bus_message_read_basic(pointer, Self.type(kind), &value) > 0, let value = unsafe value else {
            return nil
        }
        return unsafe String(cString: value)
    }

    /// A descriptor of the caller's own; nil if the message has none here.
    package func readDescriptor() -> Int32? {
        var value: Int32 = -1
        guard unsafe sd_bus_message_read_basic(pointer, Self.type("h"), &value) > 0 else { return nil }
        let copy = fcntl(value, F_DUPFD_CLOEXEC, 3)
        return copy >= 0 ? copy : nil
    }

    /// Goes into a container and out again; nil if the next item is not one.
    package func inside<Result>(_ kind: Character, _ contents: String, _ body: () -> Result?) -> Result? {
        guard unsafe sd_bus_message_enter_container(pointer, Self.type(kind), contents) > 0 else { return nil }
        defer { unsafe sd_bus_message_exit_container(pointer) }
        return body()
    }

    package func skip(_ contents: String) { unsafe sd_bus_message_skip(pointer, contents) }

    private static func type(_ character: Character) -> CChar { CChar(character.asciiValue ?? 0) }

    // MARK: All of it

    /// All values of the message.
    ///
    /// - Parameter countMax: the most values, those inside of others counted too.
    /// - Returns: nil if there are more, or if they stand deeper in each other than eight.
    package func values(countMax: Int) -> [BusValue]? {
        var left = countMax
        return readAll(&left, depth: 0)
    }

    private func readAll(_ left: inout Int, depth: Int) -> [BusValue]? {
        var values: [BusValue] = []
        while true {
            var (kind, contents): (CChar, UnsafePointer<CChar>?) = (0, nil)
            guard unsafe sd_bus_message_peek_type(pointer, &kind, &contents) > 0 else { return values }
            left -= 1
            guard left >= 0, depth < 8,
                let value = unsafe read(
                    Character(UnicodeScalar(UInt8(bitPattern: kind))), Self.text(contents) ?? "", &left, depth)
            else { return nil }
            values.append(value)
        }
    }

    private func read(_ kind: Character, _ contents: String, _ left: inout Int, _ depth: Int) -> BusValue? {
        switch kind {
        case "s": return readText().map { .text($0) }
        case "o": return readText(as: "o").map { .path($0) }
        case "b": return readBoolean().map { .flag($0) }
        case "t":
            var value: UInt64 = 0
            return unsafe sd_bus_message_read_basic(pointer, Self.type("t"), &value) > 0 ? .number(value) : nil
        case "i":
            var value: Int32 = 0
            return unsafe sd_bus_message_read_basic(pointer, Self.type("i"), &value) > 0 ? .integer(value) : nil
        case "u": return readUnsigned().map { .unsigned($0) }
        case "a" where contents == "y":
            var (bytes, count): (UnsafeRawPointer?, Int) = (nil, 0)
            guard unsafe sd_bus_message_read_array(pointer, Self.type("y"), &bytes, &count) >= 0 else { return nil }
            return unsafe .bytes([UInt8](UnsafeRawBufferPointer(start: bytes, count: count)))
        case "a", "r", "e", "v":
            guard let values = inside(kind, contents, { readAll(&left, depth: depth + 1) }) else { return nil }
            switch kind {
            case "a": return .array(contents, values)
            case "r": return .structure(values)
            case "e": return values.count == 2 ? .entry(values[0], values[1]) : nil
            default: return values.first.map { .variant($0) }
            }
        default:
            skip(String(kind))
            return .other(kind)
        }
    }
}

/// A value of D-Bus, of the types that services of Coffret speak.
package indirect enum BusValue: Equatable {
    case text(String)
    case path(String)
    case flag(Bool)
    case number(UInt64)
    case integer(Int32)
    case unsigned(UInt32)
    case bytes([UInt8])
    /// With the signature of one of its values.
    case array(String, [BusValue])
    case structure([BusValue])
    /// Of a dictionary.
    case entry(BusValue, BusValue)
    case variant(BusValue)
    /// Of another type, and passed over.
    case other(Character)

    package var signature: String {
        switch self {
        case .text: "s"
        case .path: "o"
        case .flag: "b"
        case .number: "t"
        case .integer: "i"
        case .unsigned: "u"
        case .bytes: "ay"
        case .array(let contents, _): "a" + contents
        case .structure(let values): "(" + values.map(\.signature).joined() + ")"
        case .entry(let key, let value): "{" + key.signature + value.signature + "}"
        case .variant: "v"
        case .other(let kind): String(kind)
        }
    }

    package static func paths(_ paths: [String]) -> BusValue { .array("o", paths.map { .path($0) }) }

    /// A dictionary of texts.
    package static func texts(_ texts: [String: String]) -> BusValue {
        .array("{ss}", texts.sorted { $0.key < $1.key }.map { .entry(.text($0.key), .text($0.value)) })
    }

    /// A dictionary of properties.
    package static func properties(_ values: [(String, BusValue)]) -> BusValue {
        .array("{sv}", values.map { .entry(.text($0.0), .variant($0.1)) })
    }

    package var text: String? { if case .text(let text) = self { text } else { nil } }
    package var path: String? { if case .path(let path) = self { path } else { nil } }
    package var flag: Bool? { if case .flag(let flag) = self { flag } else { nil } }
    package var integer: Int32? { if case .integer(let number) = self { number } else { nil } }
    package var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }

    package var elements: [BusValue]? {
        switch self {
        case .array(_, let values), .structure(let values): values
        default: nil
        }
    }

    /// The value inside of a variant.
    package var inner: BusValue { if case .variant(let value) = self { value } else { self } }

    package var texts: [String: String]? {
        guard case .array("{ss}", let entries) = self else { return nil }
        var texts: [String: String] = [:]
        for entry in entries {
            guard case .entry(.text(let key), .text(let value)) = entry else { return nil }
            texts[key] = value
        }
        return texts
    }

    package func property(_ name: String) -> BusValue? {
        guard case .array("{sv}", let entries) = self else { return nil }
        for case .entry(.text(name), let value) in entries { return value.inner }
        return nil
    }
}
