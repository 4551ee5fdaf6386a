// The server's log of keys. Invariant: a log that is not in order is a failure, and the file with both notes is named.

internal import CoffretAccount
internal import CoffretBase
internal import CoffretCore
internal import CoffretKeyLog
internal import CoffretKeys
internal import CoffretMessages
package import CoffretWire

extension ServerLogRead: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        var answer = Answer()
        guard try desk.store.keyring.server() != nil else { return answer }
        if isAsked == true {
            let account = try desk.account()
            defer { account.connection.logOut() }
            try desk.follow(account)
            do {
                try account.checkKeyLog(isFollowed: false)
            } catch let error as AccountError where error.cause is KeyLogError {
                (answer.failure, answer.evidence) = (OperationFailure(error), error.place)
            }
        }
        guard let view = try KeyLogFile(of: desk.store).read() else { return answer }
        (answer.origin, answer.key) = (view.verifier.name, view.verifier.text)
        answer.size = view.checkpoint.map { Int($0.size) }
        answer.root = view.checkpoint.map { $0.root.hex }
        answer.checkedAt = view.checkedAt.map { WireMoment($0) }
        return answer
    }
}
