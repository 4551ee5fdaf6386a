// Pauses after wrong tries that are longer than any machine is slow. The one thing to keep true: the programs make them by
// themselves, and nobody waits: for some of them the boot clock stands further.

import CoffretTestSupport
import Foundation
import Glibc
import Testing

enum LongPause {
    /// After seven wrong tries. The five seconds after three may be over before the next program has looked.
    static let seconds = 80

    /// Whether a program can be started with another boot clock: as root, or where anybody may have namespaces.
    static let isAvailable: Bool = {
        let words = launcher(1) + ["/bin/true"]
        return (try? ProcessRunner.run(words[0], Array(words.dropFirst())).exitCode) == 0
    }()
    static let missing: Comment = "there are no time namespaces here"

    /// What starts a program, and those that it starts, with a boot clock that stands `seconds` further.
    static func launcher(_ seconds: Int) -> [String] {
        ["/usr/bin/unshare"] + (geteuid() == 0 ? [] : ["-Ur"]) + ["-T", "--boottime", "\(seconds)"]
    }

    /// Follows three wrong tries with four more, each made as soon as the pause before it is over, and refused as wrong.
    ///
    /// - Returns: how far the clock stood for the last. Programs that start there, or earlier, meet the whole pause.
    static func make(_ wrongTry: (_ launcher: [String]) throws -> ProcessResult) throws -> Int {
        var clock = 0
        for pause in [5, 10, 20, 40] {
            clock += pause + 1
            let result = try wrongTry(launcher(clock))
            try #require(result.exitCode == 67, "after \(pause) s: \(result.errorText)")
        }
        return clock
    }

    /// The same for a store's passphrase, without an agent.
    @discardableResult
    static func make(_ runner: CoffretRunner) throws -> Int {
        let wrong = runner.folder.file("home/not-the-passphrase")
        try Data("not the passphrase\n".utf8).write(to: URL(fileURLWithPath: wrong))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: wrong)
        return try make { try runner.run(["ls"], by: $0, environment: ["COFFRET_PASSPHRASE_FILE": wrong]) }
    }
}

extension CoffretRunner {
    /// Runs a command that another program starts.
    func run(_ arguments: [String], by launcher: [String], environment changes: [String: String?] = [:]) throws
        -> ProcessResult
    {
        try ProcessRunner.run(
            launcher[0], launcher.dropFirst() + [Self.executable] + arguments, environment: environment(changes),
            directory: workPath, timeoutSeconds: 120)
    }
}
