// Waiting for a condition. The one thing to keep true: a test that waits says for what, and never waits for ever.

internal import Glibc

/// Waits in tests: for conditions, not for time.
package enum Waiting {
    package struct InVain: Error, CustomStringConvertible {
        package let description: String
    }

    /// Asks again and again until a condition holds; a machine that is busy takes longer.
    ///
    /// - Parameter what: the condition in words, for the one who reads of its failure.
    package static func until(
        _ what: @autoclosure () -> String, seconds: Int = 120, everyMilliseconds: UInt32 = 20,
        _ condition: () throws -> Bool
    ) throws {
        let end = ContinuousClock.now + .seconds(seconds)
        while try !condition() {
            guard ContinuousClock.now < end else { throw InVain(description: "it never came to this: \(what())") }
            usleep(everyMilliseconds * 1_000)
        }
    }
}
