// Stopping long work between two steps. Invariant: the work is either undone as a whole or done as a whole, and the person
// hears which; a second Ctrl-C ends the program at once.

internal import CPlatform
internal import CoffretApp

/// While it lives, the first Ctrl-C, or SIGTERM, is a wish that the command looks at between two steps.
final class Interruption {
    private let isHosted = HostedCommand.isRunning
    private var wasWanted = false

    init() {
        if isHosted { HostedCommand.current?.heedInterrupts() } else { coffret_heed_interrupts() }
    }

    deinit { if !isHosted { coffret_stop_heeding_interrupts() } }

    /// Whether the person wants the work to stop.
    var isWanted: Bool {
        wasWanted =
            wasWanted || (isHosted ? HostedCommand.current?.isInterrupted == true : coffret_was_interrupted() != 0)
        return wasWanted
    }
}
