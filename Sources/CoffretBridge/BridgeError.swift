// Refusals that have to do with browsers.

/// Why the extension gets no answer, or a browser was not paired.
package struct BridgeError: Error, Equatable, Sendable {
    package enum Code: String, Sendable {
        /// It is no message of `Spec/bridge.md`; the place names the member.
        case messageInvalid = "bridge.message.invalid"
        /// The extension may not ask for this.
        case unsupported = "bridge.request.unsupported"
        /// The origin is none for which logins are kept.
        case originRefused = "bridge.origin.refused"
        /// The store has no such login for this origin.
        case itemNotFound = "bridge.item.not-found"
        /// There is a login of this user name for the origin already.
        case loginExists = "bridge.login.exists"
        /// The browser was given as much as it gets in a minute.
        case pausing = "bridge.pausing"
        /// Three pairings were tried within ten minutes.
        case pairingPausing = "bridge.pairing.pausing"
        /// Two browsers asked at once; neither is paired.
        case pairingBusy = "bridge.pairing.busy"
        /// The digits, or the messages before them, do not fit.
        case pairingMismatch = "bridge.pairing.mismatch"
        /// The digits came too late.
        case pairingExpired = "bridge.pairing.expired"
        /// As many browsers are paired as can be.
        case pairingExhausted = "bridge.pairing.exhausted"
        /// No browser is paired under this name.
        case pairingNotFound = "bridge.pairing.not-found"
        /// The site of a passkey is not that of the page.
        case passkeyForeign = "bridge.passkey.foreign"
        /// A page of another origin has the asking page in a frame.
        case passkeyFramed = "bridge.passkey.framed"
        /// The account has a passkey of this store already.
        case passkeyExists = "bridge.passkey.exists"
        /// The store has no such passkey.
        case passkeyMissing = "bridge.passkey.missing"
        /// The person did not show to be there.
        case passkeyRefused = "bridge.passkey.refused"
        /// The same challenge was answered a short while ago.
        case passkeyReplayed = "bridge.passkey.replayed"
        /// The agent alone knows the browsers, and it does not have the store open.
        case agentNeeded = "bridge.agent.needed"
        /// The record of paired browsers was altered: none counts.
        case recordAltered = "bridge.record.altered"
    }

    package let code: Code
    package let place: String?

    package init(_ code: Code, at place: String? = nil) {
        self.code = code
        self.place = place
    }
}
