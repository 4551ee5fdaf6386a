// Operations with SSH keys. Invariant: a key that is to be confirmed signs only after a yes of whoever attends.

internal import CoffretBase
internal import CoffretSSH
internal import CoffretScripting
package import CoffretWire

extension SSHList: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        var answer = Answer()
        answer.keys = try desk.sshKeyring(vault).identities().map { key in
            var message = SSHKeyMessage()
            (message.key, message.title) = (Base64.standard.encode(key.blob), key.comment)
            return message
        }
        return answer
    }
}

extension SSHSign: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        guard let blob = try? Base64.standard.decode(key) else { throw OperationError(.requestInvalid, at: "key") }
        guard let data = try? Base64.standard.decode(data) else { throw OperationError(.requestInvalid, at: "data") }
        guard let flags = UInt32(exactly: flags ?? 0) else { throw OperationError(.requestInvalid, at: "flags") }
        var answer = Answer()
        answer.signature = try desk.sshKeyring(vault)
            .sign(data, with: blob, flags: flags, host: host, isForwarded: isForwarded == true)
            .map { Base64.standard.encode($0) }
        return answer
    }
}

extension StoreDesk {
    fileprivate func sshKeyring(_ vault: String?) throws -> SSHKeyring {
        let person = surroundings.person
        return try SSHKeyring(store, in: records(vault, for: .ssh)) { question in
            (try? person?.confirm(SessionQuestion(.confirm, question))) == true
        }
    }
}
