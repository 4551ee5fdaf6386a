// Starting a program from the layer above.

internal import Glibc

package enum ProgramStart {
    /// Starts a program with these descriptors as its standard input and output.
    ///
    /// - Returns: its process id; nil if it cannot be started.
    package static func start(
        _ words: [String], input: Int32, output: Int32, environment: [String: String]
    ) -> Int32? {
        try? ChildProcess.start(
            words, input: .descriptor(input), output: .descriptor(output), error: .null, environment: environment
        ).processID
    }

    /// A pipe whose ends no other program inherits; nil if there is no room.
    package static func makePipe() -> (reading: Int32, writing: Int32)? { try? ChildProcess.makePipe() }

    /// Where a program lies on the PATH among these variables; relative entries are skipped.
    package static func find(_ name: String, _ variables: [String: String]) -> String? {
        ProgramFinder(environment: ProcessEnvironment(variables)).find(name)
    }
}
