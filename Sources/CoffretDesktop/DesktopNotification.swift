// A few words on the person's desktop. Invariant: no secret and no text of a vault stands in them, and nobody waits
// for a desktop that does not answer.

package import CoffretAgent
internal import CoffretBus
internal import CoffretMessages

/// Notifications of the desktop, by the session bus (org.freedesktop.Notifications).
///
/// Source: Desktop Notifications Specification 1.2, section 9, method Notify.
package enum DesktopNotification {
    /// Tells the person what sync met, and which browser was given something. Where there is no desktop, nothing happens.
    ///
    /// Connects anew each time: there is seldom something to say.
    package static func tell(_ news: SyncNews) {
        switch news {
        case .deviceAdded(let name):
            show(
                "A device was added to your account",
                "\"\(plain(name))\" belongs to your devices now. If that was not you: coffret device revoke")
        case .deviceAsks(let digits):
            show(
                "A new device asks to join your account",
                "It shows the number \(plain(digits)). If that is yours: coffret device approve. If not, do nothing.")
        case .peopleWait(let letters, let vaults):
            show(
                "People wait for a word of yours",
                [
                    letters > 0 ? "Letters: \(letters). To read them: coffret contact requests" : nil,
                    vaults > 0 ? "Vaults shared with you: \(vaults). To see them: coffret share requests" : nil,
                ].compactMap { $0 }.joined(separator: ". "))
        case .people(let words, let isLoud): show(isLoud ? "This should not wait" : "News of people", plain(words))
        case .needsAttention(let words): show("Coffret does not sync", plain(words))
        case .valueGiven(let browser, let host):
            show("\(plain(browser)) was given a login", "For \(plain(host)). To see them all: coffret browser log")
        case .conflicts(let count):
            show("Two devices changed the same place", "Items: \(count). To choose: coffret conflicts ls")
        }
    }

    /// Without what a notification daemon might take for markup.
    private static func plain(_ text: String) -> String {
        String(text.prefix(300).map { "<>&\n\r\t".contains($0) ? " " : $0 })
    }

    /// - Returns: whether a desktop took it.
    @discardableResult
    static func show(_ summary: String, _ body: String) -> Bool {
        // Name, id that it replaces, icon, summary, body, actions, hints, time (-1: as the desktop likes).
        MessageBus(.session)?.call(
            "org.freedesktop.Notifications", "/org/freedesktop/Notifications", "org.freedesktop.Notifications", "Notify"
        ) { message in
            message.append("Coffret") && message.append(unsigned: 0) && message.append("dialog-password")
                && message.append(summary) && message.append(body) && message.appendEmpty("a", "s")
                && message.appendEmpty("a", "{sv}") && message.append(signed: -1)
        } != nil
    }
}
