// Files of environment variables for `coffret run --env-file` (Spec/references.md). Invariant: a line that is not
// understood is an error with its number; nothing is expanded, executed or skipped.

internal import CoffretBase
internal import CoffretTerminal

/// Reads `NAME=VALUE` lines.
package enum EnvironmentFile {
    /// The longest file.
    package static let byteCountMax = 1 << 20

    package struct Variable: Equatable {
        package let name: String
        package let value: String
    }

    /// Why a line is refused.
    package struct LineError: Error, Equatable {
        package let line: Int
        package let reason: String
    }

    /// The variables in the order of the lines.
    package static func parse(_ text: String) throws(LineError) -> [Variable] {
        var variables: [Variable] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            var rest = line.utf8[...]
            if rest.last == 0x0D { rest.removeLast() }
            rest = trimmed(rest)
            guard let first = rest.first, first != UInt8(ascii: "#") else { continue }
            do throws(Reason) {
                variables.append(try variable(rest))
            } catch {
                throw LineError(line: index + 1, reason: error.text)
            }
        }
        return variables
    }

    private struct Reason: Error {
        let text: String
    }

    private typealias Bytes = Substring.UTF8View.SubSequence

    private static func trimmed(_ bytes: Bytes) -> Bytes {
        var rest = bytes.drop { $0 == 0x20 || $0 == 0x09 }
        while rest.last == 0x20 || rest.last == 0x09 { rest.removeLast() }
        return rest
    }

    private static func variable(_ line: Bytes) throws(Reason) -> Variable {
        var rest = line
        let export = Array("export".utf8)
        if rest.starts(with: export), let next = rest.dropFirst(export.count).first, next == 0x20 || next == 0x09 {
            rest = trimmed(rest.dropFirst(export.count))
        }
        guard let equals = rest.firstIndex(of: UInt8(ascii: "=")) else { throw Reason(text: "it is not NAME=VALUE") }
        let name = String(Substring(rest[..<equals]))
        guard isName(name) else {
            throw Reason(text: "names have letters, digits and _, and no space before the =")
        }
        return Variable(name: name, value: try value(rest[rest.index(after: equals)...]))
    }

    /// Whether a shell takes it as the name of a variable.
    package static func isName(_ name: String) -> Bool {
        guard let first = name.utf8.first, !(0x30...0x39).contains(first) else { return false }
        return name.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte) || byte == 0x5F
        }
    }

    /// A value: bare to the end of the line or to ` #`, in single quotes as it is, or in double quotes with escapes.
    private static func value(_ bytes: Bytes) throws(Reason) -> String {
        switch bytes.first {
        case UInt8(ascii: "'"):
            let inner = bytes.dropFirst()
            guard let end = inner.firstIndex(of: UInt8(ascii: "'")) else { throw Reason(text: "a quote is not closed") }
            try requireNothing(after: inner[end...].dropFirst())
            return String(Substring(inner[..<end]))
        case UInt8(ascii: "\""): return try doubleQuoted(bytes.dropFirst())
        default:
            var previous: UInt8 = 0x20
            let end = bytes.indices.first { index in
                defer { previous = bytes[index] }
                return bytes[index] == UInt8(ascii: "#") && (previous == 0x20 || previous == 0x09)
            }
            return String(Substring(trimmed(bytes[..<(end ?? bytes.endIndex)])))
        }
    }

    private static func doubleQuoted(_ bytes: Bytes) throws(Reason) -> String {
        var value: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""):
                try requireNothing(after: rest)
                return String(decoding: value, as: UTF8.self)
            case UInt8(ascii: "\\"):
                switch rest.popFirst() {
                case UInt8(ascii: "n"): value.append(0x0A)
                case UInt8(ascii: "r"): value.append(0x0D)
                case UInt8(ascii: "t"): value.append(0x09)
                case UInt8(ascii: "\\"): value.append(UInt8(ascii: "\\"))
                case UInt8(ascii: "\""): value.append(UInt8(ascii: "\""))
                case UInt8(ascii: "$"): value.append(UInt8(ascii: "$"))
                default: throw Reason(text: "in double quotes, \\ stands before n, r, t, \\, \" or $")
                }
            case UInt8(ascii: "$"):
                throw Reason(text: "nothing is expanded here: write \\$, or use single quotes")
            default: value.append(byte)
            }
        }
        throw Reason(text: "a quote is not closed")
    }

    private static func requireNothing(after bytes: Bytes) throws(Reason) {
        let rest = trimmed(bytes)
        guard rest.isEmpty || rest.first == UInt8(ascii: "#") else {
            throw Reason(text: "something stands behind the closing quote")
        }
    }
}
