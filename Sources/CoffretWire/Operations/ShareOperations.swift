// Requests about vaults that several people have.

/// What a person may do in a vault.
package enum ShareRole: String, RecordChoice {
    case owner, writer, viewer
}

/// An account in a vault.
package struct ShareMember: Record {
    package static let recordName = "share-member"
    package static let refusesUnknownFields = false

    package enum State: String, RecordChoice {
        case added, member
    }

    package var account = ""
    package var name: String?
    package var role = ShareRole.viewer
    package var state = State.added
    package var since = 0
    package var isSelf = false
    package var isFounder = false
    package var deviceCount = 0
    package var verification: ContactStateName?
    package var verifiedAt: WireMoment?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("account", \.account, "id in hexadecimal digits"),
        RecordField(
            "name", \.name, "as this person calls it, else as the member says who added it; none if nobody does"),
        RecordField("role", \.role, "what it may do"),
        RecordField("state", \.state, "added ones have not accepted yet, and read already"),
        RecordField("since", \.since, "number of the link that added it"),
        RecordField("self", \.isSelf, "whether it is the own account"),
        RecordField("founder", \.isFounder, "whether it made the vault"),
        RecordField("devices", \.deviceCount, "devices that count, sheets among them"),
        RecordField(
            "verification", \.verification, "where somebody is added: what that rests on; none for who is no contact"),
        RecordField("verifiedAt", \.verifiedAt, "when that was recorded"))
}

/// A vault with its people.
package struct SharedVault: Record {
    package static let recordName = "shared-vault"
    package static let refusesUnknownFields = false

    package var id = ""
    package var vault = ""
    package var role: ShareRole?
    package var founder = ""
    package var epoch = 0
    package var members: [ShareMember] = []
    package var isEpochStale = false
    package var unconfirmed: [Int] = []
    package var ownUnconfirmed: [Int] = []
    package var review = 0

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("id", \.id, "in hexadecimal digits"), RecordField("vault", \.vault, "its name on this device"),
        RecordField("role", \.role, "of the own account; none where it is no member any more"),
        RecordField("founder", \.founder, "id of the account that made it"),
        RecordField("epoch", \.epoch, "number of its newest key"),
        RecordField("members", \.members, "the most senior first"),
        RecordField("staleEpoch", \.isEpochStale, "a new key is due: nothing is sent before"),
        RecordField("unconfirmed", \.unconfirmed, "links that wait for a word of their account"),
        RecordField("ownUnconfirmed", \.ownUnconfirmed, "those that wait for a word of this account"),
        RecordField("review", \.review, "items that were made on words which do not count"))
}

package struct ShareList: StoreOperation {
    package static let name = "share.list"
    package static let access = OperationAccess.list
    package static let meaning = "Lists vaults that several people have, with their members. It asks no server."

    package var vault: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.vault, "name or id of one, also of one that nobody else has"))

    package struct Answer: Record {
        package static let recordName = "share-list"
        package static let refusesUnknownFields = false
        package var vaults: [SharedVault] = []

        package init() {}
        package static let layout = RecordLayout<Self>(RecordField("vaults", \.vaults, "by name"))
    }
}

package struct ShareAdd: StoreOperation {
    package static let name = "share.add"
    package static let access = OperationAccess.control
    package static let meaning =
        "Adds a person to a vault, who then reads it with its history; a vault that is on this device only goes to the server first. "
        + "The session asks for the passphrase of the store."

    package var vault = ""
    package var person = ""
    package var role = ShareRole.viewer
    package var isTrial: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.vault, "name or id"),
        RecordField("person", \.person, "a contact's name, an address, or an account id"),
        RecordField("role", \.role, "what the person may do"),
        RecordField("isTrial", \.isTrial, "adds nobody, and says who it would be; it asks for no passphrase"))

    package struct Answer: Record {
        package static let recordName = "share-added"
        package static let refusesUnknownFields = false
        package var vault = ""
        package var person = ShareMember()
        package var itemCount = 0
        package var isAdded = false
        package var hasKey = false
        package var problem: String?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("vault", \.vault, "its name"), RecordField("person", \.person, "who it is"),
            RecordField("items", \.itemCount, "that the person will read"),
            RecordField("added", \.isAdded, "whether it was done"),
            RecordField("hasKey", \.hasKey, "whether the key went along; else it follows when it can be sealed"),
            RecordField("problem", \.problem, "why it did not go along, as the code of an error"))
    }
}

