// age, which seals an export and opens it again. Invariant: what is sealed goes through a pipe, and what was opened lies in memory
// alone: neither is ever a file of a disk in clear.

internal import CPlatform
internal import CoffretBase
internal import CoffretTerminal
internal import Glibc

/// Runs age, which asks for its passphrase at the terminal by itself.
struct AgeProgram {
    static let fileExtension = ".age"
    /// How files of age begin, in their two forms.
    private static let marks = ["age-encryption.org/", "-----BEGIN AGE ENCRYPTED FILE-----"]

    private let path: String

    /// - Throws: `.ageMissing` where it is not installed.
    init(_ context: CommandContext) throws {
        guard let path = ProgramFinder(environment: context.environment).find("age") else {
            throw CommandFailure(
                .unavailable, .ageMissing, "the program age is not installed, which seals and opens such files",
                hint: "apt install age")
        }
        self.path = path
    }

    /// Whether age sealed a file, by its first bytes.
    static func isSealed(_ file: borrowing OwnedDescriptor) -> Bool {
        var head = [UInt8](repeating: 0, count: 64)
        let number = file.number
        let count = unsafe head.withUnsafeMutableBytes { unsafe pread(number, $0.baseAddress, $0.count, 0) }
        return marks.contains { head.prefix(max(0, count)).starts(with: $0.utf8) }
    }

    /// Opens a sealed file.
    ///
    /// - Parameter identities: files of keys; none for a passphrase.
    /// - Returns: the content, in memory.
    /// - Throws: `.ageFailed`; age itself has said why.
    func opened(_ file: borrowing OwnedDescriptor, identities: [String]) throws -> OwnedDescriptor {
        let memory = coffret_memory_file()
        guard memory >= 0 else { throw SystemFailure.last }
        let output = OwnedDescriptor(memory)
        let child = try ChildProcess.start(
            [path, "--decrypt"] + identities.flatMap { ["--identity", $0] }, input: .descriptor(file.number),
            output: .descriptor(output.number))
        let outcome = child.wait()
        guard outcome.isSuccess, lseek(output.number, 0, SEEK_SET) == 0 else {
            throw CommandFailure(
                .notAuthentic, .ageFailed, "age did not open the file: \(outcome.text)",
                hint: identities.isEmpty ? "coffret import FILE --identity KEYFILE, if it was sealed for a key" : nil)
        }
        return output
    }

    /// Seals what `body` writes into a file of mode 0600, which appears whole or not at all.
    ///
    /// - Parameters:
    ///   - recipients: arguments of age that name whoever can open it; empty for a passphrase.
    ///   - body: writes to the pipe, and starts age before it waits for something to be read.
    func sealing<Value>(
        into target: String, recipients: [String], _ body: (AgePipe) throws -> Value
    ) throws -> Value {
        var value: Value?
        try PrivateFile.replace(target) { file in
            let words = [path, "--encrypt"] + (recipients.isEmpty ? ["--passphrase"] : recipients)
            let pipe = try AgePipe(words, output: file)
            let result = Result { try body(pipe) }
            let outcome = try pipe.finish()
            // Without age nothing is read, and writing fails because of that.
            guard outcome.isSuccess else {
                throw CommandFailure(
                    .inputOutput, .ageFailed, "age did not seal the export, and no file was written: \(outcome.text)")
            }
            value = try result.get()
        }
        guard let value else { preconditionFailure("a body that did not throw gave a value") }
        return value
    }
}

/// A pipe into age.
final class AgePipe {
    private let words: [String]
    private let output: Int32
    private var reading: OwnedDescriptor?
    private var writing: OwnedDescriptor?
    private var child: ChildProcess?
    private var failure: SystemFailure?

    /// - Parameters:
    ///   - words: the program and its arguments.
    ///   - output: where age writes.
    fileprivate init(_ words: [String], output: Int32) throws {
        self.words = words
        self.output = output
        let ends = try ChildProcess.makePipe()
        reading = OwnedDescriptor(ends.reading)
        writing = OwnedDescriptor(ends.writing)
    }

    /// Where to write.
    var descriptor: Int32 { writing?.number ?? -1 }

    /// Starts age, which may ask for its passphrase now; nothing if it runs.
    func start() {
        guard let input = reading.take() else { return }
        do throws(SystemFailure) {
            child = try ChildProcess.start(words, input: .descriptor(input.number), output: .descriptor(output))
        } catch {
            // Its end of the pipe closes here, so that writing ends too.
            failure = error
        }
    }

    /// Says that all is written, and waits for age.
    fileprivate func finish() throws -> ChildOutcome {
        writing = nil
        start()
        if let failure { throw failure }
        guard let child = child.take() else { preconditionFailure("age was started") }
        return child.wait()
    }
}
