// Operations on paired browsers. Invariant: no key of a browser is in an answer.

internal import CoffretBase
internal import CoffretBridge
internal import CoffretCore
internal import CoffretKeys
package import CoffretWire

extension StoreDesk {
    fileprivate var browserRecords: BrowserRecords {
        let files = FileRecords(
            stateDirectory: surroundings.stateDirectory, fileSystem: store.fileSystem, random: surroundings.random)
        return BrowserRecords(surroundings.records?() ?? files, store: store.keyring.storeID)
    }
}

extension BrowserList: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        var answer = Answer()
        answer.browsers = try desk.browserRecords.read().all.map { pairing in
            var message = BrowserMessage()
            (message.name, message.program) = (pairing.name, pairing.program)
            message.created = WireMoment(pairing.created)
            return message
        }
        return answer
    }
}

extension BrowserNotices: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let records = desk.browserRecords
        if let isOn { try records.change { $0.tellsOfValues = isOn } }
        var answer = Answer()
        answer.isOn = try records.read().tellsOfValues
        return answer
    }
}

extension BrowserRemove: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> NothingMessage {
        guard (name == nil) == (isAll == true) else { throw OperationError(.requestInvalid, at: "name") }
        let records = desk.browserRecords
        if let name { try records.change { try $0.remove(named: name) } } else { try records.removeAll() }
        return NothingMessage()
    }
}