/// A vault into which somebody added the own account.
package struct WaitingVault: Record {
    package static let recordName = "waiting-vault"
    package static let refusesUnknownFields = false

    package var id = ""
    package var name: String?
    package var role = ShareRole.viewer
    package var from = ""
    package var fromName: String?
    package var memberCount = 0
    package var problem: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("id", \.id, "in hexadecimal digits"),
        RecordField("name", \.name, "as its founder calls it; none before its key came"),
        RecordField("role", \.role, "what the own account may do there"),
        RecordField("from", \.from, "id of the account that added the own one"),
        RecordField("fromName", \.fromName, "as this person calls that account"),
        RecordField("members", \.memberCount, "accounts in it, the own one among them"),
        RecordField("problem", \.problem, "code of `errors.md`: why it cannot be accepted yet"))
}

package struct ShareRequests: StoreOperation {
    package static let name = "share.requests"
    package static let access = OperationAccess.list
    package static let meaning = "Asks the server into which vaults others added the own account."

    package var includesStrangers: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("includesStrangers", \.includesStrangers, "also vaults of accounts that are no contacts"))

    package struct Answer: Record {
        package static let recordName = "share-requests"
        package static let refusesUnknownFields = false
        package var vaults: [WaitingVault] = []

        package init() {}
        package static let layout = RecordLayout<Self>(RecordField("vaults", \.vaults, "in no order"))
    }
}

package struct ShareAnswer: StoreOperation {
    package static let name = "share.answer"
    package static let access = OperationAccess.control
    package static let meaning =
        "Accepts a vault into which somebody added the own account, or declines it. The name of an accepted one is chosen here, "
        + "and nobody changes it from afar."

    package var vault = ""
    package var isAccepted = true
    package var newName: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.vault, "its id, the beginning of it, or the name that `share.requests` gives"),
        RecordField("isAccepted", \.isAccepted, "false: it is declined"),
        RecordField("newName", \.newName, "as it is called on this device; without it as its founder calls it"))

    package struct Answer: Record {
        package static let recordName = "share-answered"
        package static let refusesUnknownFields = false
        package var id = ""
        package var name: String?
        package var role = ShareRole.viewer
        package var itemCount = 0

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("id", \.id, "in hexadecimal digits"),
            RecordField("name", \.name, "as it is called on this device, if it was accepted"),
            RecordField("role", \.role, "what the own account may do there"),
            RecordField("items", \.itemCount, "that are here now"))
    }
}

package struct ShareChange: StoreOperation {
    package static let name = "share.change"
    package static let access = OperationAccess.control
    package static let meaning =
        "Gives a member of a vault another role, or removes it: then the vault gets a new key. The session asks for the passphrase of "
        + "the store."

    package var vault = ""
    package var person = ""
    package var role: ShareRole?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.vault, "name or id"),
        RecordField("person", \.person, "a member's name, or the beginning of its account id"),
        RecordField("role", \.role, "what it may do; without it the member is removed"))

    package struct Answer: Record {
        package static let recordName = "share-changed"
        package static let refusesUnknownFields = false
        package var vault = ""
        package var person = ShareMember()
        package var vaultID = ""
        package var isRemoved = false
        package var epoch = 0
        package var seenCount: Int?
        package var unseen: [UnseenWork] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("vault", \.vault, "its name"), RecordField("person", \.person, "as it was before"),
            RecordField("vaultID", \.vaultID, "in hexadecimal digits"),
            RecordField(
                "seen", \.seenCount, "items with secrets that a removed member has seen: `share.seen` lists them"),
            RecordField("removed", \.isRemoved, "whether it is no member any more"),
            RecordField("epoch", \.epoch, "number of the vault's newest key"),
            RecordField("unseen", \.unseen, "work of a removed or lowered member that came with this, and counts"))
    }
}

