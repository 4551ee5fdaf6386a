// Words for errors about devices and their server. Invariant: a text says what happened to the person's thing, and a
// hint is a command that works.

internal import CoffretTerminal

extension FailureMeaning {
    private static let logHint =
        "coffret server log --check names the file with both notes; compare with others who use the server"

    package static let devices: [String: FailureMeaning] = [
        // Devices and their server.
        "keys.box": FailureMeaning(
            .notAuthentic, "what the other device sent does not fit this account; nothing of it was kept"),
        "keys.device.revoked": FailureMeaning(
            .permission, "this device is no longer one of the account's",
            hint: "what it holds can be read and exported; pair it again with another store"),
        "trust.chain.forked": FailureMeaning(
            .rolledBack, "the server shows another list of devices than this device has seen",
            hint: "compare coffret device ls on your devices; do not add any meanwhile"),
        "trust.chain.rolled-back": FailureMeaning(
            .rolledBack, "the server shows an older list of devices than this device has seen",
            hint: "if it was restored from a backup on purpose: coffret sync --server-was-restored"),
        "trust.chain.too-long": FailureMeaning(
            .notAuthentic, "one of your devices made their list too long to keep; the list of before stays here",
            hint: "coffret device ls says which devices there are; a paper device ends it: coffret help lost-device"),
        "trust.device.revocation-too-early": FailureMeaning(
            .notAuthentic, "a paper device was revoked before its seven days were over; this was not accepted",
            hint: "if that was not you, recover with the paper device now"),
        "account.not-joined": FailureMeaning(
            .notFound, "this store has no server", hint: "coffret server join URL registers it at one"),
        "account.already-joined": FailureMeaning(
            .alreadyExists, "this store is registered at a server already", showsPlace: true),
        "account.server": FailureMeaning(
            .unsupportedFormat, "the server's answer makes no sense", hint: "is that a coffret-server?"),
        "account.server.refused": FailureMeaning(.permission, "the server refused", showsPlace: true),
        "account.server.name-differs": FailureMeaning(
            .notAuthentic, "the server has another name than when this device joined it", showsPlace: true),
        "account.paper.not-trusted": FailureMeaning(
            .wrongPassphrase, "the account does not trust this paper device, or does not any more",
            hint: "is it the newest sheet? coffret device ls on another device lists what counts"),
        "account.paper.no-keys": FailureMeaning(
            .unavailable, "the server holds no keys for this paper device; nothing was changed",
            hint: "coffret sync on one of your other devices, if there is one, or ask whoever runs the server"),
        "account.chain.busy": FailureMeaning(
            .busy, "another coffret on this device, or another of your devices, is changing the account right now",
            hint: "try again in a moment"),
        "account.relay": FailureMeaning(
            .unavailable, "the other device went away", hint: "begin again on both devices"),
        "account.relay.unknown": FailureMeaning(
            .notFound, "nobody waits under that number",
            hint: "it is good once and for ten minutes; run coffret device pair again"),
        "log.checkpoint.invalid": FailureMeaning(
            .notAuthentic, "the server's log of keys is not in its form, or not signed by its key", hint: logHint),
        "log.forked": FailureMeaning(
            .notAuthentic, "the server signed two histories of its log of keys: it showed somebody something else",
            hint: logHint),
        "log.rolled-back": FailureMeaning(
            .notAuthentic, "the server's log of keys is shorter than it was",
            hint: "if the server was put back on purpose: coffret sync --server-was-restored"),
        "log.entry.missing": FailureMeaning(
            .notAuthentic, "the server gave a link of a chain that its log of keys does not have", hint: logHint),
        "log.entry.differs": FailureMeaning(
            .notAuthentic, "the server's log of keys has another link of a chain than the server gave", hint: logHint),
        "log.link.withheld": FailureMeaning(
            .notAuthentic, "the server's log of keys has a link of a chain that the server does not give", hint: logHint
        ),
        "log.key.differs": FailureMeaning(
            .notAuthentic, "the server signs its log of keys with another key than before", hint: logHint),
        "sync.head.rolled-back": FailureMeaning(
            .rolledBack, "the server shows an older state than it showed before; nothing was changed here",
            hint: "coffret sync --explain says what it may mean, and what to do"),
        "sync.head.forked": FailureMeaning(
            .rolledBack,
            "the server shows another history than it showed before, or than another device has seen; nothing is lost here",
            hint: "compare the head code in coffret status on your devices; ask whoever runs the server"),
        "sync.chains": FailureMeaning(
            .notAuthentic, "the server shows another list of devices or of the vault's members than before",
            showsPlace: true, hint: "ask whoever runs the server"),
        "sync.store.rolled-back": FailureMeaning(
            .rolledBack, "this copy of the vault is older than this device has been: it sent or read more before",
            hint: "if you put it back yourself, from a backup of the disk: coffret device renew, then coffret sync"),
        "sync.entry.withheld": FailureMeaning(
            .rolledBack, "for a day another device has had changes that the server does not deliver", showsPlace: true,
            hint: "compare the head code in coffret status on your devices; ask whoever runs the server"),
        "sync.audit.failed": FailureMeaning(
            .notAuthentic, "again and again the server did not show what your other devices say they have",
            showsPlace: true,
            hint: "compare the head code in coffret status on your devices; ask whoever runs the server"),
        "sync.answer": FailureMeaning(
            .unsupportedFormat, "the server's answer makes no sense", hint: "is that a coffret-server?"),
        "sync.server.refused": FailureMeaning(.permission, "the server refused", showsPlace: true),
        "sync.server.quota-exceeded": FailureMeaning(
            .diskFull,
            "your space on the server is used up, and these changes do not fit; they are safe on this device",
            hint: "ask whoever runs the server for more space, then sync again: it goes on where it was"),
        "sync.file.no-room": FailureMeaning(
            .diskFull, "your space on the server has no room for a file; everything else was synced",
            hint: "ask whoever runs the server for more space; coffret sync tries again, and the file is safe here"),
        "sync.file.unreadable": FailureMeaning(
            .inputOutput,
            "a file cannot be read on this device, so it did not go to the server; everything else was synced",
            hint: "coffret fsck --vault NAME says which; look after the disk, and coffret sync tries again"),
        "sync.file.disk-full": FailureMeaning(
            .diskFull, "the disk of this device has no room for files that the server has",
            hint: "make room, or leave them there: coffret vault files NAME asked"),
        "sync.file.interrupted": FailureMeaning(
            .busy, "a file made way for changes while it was fetched", hint: "try again: it goes on where it was"),
        "sync.file.refused": FailureMeaning(
            .notAuthentic, "what the server has in place of a file is not what was attached; nothing of it was kept",
            showsPlace: true, hint: "coffret sync on a device that has the file; ask whoever runs the server"),
        "sync.file.missing": FailureMeaning(
            .notFound, "the server does not have the file", showsPlace: true,
            hint: "on a device that has it: coffret sync, or if the server lost it coffret sync --server-was-restored"),
        "sync.server.unreachable": FailureMeaning(
            .offline, "the connection to the server broke off", hint: "try again later; nothing is lost"),
        "sync.server.contended": FailureMeaning(
            .busy, "other devices are writing to the vault right now", hint: "try again in a moment"),
        "sync.vault.busy": FailureMeaning(
            .busy, "another coffret syncs the vault right now", hint: "try again in a moment"),
        "sync.vault": FailureMeaning(.damaged, "the vault here could not be used", hint: damageHint),
        "http.unavailable": FailureMeaning(
            .unavailable, "libcurl is needed to reach a server", hint: "apt install libcurl4"),
        "http.address-invalid": FailureMeaning(
            .usage, "that is not the address of a server",
            hint: "it begins with https://, such as https://vault.example:8443"),
        "http.unreachable": FailureMeaning(
            .offline, "the server cannot be reached", showsPlace: true,
            hint: "is the address right, and does it run? Nothing is lost; try again later"),
        "http.timed-out": FailureMeaning(.offline, "the server did not answer in time"),
        "http.interrupted": FailureMeaning(
            .offline, "the connection to the server broke off", hint: "try again later; nothing is lost"),
        "http.closed": FailureMeaning(
            .offline, "the server closed the connection", hint: "try again later; nothing is lost"),
        "http.pin-differs": FailureMeaning(
            .notAuthentic, "the server's key is not the one that was pinned; nothing was sent",
            hint:
                "coffret server status shows both keys; if the new one is in the first line that coffret-server logs: coffret server leave, then join it again"
        ),
        "http.certificate-untrusted": FailureMeaning(
            .notAuthentic, "no known authority signed the server's certificate", hint: "add --fingerprint or --ca"),
        "http": FailureMeaning(
            .inputOutput, "the connection to the server failed", showsPlace: true,
            hint: "is it a coffret-server? One with TLS is at https://, not http://"),
        "pairing.mismatch": FailureMeaning(
            .notAuthentic, "the codes do not match, so nothing was done",
            hint: "a typing mistake, or somebody in between: begin again on both devices"),
        "pairing.paused": FailureMeaning(
            .lockedOut, "pairing is paused after three attempts within ten minutes",
            hint: "waiting helps, restarting does not"),
        "pairing.expired": FailureMeaning(
            .unavailable, "pairing took longer than ten minutes", hint: "begin again on both devices"),
        "pairing.ended-by-peer": FailureMeaning(
            .unavailable, "the other device gave up, so nothing was done", hint: "begin again on both devices"),
        "pairing.server-differs": FailureMeaning(
            .notAuthentic, "the two devices do not see the same server; nothing was done",
            hint: "give both the same address and --fingerprint"),
        "pairing.account-differs": FailureMeaning(
            .notAuthentic, "the other device belongs to another account than the one you named; nothing was done",
            hint: "coffret server status shows its account's name"),
        "pairing.invitation-malformed": FailureMeaning(
            .usage, "that is not what a new device shows: 32 digits, or the text of its QR code"),
        "pairing": FailureMeaning(.unsupportedFormat, "the two devices cannot pair with each other"),
        "trust": FailureMeaning(.damaged, "the record of trusted devices was altered", hint: damageHint),
    ]

