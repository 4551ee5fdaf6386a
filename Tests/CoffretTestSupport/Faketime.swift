// Where libfaketime lies, which gives a program another time. The one thing to keep true: without it, what needs it is
// skipped visibly.

internal import Glibc
package import Testing

package enum Faketime {
    /// To be preloaded; FAKETIME then says the time.
    package static let library: String =
        folders.map { "/usr/lib/\($0)/faketime/libfaketime.so.1" }.first { unsafe access($0, R_OK) == 0 } ?? ""

    /// Debian's, one for each kind of machine.
    private static let folders = ["x86_64-linux-gnu", "aarch64-linux-gnu"]

    package static var isAvailable: Bool { !library.isEmpty }
    package static let missing: Comment = "libfaketime is missing"
}
