// Programs of others that tests drive; without them the tests say that they were skipped.

import Foundation

enum RealPrograms {
    static let hasGit = exist("/usr/bin/git")
    static let hasSSH = exist("/usr/bin/ssh", "/usr/bin/ssh-add", "/usr/bin/ssh-keygen", "/usr/sbin/sshd")

    private static func exist(_ paths: String...) -> Bool {
        paths.allSatisfy { FileManager.default.isExecutableFile(atPath: $0) }
    }
}
