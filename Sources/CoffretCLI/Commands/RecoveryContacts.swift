// `coffret recovery contacts` and `help`: people who together bring an account back. The one thing to keep true: whoever says yes has
// read before what it gives, and to whom.

internal import CoffretApp
internal import CoffretBase
internal import CoffretMessages
internal import CoffretTerminal
internal import CoffretWire

enum RecoveryContacts {
    static let people = ArgumentDescription.optional(
        "NAME", repeats: true, "contacts whose codes you compared; none: those who were asked get their shares")
    static let person = ArgumentDescription.required("NAME", "the contact whom you help")
    static let machine = ArgumentDescription.optional("MACHINE", "32 digits that the new machine of that person shows")
    static let request = ArgumentDescription.optional("REQUEST", "its id, or the beginning; else all that are open")
    static let threshold = OptionDescription.value(
        "threshold", "COUNT", "how many of them are needed together: more than half, if nothing is said")
    static let wait = OptionDescription.value(
        "wait", "TIME", "from a recorded request to the first share: 7d, if nothing is said; 1d to 365d")
    static let refuse = OptionDescription.flag("refuse", "say no, or be no recovery contact any more")

    static let description = CommandDescription(
        "contacts", "Let people whom you trust bring your account back together",
        discussion: [
            "Each contact keeps a share. So many of them as you say, together and after a waiting time, bring a new machine into your account: coffret device recover URL --with-contacts. Fewer learn nothing. Your devices show each request, and you can forbid it.",
            "Contacts who work together with altered programs need no waiting time: choose people who would not.",
        ],
        subcommands: [
            CommandDescription(
                "add", "Ask contacts to be your recovery contacts, and finish once all have accepted",
                discussion: [
                    "Each of them says yes with coffret recovery help YOUR-NAME. Once all have, run coffret recovery contacts add without names: then each gets a share. It wants a paper sheet of your own, which outranks them."
                ],
                arguments: [people], options: [threshold, wait, CommonArguments.yes], run: add),
            CommandDescription("ls", "List your recovery contacts, people whom you help, and requests", run: list),
            CommandDescription(
                "test", "Ask the programs of your recovery contacts whether they hold their shares",
                discussion: ["Each answers by its next sync. It is done by itself every 90 days, too."], run: test),
            CommandDescription(
                "forbid", "Forbid a request for your account that is not yours",
                discussion: ["No contact gives a share for it, and none records another one for 24 hours."],
                arguments: [request], run: forbid),
            CommandDescription(
                "rm", "Take your recovery contacts back",
                discussion: [
                    "Shares cannot be called back, so they are made useless: at once while not all have one, else seven days after your devices were told. Run it again then."
                ],
                options: [CommonArguments.yes], run: remove),
        ])

    static let help = CommandDescription(
        "help", "Help somebody as a recovery contact: say yes, and meet that person's new machine",
        discussion: [
            "Without MACHINE it says how things are, and asks whether you want to be a recovery contact if you were asked. With MACHINE it meets the new machine of a person who lost everything: the first time its request is recorded, and after the waiting time it gets your share.",
            "Speak with the person, or meet. Whoever sits at that machine gets the whole account.",
        ],
        arguments: [person, machine], options: [refuse, CommonArguments.yes], run: help)

    // MARK: The founder

    private static func hours(_ context: CommandContext) throws -> Int? {
        try DurationText.seconds(of: wait, context).map { Int(clamping: $0 / 3_600) }
    }

