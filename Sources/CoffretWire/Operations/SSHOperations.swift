// Requests about SSH keys. A private key never leaves the session.

package struct SSHList: StoreOperation {
    package static let name = "ssh.list"
    package static let access = OperationAccess.list
    package static let meaning =
        "Lists the SSH keys of items that are neither archived nor in the trash, pinned ones first."

    package var vault: String?

    package init() {}
    package static let layout = RecordLayout<Self>(.vaultOrAll(\.vault))

    package struct Answer: Record {
        package static let recordName = "ssh-keys"
        package static let refusesUnknownFields = false
        package var keys: [SSHKeyMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(RecordField("keys", \.keys, "each once, vault by vault"))
    }
}

/// The public half of an SSH key.
package struct SSHKeyMessage: Record {
    package static let recordName = "ssh-key"
    package static let refusesUnknownFields = false

    package var key = ""
    package var title = ""

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("key", \.key, "the public key as SSH has it, in Base64"),
        RecordField("title", \.title, "of its item"))
}

package struct SSHSign: StoreOperation {
    package static let name = "ssh.sign"
    package static let access = OperationAccess.read
    package static let meaning =
        "Signs with an SSH key. Where its item has a field `confirm`, whoever attends is asked; nobody else gets a signature of it."

    package var vault: String?
    package var key = ""
    package var data = ""
    package var flags: Int?
    package var host: String?
    package var isForwarded: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        .vaultOrAll(\.vault), RecordField("key", \.key, "as `ssh.list` says it"),
        RecordField("data", \.data, "what is signed, in Base64"),
        RecordField("flags", \.flags, "of an RSA key: 2 for SHA-256, 4 for SHA-512"),
        RecordField("host", \.host, "the fingerprint of the host's key, for the question"),
        RecordField("isForwarded", \.isForwarded, "another host asks, to which the agent was forwarded"))

    package struct Answer: Record {
        package static let recordName = "ssh-signature"
        package static let refusesUnknownFields = false
        package var signature: String?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField(
                "signature", \.signature,
                "as SSH has it, in Base64; left out if there is no such key, or the person said no"))
    }
}
