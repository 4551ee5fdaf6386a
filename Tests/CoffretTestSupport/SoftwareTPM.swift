// A software TPM for tests: Debian's swtpm as a process of its own, on a Unix socket in a temporary folder.

package import Foundation
internal import Glibc

/// A running swtpm with its own state, which survives `restart`.
package final class SoftwareTPM: @unchecked Sendable {
    // SAFETY: used by one test at a time.
    private let directory: TemporaryDirectory
    private var process: SpawnedProcess?

    /// Whether swtpm is installed; tests are visibly skipped without it.
    package static let isAvailable = FileManager.default.isExecutableFile(atPath: "/usr/bin/swtpm")

    package init() throws {
        directory = try TemporaryDirectory("tpm")
        try start()
    }

    deinit { stop() }

    /// Where tpm2-tss finds it.
    package var transport: String { "swtpm:path=\(socketPath)" }
    package var socketPath: String { directory.file("sock") }

    /// The file that holds the TPM's permanent memory.
    package var stateFile: String { directory.file("tpm2-00.permall") }

    package func start() throws {
        process = try SpawnedProcess(
            "/usr/bin/swtpm",
            [
                "socket", "--tpm2", "--tpmstate", "dir=\(directory.path)",
                "--server", "type=unixio,path=\(directory.file("sock"))",
                "--ctrl", "type=unixio,path=\(directory.file("sock.ctrl"))",
                "--flags", "not-need-init,startup-clear",
            ])
        // The socket is there before anybody listens; a busy machine makes the time between them long.
        try Waiting.until("the TPM listens", everyMilliseconds: 10) {
            guard FileManager.default.fileExists(atPath: directory.file("sock.ctrl")), let probe = try? connect()
            else { return false }
            close(probe)
            return true
        }
    }

    /// Ends the process; the state stays.
    package func stop() {
        guard let process else { return }
        process.kill()
        self.process = nil
        for name in ["sock", "sock.ctrl"] { try? FileManager.default.removeItem(atPath: directory.file(name)) }
    }

    /// It takes what is asked and answers nothing, until told otherwise.
    package func pause(_ isPaused: Bool) { process?.signal(isPaused ? SIGSTOP : SIGCONT) }

    package func restart() throws {
        stop()
        try start()
    }

    /// A connection of its own, as to a device.
    package func connect() throws -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: socketPath.utf8) }
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            close(descriptor)
            throw CocoaError(.fileReadUnknown)
        }
        return descriptor
    }

    /// Stops, puts the permanent memory back as it was, and starts: for tests alone, no real TPM can do this.
    package func restart(with memory: Data) throws {
        stop()
        try memory.write(to: URL(fileURLWithPath: stateFile))
        try? FileManager.default.removeItem(atPath: directory.file("tpm2-00.volatilestate"))
        try start()
    }

    package func permanentMemory() throws -> Data { try Data(contentsOf: URL(fileURLWithPath: stateFile)) }

    /// A TPM that was cleared: all its seeds are new.
    package func clear() throws {
        stop()
        try FileManager.default.removeItem(atPath: stateFile)
        try start()
    }
}
