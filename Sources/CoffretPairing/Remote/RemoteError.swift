// Errors that end a remote request. Invariant: a code that comes from the other device is one of these, or `failed`.

internal import CoffretBase

/// Why a remote or one-time request got no value.
package struct RemoteError: Error, Equatable, Sendable {
    package enum Code: String, Sendable, CaseIterable {
        /// The other device did not come, or did not answer in time.
        case unanswered = "remote.unanswered"
        /// The person there said no.
        case refused = "remote.refused"
        /// Nobody could be asked there.
        case unattended = "remote.unattended"
        /// The person there was asked five times within ten minutes.
        case pausing = "remote.pausing"
        /// The device has no such item; hidden, locked and trashed ones count as none.
        case itemNotFound = "remote.item.not-found"
        /// The item is hidden, locked or in the trash: it is never sent. Another device is told that there is none.
        case itemWithheld = "remote.item.withheld"
        /// Several items of the device could be meant.
        case itemAmbiguous = "remote.item.ambiguous"
        /// The item has no such field.
        case fieldNotFound = "remote.field.not-found"
        /// The value is longer than a message.
        case valueTooLong = "remote.value.too-long"
        /// A message does not fit the keys of both sides: perhaps somebody is in between.
        case mismatch = "remote.mismatch"
        /// The other side left.
        case ended = "remote.ended"
        /// The device that was named is this one, or a paper device.
        case deviceUnsuitable = "remote.device.unsuitable"
        /// Text that is not what the page shows.
        case codeMalformed = "remote.code.malformed"
        /// The page waits at another server than that of the store.
        case serverDiffers = "remote.code.server-differs"
        /// No page waits with that code: it was used, is too old, or the page is gone.
        case codeUsed = "remote.code.used"
        /// Anything else that went wrong at the other device.
        case failed = "remote.failed"
    }

    package let code: Code
    package let place: String?

    package init(_ code: Code, at place: String? = nil) {
        self.code = code
        self.place = place
    }
}
