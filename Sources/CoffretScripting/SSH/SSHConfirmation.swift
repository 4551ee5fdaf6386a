// Asking before a key is used, as ssh-agent does it: through SSH_ASKPASS. Invariant: no answer is a no.

package import CoffretTerminal
internal import Glibc

package enum SSHConfirmation {
    /// Where Debian puts the person's choice of program.
    private static let usual = "/usr/bin/ssh-askpass"

    /// Asks; a program that is missing, fails or is closed says no.
    package static func ask(_ question: String, _ environment: ProcessEnvironment) -> Bool {
        let program = environment.value(.sshAskpass) ?? usual
        // A relative path would let the working directory choose the program.
        guard program.hasPrefix("/"), unsafe access(program, X_OK) == 0 else { return false }
        let child = try? ChildProcess.start(
            [program, question], input: .null, output: .null,
            // By this such programs know that a yes or no is wanted, and no passphrase.
            environment: ["SSH_ASKPASS_PROMPT": "confirm"])
        return child?.wait().isSuccess ?? false
    }
}
