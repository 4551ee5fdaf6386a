// A shortcut that works whatever program is in front, where the desktop gives one. Invariant: the person decides on its keys, in the
// desktop's own dialog.
//
// Source: XDG Desktop Portal, org.freedesktop.portal.GlobalShortcuts, version 1.

internal import CoffretBus

final class Shortcut {
    private static let portal = "org.freedesktop.portal.Desktop"
    private static let path = "/org/freedesktop/portal/desktop"
    private static let interface = "org.freedesktop.portal.GlobalShortcuts"
    private static let identifier = "find"

    private let bus: MessageBus
    private var session: String?

    /// Asks for a session; without the portal nothing comes of it.
    init(_ bus: MessageBus) {
        self.bus = bus
        for (name, member) in [("Request", "Response"), ("GlobalShortcuts", "Activated")] {
            _ = bus.listen(
                "type='signal',sender='\(Self.portal)',interface='org.freedesktop.portal.\(name)',member='\(member)'")
        }
        _ = bus.call(Self.portal, Self.path, Self.interface, "CreateSession") { message in
            message.append(
                .properties([
                    ("handle_token", .text("coffret_session")), ("session_handle_token", .text("coffret")),
                ]))
        }
    }

    /// - Returns: nil for a message that is not about the shortcut; else whether it was pressed.
    func take(_ message: BusMessage) -> Bool? {
        if message.isSignal(Self.interface, "Activated") {
            let values = message.values(countMax: 64) ?? []
            return values.count > 1 && values[0].path == session && values[1].text == Self.identifier
        }
        guard message.isSignal("org.freedesktop.portal.Request", "Response") else { return nil }
        let values = message.values(countMax: 256) ?? []
        // Of the two answers that come, one names the session.
        guard session == nil, values.first == .unsigned(0), values.count == 2,
            let handle = values[1].property("session_handle"), let path = handle.text ?? handle.path
        else { return false }
        session = path
        let shortcut = BusValue.structure([
            .text(Self.identifier),
            .properties([
                ("description", .text("Find in Coffret, and copy")), ("preferred_trigger", .text("CTRL+ALT+c")),
            ]),
        ])
        _ = bus.call(Self.portal, Self.path, Self.interface, "BindShortcuts") { message in
            message.append(.path(path)) && message.append(.array("(sa{sv})", [shortcut])) && message.append(.text(""))
                && message.append(.properties([("handle_token", .text("coffret_bind"))]))
        }
        return false
    }
}
