// Requests about people whom the account knows.

/// How sure it is that an account is a certain person's.
package enum ContactStateName: String, RecordChoice {
    case unverified, introduced, linked, compared, met
}

/// A contact.
package struct ContactMessage: Record {
    package static let recordName = "contact"
    package static let refusesUnknownFields = false

    package var name = ""
    package var account = ""
    package var claimedName: String?
    package var mixesScripts = false
    package var looksLike: [String] = []
    package var state = ContactStateName.unverified
    package var verifiedAt: WireMoment?
    package var isBlocked = false
    package var isAwaited = false
    package var isChanged: Bool?
    package var deviceCount: Int?
    package var isCurrent: Bool?
    package var address: String?
    package var personCode: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("contact", \.name, "as the own person calls it"),
        RecordField("account", \.account, "id in hexadecimal digits"),
        RecordField("claimedName", \.claimedName, "as it calls itself, without what is not seen"),
        RecordField("mixesScripts", \.mixesScripts, "whether a word of that mixes scripts"),
        RecordField("looksLike", \.looksLike, "contacts of other accounts for whose names that can be taken"),
        RecordField("state", \.state, "what sharing with it rests on"),
        RecordField("verifiedAt", \.verifiedAt, "when that was recorded"),
        RecordField("blocked", \.isBlocked, "whether it is blocked"),
        RecordField("awaited", \.isAwaited, "whether it has not answered the request yet"),
        RecordField(
            "changed", \.isChanged, "whether its account was recovered since; none where the server was not asked"),
        RecordField("devices", \.deviceCount, "devices that count, sheets among them"),
        RecordField("current", \.isCurrent, "whether something can be sealed to it now"),
        RecordField("address", \.address, "its full address"),
        RecordField("personCode", \.personCode, "its person code"))
}

/// Somebody who asks to be a contact.
package struct ContactRequestMessage: Record {
    package static let recordName = "contact-request"
    package static let refusesUnknownFields = false

    package var id = ""
    package var account = ""
    package var claimedName = ""
    package var mixesScripts = false
    package var looksLike: [String] = []
    package var state = ContactStateName.unverified
    package var problem: String?
    package var text = ""
    package var personCode = ""

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("id", \.id, "of the letter, in hexadecimal digits"),
        RecordField("account", \.account, "id in hexadecimal digits"),
        RecordField("claimedName", \.claimedName, "as it calls itself, without what is not seen"),
        RecordField("mixesScripts", \.mixesScripts, "whether a word of that mixes scripts"),
        RecordField("looksLike", \.looksLike, "contacts of other accounts for whose names that can be taken"),
        RecordField("state", \.state, "what it would rest on: linked if it showed a code of an own invitation"),
        RecordField("problem", \.problem, "code of `errors.md`: why it may be somebody else"),
        RecordField("text", \.text, "what it says"),
        RecordField("personCode", \.personCode, "its person code"))
}

package struct ContactsList: StoreOperation {
    package static let name = "contact.list"
    package static let access = OperationAccess.list
    package static let meaning = "Lists the contacts, as this device knows them. It asks no server."

    package init() {}
    package static let layout = RecordLayout<Self>()

    package struct Answer: Record {
        package static let recordName = "contact-list"
        package static let refusesUnknownFields = false
        package var contacts: [ContactMessage] = []
        package var ownName: String?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("contacts", \.contacts, "by name"),
            RecordField("ownName", \.ownName, "what the own person calls himself, if he has said so"))
    }
}

package struct ContactMe: StoreOperation {
    package static let name = "contact.me"
    package static let access = OperationAccess.control
    package static let meaning = "Says how others find the own account, and sets what the own person calls himself."

    package var newName: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("newName", \.newName, "1 to 64 bytes; others see it as a claim, the server never"))

    package struct Answer: Record {
        package static let recordName = "contact-me"
        package static let refusesUnknownFields = false
        package var name: String?
        package var account = ""
        package var address = ""
        package var personCode = ""
        package var link: String?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("name", \.name, "none before it was set"),
            RecordField("account", \.account, "id in hexadecimal digits"),
            RecordField("address", \.address, "the full address"),
            RecordField("personCode", \.personCode, "which never changes"),
            RecordField("link", \.link, "the own card; none before there is a name"))
    }
}

package struct ContactInvite: StoreOperation {
    package static let name = "contact.invite"
    package static let access = OperationAccess.control
    package static let meaning = "Makes a link with a code, with which whoever holds it may write once and prove it."

    package var seconds: Int?
    package var useCount: Int?
    package var invitesGuest: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("seconds", \.seconds, "how long the code is good; 14 days if nothing is said, a year at most"),
        RecordField("uses", \.useCount, "for how many people; 1 if nothing is said, 255 at most"),
        RecordField("guest", \.invitesGuest, "whether the link lets one guest into the server too"))

    package struct Answer: Record {
        package static let recordName = "contact-invited"
        package static let refusesUnknownFields = false
        package var link = ""
        package var expires = WireMoment(0)
        package var useCount = 1

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("link", \.link, "the card with the code"), RecordField("expires", \.expires, "when it ends"),
            RecordField("uses", \.useCount, "for how many people"))
    }
}

