// Signals of logind: the session's screen was locked, the machine prepares for sleep. Invariant: the machine is kept
// awake until everything is locked, and not a moment longer.

package import CoffretAgent
internal import CoffretBus
internal import Glibc

/// Listens to logind on the system's bus.
///
/// Holds a delay inhibitor for sleep: logind waits (five seconds by default) until it is given up.
/// Source: org.freedesktop.login1(5).
package final class LogindWatch: LockEventSource {
    private static let service = "org.freedesktop.login1"
    private static let root = "/org/freedesktop/login1"
    private static let manager = "org.freedesktop.login1.Manager"
    private static let session = "org.freedesktop.login1.Session"
    private static let properties = "org.freedesktop.DBus.Properties"

    private let bus: MessageBus
    private let userID: UInt32
    private var inhibitor: Int32?

    /// - Returns: nil where there is no system bus; a logind that comes later is heard.
    package init?(userID: UInt32) {
        guard let bus = MessageBus(.system) else { return nil }
        self.bus = bus
        self.userID = userID
        let rules = [
            "type='signal',sender='\(Self.service)',interface='\(Self.manager)',member='PrepareForSleep'",
            "type='signal',sender='\(Self.service)',interface='\(Self.session)',member='Lock'",
            "type='signal',sender='\(Self.service)',interface='\(Self.properties)',member='PropertiesChanged',"
                + "arg0='\(Self.session)'",
        ]
        for rule in rules {
            let answer = bus.call(
                "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "AddMatch", [rule])
            guard answer != nil else { return nil }
        }
        inhibit()
    }

    deinit { giveUp() }

    package var descriptor: Int32 { bus.descriptor }
    package var pollEvents: Int16 { bus.pollEvents }
    package var timeoutMilliseconds: Int32 { bus.timeoutMilliseconds }

    package func takeEvents() -> [LockEvent] {
        var events: [LockEvent] = []
        while let message = bus.next() {
            if let event = event(in: message) { events.append(event) }
        }
        return events
    }

    package func didLock() { giveUp() }

    private func event(in message: BusMessage) -> LockEvent? {
        if message.isSignal(Self.manager, "PrepareForSleep") {
            if message.readBoolean() == true { return .preparingForSleep }
            // Awake again: the next sleep is to wait, too.
            inhibit()
            return nil
        }
        let isLocked =
            message.isSignal(Self.session, "Lock")
            || message.isSignal(Self.properties, "PropertiesChanged") && saysLocked(message)
        guard isLocked, isOwn(message.path) else { return nil }
        return .screenLocked
    }

    /// Whether changed properties of a session hold `LockedHint` = true.
    private func saysLocked(_ message: BusMessage) -> Bool {
        guard message.readText() == Self.session else { return false }
        var isLocked = false
        _ = message.inside("a", "{sv}") { () -> Bool? in
            while let isHint = message.inside(
                "e", "sv",
                { () -> Bool? in
                    let name = message.readText()
                    if name == "LockedHint" {
                        isLocked = message.inside("v", "b") { message.readBoolean() } == true || isLocked
                    } else {
                        message.skip("v")
                    }
                    return name == "LockedHint"
                })
            {
                _ = isHint
            }
            return true
        }
        return isLocked
    }

    /// Whether a session is this user's. One that cannot be asked counts as own: locking costs a passphrase, not
    /// locking may cost everything.
    private func isOwn(_ path: String?) -> Bool {
        guard let path,
            let answer = bus.call(Self.service, path, Self.properties, "Get", [Self.session, "User"]),
            let owner = answer.inside("v", "(uo)", { answer.inside("r", "uo") { answer.readUnsigned() } })
        else { return true }
        return owner == userID
    }

    private func inhibit() {
        guard inhibitor == nil else { return }
        inhibitor = bus.call(
            Self.service, Self.root, Self.manager, "Inhibit",
            ["sleep", "Coffret", "Unlocked vaults are locked first", "delay"])?.readDescriptor()
    }

    private func giveUp() {
        if let inhibitor { close(inhibitor) }
        inhibitor = nil
    }
}