    private static func add(_ context: CommandContext) throws {
        try ServerAccess.checkJoined(context)
        var request = CircleMake()
        request.people = context.arguments.values(people)
        if let text = context.arguments.value(threshold) {
            guard let count = Int(text), 2...16 ~= count else {
                throw CommandFailure(
                    .usage, .inputInvalid, "at least 2 recovery contacts are needed together, at most 16")
            }
            request.threshold = count
        }
        request.hours = try hours(context)
        let session = try StoreSession.open(context, with: .passphraseAnew)
        request.isTrial = true
        let trial = try request.perform(on: session.desk)
        request.isTrial = nil
        if request.people.isEmpty { request.circle = trial.id }
        let who = trial.members.map(\.words).joined(separator: ", ")
        let isFirst = !request.people.isEmpty
        let what =
            "\(trial.rule) bring your whole account to a new machine, \(trial.time) after they record the wish. "
            + (isFirst ? "You would ask \(who)." : "\(who) get their shares now. All your devices will say so.")
        try context.confirmDanger(
            what, question: isFirst ? "Ask them?" : "Give the shares?",
            isConfirmed: context.arguments.isSet(CommonArguments.yes))
        let made = try request.perform(on: session.desk)
        try context.confirmDone(made.json) {
            isFirst
                ? "They were asked. There:  coffret recovery help YOUR-NAME\n"
                    + "When all have accepted:  coffret recovery contacts add"
                : "Your recovery contacts have their shares. coffret recovery contacts test asks whether they arrived."
        }
    }

    private static func list(_ context: CommandContext) throws {
        try ServerAccess.checkJoined(context)
        let circles = try CommandStore.open(context).perform(CircleList()).circles
        try context.print(.array(circles.map(\.json))) {
            guard !circles.isEmpty else {
                return
                    "You have no recovery contacts, and are nobody's. coffret recovery contacts add NAME NAME begins."
            }
            return circles.map { lines($0, context).joined(separator: "\n") }.joined(separator: "\n\n")
        }
    }

    private static func lines(_ circle: CircleSummary, _ context: CommandContext) -> [String] {
        var lines = [
            circle.isOwn ? "Your recovery contacts: \(circle.stateWords)" : "For \(circle.who): \(circle.stateWords)"
        ]
        lines.append("  \(circle.rule) are needed, \(circle.time) after a request")
        if circle.isOwn {
            var table = TextTable([.init(role: .identifier), .init(isFlexible: true), .init(isFlexible: true)])
            for member in circle.members {
                table.add(["  " + String(member.account.prefix(8)), member.words, member.stateWords])
            }
            lines += table.lines(width: context.terminal.tableWidth, style: context.terminal.style)
        }
        for request in circle.requests {
            var words =
                "  request \(request.id.prefix(8)) by \(request.fromWords), \(context.relativeTime.moment(request.time.milliseconds))"
            if request.isForbidden {
                words += ": forbidden"
            } else if circle.isOwn {
                words += ": \(NumberText.counted(request.releaseCount, "share")) given"
            } else if let rest = request.restSeconds, rest > 0 {
                words += ": you may give your share in \(DurationText.words(UInt64(rest)))"
            } else {
                words += ": you may give your share"
            }
            lines.append(words)
        }
        if let time = circle.revocable {
            lines.append(
                "  can be taken back \(context.relativeTime.day(time.milliseconds)): coffret recovery contacts rm")
        }
        return lines
    }

    private static func test(_ context: CommandContext) throws {
        try ServerAccess.checkJoined(context)
        let circle = try CommandStore.open(context).perform(CircleTest())
        try context.confirmDone(circle.json) {
            let silent = circle.members.filter { $0.hasAnswered != true }
            guard !silent.isEmpty else { return "All of your recovery contacts hold their shares." }
            return "Asked. No answer yet: \(silent.map(\.words).joined(separator: ", ")). "
                + "They answer by their next sync; run this again then."
        }
    }

    private static func forbid(_ context: CommandContext) throws {
        try ServerAccess.checkJoined(context)
        var request = CircleForbid()
        request.request = context.arguments.value(Self.request)
        let forbidden = try CommandStore.open(context).perform(request)
        try context.confirmDone(forbidden.json) {
            "Forbidden: \(NumberText.counted(forbidden.requests.count, "request")). No share is given for it. "
                + "Tell your recovery contacts, too."
        }
    }

    private static func remove(_ context: CommandContext) throws {
        try ServerAccess.checkJoined(context)
        let session = try StoreSession.open(context, with: .passphraseAnew)
        try context.confirmDanger(
            "Your recovery contacts could not bring your account back any more.", question: "Take them back?",
            isConfirmed: context.arguments.isSet(CommonArguments.yes))
        let removed = try CircleEnd().perform(on: session.desk)
        try context.confirmDone(removed.json) {
            guard !removed.isRemoved, let time = removed.revocable else {
                return "You have no recovery contacts any more."
            }
            return
                "Your devices are told. Run this again \(context.relativeTime.day(time.milliseconds)), on this device: "
                + "then the shares are worth nothing."
        }
    }