    /// Words for a server's refusals, by the server's code; others are shown as they are.
    package static let refusals: [String: FailureMeaning] = [
        "server.login.refused": notLetIn, "server.session.unknown": notLetIn,
        "server.registration.closed": FailureMeaning(
            .permission, "the server takes no new accounts", hint: "ask whoever runs it"),
        "server.registration.invitation-invalid": FailureMeaning(
            .permission, "the server wants an invitation, and none, or one that was used or is too old, was given",
            hint: "coffret server join URL --invitation TEXT, with one from whoever runs the server"),
        "server.member.not-allowed": FailureMeaning(
            .permission, "that person has not allowed you to add or write to them yet",
            hint:
                "there: coffret contact add NUMBER --name NAME, with your number from coffret server status; or coffret contact invite here"
        ),
        "server.rate.exceeded": FailureMeaning(
            .busy, "the server was asked too often", hint: "try again in a minute"),
        "server.busy": FailureMeaning(
            .busy, "the server has no room for one more request", hint: "try again in a moment"),
        "server.storage.unavailable": FailureMeaning(
            .unavailable, "the server cannot reach what it stores", hint: "try again later, or ask whoever runs it"),
        "server.storage.full": FailureMeaning(
            .diskFull, "the server's disk is full; what is here is safe on this device",
            hint: "tell whoever runs it, then sync again: it goes on where it was"),
        "server.zone.unknown": FailureMeaning(
            .permission, "another device took a vault off the server; what is here stays, and can be read and exported",
            hint: "coffret vault sync NAME on that device brings it back within 30 days"),
        "server.quota.exceeded": FailureMeaning(
            .diskFull, "your space on the server is used up", hint: "ask whoever runs it for more"),
    ]

    private static let notLetIn = FailureMeaning(
        .permission, "the server does not let this device in: it was revoked, or the account is not there any more",
        hint: "coffret device ls elsewhere tells; if the server was put back on purpose: coffret sync "
            + "--server-was-restored, first on the device that began the account; what is here stays, and can be read and exported"
    )
}
