// What the server refuses, and why. The one thing to keep true: a refusal changes nothing, and says nothing
// about what belongs to others.

/// A refusal, or a failure of what the server stands on.
package struct ServerFailure: Error, Equatable, Sendable {
    package enum Code: String, Sendable, CaseIterable {
        /// A path, a header or a body that is not as specified.
        case malformed = "server.request.malformed"
        case unknownRoute = "server.request.unknown"
        case method = "server.request.method"
        case forbidden = "server.request.forbidden"
        case tooLarge = "server.request.too-large"
        case lengthRequired = "server.request.length-required"
        case loginRefused = "server.login.refused"
        case sessionUnknown = "server.session.unknown"
        case registrationClosed = "server.registration.closed"
        case invitationInvalid = "server.registration.invitation-invalid"
        case accountUnknown = "server.account.unknown"
        case chainUnknown = "server.chain.unknown"
        /// A message for a device that the account does not trust.
        case recipientUnknown = "server.mailbox.recipient-unknown"
        /// An account that did not allow this one to write to it or to add it; also one that is not here.
        case notAllowed = "server.member.not-allowed"
        /// As much waits for an account as may.
        case lettersFull = "server.letters.full"
        case guestsUsedUp = "server.guests.used-up"
        case zoneUnknown = "server.zone.unknown"
        case epochStale = "server.zone.epoch-stale"
        /// An epoch that no link here has opened: the device knows links that this server does not.
        case epochUnknown = "server.zone.epoch-unknown"
        /// A head that is no object of the zone or of the push.
        case headUnknown = "server.zone.head-unknown"
        /// A collection below a checkpoint that nobody else has acknowledged, and that is not 30 days old.
        case checkpointYoung = "server.zone.checkpoint-young"
        /// Another device is putting something down that no head names yet.
        case pushPending = "server.zone.push-pending"
        case objectUnknown = "server.object.unknown"
        case uploadOffset = "server.upload.offset"
        case rangeInvalid = "server.range.invalid"
        case relayUnknown = "server.relay.unknown"
        case rateExceeded = "server.rate.exceeded"
        case quotaExceeded = "server.quota.exceeded"
        case busy = "server.busy"
        /// The database cannot be reached, or refused for a reason of its own.
        case storageUnavailable = "server.storage.unavailable"
        case storageFull = "server.storage.full"
        /// A uniqueness rule of the database: somebody else was first.
        case storageConflict = "server.storage.conflict"
        /// The data directory is in use, missing, or of another version.
        case dataDirectory = "server.data.unusable"
        case configuration = "server.configuration.invalid"
        case listenFailed = "server.listen.failed"
    }

    package let code: Code
    /// For the operator; never sent, never about a person.
    package let detail: String

    /// An error on its way out: a failure as it is, anything else as one of what the server stands on.
    init(_ error: any Error) {
        self = error as? ServerFailure ?? ServerFailure(.storageUnavailable, "\(type(of: error))")
    }

    package init(_ code: Code, _ detail: String = "") {
        self.code = code
        self.detail = detail
    }

    package static func == (left: ServerFailure, right: ServerFailure) -> Bool { left.code == right.code }
}

extension ServerFailure.Code {
    /// The HTTP status that goes with it.
    package var status: Int {
        switch self {
        case .malformed: 400
        case .loginRefused, .sessionUnknown: 401
        case .forbidden, .registrationClosed, .invitationInvalid, .notAllowed: 403
        case .unknownRoute, .accountUnknown, .chainUnknown, .zoneUnknown, .objectUnknown: 404
        case .relayUnknown, .recipientUnknown: 404
        case .method: 405
        case .epochStale, .epochUnknown, .headUnknown, .checkpointYoung, .pushPending, .uploadOffset,
            .storageConflict:
            409
        case .lengthRequired: 411
        case .tooLarge: 413
        case .rangeInvalid: 416
        case .rateExceeded: 429
        case .busy, .storageUnavailable: 503
        case .quotaExceeded, .lettersFull, .guestsUsedUp, .storageFull: 507
        case .dataDirectory, .configuration, .listenFailed: 500
        }
    }

    /// What is sent to people with the code.
    package var message: String {
        switch self {
        case .malformed: "the request is not in the form that this server understands"
        case .unknownRoute: "there is nothing at this address"
        case .method: "this address does not take this method"
        case .forbidden: "this account may not do that"
        case .tooLarge: "the body is longer than this address takes"
        case .lengthRequired: "a body needs a Content-Length"
        case .loginRefused: "the login was refused"
        case .sessionUnknown: "there is no such session; log in again"
        case .registrationClosed: "this server takes no new accounts"
        case .invitationInvalid: "the invitation is unknown, used or expired"
        case .accountUnknown: "there is no such account"
        case .chainUnknown: "there is no such chain"
        case .recipientUnknown: "the account has no such device"
        case .notAllowed: "that account does not take this from here"
        case .lettersFull: "too much waits for that account"
        case .guestsUsedUp: "this account has as many guests as it may have"
        case .zoneUnknown: "there is no such zone"
        case .epochStale: "the push is sealed under an older key than the zone's"
        case .epochUnknown: "the push is sealed under a key that the vault's links do not have"
        case .headUnknown: "the head is no object of the zone"
        case .checkpointYoung: "no other device has acknowledged the checkpoint yet"
        case .pushPending: "another device is sending something; try again later"
        case .objectUnknown: "there is no such object"
        case .uploadOffset: "the part does not begin where the upload stands"
        case .rangeInvalid: "the range lies outside the object"
        case .relayUnknown: "the relay id is unknown, used or expired"
        case .rateExceeded: "too many requests; wait and try again"
        case .quotaExceeded: "the account's space is used up"
        case .busy: "the server is busy; wait and try again"
        case .storageUnavailable: "the server cannot reach its storage; try again"
        case .storageFull: "the server has no space left"
        case .storageConflict: "somebody else was first; try again"
        case .dataDirectory: "the data directory cannot be used"
        case .configuration: "the configuration cannot be used"
        case .listenFailed: "the address cannot be listened on"
        }
    }
}