    // MARK: The contact

    private static func help(_ context: CommandContext) throws {
        try ServerAccess.checkJoined(context)
        let session = try StoreSession.open(context, with: .passphraseAnew)
        var request = CircleHelp()
        request.person = context.arguments.required(person)
        let isConfirmed = context.arguments.isSet(CommonArguments.yes)
        let known = try request.perform(on: session.desk).circle
        request.circle = known.id
        if context.arguments.isSet(refuse) {
            try context.confirmDanger(
                "You will not help \(known.who) to come back.", question: "Refuse?", isConfirmed: isConfirmed)
            request.decision = .leave
            let left = try request.perform(on: session.desk)
            return try context.confirmDone(left.circle.json) { "You are no recovery contact of \(known.who)." }
        }
        if !known.hasAccepted {
            try context.confirmDanger(
                "\(known.who) asks you to keep a share of the account. \(known.rule) bring the whole account to a new machine, "
                    + "\(known.time) after one of you records the wish. You learn nothing of it by yourself.",
                question: "Be a recovery contact?", isConfirmed: isConfirmed)
            request.decision = .accept
            let accepted = try request.perform(on: session.desk)
            return try context.confirmDone(accepted.circle.json) {
                "You are a recovery contact of \(known.who). The share comes with a later sync."
            }
        }
        guard let number = context.arguments.value(machine) else {
            return try context.print(known.json) {
                let share = known.hasShare ? "Your share is here." : "No share is here yet."
                return (lines(known, context) + ["  \(share)"]).joined(separator: "\n")
                    + "\n\nNext:  coffret recovery help NAME MACHINE   meets that person's new machine"
            }
        }
        try context.confirmDanger(
            "Whoever sits at that machine gets the whole account of \(known.who). Speak with the person now, by voice or face, "
                + "in a way that you know: not by a message.",
            question: "Is it really \(known.who) who asks?", isConfirmed: isConfirmed)
        request.machine = number
        let helped = try request.perform(on: session.desk)
        try context.confirmDone(helped.json) {
            if helped.isGiven { return "The machine has your share." }
            let rest = DurationText.words(UInt64(max(helped.restSeconds ?? 0, 0)))
            let when =
                "You may give your share in \(rest): coffret recovery help \(TextWidth.displaySafe(request.person)) MACHINE. "
                + "Sync now and then until then, at least each day."
            return helped.isRecorded
                ? "The request is recorded, and all devices of \(known.who) show it. \(when)"
                : helped.restSeconds == nil ? "The machine did not say that it has your share; do it again." : when
        }
    }
}

extension CircleMemberMessage {
    var words: String { name.map { TextWidth.displaySafe($0) } ?? String(account.prefix(8)) }

    fileprivate var stateWords: String {
        switch state {
        case .added: "has not said yes yet"
        case .left: "left: choose new ones"
        case .accepted:
            switch hasAnswered {
            case true?: "holds the share"
            case false?: "was asked for the share, and has not answered"
            case nil: "accepted"
            }
        }
    }
}

extension CircleRequestMessage {
    fileprivate var fromWords: String { fromName.map { TextWidth.displaySafe($0) } ?? String(from.prefix(8)) }
}

extension CircleSummary {
    /// The person whose account it brings back.
    fileprivate var who: String { founderName.map { TextWidth.displaySafe($0) } ?? String(founder.prefix(8)) }
    fileprivate var rule: String { "\(threshold) of \(members.count) contacts" }
    fileprivate var time: String { DurationText.words(UInt64(hours) * 3_600) }

    fileprivate var stateWords: String {
        switch state {
        case .waiting: "not all have said yes"
        case .ready: isOwn ? "all have said yes: coffret recovery contacts add" : "shares are not given out yet"
        case .serving:
            isOwn ? "they can bring your account back" : hasShare ? "you keep a share" : "your share has not come yet"
        case .over: "over; the shares are worth nothing"
        }
    }
}
