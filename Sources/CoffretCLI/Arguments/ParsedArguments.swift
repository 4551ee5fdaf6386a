// What stood on the command line, once it has been checked. The one thing to keep true: a command
// asks with the same descriptions it declared, so a misspelt name is a bug found by its first test.

internal import CoffretMessages

/// The checked words of one command line.
struct ParsedArguments: Sendable {
    /// Names from the program's first subcommand on; empty for `coffret` alone.
    fileprivate(set) var path: [String] = []
    fileprivate(set) var command: CommandDescription
    private var optionValues: [String: [String]] = [:]
    private var argumentValues: [String: [String]] = [:]

    init(command: CommandDescription) {
        self.command = command
    }

    /// Whether a flag or an option was given.
    func isSet(_ option: OptionDescription) -> Bool { optionValues[option.name] != nil }

    /// The value of an option; the last, if it was given several times.
    func value(_ option: OptionDescription) -> String? { optionValues[option.name]?.last }

    /// All values of an option, in order.
    func values(_ option: OptionDescription) -> [String] { optionValues[option.name] ?? [] }

    /// The value of an option of kind `.number`, whose bounds the parser has checked.
    func number(_ option: OptionDescription) -> Int? { value(option).flatMap { Int($0) } }

    /// The value of an argument.
    func value(_ argument: ArgumentDescription) -> String? { argumentValues[argument.name]?.first }

    /// All values of a repeating argument, in order.
    func values(_ argument: ArgumentDescription) -> [String] { argumentValues[argument.name] ?? [] }

    /// The value of a required argument, without which parsing has failed.
    func required(_ argument: ArgumentDescription) -> String {
        guard let value = value(argument) else {
            preconditionFailure("\(argument.name) is not a required argument of \(command.name)")
        }
        return value
    }

    mutating func enter(_ subcommand: CommandDescription) {
        path.append(subcommand.name)
        command = subcommand
    }

    /// Records an option's value; a flag's value is the empty text.
    mutating func add(_ value: String, to option: OptionDescription) {
        optionValues[option.name, default: []].append(value)
    }

    mutating func add(_ value: String, to argument: ArgumentDescription) {
        argumentValues[argument.name, default: []].append(value)
    }
}
