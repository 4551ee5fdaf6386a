// `coffret device recover --with-contacts`: the machine of a person who lost everything. The one thing to keep true: fewer shares lie on
// this machine than bring the account back; the one that makes them whole is used at once.

internal import CoffretAccount
internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretHTTP
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretTerminal

struct DeviceContactRecovery {
    let context: CommandContext
    let settings: HTTPSettings
    private let file: CircleWishFile
    private let attempts: PairingAttemptsFile
    private let name: String

    init(_ context: CommandContext, _ settings: HTTPSettings) throws {
        (self.context, self.settings) = (context, settings)
        let environment = try StoreAccess.environment(context)
        file = CircleWishFile(
            stateDirectory: environment.stateDirectory, server: settings.address.url,
            store: try StoreAccess.path(context), fileSystem: environment.fileSystem)
        attempts = PairingAttemptsFile(
            stateDirectory: environment.stateDirectory, fileSystem: environment.fileSystem)
        name = context.arguments.value(DeviceCommand.name) ?? StoreAccess.deviceName
    }

    /// Meets one contact after another.
    ///
    /// - Returns: the sheet that their shares give; nil once nothing more can be done today.
    func sheet() throws -> PaperSheet? {
        let dialogue = PairingDialogue(context)
        var meeting = try CircleMeeting(file, random: SystemRandomSource())
        while true {
            try attempts.checkPause(now: SystemWallClock().now)
            let outcome = try meeting.meet(named: name, settings: settings, attempts: attempts, dialogue) { number in
                try dialogue.say(
                    """
                    A recovery contact of yours runs, with the name that you have there:

                        coffret recovery help YOUR-NAME \(number)

                    Speak with that person meanwhile. Waiting; Ctrl-C ends it, and nothing is lost.
                    """, json: ["event": .string("waiting"), "machine": .string(number)])
            }
            switch outcome {
            case .recorded(let rest, let hours):
                let words = DurationText.words(UInt64(rest / 1_000))
                try context.confirmDone(
                    .fields([
                        "event": .string("recorded"), "restSeconds": .integer(Int(rest / 1_000)),
                        "hours": .integer(hours),
                    ])
                ) {
                    "Your wish is recorded. This contact can give you the share in \(words).\n"
                        + "Run the same command here again then, as this user; the others have their own clocks."
                }
                return nil
            case .share(let have, let needed):
                try dialogue.say(
                    "\n\(have) of \(needed) shares are here. The next contact:\n",
                    json: ["event": .string("share"), "shares": .integer(have), "needed": .integer(needed)])
            case .enough(let sheet): return sheet
            }
        }
    }

    /// The account is back, or nobody needs it any more.
    func finish() { file.remove() }
}
