// Words for remote and one-time requests.

internal import CoffretTerminal

extension FailureMeaning {
    package static let remote: [String: FailureMeaning] = [
        "remote.unanswered": FailureMeaning(
            .offline, "the other device did not answer in time; nothing was sent",
            hint: "it has to be unlocked with coffret unlock, connected with the server, and its person has a minute"),
        "remote.refused": FailureMeaning(.permission, "the person there refused; nothing was sent"),
        "remote.unattended": FailureMeaning(
            .unavailable, "nobody can be asked there: it has no screen and no terminal for its agent",
            hint: "coffret doctor there says how its agent asks"),
        "remote.pausing": FailureMeaning(
            .lockedOut, "that device was asked five times within ten minutes",
            hint: "waiting helps, restarting does not"),
        "remote.item.not-found": FailureMeaning(
            .notFound, "that device has no such item that it may send",
            hint: "name it as it is called there; hidden, locked and trashed items are never sent"),
        "remote.item.withheld": FailureMeaning(
            .permission, "hidden, locked and trashed items are never sent", hint: "coffret show ITEM shows it here"),
        "remote.item.ambiguous": FailureMeaning(
            .ambiguous, "several items of that device could be meant", hint: "use the item's id, or more of its title"),
        "remote.field.not-found": FailureMeaning(
            .notFound, "the item has no such field there", hint: "such as password, username or code"),
        "remote.value.too-long": FailureMeaning(.badInput, "the value has more than 32 KiB; nothing was sent"),
        "remote.mismatch": FailureMeaning(
            .notAuthentic, "somebody else answered in place of the other side; nothing was sent",
            hint: "begin again; if it comes again, somebody is in between"),
        "remote.ended": FailureMeaning(
            .unavailable, "the other side went away; nothing was received", hint: "begin again"),
        "remote.device.unsuitable": FailureMeaning(
            .usage, "that device cannot be asked: it is this one, or a sheet of paper", showsPlace: true,
            hint: "coffret device ls lists your devices"),
        "remote.code.malformed": FailureMeaning(
            .usage, "that is not the code that the page, or the extension, shows",
            hint: "copy it whole: coffret answer takes COFFRET-ASK:1:…, and coffret browser allow COFFRET-BROWSER:1:…"),
        "remote.code.server-differs": FailureMeaning(
            .usage, "the page waits at another server than this store's; nothing was sent", showsPlace: true,
            hint: "type the address of your own server into the page; coffret server status shows it"),
        "remote.code.used": FailureMeaning(
            .notFound, "no page waits with that code; it is good once and for ten minutes",
            hint: "show another code on the page"),
        "remote": FailureMeaning(
            .unavailable, "the other device could not send it", hint: "coffret agent log there may say why"),
    ]
}
