// The variables of the command that `coffret run` starts. The one thing to keep true: a value is a reference as a whole
// or plain text as a whole; what a value holds is never looked into, and never printed.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretScripting
internal import CoffretTerminal
internal import Glibc

/// Gathers variables, later ones over earlier ones, and fills those that are references.
struct CommandEnvironment {
    /// The longest `NAME=VALUE` that Linux hands to a program, with its zero byte (MAX_ARG_STRLEN).
    static let entryByteCountMax = 131_072

    private struct Variable {
        let name: [UInt8]
        var value: [UInt8]
        var reference: SecretReference?
    }

    private var variables: [Variable] = []

    /// The variables of this process.
    init(inheriting entries: [[UInt8]]) throws {
        for entry in entries {
            guard let equals = entry.firstIndex(of: UInt8(ascii: "=")) else { continue }
            try set(Array(entry[..<equals]), Array(entry[(equals + 1)...]))
        }
    }

    /// Sets a variable; a value that begins like a reference has to be one.
    mutating func set(_ name: [UInt8], _ value: [UInt8]) throws {
        var reference: SecretReference?
        if value.starts(with: SecretReference.prefix.utf8) {
            let text = String(decoding: value, as: UTF8.self)
            do {
                reference = try SecretReference.parse(text)
            } catch {
                var failure = SecretReference.invalid(text, error)
                failure.details.append("in the variable \(Self.shown(name))")
                throw failure
            }
        }
        let variable = Variable(name: name, value: value, reference: reference)
        if let index = variables.firstIndex(where: { $0.name == name }) {
            variables[index] = variable
        } else {
            variables.append(variable)
        }
    }

    /// The references among the values, each once.
    var references: [SecretReference] { Array(Set(variables.compactMap(\.reference))) }

    /// The variables with their references filled.
    func surroundings(with values: [ResolvedSecret]) throws -> ChildSurroundings {
        let byReference = Dictionary(uniqueKeysWithValues: values.map { ($0.reference, $0) })
        var filled: [(name: [UInt8], value: [UInt8])] = []
        defer { for index in filled.indices { filled[index].value.zero() } }
        for variable in variables {
            guard let reference = variable.reference, let secret = byReference[reference] else {
                filled.append((variable.name, variable.value))
                continue
            }
            guard !secret.bytes.contains(0) else {
                throw refused(variable, "it holds a zero byte, which no variable can hold")
            }
            guard variable.name.count + secret.bytes.count + 2 <= Self.entryByteCountMax else {
                throw refused(
                    variable, "it is longer than a variable can be (\(NumberText.bytes(Self.entryByteCountMax)))")
            }
            filled.append((variable.name, secret.bytes))
        }
        return ChildSurroundings(variables: filled)
    }

    private func refused(_ variable: Variable, _ reason: String) -> CommandFailure {
        CommandFailure(
            .badInput, .inputInvalid, "the value for \(Self.shown(variable.name)) cannot be passed on: \(reason)",
            hint: "coffret read or coffret inject writes it to a pipe or a file; nothing was started")
    }

    private static func shown(_ name: [UInt8]) -> String {
        TextWidth.truncate(TextWidth.displaySafe(String(decoding: name, as: UTF8.self)), to: 60)
    }
}
