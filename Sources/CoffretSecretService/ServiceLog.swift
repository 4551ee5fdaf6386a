// Lines of the service for an administrator. Invariant: no text of the store is in it.

internal import CoffretTerminal
internal import Glibc

package enum ServiceLog {
    /// Writes a line to standard error, which the bus and systemd keep in the journal.
    package static func say(_ words: String) {
        try? DescriptorIO.write(Array("coffret-secret-service: \(words)\n".utf8), to: STDERR_FILENO)
    }
}
