// A new machine that collects shares of its person's recovery contacts. The one thing to keep true: a share is on the disk before its
// contact hears that it was kept, except the one that makes them enough.

package import CoffretAccount
package import CoffretBase
internal import CoffretCrypto
package import CoffretHTTP
package import CoffretKeys
internal import CoffretMessages
internal import CoffretPairing
internal import CoffretSharing
internal import CoffretTerminal
internal import CoffretTrust

/// Where the wish of a machine lies, outside any store: `recovery-HASH` in the state folder, for its user alone.
///
/// HASH = the first 8 bytes of BLAKE2b-256(URL ‖ 00 ‖ path of the store that is to be made), in hexadecimal digits.
package struct CircleWishFile {
    private let path: String
    private let fileSystem: any FileSystem

    /// - Parameter stateDirectory: as in `StoreEnvironment`.
    package init(stateDirectory: String, server: String, store: String, fileSystem: any FileSystem) {
        let hash = BLAKE2b.hash(Array(server.utf8) + [0] + Array(store.utf8))
        path = PathText.join(stateDirectory, "recovery-" + Hex.encode(hash.prefix(8)))
        self.fileSystem = fileSystem
    }

    func read() -> CircleWish? {
        guard var bytes = try? fileSystem.readFile(path, byteCountMax: CircleWish.byteCountMax) else { return nil }
        defer { bytes.zero() }
        return CircleWish(decoding: bytes)
    }

    func write(_ wish: CircleWish) throws {
        var bytes = wish.encoded
        defer { bytes.zero() }
        try fileSystem.makeDirectories(PathText.parent(of: path))
        try fileSystem.replaceFile(path, with: bytes)
    }

    package func remove() { try? fileSystem.remove(path) }
}

/// Meetings with one contact after another.
package struct CircleMeeting {
    package enum Outcome {
        /// The wish stands in the circle: the rest of the waiting time at that contact's device, and the whole of it.
        case recorded(rest: Milliseconds, hours: Int)
        case share(have: Int, needed: Int)
        case enough(PaperSheet)
    }

    private let file: CircleWishFile
    private let random: any RandomSource
    private var wish: CircleWish

    /// Goes on with the wish that lies here; a new one is kept before anybody hears of it.
    package init(_ file: CircleWishFile, random: any RandomSource) throws {
        (self.file, self.random) = (file, random)
        if let known = file.read() {
            wish = known
        } else {
            wish = CircleWish(random: random)
            try file.write(wish)
        }
    }

    /// Waits for one contact.
    ///
    /// - Parameter invite: shows the number at which this machine waits.
    /// - Throws: what the contact's program refused it for; what keeps the two from meeting.
    package mutating func meet(
        named name: String, settings: HTTPSettings, attempts: PairingAttemptsFile, _ person: any PairingPerson,
        _ invite: (_ number: String) throws -> Void
    ) throws -> Outcome {
        let device = NewDevice.generate(signingWith: wish.signingKey, from: random)
        let session = try RequesterSession(
            device, for: .recovery, name: name, model: "Linux", account: nil, isScanned: false, settings: settings,
            attempts: attempts, random: random, clock: SystemWallClock())
        try invite(session.invitationText)
        var answer = try session.ask(CircleWord.ask(nonce: wish.nonce).encoded, person).answer
        defer { answer.zero() }
        switch CircleWord(decoding: answer) {
        case .recorded(let rest, let hours)?:
            session.finish(saying: CircleWord.kept.encoded)
            return .recorded(rest: rest, hours: hours)
        case .share(let share)?:
            var next = wish
            next.take(share)
            do throws(SharingError) {
                let sheet = try CircleShare.sheet(from: next.shares)
                session.finish(saying: CircleWord.kept.encoded)
                return .enough(sheet)
            } catch {
                // Not enough yet, or one of them is wrong: another contact helps.
                try file.write(next)
                wish = next
                session.finish(saying: CircleWord.kept.encoded)
                let have = next.shares.count { $0.circleID == share.circleID }
                return .share(have: have, needed: share.terms.threshold)
            }
        case .refused(let code)?:
            session.finish(saying: CircleWord.kept.encoded)
            throw Self.refusal(code)
        default:
            session.finish(saying: CircleWord.kept.encoded)
            throw PairingError(.mismatch)
        }
    }

    /// What the other program said, in words of this one where it knows the code.
    private static func refusal(_ code: String) -> any Error {
        if let known = SharingError.Code(rawValue: code) { return SharingError(known) }
        return CommandFailure(
            .permission, code: SharingError.Code.requestUnrecorded.rawValue,
            "the program of your recovery contact refused (\(TextWidth.displaySafe(code)))")
    }
}
