// `coffret doctor`: looks at the machine and says what weakens the protection. Opens nothing, changes nothing.

internal import CoffretBase
internal import CoffretCore
internal import CoffretTerminal

enum DoctorCommand {
    static let strict = OptionDescription.flag("strict", "let warnings decide the exit code too")

    static let description = CommandDescription(
        "doctor", group: .store, "Say what on this computer weakens the protection",
        discussion: [
            "Looks at the process, the kernel, swap, memory, your folders and the TPM. Needs no passphrase, opens nothing and changes nothing.",
            "Ends with 88 if there is a problem: secrets can get out now. Warnings say that a protection is weaker than it could be; with --strict they count too.",
        ],
        options: [strict],
        examples: [CommandExample("coffret doctor --json", "one object for scripts")],
        run: run)

    static func run(_ context: CommandContext) throws {
        let probe = SystemProbe()
        let findings = try findings(context, probe).sorted { $0.level > $1.level }
        let counted = findings.filter {
            $0.level == .problem || context.arguments.isSet(strict) && $0.level == .warning
        }
        try context.print(
            .fields([
                "isHealthy": .bool(counted.isEmpty), "findings": .array(findings.map(\.json)),
            ])
        ) { text(findings, context) }
        guard counted.isEmpty else {
            throw CommandFailure(
                .needsAttention, .doctorFindings, "\(NumberText.counted(counted.count, "thing")) to put right",
                hint: "Docs/unlocking.md says more about each")
        }
    }

    private static func findings(_ context: CommandContext, _ probe: SystemProbe) throws -> [DoctorFinding] {
        SystemChecks(probe: probe).findings() + FolderChecks(probe: probe).findings(try places(context))
            + TPMChecks(probe: probe).findings()
    }

    private static func places(_ context: CommandContext) throws -> [FolderChecks.Place] {
        let store = try StoreAccess.path(context)
        let state = try StoreAccess.environment(context).stateDirectory
        var places = [
            FolderChecks.Place(name: "the store", path: store, isSecret: false),
            FolderChecks.Place(name: "coffret's memory of this machine", path: state, isSecret: true),
            FolderChecks.Place(name: "this machine's secret", path: state + "/machine.secret", isSecret: true),
        ]
        if let runtime = context.environment.value(.runtimeDirectory), runtime.hasPrefix("/") {
            places.append(
                FolderChecks.Place(name: "the agent's socket", path: runtime + "/coffret", isSecret: true))
        }
        if let file = context.environment.value(.passphraseFile) {
            places.append(FolderChecks.Place(name: "the passphrase file", path: file, isSecret: true))
        }
        return places
    }

    private static func text(_ findings: [DoctorFinding], _ context: CommandContext) -> String {
        guard !findings.isEmpty else { return context.isQuiet ? "" : "Nothing weakens the protection." }
        let style = context.terminal.style
        let width = max(40, context.terminal.tableWidth ?? 80)
        return findings.map { finding in
            let role: TextRole =
                switch finding.level {
                case .problem: .error
                case .warning: .hint
                case .note: .faint
                }
            let head = style.apply(role, finding.level.rawValue + ":") + " \(finding.what)   [\(finding.code.rawValue)]"
            return
                ([head] + TextWidth.wrap(finding.why, width: width, indent: 2, hanging: 2)
                + TextWidth.wrap("To do: " + finding.remedy, width: width, indent: 2, hanging: 2, keepsCommands: true))
                .joined(separator: "\n")
        }.joined(separator: "\n\n")
    }
}
