// Passkeys for a security key. Invariant: the browser has judged the site, as for any security key; a key is made or used once for each
// request, after a person has shown to be there.

internal import CoffretBase
internal import CoffretBridge
internal import CoffretCore
internal import CoffretStorage
internal import CoffretWire

/// Spec: Spec/authenticator.md section 4.
extension BridgeDesk {
    func makePasskey(_ request: CTAPRequest.Creation) throws -> Passkey {
        let origin = try WebOrigin("https://" + request.site)
        let userName = Self.name(request.userName) ?? ""
        try admit(
            request.clientDataHash, origin, to: "make a passkey for \(Self.shown(userName)) at \(request.site)")
        guard try request.excluded.isEmpty || passkeys(request.site, among: request.excluded).isEmpty else {
            throw BridgeError(.passkeyExists)
        }
        let surroundings = desk.surroundings
        let passkey = try Passkey.make(
            site: request.site, siteName: Self.name(request.siteName) ?? request.site, userHandle: request.userHandle,
            userName: userName, displayName: Self.name(request.displayName) ?? userName, now: surroundings.clock.now,
            random: surroundings.random)
        _ = try keep(passkey, origin)
        return passkey
    }

    /// The keys that may answer, after the person was asked; the item that was changed last first.
    func admittedPasskeys(_ request: CTAPRequest.Signing) throws -> [FoundPasskey] {
        let origin = try WebOrigin("https://" + request.site)
        let found = try passkeys(request.site, among: request.credentials)
        guard let first = found.first else { throw BridgeError(.passkeyMissing) }
        // A browser names what the site knows; one of these is enough.
        let chosen = request.credentials == nil ? found : [first]
        let who =
            chosen.count == 1 ? "as \(Self.shown(first.passkey.userName))" : "with one of \(chosen.count) accounts"
        if chosen.count == 1 { _ = try desk.find(first.item.id.uuid.hex, vault: nil) }
        try admit(request.clientDataHash, origin, to: "sign in \(who) at \(request.site)")
        return chosen
    }

    /// A key among those that the browser names, for nobody: no person is asked, and nothing is signed.
    func namedPasskey(_ request: CTAPRequest.Signing) throws -> Passkey {
        _ = try WebOrigin("https://" + request.site)
        guard let credentials = request.credentials,
            let found = try passkeys(request.site, among: credentials).first
        else { throw BridgeError(.passkeyMissing) }
        return found.passkey
    }
}
