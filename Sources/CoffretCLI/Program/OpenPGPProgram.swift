// gpg, which opens files under the person's own OpenPGP keys. Invariant: the opened bytes come by a pipe and lie in no file.

internal import CPlatform
internal import CoffretBase
internal import CoffretImportExport
internal import CoffretTerminal
internal import Glibc

/// Runs gpg for files of another program.
struct OpenPGPProgram {
    let context: CommandContext

    /// The most that a file may hold when it is open.
    private static let byteCountMax = 64 << 20

    /// Decrypts one file. gpg asks for the passphrase of its key by itself.
    func decrypted(_ ciphertext: [UInt8]) throws(ImportExportError) -> [UInt8] {
        guard let gpg = ProgramFinder(environment: context.environment).find("gpg") else {
            throw ImportExportError(.libraryMissing, at: "gnupg")
        }
        do throws(SystemFailure) {
            // A file in memory: a pipe would fill while gpg writes into the other.
            let memory = coffret_memory_file()
            guard memory >= 0 else { throw SystemFailure.last }
            let input = OwnedDescriptor(memory)
            try DescriptorIO.write(ciphertext, to: input.number)
            guard lseek(input.number, 0, SEEK_SET) == 0 else { throw SystemFailure.last }
            let (outputEnd, outputSink) = try ChildProcess.makePipe()
            defer { close(outputEnd) }
            let child = try ChildProcess.start(
                [gpg, "--quiet", "--batch", "--decrypt"], input: .descriptor(input.number),
                output: .descriptor(outputSink), error: .null)
            close(outputSink)
            let output = try DescriptorIO.readAll(from: outputEnd, byteCountMax: Self.byteCountMax)
            guard child.wait() == .exited(0), let output else { throw SystemFailure(number: EBADMSG) }
            return output
        } catch {
            throw ImportExportError(.passwordWrong, at: "gpg")
        }
    }
}
