// How the window of a store is started.

/// The start of `coffret-desktop`.
package enum WindowStart {
    /// Variables with which memory that was freed is overwritten, by the C library, by GLib, and through them by WebKit: copies of
    /// texts lie in buffers of theirs that nobody else can reach. They are read while libraries are loaded, so a window that was
    /// started without them starts anew. Each frame needs buffers of megabytes: they stay with the process, so that the kernel need
    /// not clear new pages for the next one.
    package static let wiping = [
        (
            name: "GLIBC_TUNABLES",
            value: ["perturb=165", "tcache_count=0", "mmap_threshold=33554432", "trim_threshold=67108864"]
                .map { "glibc.malloc.\($0)" }.joined(separator: ":")
        ),
        (name: "G_SLICE", value: "always-malloc"), webKitWiping,
    ]

    /// The one that WebKit reads with its first use.
    package static let webKitWiping = (name: "Malloc", value: "1")
}
