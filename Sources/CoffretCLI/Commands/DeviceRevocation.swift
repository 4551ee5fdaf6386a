// `coffret device revoke`: a device is thrown out, and what it brought in with it. Invariant: a person has read what goes with
// the device before anything goes.

internal import CoffretApp
internal import CoffretBase
internal import CoffretTerminal
internal import CoffretWire

enum DeviceRevocation {
    static let keep = OptionDescription.value(
        "keep", "DEVICE", repeats: true, "leave this one of those that it added; can be given again")
    static let keepAll = OptionDescription.flag("keep-added", "leave all devices and sheets that it added")

    static let description = CommandDescription(
        "revoke", "Revoke a device: a lost one, or one you no longer use",
        discussion: [
            "Vaults that are synced get new keys. The device keeps the data that it has. Changes that it sent until now count; its later changes do not.",
            "Devices and sheets that it added, or that one of those added, go with it unless you say otherwise: a thief may have added them. This device, and those that it added, stay. A sheet counts for seven days after your devices were told.",
        ],
        arguments: [DeviceCommand.device], options: [keep, keepAll, CommonArguments.yes], run: run)

    private static func run(_ context: CommandContext) throws {
        try ServerAccess.checkJoined(context)
        let session = try StoreSession.open(context, with: .passphraseAnew)
        var request = DeviceRevoke()
        request.device = context.arguments.required(DeviceCommand.device)
        request.keep = context.arguments.values(keep)
        request.keepsAdded = context.arguments.isSet(keepAll)
        request.isTrial = true
        let found = try request.perform(on: session.desk)
        (request.device, request.isTrial) = (found.device.id, nil)
        if found.device.kind == .paper, !found.isRevoked { return try revokePaper(request, found, session) }
        if !found.isRevoked { try ask(found, &request, context) }
        let done = try request.perform(on: session.desk)
        let value = JSONValue.fields([
            "revoked": done.completedVaultCount == nil ? .string(done.device.id) : .null,
            "alsoRevoked": json(done.alsoRevoked), "announced": json(done.alsoAnnounced), "kept": json(done.kept),
            "renewed": .strings(done.renewedVaults), "complete": .bool(done.problem == nil),
            "unseen": .array(done.unseen.map(\.json)),
        ])
        let unseen = done.unseen.map { $0.words(by: "it") }.joined()
        try context.confirmDone(value) {
            if let count = done.completedVaultCount {
                return "It was revoked already; now \(NumberText.counted(count, "vault")) "
                    + "\(count == 1 ? "knows" : "know") where that takes effect." + unseen
            }
            let also = done.alsoRevoked.isEmpty ? "" : ", and \(done.alsoRevoked.words), which came by it"
            let count = done.renewedVaults.count
            let keys = count == 0 ? "" : " \(NumberText.counted(count, "synced vault")) got a new key."
            return "Revoked \(done.device.words)\(also)." + keys + unseen
        }
        for paper in done.alsoAnnounced {
            context.warn(
                "the paper device \(paper.words), which came by it, counts for seven days more; "
                    + "then: coffret device revoke \(paper.words)")
        }
        try DeviceCommand.end(with: done.problem)
    }

    private static func json(_ devices: [DeviceLabel]) -> JSONValue { .strings(devices.map(\.id)) }

    /// Says what came by the device, and asks; the options answer in advance.
    private static func ask(
        _ found: DeviceRevoke.Answer, _ request: inout DeviceRevoke, _ context: CommandContext
    ) throws {
        let isConfirmed = context.arguments.isSet(CommonArguments.yes)
        var what =
            "\(found.device.words) will get nothing new, and nothing that it writes from now on counts. What it holds, it keeps."
        if !found.falling.isEmpty {
            what += " With it goes what came by it: \(found.falling.words); --keep and --keep-added leave them."
        }
        try context.confirmDanger(what, question: "Revoke it?", isConfirmed: isConfirmed)
        guard !isConfirmed, !found.falling.isEmpty, let prompt = context.prompt() else { return }
        let question = "Revoke what came by it too: \(found.falling.words)?"
        if try !prompt.confirm(question, isYesDefault: true) { request.keepsAdded = true }
    }

    /// A paper device falls seven days after this device said so.
    private static func revokePaper(
        _ request: DeviceRevoke, _ found: DeviceRevoke.Answer, _ session: StoreSession
    ) throws {
        let (context, name) = (session.context, found.device.words)
        try context.confirmDanger(
            found.announced == nil
                ? "Your devices will be told that the paper device \(name) is to be revoked. For seven days its sheet still counts, so that its owner can object; then this device can revoke it."
                : "The sheet of \(name) will recover nothing any more. It still opens earlier backups.",
            question: found.announced == nil ? "Tell them?" : "Revoke it?",
            isConfirmed: context.arguments.isSet(CommonArguments.yes))
        let done = try request.perform(on: session.desk)
        let value = JSONValue.fields([(done.isRevoked ? "revoked" : "announced"): .string(done.device.id)])
        try context.confirmDone(value) {
            done.isRevoked
                ? "Revoked the paper device \(name); its sheet opens nothing any more but old copies."
                : "Your devices are told that the paper device \(name) will be revoked. Run this again on this device in seven days."
        }
    }
}
