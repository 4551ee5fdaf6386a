// The item in the tray and its menu, as values of D-Bus. Invariant: no text of a vault stands in them.
//
// Sources: StatusNotifierItem (freedesktop.org, "System tray"), and com.canonical.dbusmenu, version 3.

internal import CoffretBus
internal import CoffretTerminal

final class Tray {
    static let itemPath = "/StatusNotifierItem"
    static let itemInterface = "org.kde.StatusNotifierItem"
    static let menuPath = "/MenuBar"
    static let menuInterface = "com.canonical.dbusmenu"
    static let properties = "org.freedesktop.DBus.Properties"

    private let store: String
    private var isUnlocked: Bool
    /// Grows with each change of the menu.
    private(set) var revision: UInt32 = 1

    init(isUnlocked: Bool, store: String) {
        self.isUnlocked = isUnlocked
        self.store = store
    }

    /// - Returns: whether it is another state than before.
    func note(isUnlocked: Bool) -> Bool {
        guard isUnlocked != self.isUnlocked else { return false }
        self.isUnlocked = isUnlocked
        revision += 1
        return true
    }

    // MARK: Properties

    private var item: [(String, BusValue)] {
        let words = isUnlocked ? "The vault is open." : "The vault is locked."
        return [
            ("Category", .text("ApplicationStatus")), ("Id", .text("coffret")), ("Title", .text("Coffret")),
            ("Status", .text("Active")), ("WindowId", .integer(0)), ("IconName", .text("coffret")),
            ("OverlayIconName", .text(isUnlocked ? "" : "changes-prevent")), ("AttentionIconName", .text("")),
            (
                "ToolTip",
                .structure([
                    .text("coffret"), .array("(iiay)", []), .text("Coffret"),
                    .text("\(words) \(TextWidth.displaySafe(store))"),
                ])
            ), ("ItemIsMenu", .flag(false)), ("Menu", .path(Self.menuPath)),
        ]
    }

    private static var menu: [(String, BusValue)] {
        [
            ("Version", .unsigned(3)), ("TextDirection", .text("ltr")), ("Status", .text("normal")),
            ("IconThemePath", .array("s", [])),
        ]
    }

    /// - Returns: nil for what is not there.
    func answerProperties(_ path: String, _ member: String, _ values: [BusValue]) -> [BusValue]? {
        let own = path == Self.itemPath ? (Self.itemInterface, item) : (Self.menuInterface, Self.menu)
        guard values.first?.text == own.0 else { return nil }
        switch member {
        case "GetAll": return [.properties(own.1)]
        case "Get":
            return own.1.first { $0.0 == values.last?.text }.map { [.variant($0.1)] }
        default: return nil
        }
    }

    // MARK: The menu

    private typealias Entry = (id: Int32, properties: [(String, BusValue)])

    private var entries: [Entry] {
        func entry(_ action: HelperActions.Action, _ label: String) -> Entry {
            (action.rawValue, [("label", .text(label)), ("enabled", .flag(true)), ("visible", .flag(true))])
        }
        func line(_ id: Int32) -> Entry { (id, [("type", .text("separator"))]) }
        return [
            entry(.open, "Open the window"), entry(.find, "Find, and copy"), line(3),
            isUnlocked ? entry(.lock, "Lock") : entry(.unlock, "Unlock"), line(6),
            entry(.end, "Take this out of the tray"),
        ]
    }

    /// - Returns: nil for an unknown member, or other arguments.
    func answerMenu(
        _ member: String, _ values: [BusValue], chosen: (HelperActions.Action) -> Void
    ) -> [BusValue]? {
        switch member {
        case "GetLayout":
            guard let parent = values.first?.integer else { return nil }
            let children = entries.map { BusValue.variant(Self.node($0, [])) }
            let root: Entry = (0, [("children-display", .text("submenu"))])
            let found = parent == 0 ? root : entries.first { $0.id == parent }
            guard let found else { return nil }
            return [.unsigned(revision), Self.node(found, parent == 0 ? children : [])]
        case "GetGroupProperties":
            let wanted = (values.first?.elements ?? []).compactMap(\.integer)
            let found = entries.filter { wanted.isEmpty || wanted.contains($0.id) }
            return [.array("(ia{sv})", found.map { .structure([.integer($0.id), .properties($0.properties)]) })]
        case "GetProperty":
            guard let id = values.first?.integer, let name = values.last?.text,
                let value = entries.first(where: { $0.id == id })?.properties.first(where: { $0.0 == name })?.1
            else { return nil }
            return [.variant(value)]
        case "Event":
            choose(values, chosen)
            return []
        case "EventGroup":
            for event in values.first?.elements ?? [] { choose(event.elements ?? [], chosen) }
            return [.array("i", [])]
        case "AboutToShow": return [.flag(false)]
        case "AboutToShowGroup": return [.array("i", []), .array("i", [])]
        default: return nil
        }
    }

    private func choose(_ event: [BusValue], _ chosen: (HelperActions.Action) -> Void) {
        guard event.count == 4, event[1].text == "clicked", let id = event[0].integer,
            let action = HelperActions.Action(rawValue: id), entries.contains(where: { $0.id == id })
        else { return }
        chosen(action)
    }

    private static func node(_ entry: Entry, _ children: [BusValue]) -> BusValue {
        .structure([.integer(entry.id), .properties(entry.properties), .array("v", children)])
    }
}
