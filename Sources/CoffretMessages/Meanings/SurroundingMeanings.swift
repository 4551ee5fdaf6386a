// Words for errors around the program: the agent, SSH keys, files. Invariant: a text says what happened to the
// person's thing, and a hint is a command that works.

internal import CoffretTerminal

extension FailureMeaning {
    package static let surroundings: [String: FailureMeaning] = [
        // The agent.
        "net.unreachable": FailureMeaning(.unavailable, "nobody answers there", showsPlace: true),
        "net.closed": FailureMeaning(
            .unavailable, "the agent went away in the middle", hint: "do it again; coffret status says what is there"),
        "net.directory.untrusted": FailureMeaning(
            .permission, "the folder of the agent's socket is not yours alone; nothing was sent", showsPlace: true,
            hint: "somebody may have put it there: remove it; COFFRET_AGENT=off goes without the agent"),
        "net.peer.untrusted": FailureMeaning(
            .permission, "the agent's socket is answered by another user; nothing was sent", showsPlace: true,
            hint: "COFFRET_AGENT=off goes without the agent"),
        "net.address.taken": FailureMeaning(.alreadyExists, "an agent runs already", showsPlace: true),
        "net": FailureMeaning(.inputOutput, "talking to the agent failed", showsPlace: true),
        "operation.unknown": FailureMeaning(
            .unsupportedFormat, "there is no operation of this name", showsPlace: true,
            hint: "the operation hello lists them; a newer coffret may know more"),
        "operation.request.invalid": FailureMeaning(
            .usage, "the request has a field that is missing, unknown or wrong", showsPlace: true,
            hint: "Spec/operations.md lists the fields"),
        "operation.descriptor.invalid": FailureMeaning(
            .usage, "the request needs another number of descriptors, or of another kind", showsPlace: true,
            hint: "Spec/operations.md says which requests bring one"),
        "operation.text.changed": FailureMeaning(
            .busy, "the same lines were changed by another coffret while you edited",
            hint: "coffret show ITEM shows them"),
        "operation.answer.too-large": FailureMeaning(
            .inputOutput, "the answer is longer than a message may be", hint: "ask for a part of it"),
        "token.invalid": FailureMeaning(
            .permission, "there is no such token, or it was removed", hint: "coffret token new makes another one"),
        "token.expired": FailureMeaning(
            .permission, "the time of the token is over", hint: "coffret token new makes another one"),
        "token.pausing": FailureMeaning(
            .unavailable, "wrong tokens were offered; another try has to wait", hint: "try again in a minute"),
        "token.exists": FailureMeaning(
            .alreadyExists, "there is a token of this name", showsPlace: true, hint: "coffret token rm removes it"),
        "token.not-found": FailureMeaning(
            .notFound, "there is no token of this name", showsPlace: true, hint: "coffret token ls lists them"),
        "token.exhausted": FailureMeaning(
            .usage, "there are 64 tokens already", hint: "coffret token rm removes one"),
        "token.scope.invalid": FailureMeaning(
            .usage, "a token cannot allow this", showsPlace: true,
            hint: "Spec/operations.md lists operations; none with control is a token's, and vaults and tags limit some"
        ),
        "token.file.altered": FailureMeaning(
            .damaged, "the file of tokens was altered, or an earlier one was put back: no token counts",
            hint: "coffret token rm --all makes a new one; then make the tokens again"),
        "bridge.message.invalid": FailureMeaning(
            .badInput, "the browser's message is not understood", showsPlace: true),
        "bridge.request.unsupported": FailureMeaning(.permission, "a browser may not ask for this"),
        "bridge.origin.refused": FailureMeaning(
            .permission, "logins are for https pages, and for http pages of this computer"),
        "bridge.item.not-found": FailureMeaning(.notFound, "the store has no such login for this page"),
        "bridge.login.exists": FailureMeaning(
            .alreadyExists, "there is a login with this user name for the page already"),
        "bridge.pausing": FailureMeaning(
            .unavailable, "the browser was given ten values within a minute; another one has to wait",
            hint: "try again in a minute"),
        "bridge.passkey.foreign": FailureMeaning(.permission, "the page asks for a passkey of another site"),
        "bridge.passkey.framed": FailureMeaning(
            .permission, "a page within another one asks for a passkey; only the page in front gets one"),
        "bridge.passkey.exists": FailureMeaning(.alreadyExists, "the account has a passkey of this store already"),
        "bridge.passkey.missing": FailureMeaning(.notFound, "the store has no such passkey for this page"),
        "bridge.passkey.refused": FailureMeaning(.permission, "nobody showed to be there, and no passkey was used"),
        "bridge.passkey.replayed": FailureMeaning(
            .permission, "the page asks the same again, which was answered a short while ago"),
        "bridge.pairing.pausing": FailureMeaning(
            .unavailable, "three pairings were tried within ten minutes; another one has to wait",
            hint: "try again in ten minutes"),
        "bridge.pairing.busy": FailureMeaning(
            .unavailable, "two browsers asked at once, and neither was paired", hint: "connect one after the other"),
        "bridge.pairing.mismatch": FailureMeaning(
            .permission, "the digits do not fit, and nothing was paired", hint: "connect again, with new digits"),
        "bridge.pairing.expired": FailureMeaning(
            .permission, "the digits came too late, and nothing was paired", hint: "connect again"),
        "bridge.pairing.exhausted": FailureMeaning(
            .usage, "16 browsers are paired already", hint: "coffret browser unpair removes one"),
        "bridge.pairing.not-found": FailureMeaning(
            .notFound, "no browser is paired under this name", showsPlace: true, hint: "coffret browser ls lists them"),
        "bridge.agent.needed": FailureMeaning(
            .unavailable, "the agent knows the paired browsers, and it does not have the store open",
            hint: "coffret unlock opens it"),
        "bridge.record.altered": FailureMeaning(
            .damaged, "the record of paired browsers was altered: none counts",
            hint: "coffret browser unpair --all makes a new one; then connect the browsers again"),
        "operation.unanswered": FailureMeaning(.permission, "a question of the store was not answered"),
        "operation.cancelled": FailureMeaning(.cancelled, "cancelled"),
        "operation.not-allowed": FailureMeaning(
            .permission, "this session may not do that", showsPlace: true,
            hint: "coffret token ls says what a token allows"),
        "wire": FailureMeaning(
            .unavailable, "the agent speaks another version of the protocol", hint: "coffret agent stop ends it"),
        "agent.records.unwritable": FailureMeaning(
            .permission, "the settings cannot be written down, so nothing was changed",
            hint: "the state folder (~/.local/state/coffret) must be yours and on a disk with space"),
        "agent.pinentry.missing": FailureMeaning(
            .unavailable, "the passphrase is needed, and there is nowhere to ask for it",
            hint: "coffret unlock in a terminal, or install a pinentry"),
        "agent.pinentry.cancelled": FailureMeaning(.cancelled, "cancelled"),
        "agent.store.locked": FailureMeaning(
            .locked, "the store is locked, and presence alone opens none", hint: "coffret unlock"),
        "agent.command.locked": FailureMeaning(
            .locked, "the store was locked while the command ran, which ended it",
            hint: "coffret unlock, and do it again"),
        "agent.command.failed": FailureMeaning(
            .internalError, "the command ended without saying how; nothing acknowledged is lost",
            hint: "do it again with COFFRET_AGENT=off"),
        "agent.interval.invalid": FailureMeaning(.usage, "an interval lies between 1 second and 7 days"),
        "agent.exhausted": FailureMeaning(
            .busy, "the agent cannot start another process", hint: "try again in a moment"),
        "agent": FailureMeaning(.internalError, "the agent did not understand the request"),
        "cli.agent.gone": FailureMeaning(
            .unavailable, "the agent ended while the command ran; what it acknowledged is saved", hint: "do it again"),
        "net.address.too-long": FailureMeaning(
            .usage, "the path is too long for a socket", showsPlace: true, hint: "use a shorter one: --socket"),

        // SSH keys.
        "ssh.key.unsupported": FailureMeaning(
            .badInput, "coffret does not know this kind of key or file", showsPlace: true,
            hint: "Ed25519, ECDSA and RSA keys in OpenSSH's format; ssh-keygen -p -f COPY turns older files into it"),
        "ssh.key.invalid": FailureMeaning(.badInput, "those numbers are no key", showsPlace: true),
        "ssh.passphrase.needed": FailureMeaning(.badInput, "the key has a passphrase, which is needed to import it"),
        "ssh.passphrase.wrong": FailureMeaning(.badInput, "the passphrase does not open the key"),
        "ssh.passphrase.unavailable": FailureMeaning(
            .unavailable, "keys with a passphrase need bcrypt_pbkdf, which no library here has",
            hint: "apt install libbotan-2-19; or ssh-keygen -p -f COPY takes the passphrase from a copy in memory"),
        "ssh.algorithm": FailureMeaning(.badInput, "the key cannot sign like that", showsPlace: true),
        "ssh": FailureMeaning(
            .badInput, "that is not an OpenSSH key", showsPlace: true,
            hint: "ssh-keygen -p -f COPY turns older files into OpenSSH's format"),

        // Files.
        "base.file.not-found": FailureMeaning(.notFound, "there is no such file", showsPlace: true),
        "base.file.exists": FailureMeaning(.cannotCreate, "the file is already there", showsPlace: true),
        "base.file.permission": FailureMeaning(.permission, "permission is missing", showsPlace: true),
        "base.file.no-space": FailureMeaning(
            .diskFull, "the disk is full; everything saved before is there", hint: "free some space and do it again"),
        "base.file.would-block": FailureMeaning(
            .busy, "another coffret is at work there", hint: "try again in a moment"),
        "base.file.read-only": FailureMeaning(.permission, "the disk can only be read", showsPlace: true),
        "base.file.wrong-kind": FailureMeaning(
            .badInput, "that is not the kind of file it should be", showsPlace: true),
        "base.file.invalid-path": FailureMeaning(.usage, "that is not a path", showsPlace: true),
        "base.file": FailureMeaning(.inputOutput, "reading or writing failed", showsPlace: true),
        "base": FailureMeaning(.badInput, "the data is not what it should be", showsPlace: true),
    ]
}
