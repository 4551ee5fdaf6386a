// Arguments that several commands share, and what they mean.

internal import CoffretBase
internal import CoffretCore
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretTerminal
internal import CoffretWire

enum CommonArguments {
    static let item = ArgumentDescription.required(
        "ITEM", .stored("items"), "an id, the beginning of one, a title, or the beginning of a title")
    static let items = ArgumentDescription.required("ITEM", .stored("items"), repeats: true, "ids or titles")
    static let at = OptionDescription.value(
        "at", "WHEN", "as of a moment (yesterday, '3 May 14:00') or a version from coffret history")
    static let yes = OptionDescription.flag("yes", short: "y", "do not ask")
    static let limit = OptionDescription.value("limit", short: "n", "N", .number(1...1_000_000), "at most N")
    static let tag = OptionDescription.value(
        "tag", short: "t", "TAG", .stored("tags"), repeats: true, "with this tag; repeatable")
    static let type = OptionDescription.value(
        "type", "TYPE", .choice(ItemKind.allCases.map(\.name)), Suggestion.list(ItemKind.allCases.map(\.name)))
}

extension CommandContext {
    /// A point in the past from the command line: words for a moment, or the digits of a version.
    func pointInTime(_ text: String) throws -> Moment {
        if let time = MomentParser(nowMilliseconds: nowMilliseconds).parse(text) { return .time(time) }
        if (4...64).contains(text.utf8.count), text.allSatisfy(\.isHexDigit) { return .commit(text) }
        return .time(try moment(text))
    }

    /// The point in the past that `--at` names, if it was given.
    func pointInTime() throws -> Moment? { try arguments.value(CommonArguments.at).map(pointInTime) }

    /// The same, as fields of an operation.
    func pointInMessage() throws -> (at: WireMoment?, version: String?) {
        try pointInMessage(arguments.value(CommonArguments.at))
    }

    /// A point in the past as fields of an operation.
    func pointInMessage(_ text: String?) throws -> (at: WireMoment?, version: String?) {
        switch try text.map(pointInTime) {
        case .time(let time)?: (WireMoment(time), nil)
        case .commit(let digits)?: (nil, digits)
        case nil: (nil, nil)
        }
    }

    /// The tags that `--tag` names.
    func tags(_ option: OptionDescription) throws -> [TagPath] {
        try arguments.values(option).map { text in
            try TagPath(text.hasPrefix("#") ? String(text.dropFirst()) : text)
        }
    }

    /// `"Tomatoes, second sowing"  4f7a  #garden`.
    func label(_ item: Item, _ id: String) -> String { label(item.title, item.tags.map(\.path), id) }

    func label(_ label: LabelMessage) -> String { self.label(label.title, label.tags, label.shortID) }

    private func label(_ title: String, _ tags: [String], _ id: String) -> String {
        let style = terminal.style
        let parts = [
            "\"\(TextWidth.truncate(TextWidth.displaySafe(title), to: 60))\"", style.apply(.identifier, id),
            tags.map { style.apply(.tag, "#" + TextWidth.displaySafe($0)) }.joined(separator: " "),
        ]
        return parts.filter { !$0.isEmpty }.joined(separator: "  ")
    }
}
