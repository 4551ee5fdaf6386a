// Items as `--json` prints them: the messages of operations, so that both say the same (Spec/operations.md).

internal import CoffretApp
internal import CoffretBase
internal import CoffretCore
internal import CoffretWire

extension JSONValue {
    /// An item with all its parts.
    static func item(_ item: Item, revealsSecrets: Bool) -> JSONValue {
        ItemMessage(item, revealsSecrets: revealsSecrets).json
    }

    static func attachment(_ attachment: Attachment, isHere: Bool? = nil) -> JSONValue {
        AttachmentMessage(attachment, isHere: isHere).json
    }

    /// An item in a list.
    static func summary(_ item: ItemSummary) -> JSONValue { SummaryMessage(item).json }
}
