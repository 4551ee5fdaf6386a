// `coffret device`: which devices belong to a person, how one more joins, how one is thrown out.

internal import CoffretAccount
internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretSync
internal import CoffretTerminal
internal import CoffretTrust
internal import CoffretWire

enum DeviceCommand {
    static let device = ArgumentDescription.required("DEVICE", "its name, or the beginning of its id")
    static let newName = ArgumentDescription.required("NAME", "its new name")
    static let name = OptionDescription.value("name", "NAME", "what your other devices call this one (the host's name)")

    static let description = CommandDescription(
        "device", group: .devices, "List your devices, pair a new one, revoke a lost one",
        subcommands: [
            CommandDescription("ls", "List the devices of your account", run: list),
            DeviceJoining.pairing, DeviceJoining.approval,
            DeviceRevocation.description,
            CommandDescription(
                "rename", "Give a device another name",
                discussion: [
                    "All of your devices see the new name after their next sync; the server sees only that something was changed. A device with an older coffret stops syncing until it is updated."
                ],
                arguments: [device, newName], run: rename),
            DeviceRescue.description, DeviceRenewal.description, DeviceRecovery.description,
        ])

    private static func list(_ context: CommandContext) throws {
        let store = try CommandStore.open(context)
        var requests: [JoinRequestMessage] = []
        do {
            requests = try store.perform(DeviceFollow()).requests
        } catch {
            context.warn("as last seen: \(FailureTranslation.failure(from: error).message)")
        }
        let devices = try store.perform(DeviceList()).devices
        try context.print(.array(devices.map(\.json) + requests.map(DeviceJoining.json))) {
            var table = TextTable([
                .init(role: .identifier), .init(isFlexible: true), .init(role: .faint), .init(role: .faint),
            ])
            for device in devices {
                let kind = device.kind == .paper ? "paper" : device.isCurrent ? "this device" : ""
                let falls = device.revocable.map { "can be revoked \(context.relativeTime.day($0.milliseconds))" }
                let state = [kind, device.isRevoked ? "revoked" : falls ?? ""].filter { !$0.isEmpty }
                    .joined(separator: ", ")
                table.add([
                    String(device.id.prefix(8)), device.name.isEmpty ? "?" : TextWidth.displaySafe(device.name), state,
                    device.added.map { "added \(context.relativeTime.moment($0.milliseconds))" } ?? "",
                ])
            }
            for request in requests {
                table.add([
                    String(request.id.prefix(8)), "asks to join: coffret device approve", "waiting",
                    "since \(context.relativeTime.moment(request.since.milliseconds))",
                ])
            }
            return table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
                .joined(separator: "\n")
        }
    }

    private static func rename(_ context: CommandContext) throws {
        var request = DeviceRename()
        (request.device, request.newName) = (context.arguments.required(device), context.arguments.required(newName))
        try DeviceRename.check(request.newName)
        let renamed = try CommandStore.open(context).perform(request)
        try context.confirmDone(.fields(["id": .string(renamed.id), "name": .string(renamed.name)])) {
            "\"\(TextWidth.displaySafe(renamed.formerName))\" is called \"\(TextWidth.displaySafe(renamed.name))\" now."
        }
    }

    /// Ends a command that did what it was asked for, but not all that follows from it: with the exit code of a failure that
    /// was told before.
    static func end(with problem: (any Error)?) throws {
        if let problem { throw CommandExit(code: FailureTranslation.failure(from: problem).exitCode.rawValue) }
    }
}
