// The server's command line. The one thing to keep true: no secret is an argument, and a mistake says what it was
// and changes nothing.

internal import CPlatform
internal import CoffretBase
internal import Glibc

/// `coffret-server serve|init|invite|promote|backup|restore|doctor`.
package enum ServerProgram {
    package static let help = """
        usage: coffret-server COMMAND [--config FILE] [--SETTING VALUE]...
               coffret-server --help | --version

        commands:
          init                 make the data directory and an empty database
          serve                serve until SIGTERM
          invite [--days N]    print an invitation for one account, good for N days (7)
          promote ACCOUNT      make a guest an account that counts on its own space
          backup FILE          copy everything into one new file while the server runs
          restore FILE         fill an empty database from a backup
          doctor               check the configuration and all that is stored

        settings, also as lines `name = value` in the file:
        \(settingLines.joined(separator: "\n"))

        exit codes: 0 done, 1 the check found something, 2 wrong usage,
          3 configuration, 4 storage, 5 address in use
        """

    /// The names of all settings, in lines that fit a terminal.
    private static var settingLines: [String] {
        ServerConfiguration.names.reduce(into: []) { lines, name in
            if let last = lines.last, last.count + name.count + 2 <= 78 {
                lines[lines.count - 1] = last + ", " + name
            } else {
                if !lines.isEmpty { lines[lines.count - 1] += "," }
                lines.append("  " + name)
            }
        }
    }

    /// Runs the process's own arguments and exits.
    package static func run() -> Never {
        // A peer that goes away is an error of one write, not the end of the server.
        signal(SIGPIPE, SIG_IGN)
        // A database and its backups are for the server's own user, wherever they are put.
        umask(0o077)
        let arguments = ProgramArguments.words
        exit(run(arguments))
    }

    static func run(_ arguments: [String]) -> Int32 {
        guard let command = arguments.first else { return usage("a command is missing") }
        if command == "help" || arguments.contains("--help") || arguments.contains("-h") {
            say(help, to: 1)
            return 0
        }
        if command == "--version" {
            say("coffret-server \(CoffretVersion.text)", to: 1)
            return 0
        }
        do {
            var rest = Array(arguments.dropFirst())
            let days = option("--days", in: &rest)
            let configuration = try configuration(&rest)
            switch (command, rest.count) {
            case ("init", 0): try ServerCommands.initialize(configuration)
            case ("serve", 0): try ServerCommands.serve(configuration)
            case ("invite", 0):
                guard let count = Int(days ?? "7"), (1...365).contains(count) else {
                    return usage("--days is 1 to 365")
                }
                say(try ServerCommands.invite(configuration, days: count), to: 1)
                warnOfInvitation(configuration)
            case ("promote", 1):
                guard let account = try? Hex.decode(rest[0]), account.count == 32 else {
                    return usage("an account has 64 hexadecimal digits")
                }
                try ServerCommands.store(configuration).makeFull(account)
            case ("backup", 1): say(try ServerCommands.backup(configuration, to: rest[0]), to: 1)
            case ("restore", 1): say(try ServerCommands.restore(configuration, from: rest[0]), to: 1)
            case ("doctor", 0):
                let (report, isGood) = try ServerCommands.doctor(configuration)
                say(report, to: 1)
                return isGood ? 0 : 1
            case ("init", _), ("serve", _), ("invite", _), ("doctor", _): return usage("unexpected argument \(rest[0])")
            case ("backup", _), ("restore", _): return usage("\(command) takes one file")
            case ("promote", _): return usage("promote takes one account")
            default: return usage("there is no command \(command)")
            }
            return 0
        } catch {
            let failure = ServerFailure(error)
            let words = failure.detail.isEmpty ? failure.code.message : failure.detail
            say("coffret-server: error: \(words) [\(failure.code.rawValue)]", to: 2)
            switch failure.code {
            case .configuration: return 3
            case .listenFailed: return 5
            default: return 4
            }
        }
    }

    /// An invitation that would be refused as soon as it is used says so when it is made.
    private static func warnOfInvitation(_ configuration: ServerConfiguration) {
        guard configuration.registration == .closed else { return }
        say(
            "coffret-server: warning: registration is closed here; the invitation counts once the server runs with registration = invitation",
            to: 2)
    }

    /// Takes an option and its value out of the arguments.
    private static func option(_ name: String, in arguments: inout [String]) -> String? {
        guard let index = arguments.firstIndex(of: name), index + 1 < arguments.count else { return nil }
        defer { arguments.removeSubrange(index...index + 1) }
        return arguments[index + 1]
    }

    private static func configuration(_ arguments: inout [String]) throws -> ServerConfiguration {
        var configuration = ServerConfiguration()
        if let path = option("--config", in: &arguments) {
            guard let bytes = ServerFiles.read(path, byteCountMax: 1 << 20) else {
                throw ServerFailure(.configuration, "\(path) cannot be read")
            }
            try configuration.read(String(decoding: bytes, as: UTF8.self))
        }
        for name in ServerConfiguration.names {
            guard let value = option("--\(name)", in: &arguments) else { continue }
            if name == "postgres", value.lowercased().contains("password") {
                throw ServerFailure(
                    .configuration, "a password does not belong on the command line; libpq reads ~/.pgpass")
            }
            try configuration.set(name, to: value)
        }
        if let stray = arguments.first(where: { $0.hasPrefix("--") }) {
            throw ServerFailure(.configuration, "there is no setting \(stray), or its value is missing")
        }
        return configuration
    }

    private static func usage(_ message: String) -> Int32 {
        say("coffret-server: error: \(message)\ncoffret-server: hint: coffret-server --help", to: 2)
        return 2
    }

    static func say(_ text: String, to descriptor: Int32) {
        let bytes = Array((text + "\n").utf8)
        _ = unsafe write(descriptor, bytes, bytes.count)
    }
}

