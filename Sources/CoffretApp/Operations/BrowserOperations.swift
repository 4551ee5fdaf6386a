// Operations on paired browsers. Invariant: no key of a browser is in an answer, and none may ask before a person has said so.

internal import CoffretAccount
internal import CoffretBase
internal import CoffretBridge
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretPairing
internal import CoffretTerminal
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
        let pairings = try desk.browserRecords.read()
        answer.browsers = pairings.all.map { pairing in
            var message = BrowserMessage()
            (message.name, message.program) = (pairing.name, pairing.program)
            message.created = WireMoment(pairing.created)
            return message
        }
        answer.browsers += pairings.remote.map { BrowserMessage($0) }
        return answer
    }
}

extension BrowserMessage {
    fileprivate init(_ browser: RemoteBrowser) {
        self.init()
        (name, isRemote) = (browser.name, true)
        created = WireMoment(browser.created)
    }
}

extension BrowserAllow: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> BrowserMessage {
        let code = try PageCode.parse(code, as: .browser)
        let page = try PageAnswering(code, of: desk.store, random: desk.surroundings.random) {
            try desk.work.checkCancelled()
        }
        do {
            let wanted = Pairings.cleaned(name ?? page.place)
            try confirm(wanted, desk)
            let (records, now) = (desk.browserRecords, desk.store.environment.clock.now)
            let browser = try records.change { pairings in
                try pairings.addRemote(wanted: wanted, key: code.pageKey, now: now, random: desk.surroundings.random)
            }
            do {
                guard let id = UniqueID(bytes: browser.id) else { throw RemoteError(.failed) }
                let own = try desk.store.keyring.deviceID()
                try page.admit(id, name: String(desk.deviceName(own.bytes).prefix(60)), of: desk.store)
            } catch {
                // It has heard nothing, so it may ask nothing.
                try? records.change { try $0.remove(named: browser.name) }
                throw error
            }
            return BrowserMessage(browser)
        } catch {
            page.close()
            throw error
        }
    }

    private func confirm(_ name: String, _ desk: StoreDesk) throws {
        let what =
            "The extension of \"\(name)\" on another machine wants to ask this device\nfor logins, from now on. "
            + "You are asked here each time, and one value is sent.\nThat machine can keep what it gets."
        let question = SessionQuestion(.compare, "\(what)\nLet it ask?", reason: "let the browser ask")
        guard let isGranted = try desk.surroundings.person?.confirm(question) else {
            throw CommandFailure(
                .notConfirmed, .notConfirmed, "nobody can be asked here whether the browser may ask",
                details: [what], hint: "run coffret browser allow at a terminal")
        }
        guard isGranted else {
            throw CommandFailure(.notConfirmed, .notConfirmed, "not confirmed; the browser may ask nothing")
        }
        try desk.surroundings.requirePerson(desk.store, "let the browser ask", "the browser may ask nothing")
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
