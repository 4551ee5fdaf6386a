// The kernel's clock that counts suspend and that nobody can set.

internal import CPlatform

package enum BootClock {
    /// CLOCK_BOOTTIME, asked of the kernel itself: libraries that fake clocks for a process do not reach it.
    package static var now: BootInstant { BootInstant(nanoseconds: coffret_boot_nanoseconds()) }

    /// The kernel's random id of this boot; empty where there is none, which makes pauses start anew.
    package static func bootID(_ fileSystem: any FileSystem) -> [UInt8] {
        (try? fileSystem.open("/proc/sys/kernel/random/boot_id", .read).read(byteCount: 36, at: 0)) ?? []
    }
}
