// One value of one item, to be sent out of the store. Invariant: hidden, locked and trashed items are never sent, and of a one-time code
// only the present digits.

internal import CoffretAccount
internal import CoffretBase
internal import CoffretBridge
internal import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
package import CoffretPairing
internal import CoffretStorage
internal import CoffretTerminal
package import CoffretWire

/// A value that was found, and is not read before a person has said yes.
///
/// Spec: Spec/remote.md section 6.
package struct Lending {
    private static let codeNames: Set<String> = ["code", "otp"]

    private let desk: StoreDesk
    private let vaultID: String
    private let item: Item
    /// Nil for the text of a note.
    private let field: ItemField?
    private let vaultName: String
    /// Of the page, where a browser asks.
    private let origin: String?

    /// Finds the value.
    ///
    /// - Parameters:
    ///   - field: name or label; nil for the password, else the first secret, else the text of a note without fields.
    ///   - prefersCode: whether a one-time code comes before the password.
    /// - Throws: `CoreError` for an item or a field that is not there; `RemoteError` `.itemWithheld`.
    package init(
        _ reference: String, vault: String?, field name: String?, prefersCode: Bool = false, on desk: StoreDesk
    ) throws {
        let place = try desk.find(reference, vault: vault)
        let item = try place.vault.item(place.id)
        guard !item.isHidden, !item.isSealed, !item.isTrashed else { throw RemoteError(.itemWithheld) }
        (self.desk, self.item, vaultID, vaultName) = (desk, item, place.record.vaultID.hex, place.record.name)
        origin = nil
        let code = item.fields.first { $0.kind == .oneTimeCode }
        if let name {
            let isCode = Self.codeNames.contains(name.lowercased()) && code != nil
            field = try isCode ? code : item.field(named: name)
        } else if prefersCode, let code {
            field = code
        } else {
            let secret =
                item.fields.first { $0.key.name == "password" } ?? item.fields.first { $0.kind == .secret } ?? code
            guard secret != nil || item.kind == .note else { throw CoreError(.fieldNotFound, at: "password") }
            field = secret
        }
    }

    /// Finds the login of a page, whose addresses are compared with the page's origin here.
    ///
    /// - Throws: `BridgeError` `.originRefused`; `RemoteError` `.itemNotFound`, `.itemAmbiguous`, `.fieldNotFound`.
    package init(_ request: RemoteLoginRequest, on desk: StoreDesk) throws {
        let origin = try WebOrigin(request.origin)
        let fitting = try BridgeDesk.logins(origin, on: desk).filter { item in
            request.username.map { $0 == BridgeDesk.username(item) ?? "" } ?? true
        }
        guard let item = fitting.first else { throw RemoteError(.itemNotFound) }
        guard fitting.count == 1 else { throw RemoteError(.itemAmbiguous) }
        // The same again as an item, whose vault is known.
        let place = try desk.find(item.id.uuid.hex, vault: nil)
        (self.desk, self.item, vaultID, vaultName) = (desk, item, place.record.vaultID.hex, place.record.name)
        self.origin = origin.text
        field = item.fields.first { request.wantsCode ? $0.kind == .oneTimeCode : $0.key.name == "password" }
        guard field != nil else { throw RemoteError(.fieldNotFound) }
    }

    package var title: String { TextWidth.truncate(TextWidth.displaySafe(item.title), to: 100) }

    package var label: String {
        guard let field else { return "Text" }
        return field.kind == .oneTimeCode
            ? "One-time code" : TextWidth.truncate(TextWidth.displaySafe(field.label), to: 60)
    }

    /// For the person who is asked.
    package var words: String {
        let address = origin ?? item.fields.first { $0.kind == .url }?.value
        let lines = [
            "\(label) of \"\(title)\"", "in the vault \"\(TextWidth.displaySafe(vaultName))\"",
            address.map { TextWidth.truncate(TextWidth.displaySafe($0), to: 70) },
        ]
        return lines.compactMap(\.self).joined(separator: "\n")
    }

    /// The value of now.
    package func value() throws -> RemoteValue {
        if field?.kind == .oneTimeCode {
            var read = CodeRead()
            (read.item, read.vault) = (item.id.uuid.hex, vaultID)
            let made = try read.perform(on: desk)
            return RemoteValue(title: title, label: label, value: made.code, seconds: made.remainingSeconds)
        }
        return RemoteValue(title: title, label: label, value: field?.value ?? item.text)
    }

    /// Tags the item, so that its person finds it again.
    package func tag(_ tag: String) throws {
        var change = TagChange()
        (change.item, change.vault, change.add) = (item.id.uuid.hex, vaultID, [tag])
        _ = try change.perform(on: desk)
    }
}

/// The entries of one request in the log of the store.
package struct RemoteLog {
    private let desk: StoreDesk
    private let operation: String
    private let device: String
    private let isBrowser: Bool

    /// - Parameter device: the device or browser that asks, or where the page came from.
    package init(_ desk: StoreDesk, operation: String, device: String, isBrowser: Bool = false) {
        (self.desk, self.operation, self.device, self.isBrowser) = (desk, operation, device, isBrowser)
    }

    package func note(_ event: AccessEntry.Event, code: String? = nil) {
        guard let log = try? AccessLog(desk.store) else { return }
        var entry = AccessEntry()
        entry.time = WireMoment(desk.store.environment.clock.now)
        (entry.event, entry.session) = (event, Hex.encode(desk.store.environment.random.bytes(count: 4)))
        (entry.operation, entry.code) = (operation, code)
        let name = String(TextWidth.displaySafe(device).prefix(60))
        if isBrowser { entry.browser = name } else { entry.device = name }
        entry.vault = desk.subject?.vault.hex
        entry.item = desk.subject?.item?.uuid.hex
        log.add(entry)
    }
}