/// The few files that the server reads or writes besides its database.
enum ServerFiles {
    static func read(_ path: String, byteCountMax: Int) -> [UInt8]? {
        let descriptor = unsafe coffret_open(path, O_RDONLY, 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
            if count == 0 { return bytes }
            guard count > 0, bytes.count + count <= byteCountMax else { return nil }
            bytes += buffer[..<count]
        }
    }

    /// Opens a lock file and locks it until the process ends.
    ///
    /// - Returns: false if another process holds it.
    static func lock(_ path: String) -> Bool {
        let descriptor = unsafe coffret_open(path, O_RDWR | O_CREAT, 0o600)
        return descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) == 0
    }
}

/// A socket that listens on `HOST:PORT`, `[IPv6]:PORT`; port 0 is any free one.
enum ListeningSocket {
    static func open(_ address: String) throws -> (descriptor: Int32, port: UInt16) {
        guard let colon = address.lastIndex(of: ":"), let port = UInt16(address[address.index(after: colon)...]) else {
            throw ServerFailure(.configuration, "\(address) is not HOST:PORT")
        }
        var host = String(address[..<colon])
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        var four = sockaddr_in()
        var six = sockaddr_in6()
        let isFour = unsafe inet_pton(AF_INET, host, &four.sin_addr) == 1
        guard unsafe isFour || inet_pton(AF_INET6, host, &six.sin6_addr) == 1 else {
            throw ServerFailure(.configuration, "\(host) is not an IP address")
        }
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(isFour ? AF_INET : AF_INET6, kind, 0)
        var yes: Int32 = 1
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, 4)
        var length = socklen_t(isFour ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size)
        four.sin_family = sa_family_t(AF_INET)
        four.sin_port = port.bigEndian
        six.sin6_family = sa_family_t(AF_INET6)
        six.sin6_port = port.bigEndian
        let status =
            isFour
            ? unsafe withUnsafePointer(to: &four) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(descriptor, $0, length) }
            }
            : unsafe withUnsafePointer(to: &six) { pointer in
                unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe bind(descriptor, $0, length) }
            }
        guard status == 0, Glibc.listen(descriptor, 1_024) == 0 else {
            let number = errno
            close(descriptor)
            throw ServerFailure(.listenFailed, "\(address) cannot be listened on (errno \(number))")
        }
        var bound = sockaddr_in()
        length = socklen_t(MemoryLayout<sockaddr_in>.size)
        unsafe withUnsafeMutablePointer(to: &bound) { pointer in
            // The port lies at the same place for both families.
            _ = unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe getsockname(descriptor, $0, &length)
            }
        }
        return (descriptor, UInt16(bigEndian: bound.sin_port))
    }
}
