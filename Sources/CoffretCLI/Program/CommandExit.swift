// The end of a command that speaks for another program.

/// Ends coffret with an exit code that another program chose; nothing is printed.
struct CommandExit: Error {
    let code: Int32
}
