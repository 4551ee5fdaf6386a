// Items, versions and tags of a vault as messages. Invariant: the value of a secret field goes into a message only if the
// request asked for it.

internal import CoffretBase
package import CoffretCore
internal import CoffretCrypto
internal import CoffretKeys
internal import CoffretMessages
internal import CoffretStorage
internal import CoffretTerminal
package import CoffretWire

extension ItemMessage {
    package init(_ item: Item, revealsSecrets: Bool) {
        self.init()
        id = item.id.uuid.hex
        kind = item.kind.name
        title = item.title
        text = item.text
        tags = item.tags.map(\.path)
        fields = item.fields.map { FieldMessage($0, revealsSecrets: revealsSecrets) }
        attachments = item.attachments.map { AttachmentMessage($0) }
        created = WireMoment(item.created)
        modified = WireMoment(item.modified)
        flags = item.flags
        isLocked = item.isLocked
        isSealed = item.isSealed ? true : nil
        isHidden = item.isHidden
        isVeiled = item.isVeiled ? true : nil
        path = item.path
        conflicts = item.conflicts.isEmpty ? nil : item.conflicts.map(\.attribute)
        unreadable = item.unreadableAttributes.isEmpty ? nil : item.unreadableAttributes
    }
}

extension FieldMessage {
    package init(_ field: ItemField, revealsSecrets: Bool) {
        self.init()
        name = field.key.name
        label = field.label
        kind = field.kind.rawValue
        isSecret = field.kind.isSecret
        value = field.kind.isSecret && !revealsSecrets ? nil : field.value
    }
}

extension AttachmentMessage {
    package init(_ attachment: Attachment, isHere: Bool? = nil) {
        self.init()
        id = attachment.id.uuid.hex
        name = attachment.name
        mediaType = attachment.mediaType
        byteCount = attachment.byteCount
        created = WireMoment(attachment.created)
        self.isHere = isHere
    }
}

extension SummaryMessage {
    package init(_ item: ItemSummary, snippet: String? = nil, vault: String? = nil) {
        self.init()
        id = item.id.uuid.hex
        kind = item.kind.name
        title = item.title
        tags = item.tags
        created = WireMoment(item.created)
        modified = WireMoment(item.modified)
        flags = item.flags
        hasAttachments = item.hasAttachments
        isLocked = item.isLocked
        hasConflicts = item.hasConflicts
        self.snippet = snippet
        self.vault = vault
    }
}

extension VersionMessage {
    package init(_ version: ItemVersion) {
        self.init()
        let change = version.change
        self.version = version.commit.description
        time = WireMoment(version.time)
        instance = version.instance.hex
        summary = change.summary
        isCreation = change.isCreation
        isDeletion = change.isDeletion
        addedLineCount = change.addedLineCount
        removedLineCount = change.removedLineCount
        addedTags = change.addedTags.map(\.path)
        removedTags = change.removedTags.map(\.path)
        changedFields = change.fields.map(\.key.name)
        addedAttachments = change.addedAttachments
        removedAttachments = change.removedAttachments
    }
}

extension OperationFailure {
    /// An error of any layer, in the words of a person.
    /// - Parameter tellsCause: whether the technical cause goes with it.
    package init(_ error: any Error, tellsCause: Bool = false) {
        let failure = FailureTranslation.failure(from: error)
        self.init()
        code = failure.code
        message = failure.message
        hint = failure.hint
        exitCode = Int(failure.exitCode.rawValue)
        details = failure.details.isEmpty ? nil : failure.details
        cause = tellsCause ? failure.cause : nil
        for (name, value) in failure.jsonFields {
            switch value {
            case .array(let values) where name == "candidates":
                candidates = values.compactMap { try? OperationCandidate(json: $0) }
            case .number(let seconds) where name == "waitSeconds": waitSeconds = Int(seconds)
            case .string(let text): facts = (facts ?? []) + [OperationFact(name, text)]
            default: break
            }
        }
    }
}
