// The one step in which commands turn references into values. The one thing to keep true: all references of a command are
// resolved at once, and commands that do more than print let another process do it, so that it can happen where the keys are.

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretTerminal
internal import CoffretWire
internal import Glibc

enum SecretReferences {
    /// The values of references, in their order.
    static func values(of references: [SecretReference], _ store: CommandStore) throws -> [ResolvedSecret] {
        try ReferenceRead.checkCount(references.count)
        return try store.context.timings.measure("resolve") {
            var request = ReferenceRead()
            request.references = references.map { "\($0)" }
            let values = try store.perform(request).values
            guard values.count == references.count else { throw WireError(.malformed, place: "values") }
            return try zip(references, values).map { try ResolvedSecret($1, of: $0) }
        }
    }

    /// The values of references by way of another coffret, which asks for the passphrase or has the agent do it. This
    /// process never holds a key, and its own input stays untouched.
    ///
    /// - Throws: `CommandExit` if the other has said what is wrong.
    static func values(of references: [SecretReference], _ context: CommandContext) throws -> [ResolvedSecret] {
        guard !references.isEmpty else { return [] }
        try ReferenceRead.checkCount(references.count)
        var words = ["/proc/self/exe", ResolveReferencesCommand.description.name]
        for option in GlobalOptions.all where option.name != GlobalOptions.help.name {
            for value in context.arguments.values(option) {
                words.append(option.isFlag ? "--\(option.name)" : "--\(option.name)=\(value)")
            }
        }
        var answer: [UInt8]
        let outcome: ChildOutcome
        do throws(SystemFailure) {
            (outcome, answer) = try exchange(words, references.flatMap { Array("\($0)".utf8) + [0] })
        } catch {
            throw CommandFailure(.unavailable, .unexpected, "coffret cannot start itself: \(error.message)")
        }
        defer { answer.zero() }
        switch outcome {
        case .exited(0): return try decode(answer, references)
        case .exited(let code): throw CommandExit(code: code)
        case .signalled(let signal): throw CommandExit(code: 128 + signal)
        }
    }

    /// Runs a program with an input, and reads its output.
    private static func exchange(
        _ words: [String], _ input: [UInt8]
    ) throws(SystemFailure) -> (outcome: ChildOutcome, answer: [UInt8]) {
        let (inputEnd, inputSource) = try ChildProcess.makePipe()
        let (answerEnd, answerSink) = try ChildProcess.makePipe()
        defer { close(answerEnd) }
        let child = try ChildProcess.start(words, input: .descriptor(inputEnd), output: .descriptor(answerSink))
        close(inputEnd)
        close(answerSink)
        // It reads everything before it answers; if it fails before that, its exit code tells.
        try? DescriptorIO.write(input, to: inputSource)
        close(inputSource)
        var answer: [UInt8] = []
        answer.reserveCapacity(1 << 16)
        while true {
            var part = try DescriptorIO.read(from: answerEnd, byteCountMax: 65_536)
            if part.isEmpty { break }
            answer += part
            part.zero()
        }
        return (child.wait(), answer)
    }

    private static func decode(_ answer: [UInt8], _ references: [SecretReference]) throws -> [ResolvedSecret] {
        try withCBORDecoder(answer) { (decoder) throws(CBORError) in
            try decoder.readArrayHeader(count: references.count)
            var values: [ResolvedSecret] = []
            for reference in references {
                try decoder.readArrayHeader(count: 2)
                let isSecret = try decoder.readBool()
                values.append(
                    ResolvedSecret(reference: reference, bytes: try decoder.readBytes(), isSecret: isSecret))
            }
            return values
        }
    }

    /// The other side of `decode`.
    static func encode(_ values: [ResolvedSecret]) -> [UInt8] {
        let byteCount = values.reduce(16) { $0 + $1.bytes.count + 16 }
        return CBOREncoder.encode(reservingByteCount: byteCount) { encoder in
            encoder.encodeArrayHeader(count: values.count)
            for value in values {
                encoder.encodeArrayHeader(count: 2)
                encoder.encode(bool: value.isSecret)
                encoder.encode(bytes: value.bytes)
            }
        }
    }
}
