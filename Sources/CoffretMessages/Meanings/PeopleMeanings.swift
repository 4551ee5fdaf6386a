// Words for errors about other people: their addresses, cards and keys, and letters.

internal import CoffretTerminal

extension FailureMeaning {
    static let people: [String: FailureMeaning] = [
        "sharing.address.invalid": FailureMeaning(
            .usage, "that is no address or link of a person, or a character of it is wrong",
            hint: "an address ends in # and 28 letters and digits; a link begins with coffret-contact:"),
        "sharing.card.invalid": FailureMeaning(
            .notAuthentic, "that card is not signed by the account that it names, as its keys are now",
            showsPlace: true,
            hint: "ask the person for a new link"),
        "recovery.consent-required": FailureMeaning(
            .waitsForPerson, "not all recovery contacts have accepted; nobody gets a share before"),
        "recovery.request.unrecorded": FailureMeaning(
            .permission, "the wish to recover is not recorded in the circle; no share was given"),
        "recovery.request.too-early": FailureMeaning(
            .waitsForPerson, "the waiting time of the circle is not over on this device; no share was given"),
        "recovery.request.forbidden": FailureMeaning(
            .permission, "the person forbade the recovery; no share was given",
            hint: "reach the person in another way"),
        "recovery.request.share-invalid": FailureMeaning(
            .notAuthentic,
            "a share is not the one that the circle commits to, or the shares give no device of the account"),
        "recovery.contacts.unknown": FailureMeaning(
            .notFound, "there are no such recovery contacts", showsPlace: true,
            hint: "coffret recovery contacts ls lists yours, and those of people whom you help"),
        "recovery.contacts.exist": FailureMeaning(
            .alreadyExists, "you have recovery contacts already, or have asked some", showsPlace: true,
            hint: "coffret recovery contacts rm takes them back first"),
        "recovery.sheet-required": FailureMeaning(
            .notFound, "recovery contacts want a paper sheet of your own first: it outranks them",
            hint: "coffret recovery add --paper makes one"),
        "sharing.contact.unverified": FailureMeaning(
            .personUnverified, "that person is not verified as far as sharing needs; nothing was shared",
            showsPlace: true, hint: "ask for the full address, by a way that you trust"),
        "sharing.contact.changed": FailureMeaning(
            .personUnverified,
            "somebody else may hold that person's account: it was recovered since you met it; nothing was shared",
            showsPlace: true, hint: "speak with the person, and compare the codes again: coffret contact verify NAME"),
        "sharing.contact.code-used": FailureMeaning(
            .personUnverified,
            "that link was used already, withdrawn, or is too old; if it was not you, somebody else had it first",
            showsPlace: true, hint: "tell the person who sent it, and ask for a new one"),
        "sharing.contact.lookalike": FailureMeaning(
            .personUnverified, "that name can be taken for another contact's", showsPlace: true,
            hint: "--name NAME keeps both apart"),
        "sharing.contact.unknown": FailureMeaning(
            .notFound, "no contact and no request is called so", showsPlace: true,
            hint: "coffret contact ls and coffret contact requests list them"),
        "sharing.contact.exists": FailureMeaning(
            .alreadyExists, "that contact, or one of that name, is there already", showsPlace: true,
            hint: "coffret contact ls lists them"),
        "sharing.contact.name-invalid": FailureMeaning(
            .usage, "nobody can be called so", showsPlace: true,
            hint: "a name has 1 to 128 bytes, no # and nothing that is not seen; your own one 64"),
        "sharing.card.other-server": FailureMeaning(
            .unavailable, "that person is at another server than you are", showsPlace: true,
            hint: "a store has one server: a second store, or an account there, is needed"),
        "sharing.recipient.dormant": FailureMeaning(
            .waitsForPerson, "no device of that person was there for months, so no key can be sealed to it",
            hint: "it goes on by itself once one of the person's devices has synced"),
        "trust.chain.id-differs": FailureMeaning(
            .notAuthentic, "the server shows another account in the place of the one that is meant; nothing was done",
            hint: "try again; if it stays so, ask whoever runs the server"),
        "trust.identity": FailureMeaning(
            .notAuthentic, "the server shows keys of a person that its devices did not make as they must",
            hint: "try again; if it stays so, ask whoever runs the server"),
        "trust.identity.stale": FailureMeaning(
            .waitsForPerson, "that person's newest keys are older than a revoked device, so nothing is sealed to them",
            hint: "it goes on by itself once one of the person's devices has synced"),
        "keys.letter": FailureMeaning(
            .notAuthentic, "a letter was refused: it is for somebody else, not from whom it says, or altered"),
        "keys.letter.stale-identity": FailureMeaning(
            .waitsForPerson, "a letter was sealed to keys that your devices have replaced",
            hint: "its sender writes again after a sync"),
        "keys.letter.key-differs": FailureMeaning(
            .notAuthentic, "a key that somebody sent is not the vault's; it was not taken",
            hint: "ask another member, and tell the one who sent it"),
        "account.identity.keys-awaited": FailureMeaning(
            .unavailable,
            "the keys by which others seal for you are on another of your devices alone; it was asked for them",
            hint: "sync another device of yours, then try again here"),
    ]
}
