// The programs that the person lets use the Secret Service. Invariant: the file is this user's alone; one that cannot be read names none.

internal import CoffretBase
package import CoffretTerminal
internal import Glibc

/// `<state>/secret-service.programs`: a JSON array of paths, mode 0600. Spec: Spec/secret-service.md section 2.
package struct SecretServicePrograms {
    /// More of them are refused.
    package static let countMax = 200
    private static let byteCountMax = 1 << 20

    private let path: String?

    package init(_ environment: ProcessEnvironment) {
        path = AgentLocation.stateDirectory(of: environment).map { PathText.join($0, "secret-service.programs") }
    }

    package var all: [String] {
        var information = stat()
        guard let path, let file = try? OwnedDescriptor.open(path, O_RDONLY | O_NOFOLLOW),
            unsafe fstat(file.number, &information) == 0, information.st_uid == geteuid(),
            information.st_mode & (S_IFMT | 0o077) == S_IFREG,
            let bytes = try? DescriptorIO.readAll(from: file.number, byteCountMax: Self.byteCountMax),
            let value = try? JSONValue(parsing: bytes)
        else { return [] }
        return (value.elements ?? []).compactMap(\.string)
    }

    /// - Throws: `SystemFailure` if it cannot be written, or there are too many.
    package func add(_ program: String) throws {
        let known = all
        guard !known.contains(program) else { return }
        guard known.count < Self.countMax else { throw SystemFailure(number: ENOSPC) }
        try write(known + [program])
    }

    /// - Returns: whether it was there.
    package func remove(_ program: String) throws -> Bool {
        let known = all
        guard known.contains(program) else { return false }
        try write(known.filter { $0 != program })
        return true
    }

    private func write(_ programs: [String]) throws {
        guard let path else { throw SystemFailure(number: ENOENT) }
        try PrivateFile.replace(path, Array((JSONValue.array(programs.map { .string($0) }).text() + "\n").utf8))
    }
}
