// Requests about recovery contacts: people who together bring an account back.

/// An account in a circle.
package struct CircleMemberMessage: Record {
    package static let recordName = "circle-member"
    package static let refusesUnknownFields = false

    package enum State: String, RecordChoice {
        case added, accepted, left
    }

    package var account = ""
    package var name: String?
    package var state = State.added
    package var hasAnswered: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("account", \.account, "id in hexadecimal digits"),
        RecordField("name", \.name, "as this person calls it"),
        RecordField("state", \.state, "added ones have not said yes yet; who left keeps an old share"),
        RecordField("answered", \.hasAnswered, "whether it said that it holds its share, since it was asked last"))
}

/// A wish to come back to an account.
package struct CircleRequestMessage: Record {
    package static let recordName = "circle-request"
    package static let refusesUnknownFields = false

    package var id = ""
    package var from = ""
    package var fromName: String?
    package var time = WireMoment(0)
    package var isForbidden = false
    package var releaseCount = 0
    package var restSeconds: Int?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("id", \.id, "the hash of the request, in hexadecimal digits"),
        RecordField("from", \.from, "id of the contact whose program recorded it"),
        RecordField("fromName", \.fromName, "as this person calls that account"),
        RecordField("time", \.time, "as that program states it"),
        RecordField("forbidden", \.isForbidden, "whether the founder forbade it"),
        RecordField("releases", \.releaseCount, "contacts who say that they gave their share"),
        RecordField("restSeconds", \.restSeconds, "of the waiting time at this device"))
}

/// A circle of recovery contacts.
package struct CircleSummary: Record {
    package static let recordName = "circle"
    package static let refusesUnknownFields = false

    package enum State: String, RecordChoice {
        /// Some contacts have not accepted.
        case waiting
        /// All have; the founder finishes it.
        case ready
        /// It brings the account back.
        case serving
        /// Its device was revoked.
        case over
    }

    package var id = ""
    package var founder = ""
    package var founderName: String?
    package var isOwn = false
    package var state = State.waiting
    package var threshold = 0
    package var hours = 0
    package var members: [CircleMemberMessage] = []
    package var requests: [CircleRequestMessage] = []
    package var hasAccepted = false
    package var hasShare = false
    package var revocable: WireMoment?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("id", \.id, "in hexadecimal digits"),
        RecordField("founder", \.founder, "id of the account that it brings back"),
        RecordField("founderName", \.founderName, "as this person calls that account"),
        RecordField("own", \.isOwn, "whether that is the own account"),
        RecordField("state", \.state, "whether it can bring the account back"),
        RecordField("threshold", \.threshold, "contacts whose shares are needed together"),
        RecordField("hours", \.hours, "from a recorded request to the first share"),
        RecordField("members", \.members, "its contacts"),
        RecordField("requests", \.requests, "the oldest first"),
        RecordField("accepted", \.hasAccepted, "whether the own account has accepted to be a contact there"),
        RecordField("share", \.hasShare, "whether the own account keeps its share of it"),
        RecordField("revocable", \.revocable, "when the circle can be taken back, if that was announced"))
}

package struct CircleList: StoreOperation {
    package static let name = "circle.list"
    package static let access = OperationAccess.list
    package static let meaning =
        "Lists the circles of recovery contacts that the own account has or is in, as the server shows them."

    package init() {}
    package static let layout = RecordLayout<Self>()

    package struct Answer: Record {
        package static let recordName = "circle-list"
        package static let refusesUnknownFields = false
        package var circles: [CircleSummary] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("circles", \.circles, "the own ones, and those of contacts"))
    }
}

package struct CircleMake: StoreOperation {
    package static let name = "circle.make"
    package static let access = OperationAccess.control
    package static let meaning =
        "Founds a circle of recovery contacts, or finishes one in which all have accepted: then each gets a share. The session "
        + "asks for the passphrase of the store."

    package var people: [String] = []
    package var threshold: Int?
    package var hours: Int?
    package var circle: String?
    package var isTrial: Bool?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("people", \.people, "names of contacts, compared or met; none: the circle that waits is finished"),
        RecordField(
            "threshold", \.threshold,
            "how many of them bring the account back, at least 2; a majority if nothing is said"),
        RecordField("hours", \.hours, "the waiting time, 24 to 8,760; 168 if nothing is said"),
        RecordField("circle", \.circle, "id of the circle that was shown: no other one is finished"),
        RecordField("isTrial", \.isTrial, "does nothing, and says what it would be"))

    package typealias Answer = CircleSummary
}

package struct CircleTest: StoreOperation {
    package static let name = "circle.test"
    package static let access = OperationAccess.control
    package static let meaning =
        "Asks the programs of all recovery contacts whether they hold their shares, and says who has answered."

    package init() {}
    package static let layout = RecordLayout<Self>()

    package typealias Answer = CircleSummary
}

package struct CircleForbid: StoreOperation {
    package static let name = "circle.forbid"
    package static let access = OperationAccess.control
    package static let meaning =
        "Forbids recorded requests to bring the own account back. No contact gives a share for them then."

    package var request: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("request", \.request, "its id, or the beginning of it; without it all that are open"))

    package struct Answer: Record {
        package static let recordName = "circle-forbidden"
        package static let refusesUnknownFields = false
        package var requests: [String] = []

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("requests", \.requests, "ids of those that were forbidden now"))
    }
}

package struct CircleEnd: StoreOperation {
    package static let name = "circle.remove"
    package static let access = OperationAccess.control
    package static let meaning =
        "Takes the own recovery contacts back: at once before each has a share, else seven days after the own devices were told. The "
        + "session asks for the passphrase of the store."

    package init() {}
    package static let layout = RecordLayout<Self>()

    package struct Answer: Record {
        package static let recordName = "circle-removed"
        package static let refusesUnknownFields = false
        package var id = ""
        package var isRemoved = false
        package var revocable: WireMoment?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("id", \.id, "of the circle"),
            RecordField("removed", \.isRemoved, "whether it is gone now"),
            RecordField("revocable", \.revocable, "when it can go, if it was announced"))
    }
}

package struct CircleHelp: StoreOperation {
    package static let name = "recovery.help"
    package static let access = OperationAccess.control
    package static let meaning =
        "The side of a recovery contact: says what is asked, accepts, leaves, or meets the new machine of a person and records its "
        + "request or gives it the share. The session asks for codes, and for the passphrase of the store."

    package enum Decision: String, RecordChoice {
        case accept, leave
    }

    package var person = ""
    package var decision: Decision?
    package var circle: String?
    package var machine: String?

    package init() {}
    package static let layout = RecordLayout<Self>(
        RecordField("person", \.person, "the contact's name, or the beginning of its account id"),
        RecordField("decision", \.decision, "whether the own account is to be a recovery contact"),
        RecordField(
            "circle", \.circle, "id of the circle that was shown; a decision needs it"),
        RecordField("machine", \.machine, "32 hexadecimal digits that the new machine shows"))

    package struct Answer: Record {
        package static let recordName = "recovery-helped"
        package static let refusesUnknownFields = false
        package var circle = CircleSummary()
        package var isRecorded = false
        package var isGiven = false
        package var restSeconds: Int?

        package init() {}
        package static let layout = RecordLayout<Self>(
            RecordField("circle", \.circle, "as it is now"),
            RecordField("recorded", \.isRecorded, "whether the request of the machine was recorded now"),
            RecordField("given", \.isGiven, "whether the machine got the share"),
            RecordField("restSeconds", \.restSeconds, "of the waiting time at this device"))
    }
}
