// `coffret inject`: a template with references in, the filled text out. The one thing to keep true: the output is
// written whole after every reference was resolved, or not at all, and its file is for its owner only.

internal import CoffretBase
internal import CoffretCore
internal import CoffretScripting
internal import CoffretTerminal
internal import Glibc

enum InjectCommand {
    static let input = OptionDescription.value(
        "input", short: "i", "FILE", .file, "the template (standard input)")
    static let output = OptionDescription.value(
        "output", short: "o", "FILE", .file, "where to write it (standard output); the file gets mode 0600")
    static let force = OptionDescription.flag("force", short: "f", "replace a file that is already there")

    static let description = CommandDescription(
        "inject", group: .scripts, "Fill the references in a template",
        discussion: [
            "{{ coffret://VAULT/ITEM/FIELD }} is replaced by the value, as it is; everything else stays, other {{ }} as well. A backslash before {{ keeps a reference as text.",
            "If one reference cannot be resolved, nothing is written. What is written is not encrypted: put it where only the program that needs it can read it.",
        ],
        options: [input, output, force],
        examples: [
            CommandExample("coffret inject -i app.conf.tpl -o app.conf", "writes the file with its secrets filled in"),
            CommandExample(
                "echo 'password: {{ coffret://Work/db/password }}' | coffret inject", "from a pipe into a pipe"),
        ], run: run)

    private static func run(_ context: CommandContext) throws {
        let target = context.arguments.value(output)
        let replaces = context.arguments.isSet(force)
        // Found out now, not after a passphrase has been typed.
        if let target, !replaces { try requireAbsent(target) }
        let source = context.arguments.value(input)
        let bytes = try ForeignFile.read(source == "-" ? nil : source, byteCountMax: ReferenceTemplate.byteCountMax)
        let template: ReferenceTemplate
        do throws(ReferenceTemplate.TemplateError) {
            template = try ReferenceTemplate(bytes)
        } catch {
            throw CommandFailure(
                .badInput, .inputInvalid,
                "line \(error.line) of \(source.map { TextWidth.displaySafe($0) } ?? "the template"): \(TextWidth.displaySafe(error.reason))",
                hint: "coffret help references; nothing was written")
        }
        let distinct = Array(Set(template.references))
        var values = try SecretReferences.values(of: distinct, context)
        defer { for index in values.indices { values[index].bytes.zero() } }
        let byReference = Dictionary(uniqueKeysWithValues: values.map { ($0.reference, $0) })
        var filled = template.filled(with: template.references.compactMap { byReference[$0] })
        defer { filled.zero() }
        guard let target else {
            guard !context.terminal.outputIsTerminal || ForeignData.isHarmless(filled) else {
                throw CommandFailure(
                    .usage, .outputBinary, "the result is not plain text, and would go to the terminal",
                    hint: "use --output FILE or a pipe")
            }
            try context.output.write(bytes: filled)
            return
        }
        if replaces { try PrivateFile.replace(target, filled) } else { try ForeignFile.create(target, filled) }
        try context.confirmDone(
            .fields(["file": .string(target), "references": .integer(distinct.count)])
        ) {
            "Wrote \(TextWidth.displaySafe(target)) with \(NumberText.counted(distinct.count, "value")) filled in."
        }
    }

    private static func requireAbsent(_ path: String) throws {
        guard unsafe access(path, F_OK) == 0 else { return }
        throw CommandFailure(
            .cannotCreate, .fileExists, "\(TextWidth.displaySafe(path)) is already there",
            hint: "--force replaces it, or choose another name")
    }
}
