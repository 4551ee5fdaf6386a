// Templates and files of variables: what is filled, what stays as it is, what is refused with its line.

import CoffretCore
import CoffretTestSupport
import Testing

@testable import CoffretCLI
@testable import CoffretScripting
@testable import CoffretTerminal

/// Templates; what is not a reference has to come out byte for byte.
func fuzzReferenceTemplate(_ bytes: [UInt8]) -> Bool {
    guard let template = try? ReferenceTemplate(bytes) else { return false }
    let values = template.references.map { ResolvedSecret(reference: $0, bytes: [0x2A], isSecret: true) }
    let filled = template.filled(with: values)
    precondition(filled.count <= bytes.count, "a filled template of one-byte values is not longer than before")
    if template.references.isEmpty, !bytes.contains(UInt8(ascii: "\\")) {
        precondition(filled == bytes, "without references nothing changes")
    }
    return !template.references.isEmpty
}

/// Files of variables.
func fuzzEnvironmentFile(_ bytes: [UInt8]) -> Bool {
    let variables = try? EnvironmentFile.parse(String(decoding: bytes, as: UTF8.self))
    for variable in variables ?? [] { precondition(EnvironmentFile.isName(variable.name), "names are names") }
    return variables?.isEmpty == false
}

@Suite("Templates and variables")
struct TemplateTests {
    static func fill(_ text: String, _ values: [String: String]) throws -> String {
        let template = try ReferenceTemplate(Array(text.utf8))
        let secrets = template.references.map { reference in
            ResolvedSecret(reference: reference, bytes: Array((values["\(reference)"] ?? "?").utf8), isSecret: true)
        }
        return String(decoding: template.filled(with: secrets), as: UTF8.self)
    }

    @Test("references are filled, other braces and every other byte stay")
    func filling() throws {
        let values = ["coffret://V/i/password": "s3cret", "coffret://V/i%20j/username": "ada"]
        #expect(try Self.fill("p={{coffret://V/i/password}}\n", values) == "p=s3cret\n")
        #expect(
            try Self.fill("{{ \tcoffret://V/i j/username  }}:{{ coffret://V/i/password }}", values) == "ada:s3cret")
        for text in ["", "{{ user }}", "{{", "}} {{ {{ x }}", "{ {coffret://V/i/f} }", "coffret://V/i/f", "\\{{ x }}"] {
            #expect(try Self.fill(text, values) == text)
        }
        #expect(try Self.fill("\\{{ coffret://V/i/password }}", values) == "{{ coffret://V/i/password }}")
        let bytes: [UInt8] = [0xFF, 0x00, 0x0D, 0x0A]
        #expect(try ReferenceTemplate(bytes).pieces == [.text(bytes)])
    }

    @Test("a value that looks like a template or a reference is not filled again")
    func onlyOnce() throws {
        let values = ["coffret://V/i/a": "{{ coffret://V/i/b }}", "coffret://V/i/b": "no"]
        #expect(try Self.fill("{{ coffret://V/i/a }}", values) == "{{ coffret://V/i/b }}")
    }

    @Test(
        "what is wrong is refused with its line",
        arguments: [
            ("a\n{{ coffret://V/i/f\n}}", 2), ("{{ coffret://V/i }}", 1), ("\n\n{{ coffret://V//f }}", 3),
            ("{{ coffret://V/i/f }", 1), ("{{ coffret://V/i/%zz }}", 1),
        ])
    func refused(text: String, line: Int) {
        do {
            _ = try ReferenceTemplate(Array(text.utf8))
            Issue.record("accepted \(text)")
        } catch {
            #expect(error.line == line)
        }
    }

    @Test("files of variables: quotes, comments, export; nothing is expanded")
    func variables() throws {
        let text = """
            # a comment
            A=plain value   # and why
            export B='single $HOME # "quoted"'
            C="double \\"x\\" \\$y\\n"  # more

            D=
            E=coffret://V/i/f#not-a-comment
            \tF = x
            """
        var expected: [EnvironmentFile.Variable] = [
            .init(name: "A", value: "plain value"), .init(name: "B", value: "single $HOME # \"quoted\""),
            .init(name: "C", value: "double \"x\" $y\n"), .init(name: "D", value: ""),
            .init(name: "E", value: "coffret://V/i/f#not-a-comment"),
        ]
        #expect(
            throws: EnvironmentFile.LineError(
                line: 8, reason: "names have letters, digits and _, and no space before the =")
        ) { try EnvironmentFile.parse(text) }
        let good = text.replacing("\tF = x", with: "F=x\r")
        expected.append(.init(name: "F", value: "x"))
        #expect(try EnvironmentFile.parse(good) == expected)
    }

    @Test(
        "a line that is not understood is an error",
        arguments: ["NAME", "=x", "1A=x", "A='x", "A=\"x", "A='x' y", "A=\"$HOME\"", "A=\"\\q\"", "A B=x"])
    func badLines(line: String) {
        #expect(throws: EnvironmentFile.LineError.self) { try EnvironmentFile.parse("# first\n" + line) }
    }

    @Test("neither parser can be made to crash")
    func fuzzed() {
        let samples = [
            "a {{ coffret://V/i/f }} b \\{{ coffret://V/i/f }}", "{{{{ coffret://a/b/otp/c }}}}",
            "A='x'\nexport B=\"\\n\"\nC=d # e",
        ].map { Array($0.utf8) }
        fuzz(samples) { _ = fuzzReferenceTemplate($0) }
        fuzz(samples) { _ = fuzzEnvironmentFile($0) }
        #expect(fuzzReferenceTemplate(samples[0]) && fuzzEnvironmentFile(samples[2]))
    }
}
