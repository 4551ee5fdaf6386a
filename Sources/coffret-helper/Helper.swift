// The loop of the helper: messages of the bus, and the state of the store every few seconds.

internal import CoffretBase
internal import CoffretBus
internal import CoffretTerminal
internal import Glibc

/// - Concurrency: one thread.
final class Helper {
    /// How old the state in the tray may be. The menu looks anew when it is opened.
    private static let stateMilliseconds: Int32 = 5_000
    private static let watcher = "org.kde.StatusNotifierWatcher"

    private let bus: MessageBus
    private let actions: HelperActions
    private let tray: Tray
    private let shortcut: Shortcut
    private let autostart: AutostartFile
    private var isEnding = false

    init(_ bus: MessageBus, _ actions: HelperActions, autostart: AutostartFile) {
        (self.bus, self.actions, self.autostart) = (bus, actions, autostart)
        tray = Tray(isUnlocked: actions.isUnlocked, store: actions.store)
        shortcut = Shortcut(bus)
        _ = bus.listen(
            "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
                + "member='NameOwnerChanged',arg0='\(Self.watcher)'")
        register()
    }

    /// Serves until a signal, the bus or the person ends it.
    func run(_ signals: borrowing SignalWatch) {
        while !isEnding {
            while let message = bus.next() { take(message) }
            guard bus.isOpen, !isEnding, !autostart.isGone else { return }
            actions.reap()
            look()
            var polled = [
                pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: bus.descriptor, events: bus.pollEvents, revents: 0),
            ]
            let wait = bus.timeoutMilliseconds
            _ = unsafe poll(&polled, 2, wait < 0 ? Self.stateMilliseconds : min(wait, Self.stateMilliseconds))
            if signals.next() != nil { return }
        }
    }

    /// A desktop without a tray, such as GNOME without its extension, has nobody who hears it.
    private func register() {
        _ = bus.call(
            Self.watcher, "/StatusNotifierWatcher", Self.watcher, "RegisterStatusNotifierItem", [Tray.itemPath])
    }

    private func look() {
        guard tray.note(isUnlocked: actions.isUnlocked) else { return }
        for member in ["NewIcon", "NewOverlayIcon", "NewToolTip"] {
            bus.signal(Tray.itemPath, Tray.itemInterface, member, [])
        }
        bus.signal(Tray.menuPath, Tray.menuInterface, "LayoutUpdated", [.unsigned(tray.revision), .integer(0)])
    }

    private func take(_ message: BusMessage) {
        if message.isSignal("org.freedesktop.DBus", "NameOwnerChanged") { return register() }
        if let isActivated = shortcut.take(message) {
            if isActivated { _ = actions.perform(.find) }
            return
        }
        guard message.isCall, let path = message.path, let member = message.member else { return }
        guard let values = message.values(countMax: 256) else {
            return bus.refuse(message, "org.freedesktop.DBus.Error.LimitsExceeded", "too many values")
        }
        switch (path, message.interface ?? "") {
        case (Tray.itemPath, Tray.properties), (Tray.menuPath, Tray.properties):
            guard let answer = tray.answerProperties(path, member, values) else { break }
            return bus.answer(message, answer)
        case (Tray.itemPath, Tray.itemInterface):
            // The left button opens the window, the middle one finds; the tray itself shows the menu.
            switch member {
            case "Activate": perform(.open)
            case "SecondaryActivate": perform(.find)
            case "ContextMenu", "Scroll": break
            default: return refuse(message)
            }
            return bus.answer(message, [])
        case (Tray.menuPath, Tray.menuInterface):
            look()
            guard let answer = tray.answerMenu(member, values, chosen: perform) else { break }
            return bus.answer(message, answer)
        default: break
        }
        refuse(message)
    }

    private func refuse(_ message: BusMessage) {
        bus.refuse(message, "org.freedesktop.DBus.Error.UnknownMethod", "there is no such method")
    }

    private func perform(_ action: HelperActions.Action) {
        if !actions.perform(action) { isEnding = true }
    }
}