package struct ContactAdd: StoreOperation {
    package static let name = "contact.add"
    package static let access = OperationAccess.control
    package static let meaning =
        "Makes somebody a contact, who may then write and add the own account to vaults. A link with a code asks that person to do "
        + "the same."

    package var person = ""
    package var newName: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("person", \.person, "a link, an address, an account id, or the name of a member of a common vault"),
        RecordField("newName", \.newName, "as it is to be called here; without it as it calls itself"))

    package struct Answer: Record {
        package static let recordName = "contact-added"
        package static let refusesUnknownFields = false
        package var contact = ContactMessage()
        package var isAsked = false

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("contact", \.contact, "as it is now"),
            RecordField("asked", \.isAsked, "whether that person was asked to do the same"))
    }
}

package struct ContactRead: StoreOperation {
    package static let name = "contact.read"
    package static let access = OperationAccess.list
    package static let meaning = "Shows a contact as the server shows it now."

    package var contact = ""

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("contact", \.contact, "its name, or the beginning of its account id"))

    package typealias Answer = ContactMessage
}

package struct ContactEdit: StoreOperation {
    package static let name = "contact.edit"
    package static let access = OperationAccess.control
    package static let meaning = "Calls a contact otherwise, or blocks it: it may not write or add any more."

    package var contact = ""
    package var newName: String?
    package var isBlocked: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("contact", \.contact, "its name, or the beginning of its account id"),
        RecordField("newName", \.newName, "the new name"),
        RecordField("isBlocked", \.isBlocked, "whether it is blocked from now on"))

    package typealias Answer = ContactMessage
}

package struct ContactRemove: StoreOperation {
    package static let name = "contact.remove"
    package static let access = OperationAccess.control
    package static let meaning = "Forgets a contact. Vaults that both are in stay as they are."

    package var contact = ""

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("contact", \.contact, "its name, or the beginning of its account id"))

    package typealias Answer = ContactMessage
}

package struct ContactVerify: StoreOperation {
    package static let name = "contact.verify"
    package static let access = OperationAccess.control
    package static let meaning =
        "Shows the codes that two people compare, and records what they found. The person codes alone decide."

    package var contact = ""
    package var areEqual: Bool?
    package var stateCode: String?
    package var scanned: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("contact", \.contact, "its name, or the beginning of its account id"),
        RecordField(
            "areEqual", \.areEqual, "whether both person codes are equal on both sides; without it nothing is recorded"),
        RecordField(
            "stateCode", \.stateCode, "the code that was shown; equal codes need it, and what changed since is refused"),
        RecordField("scanned", \.scanned, "the text of the other's QR code, which is compared here"))

    package struct Answer: Record {
        package static let recordName = "contact-verified"
        package static let refusesUnknownFields = false
        package var contact = ContactMessage()
        package var ownCode = ""
        package var stateCode = ""
        package var ownLink: String?
        package var isRecorded = false

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("contact", \.contact, "as it is now, with its person code"),
            RecordField("ownCode", \.ownCode, "the own person code"),
            RecordField("stateCode", \.stateCode, "equal on both sides when both have synced"),
            RecordField("ownLink", \.ownLink, "the own card, for the other's scanner; none before there is a name"),
            RecordField("recorded", \.isRecorded, "whether the state was recorded"))
    }
}

package struct ContactRequests: StoreOperation {
    package static let name = "contact.requests"
    package static let access = OperationAccess.list
    package static let meaning = "Asks the server who wrote, and takes the answers of contacts."

    package init() {}
    package static let layout = RecordLayout<Self>()

    package struct Answer: Record {
        package static let recordName = "contact-requests"
        package static let refusesUnknownFields = false
        package var requests: [ContactRequestMessage] = []

        package init() {}
        package static let layout = RecordLayout<Self>(RecordField("requests", \.requests, "the oldest first"))
    }
}

package struct ContactAnswer: StoreOperation {
    package static let name = "contact.answer"
    package static let access = OperationAccess.control
    package static let meaning = "Makes somebody who wrote a contact, or refuses it."

    package var request = ""
    package var isAccepted = true
    package var newName: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("request", \.request, "its id, or the beginning of it"),
        RecordField("isAccepted", \.isAccepted, "false: it is refused, and the letter deleted"),
        RecordField("newName", \.newName, "as it is to be called here; without it as it calls itself"))

    package struct Answer: Record {
        package static let recordName = "contact-answered"
        package static let refusesUnknownFields = false
        package var contact: ContactMessage?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("contact", \.contact, "none where it was refused"))
    }
}
