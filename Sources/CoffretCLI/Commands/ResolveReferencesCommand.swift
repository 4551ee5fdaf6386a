// The data step of `run` and `inject`, as a command of its own. The one thing to keep true: it opens the store before it
// reads anything, so that it can be done where the keys are; references come in and values go out through pipes.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretTerminal
internal import Glibc

/// Hidden: reads references from standard input, each ended by a zero byte, and writes their values as CBOR:
/// `[* [is secret: bool, value: bstr]]`.
enum ResolveReferencesCommand {
    static let description = CommandDescription(
        "resolve-references", "Answer references with their values", isHidden: true, run: run)

    static let inputByteCountMax = 32 << 20

    private static func run(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        let input = try? DescriptorIO.readAll(from: STDIN_FILENO, byteCountMax: inputByteCountMax)
        let texts = (input ?? []).split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        var values = try SecretReferences.values(of: texts.map(SecretReference.init(typed:)), store)
        defer { for index in values.indices { values[index].bytes.zero() } }
        var encoded = SecretReferences.encode(values)
        defer { encoded.zero() }
        try context.output.write(bytes: encoded)
    }
}
