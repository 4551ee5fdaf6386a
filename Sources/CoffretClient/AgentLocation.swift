// Where the agent listens. Invariant: client and agent compute the same place from the same variables, and it lies in
// a folder of this user alone.

internal import CoffretBase
internal import CoffretCrypto
package import CoffretTerminal
internal import Glibc

package enum AgentLocation {
    package static let socketName = "agent.sock"

    /// The folder of the agent's sockets: below XDG_RUNTIME_DIR, below /run/user/UID where that is this user's,
    /// otherwise below the state folder.
    package static var folder: String? { folder(ProcessEnvironment()) }

    /// The path of the agent's socket; nil where there is no home to put it in.
    package static var socketPath: String? { folder.map { PathText.join($0, socketName) } }

    /// Where programs with tokens come in: in a folder of its own beside the agent's, so that a container can be given that one and
    /// nothing else.
    package static func programSocketPath(in folder: String) -> String { folder + "-programs/session.sock" }

    /// Where the SSH keys of a store are served: each store has a place of its own, so that it stays the same and nobody
    /// finds another store's keys there.
    ///
    /// - Parameter store: a path without links.
    /// - Parameter vault: the only one that is served; nil for all.
    package static func sshSocketPath(store: String, vault: String? = nil, in folder: String) -> String {
        let name = BLAKE2b.hash(Array(store.utf8) + [0] + Array((vault ?? "").utf8), byteCount: 16)
        return PathText.join(folder, "ssh-\(Hex.encode(name.prefix(6))).sock")
    }

    package static func folder(_ environment: ProcessEnvironment) -> String? {
        if let runtime = environment.value(.runtimeDirectory), runtime.hasPrefix("/") { return runtime + "/coffret" }
        let standard = "/run/user/\(getuid())"
        var information = stat()
        if unsafe lstat(standard, &information) == 0, information.st_uid == getuid(),
            information.st_mode & S_IFMT == S_IFDIR
        {
            return standard + "/coffret"
        }
        return environment.baseDirectory(.stateHome, below: ".local/state").map { $0 + "/coffret/run" }
    }

    /// Where the TPM is, if this process was told; see Docs/unlocking.md.
    package static var tpm: String? { ProcessEnvironment().value(.tpm) }

    /// Where this machine keeps what it remembers of stores, such as the count of failed attempts.
    package static var stateDirectory: String? { stateDirectory(of: ProcessEnvironment()) }

    package static func stateDirectory(of environment: ProcessEnvironment) -> String? {
        environment.baseDirectory(.stateHome, below: ".local/state").map { $0 + "/coffret" }
    }

    /// The variables of this process, by name.
    package static var variables: [String: String] {
        var result: [String: String] = [:]
        for entry in ProcessEnvironment.inherited {
            guard let equals = entry.firstIndex(of: UInt8(ascii: "=")) else { continue }
            result[String(decoding: entry[..<equals], as: UTF8.self)] = String(
                decoding: entry[(equals + 1)...], as: UTF8.self)
        }
        return result
    }

    /// A path without links, as the agent knows stores by; nil if nothing is there.
    package static func canonical(_ path: String) -> String? {
        guard let resolved = unsafe realpath(path, nil) else { return nil }
        defer { unsafe free(resolved) }
        return unsafe String(validatingCString: resolved)
    }
    /// As `canonical`, also of a path at which something is yet to be made.
    package static func canonicalToBe(_ path: String) -> String? {
        if let found = canonical(path) { return found }
        let (parent, name) = (PathText.parent(of: path), PathText.name(of: path))
        guard parent != path, !["", ".", ".."].contains(name) else { return nil }
        return canonicalToBe(parent).map { PathText.join($0, name) }
    }
}
