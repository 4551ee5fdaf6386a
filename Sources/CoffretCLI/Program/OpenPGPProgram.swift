// gpg, which opens files under the person's own OpenPGP keys. Invariant: the opened bytes lie in memory alone, and in no file of a disk.

internal import CPlatform
internal import CoffretBase
internal import CoffretImportExport
internal import CoffretTerminal
internal import Glibc

/// Runs gpg for files of another program.
struct OpenPGPProgram {
    let context: CommandContext

    /// Decrypts one file. gpg asks for the passphrase of its key by itself.
    ///
    /// - Returns: the opened one, in memory; nil if gpg refuses it.
    func opened(_ file: borrowing OwnedDescriptor) throws -> OwnedDescriptor? {
        guard let gpg = ProgramFinder(environment: context.environment).find("gpg") else {
            throw ImportExportError(.libraryMissing, at: "gnupg")
        }
        let memory = coffret_memory_file()
        guard memory >= 0 else { throw SystemFailure.last }
        let output = OwnedDescriptor(memory)
        let child = try ChildProcess.start(
            [gpg, "--quiet", "--batch", "--decrypt"], input: .descriptor(file.number),
            output: .descriptor(output.number), error: .null)
        guard child.wait() == .exited(0), lseek(output.number, 0, SEEK_SET) == 0 else { return nil }
        return output
    }
}
