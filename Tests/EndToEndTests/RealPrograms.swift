// Programs of others that tests drive; without them the tests say that they were skipped.

import Foundation

enum RealPrograms {
    static let hasGit = exist("/usr/bin/git")
    static let hasSSH = exist("/usr/bin/ssh", "/usr/bin/ssh-add", "/usr/bin/ssh-keygen", "/usr/sbin/sshd")
    static let hasOpenSSL = exist("/usr/bin/openssl")

    private static func exist(_ paths: String...) -> Bool {
        paths.allSatisfy { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// The path of a program that may be installed anywhere; nil if it is not.
    static func find(_ name: String) -> String? {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        return (folders + ["/usr/local/bin", "/usr/bin", NSHomeDirectory() + "/.cargo/bin"]).map { "\($0)/\(name)" }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
