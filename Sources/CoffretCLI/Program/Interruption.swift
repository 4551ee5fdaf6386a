// Stopping long work between two steps. Invariant: the work is either undone as a whole or done as a whole, and the person
// hears which; a second Ctrl-C ends the program at once.

internal import CPlatform

/// While it lives, the first Ctrl-C, or SIGTERM, is a wish that the command looks at between two steps.
final class Interruption {
    init() { coffret_heed_interrupts() }

    deinit { coffret_stop_heeding_interrupts() }

    /// Whether the person wants the work to stop.
    var isWanted: Bool { coffret_was_interrupted() != 0 }
}
