// Secrets that a page was given. Invariant: no more than so many in a minute without a word of the person.

internal import CoffretClient
internal import CoffretWire

/// Counts what a page shows and copies.
final class Reveals {
    static let countMax = 20
    private static let interval = Duration.seconds(60)

    private var moments: [ContinuousClock.Instant] = []
    /// Those that wait for the person, who is asked once.
    private var waiting: [(Bool) -> Void]?

    /// - Parameter answer: is called once: whether another secret is wanted.
    func ask(_ attendant: (any PageAttendant)?, answer: @escaping (Bool) -> Void) {
        let now = ContinuousClock.now
        moments.removeAll { now - $0 > Self.interval }
        if waiting != nil {
            waiting?.append(answer)
            return
        }
        guard moments.count >= Self.countMax else {
            moments.append(now)
            return answer(true)
        }
        guard let attendant else { return answer(false) }
        waiting = [answer]
        let question = SessionQuestion(
            .confirm, "The page has shown or copied \(Self.countMax) secrets within a minute. Give it more?")
        attendant.ask(question) { [self] reply in
            let isWanted: Bool
            switch consume reply {
            case .yes: isWanted = true
            case .no: isWanted = false
            case .secret: isWanted = false
            }
            let answers = waiting ?? []
            waiting = nil
            moments = isWanted ? [now] : moments
            for answer in answers { answer(isWanted) }
        }
    }
}
