// Who provides the Secret Service now, for the command line, which has no bus. Invariant: nothing is asked of the program itself.

internal import CoffretBus
internal import CoffretClient
internal import CoffretTerminal
internal import Glibc

package enum SecretServiceProvider {
    /// What stands for this service itself.
    private static let own = "coffret"

    /// Has the bus read its files, since it does not watch folders that were made after its start, and looks who has the name.
    ///
    /// - Returns: the name of a process, `coffret` for this service, nothing for nobody; nil without a bus.
    package static func look() -> String? {
        guard let bus = MessageBus(.session) else { return nil }
        _ = bus.call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "ReloadConfig", [])
        guard let process = bus.processID(of: "org.freedesktop.secrets") else { return "" }
        if bus.processID(of: SecretServiceGrant.busName) == process { return own }
        guard let file = try? OwnedDescriptor.open("/proc/\(process)/comm", O_RDONLY),
            let name = try? DescriptorIO.readAll(from: file.number, byteCountMax: 64)
        else { return "?" }
        return String(decoding: name.prefix { $0 != 0x0A }, as: UTF8.self)
    }
}