package struct ShareLeave: StoreOperation {
    package static let name = "share.leave"
    package static let access = OperationAccess.control
    package static let meaning =
        "Leaves a vault, behind what waits to be sent. The copy on this device stays, and can be read until it is removed."

    package var vault = ""

    package init() {}
    package static let layout = RecordLayout<Self>(RecordField("vault", \.vault, "name or id"))

    package struct Answer: Record {
        package static let recordName = "share-left"
        package static let refusesUnknownFields = false
        package var id = ""
        package var name = ""

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("id", \.id, "in hexadecimal digits"), RecordField("name", \.name, "on this device"))
    }
}

/// A link that waits for a word of its account.
package struct WaitingLinkMessage: Record {
    package static let recordName = "waiting-link"
    package static let refusesUnknownFields = false

    package var number = 0
    package var device = ""
    package var account = ""
    package var time: WireMoment?
    package var words = ""

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("number", \.number, "in the vault's member chain"),
        RecordField("device", \.device, "name or id of the one that signed it"),
        RecordField("account", \.account, "of that device, id in hexadecimal digits"),
        RecordField("time", \.time, "by the clock of that device; none where it cannot be read"),
        RecordField("words", \.words, "what it does, for people"))
}

/// A link of another device that deletes something for good, and that this device has not gone by yet.
package struct WaitingPurgeMessage: Record {
    package static let recordName = "waiting-purge"
    package static let refusesUnknownFields = false

    package var number = 0
    package var device = ""
    package var account = ""
    package var time: WireMoment?
    package var dayCount = 0
    package var items: [RescueMessage] = []

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("number", \.number, "of the link in the vault's member chain"),
        RecordField("device", \.device, "name or id of the one that signed it"),
        RecordField("account", \.account, "of that device, id in hexadecimal digits"),
        RecordField("time", \.time, "by the clock of that device; none where it cannot be read"),
        RecordField("days", \.dayCount, "days of use until it goes here"),
        RecordField("items", \.items, "whose earlier versions go"))
}

package struct ShareReview: StoreOperation {
    package static let name = "share.review"
    package static let access = OperationAccess.control
    package static let meaning =
        "Shows the links of a vault that wait for a word of the own account, since its revoked device signed them; takes them, or "
        + "takes and undoes them in one link. Where nobody can say it for all any more, takes them on this device alone. Shows items that were made on words which do not count. Shows what another device deleted "
        + "for good and this one still has; keeps it here, or forgets it at once. Where it does something, the session asks for the passphrase of the store."

    package enum Decision: String, RecordChoice {
        /// Of links.
        case take, undo
        /// Of what was deleted for good.
        case keep, forget
    }

    package var vault = ""
    package var decision: Decision?
    package var person: String?
    package var linkCount: Int?
    package var purgeCount: Int?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("vault", \.vault, "name or id"),
        RecordField("decision", \.decision, "without it nothing is decided"),
        RecordField("person", \.person, "another member for whom an owner speaks, whose person cannot"),
        RecordField("linkCount", \.linkCount, "how many links were shown: another number is refused"),
        RecordField("purgeCount", \.purgeCount, "how many purges were shown: another number is refused"))

    package struct Answer: Record {
        package static let recordName = "share-reviewed"
        package static let refusesUnknownFields = false
        package var vault = ""
        package var links: [WaitingLinkMessage] = []
        package var items: [RescueMessage] = []
        package var purges: [WaitingPurgeMessage] = []
        package var isDecided = false
        package var isForThisDevice = false
        package var unseen: [UnseenWork] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("vault", \.vault, "its name"),
            RecordField("links", \.links, "that wait, or waited until this was decided"),
            RecordField("items", \.items, "that were made on words which do not count"),
            RecordField("purges", \.purges, "that wait, or waited until this was decided"),
            RecordField("decided", \.isDecided, "whether it was done"),
            RecordField(
                "here", \.isForThisDevice, "whether nobody can say it for all, so that it holds on this device alone"),
            RecordField("unseen", \.unseen, "work of those who write no more, which came with this, and counts"))
    }
}
