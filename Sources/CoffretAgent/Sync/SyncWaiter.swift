// Waiting for a socket, for files, for the network and for time, all at once. The one thing to keep true: nothing here
// wakes up by itself.

internal import CPlatform
internal import CoffretBase
internal import Glibc

/// What continuous sync waits with.
final class SyncWaiter {
    /// What a watched folder is.
    enum Place: Hashable {
        case store, settings
        case vault(String)
    }

    /// What was there when the waiting ended.
    struct Wake {
        var places: Set<Place> = []
        /// Events were lost: anything may have changed.
        var isOverrun = false
        var hasNetworkChanged = false
    }

    private let control: Int32
    private let files: Int32
    private let network: Int32
    private let timer: Int32
    private var places: [Int32: Place] = [:]
    private var folders = [Int32](repeating: 0, count: 128)

    /// - Parameter control: when its other end is closed this process ends.
    init?(control: Int32) {
        self.control = control
        files = coffret_watch_create()
        // Where there is no netlink, such as in a sandbox, only waiting helps.
        network = coffret_network_watch()
        timer = coffret_boot_timer()
        guard files >= 0, timer >= 0 else { return nil }
    }

    deinit { for descriptor in [files, network, timer] where descriptor >= 0 { close(descriptor) } }

    func watch(_ folder: String, as place: Place) {
        let number = unsafe coffret_watch_folder(files, folder)
        if number >= 0 { places[number] = place }
    }

    /// Waits until something happens or the time has come.
    ///
    /// - Parameter until: nanoseconds of the boot clock; nil for no time.
    func wait(until: UInt64?, socket: Int32?) -> Wake {
        _ = coffret_set_boot_timer(timer, until.map { max(1, $0) } ?? 0)
        let readable = Int16(POLLIN)
        var polled = [files, network, timer, control, socket ?? -1].map { pollfd(fd: $0, events: readable, revents: 0) }
        _ = unsafe poll(&polled, nfds_t(polled.count), -1)
        // The agent never says anything: its end is all there is to hear.
        if polled[3].revents != 0 { _exit(0) }
        var expirations: UInt64 = 0
        if polled[2].revents != 0 { _ = unsafe read(timer, &expirations, 8) }
        var wake = Wake()
        if polled[1].revents != 0 { wake.hasNetworkChanged = coffret_network_take(network) != 0 }
        if polled[0].revents != 0 { takeFiles(into: &wake) }
        return wake
    }

    /// Whether waiting would end at once. The end of the agent ends this process.
    func isSomethingThere(socket: Int32?) -> Bool {
        let readable = Int16(POLLIN)
        var polled = [files, network, control, socket ?? -1].map { pollfd(fd: $0, events: readable, revents: 0) }
        guard unsafe poll(&polled, nfds_t(polled.count), 0) > 0 else { return false }
        if polled[2].revents != 0 { _exit(0) }
        return true
    }

    private func takeFiles(into wake: inout Wake) {
        while case let count = unsafe coffret_watch_take(files, &folders, Int32(folders.count)), count > 0 {
            for folder in folders[..<Int(count)] {
                if let place = places[folder] { wake.places.insert(place) } else { wake.isOverrun = true }
            }
        }
    }
}
