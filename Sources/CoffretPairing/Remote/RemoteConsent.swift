// The time for which a request is good. Invariant: a yes that comes later is none, whoever waited for it.

package import CoffretBase

/// A person's yes to one request, which counts for 60 seconds from its beginning.
///
/// Spec: Spec/remote.md section 2, rule 1.
package struct RemoteConsent {
    private let begun: BootInstant

    /// - Parameter begun: when the request was read.
    package init(since begun: BootInstant) { self.begun = begun }

    /// Has the person asked.
    ///
    /// - Parameters:
    ///   - now: the clock, which is read before the question and after it.
    ///   - ask: asks for as long as it is told, and says whether the person has said yes.
    /// - Throws: `.unanswered` once the time is over, whatever was said; `.refused`.
    package func require(at now: () -> BootInstant, _ ask: (_ left: Duration) -> Bool) throws(RemoteError) {
        let passed = begun.duration(to: now())
        guard passed < RemoteLimits.duration else { throw RemoteError(.unanswered) }
        let isGranted = ask(RemoteLimits.duration - passed)
        guard begun.duration(to: now()) < RemoteLimits.duration else { throw RemoteError(.unanswered) }
        guard isGranted else { throw RemoteError(.refused) }
    }
}
