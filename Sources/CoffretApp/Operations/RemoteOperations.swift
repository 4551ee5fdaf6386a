// Operations that get a value from another device, or send one to a page. Invariant: nothing is sent to a page before the person has
// read what goes where, and has shown to be there.

internal import CoffretAccount
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretPairing
internal import CoffretTerminal
internal import CoffretTrust
package import CoffretWire

extension RemoteAsk: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        guard try desk.store.keyring.server() != nil else { throw AccountError(.notJoined) }
        let target = try desk.device(device, among: desk.devices(matching: device))
        guard try target.kind == .ordinary && target.id != desk.store.keyring.deviceID() else {
            throw RemoteError(.deviceUnsuitable, at: desk.label(target))
        }
        let name = desk.label(target)
        let person = desk.surroundings.person
        person?.note("Waiting for \(name), which has to be unlocked and online.")
        let sent = try RemoteAsking.ask(
            target, for: RemoteRequest(item: item, field: field), of: desk.store, random: desk.surroundings.random,
            joined: { person?.note("\(name) is there. Confirm on it, within a minute.") },
            turn: { try desk.work.checkCancelled() })
        var answer = Answer()
        (answer.title, answer.label, answer.value, answer.seconds) = (sent.title, sent.label, sent.value, sent.seconds)
        return answer
    }
}

extension RemoteAnswer: PerformedOperation {
    /// The tag of items whose password was shown on another machine.
    package static let reminder = "change-password"

    package func perform(on desk: StoreDesk) throws -> Answer {
        let code = try PageCode.parse(code)
        let lending = try Lending(item, vault: vault, field: field, prefersCode: true, on: desk)
        let page = try PageAnswering(code, of: desk.store, random: desk.surroundings.random) {
            try desk.work.checkCancelled()
        }
        let log = RemoteLog(desk, operation: Self.name, device: page.place.isEmpty ? "page" : page.place)
        do {
            try confirm(lending, page.place, desk)
            try page.send(lending.value())
            log.note(.asked)
        } catch {
            page.close()
            log.note(.refused, code: FailureCode.of(error))
            throw error
        }
        if reminds == true {
            // It was sent, whatever becomes of the tag.
            do { try lending.tag(Self.reminder) } catch {
                desk.surroundings.person?.warn("it was sent, but the item did not get the tag \(Self.reminder)")
            }
        }
        var answer = Answer()
        (answer.title, answer.label, answer.page) = (
            lending.title, lending.label, page.place.isEmpty ? nil : page.place
        )
        return answer
    }

    private func confirm(_ lending: Lending, _ place: String, _ desk: StoreDesk) throws {
        let origin =
            place.isEmpty
            ? "The page says that it was opened as a file. Whoever gave you that file could have changed it."
            : "The page came from \(TextWidth.displaySafe(place)). Whoever runs it could have changed it."
        let what = "A page on another machine gets, once:\n\(lending.words)\n\(origin)"
        let question = SessionQuestion(
            .compare, "\(what)\nThat machine can keep what it shows. Send it?", reason: "send it to the page")
        guard let isGranted = try desk.surroundings.person?.confirm(question) else {
            throw CommandFailure(
                .notConfirmed, .notConfirmed, "nobody can be asked here whether it is to be sent", details: [what],
                hint: "run coffret answer at a terminal")
        }
        guard isGranted else {
            throw CommandFailure(.notConfirmed, .notConfirmed, "not confirmed; nothing was sent")
        }
        try desk.surroundings.requirePerson(desk.store, "send it to the page", "nothing was sent")
    }
}
