// `coffret backup schedule`: backups by a timer of systemd, in the person's own session. The one thing to keep true: no path
// of a person becomes anything but one argument of the unit's command.

internal import CoffretBase
internal import CoffretClient
internal import CoffretCore
internal import CoffretTerminal
internal import Glibc

enum BackupSchedule {
    static let folder = ArgumentDescription.optional("FOLDER", .directory, "the folder of the backups")
    static let every = OptionDescription.value("every", "TIME", "hour, day (unless you say otherwise), or week")
    static let older = OptionDescription.value(
        "older-than", "WHEN", "after each backup, remove those made before then, such as '1 year'")
    static let off = OptionDescription.flag("off", "make no more backups by itself")

    static let description = CommandDescription(
        "schedule", "Make backups by themselves, by a timer of systemd",
        discussion: [
            "A backup that finds the store locked is tried again every quarter of an hour. Without FOLDER this says what is scheduled. The units are coffret-backup.timer and coffret-backup.service in ~/.config/systemd/user; systemctl --user status coffret-backup says how the last one went."
        ],
        arguments: [folder], options: [every, older, off],
        examples: [
            CommandExample(
                "coffret backup schedule /media/usb/backups --every day --older-than '1 year'", "and removes old ones"),
            CommandExample("coffret backup schedule --off", "ends it; the backups stay"),
        ],
        run: run)

    private static let unit = "coffret-backup"
    private static let calendars = ["hour": "hourly", "day": "daily", "week": "weekly"]

    private static func run(_ context: CommandContext) throws {
        let units = try unitFolder(context)
        let (service, timer) = ("\(units)/\(unit).service", "\(units)/\(unit).timer")
        if context.arguments.isSet(off) { return try end([service, timer], context) }
        guard let path = context.arguments.value(folder) else { return try show(timer, context) }
        guard let calendar = calendars[context.arguments.value(every) ?? "day"] else {
            throw CommandFailure(.usage, .inputInvalid, "--every takes hour, day or week")
        }
        try BackupCommand.checkTarget(path, context)
        if let text = context.arguments.value(older) { _ = try context.past(text) }
        guard let parent = AgentLocation.canonical(PathText.parent(of: path)),
            let program = AgentLocation.canonical("/proc/self/exe")
        else {
            throw CommandFailure(.notFound, .fileUnreadable, "\(TextWidth.displaySafe(path)) cannot be found")
        }
        let target = PathText.join(parent, PathText.name(of: path))
        let store = try StoreAccess.requireStore(context).path
        let common = ["--store", AgentLocation.canonical(store) ?? store]
        var commands = [[program, "backup", "create"] + common + ["--", target]]
        if let text = context.arguments.value(older) {
            commands.append([program, "backup", "prune"] + common + ["--yes", "--older-than", text, "--", target])
        }
        let lines = try commands.map { "ExecStart=" + (try $0.map(quoted).joined(separator: " ")) }
        let fileSystem = PosixFileSystem()
        try fileSystem.makeDirectories(units)
        try fileSystem.replaceFile(service, with: Array(serviceText(lines).utf8), mode: 0o644)
        try fileSystem.replaceFile(timer, with: Array(timerText(calendar).utf8), mode: 0o644)
        let isActive = system(["daemon-reload"], context) && system(["enable", "--now", "\(unit).timer"], context)
        try context.confirmDone(
            .fields([
                "event": .string("done"), "isScheduled": .bool(true), "isActive": .bool(isActive),
                "folder": .string(target), "every": .string(calendar),
            ])
        ) { "Backups to \(TextWidth.displaySafe(target)): \(calendar)." }
        if !isActive {
            context.warn("systemd does not answer here; once it does: systemctl --user enable --now \(unit).timer")
        }
    }

    private static func end(_ units: [String], _ context: CommandContext) throws {
        let wasThere = units.contains { unsafe access($0, F_OK) == 0 }
        let isStopped = wasThere && system(["disable", "--now", "\(unit).timer"], context)
        for path in units { _ = unsafe unlink(path) }
        _ = system(["daemon-reload"], context)
        try context.confirmDone(
            .fields(["event": .string("done"), "isScheduled": .bool(false), "isActive": .bool(wasThere && !isStopped)])
        ) { wasThere ? "No more backups by themselves." : "No backups were scheduled." }
    }

    private static func serviceText(_ commands: [String]) -> String {
        """
        [Unit]
        Description=Backup of the Coffret store
        StartLimitIntervalSec=0

        [Service]
        Type=oneshot
        \(commands.joined(separator: "\n"))
        Restart=on-failure
        RestartSec=15min
        Nice=10

        """
    }

    private static func timerText(_ calendar: String) -> String {
        """
        [Unit]
        Description=Backups of the Coffret store

        [Timer]
        OnCalendar=\(calendar)
        RandomizedDelaySec=10min
        Persistent=true

        [Install]
        WantedBy=timers.target

        """
    }

    private static func show(_ timer: String, _ context: CommandContext) throws {
        let text = (try? PosixFileSystem().readFile(timer, byteCountMax: 64 << 10)).map {
            String(decoding: $0, as: UTF8.self)
        }
        let line = text?.split(separator: "\n").first { $0.hasPrefix("OnCalendar=") }
        let calendar = line.map { String($0.dropFirst("OnCalendar=".count)) }
        try context.print(
            .fields(["isScheduled": .bool(calendar != nil), "every": calendar.map { .string($0) } ?? .null])
        ) {
            calendar.map { "Backups are made \(TextWidth.displaySafe($0)); systemctl --user status \(unit) says more." }
                ?? "No backups are scheduled: coffret backup schedule FOLDER."
        }
    }

    private static func unitFolder(_ context: CommandContext) throws -> String {
        guard let folder = context.environment.baseDirectory(.configHome, below: ".config") else {
            throw CommandFailure(.notFound, .fileUnreadable, "there is no home folder")
        }
        return folder + "/systemd/user"
    }

    /// Whether systemd did it.
    private static func system(_ words: [String], _ context: CommandContext) -> Bool {
        guard let program = ProgramFinder(environment: context.environment).find("systemctl") else { return false }
        return (try? ChildProcess.run([program, "--user"] + words))?.outcome.isSuccess == true
    }

    /// One argument of a unit's command, in which nothing of systemd's own means anything.
    ///
    /// Source: systemd.service(5), "Command lines".
    static func quoted(_ word: String) throws -> String {
        guard !word.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) else {
            throw CommandFailure(.usage, .inputInvalid, "a path with control characters cannot be scheduled")
        }
        var text = ""
        for character in word {
            switch character {
            case "\\", "\"": text += "\\\(character)"
            case "%", "$": text += "\(character)\(character)"
            default: text.append(character)
            }
        }
        return "\"\(text)\""
    }
}
