// Words for errors of vaults that several people have.

internal import CoffretTerminal

extension FailureMeaning {
    static let members: [String: FailureMeaning] = [
        "sharing.epoch.stale": FailureMeaning(
            .unavailable, "the vault has a new key that has not come to this device yet",
            hint: "try again; if it stays so, run coffret vault sync NAME on the device that revoked another one"),
        "sharing.key.awaited": FailureMeaning(
            .waitsForPerson, "the newest key of the vault did not come to you yet; what is here can be read meanwhile",
            hint: "it comes by itself when somebody who has it syncs; coffret sync looks for it"),
        "sharing.role.viewer": FailureMeaning(
            .permission, "you may read this vault, and not change it",
            hint: "its owner can change that: coffret share members VAULT says who that is"),
        "account.person.unknown": FailureMeaning(
            .notFound, "the server knows nobody of that address", showsPlace: true,
            hint: "ask the person for it again: coffret server status says it there"),
        "sharing.change.waits": FailureMeaning(
            .busy, "the members of the vault cannot be changed now; nothing was changed", showsPlace: true,
            hint: "coffret sync, then try again"),
        "sharing.member.unknown": FailureMeaning(
            .notFound, "nobody of that name is a member of the vault, or you are none yourself", showsPlace: true,
            hint: "coffret share members VAULT lists them"),
        "sharing.member.exists": FailureMeaning(
            .alreadyExists, "that person is a member of the vault already", showsPlace: true,
            hint: "coffret share role VAULT NAME ROLE changes what a member may do"),
        "trust.member.unconfirmed": FailureMeaning(
            .waitsForPerson,
            "links of the vault come from a device that its person has revoked, who has not said whether they count; nothing was changed",
            showsPlace: true,
            hint:
                "ask that person to run coffret share review VAULT; for who has left an owner of that time does, with --for NAME"
        ),
        "trust.member.not-permitted": FailureMeaning(
            .permission, "your role in the vault does not allow that, or it does not apply any more",
            hint: "coffret share members VAULT says who may do what"),
        "trust.member.too-many": FailureMeaning(
            .badInput, "a vault has room for 256 people, 16 of them owners, and there are as many; nothing was changed",
            hint: "coffret share rm VAULT NAME takes somebody out; coffret share role lowers an owner"),
        "trust.member.outranked": FailureMeaning(
            .permission,
            "that owner was one before you were, and can be lowered or removed by himself alone, or by an earlier one"),
        "trust.member.heads-behind": FailureMeaning(
            .notAuthentic, "the server shows older devices of a member than the vault's members have stated",
            hint: "coffret sync; if it stays so, ask whoever runs the server"),
        "keys.history.differs": FailureMeaning(
            .notAuthentic,
            "older keys of the vault that came with its newest are not the vault's; its older notes stay closed",
            hint: "the next new key of the vault repairs it: ask another member"),
    ]
}
