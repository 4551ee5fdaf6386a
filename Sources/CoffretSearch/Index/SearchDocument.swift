// An item as the index takes it and gives it back. Invariant: no secret comes in here; the maker of a document leaves
// passwords and codes out.

package import CoffretBase

/// An item as it is to be found.
package struct SearchDocument: Flagged, Equatable, Sendable {
    /// Kind (1) ‖ UUID (16).
    package var entity: [UInt8]
    package var title: String
    package var body: String
    /// Paths such as `garden/beds`.
    package var tags: [String]
    /// Names and texts; never secrets. A name stands right before its text, so that `url example` is a phrase.
    package var fields: [(name: String, text: String)]
    package var createdMilliseconds: Milliseconds
    package var modifiedMilliseconds: Milliseconds
    package var flags: FlagSet
    package var hasAttachments: Bool
    package var isLocked: Bool
    /// Whether devices wrote values that contradict each other.
    package var hasConflicts: Bool
    /// The targets of the links in it, in order: keys that other documents may answer to.
    package var links: [String]
    /// The keys that it answers to itself. Keys are opaque here and compared byte for byte.
    package var keys: [String]

    package static let entityByteCount = 17

    package init(
        entity: [UInt8], title: String, body: String = "", tags: [String] = [],
        fields: [(name: String, text: String)] = [], createdMilliseconds: Milliseconds = 0,
        modifiedMilliseconds: Milliseconds = 0, flags: FlagSet = [], hasAttachments: Bool = false,
        isLocked: Bool = false, hasConflicts: Bool = false,
        links: [String] = [], keys: [String] = []
    ) {
        precondition(entity.count == Self.entityByteCount, "an entity id has 17 bytes")
        self.entity = entity
        self.title = title
        self.body = body
        self.tags = tags
        self.fields = fields
        self.createdMilliseconds = createdMilliseconds
        self.modifiedMilliseconds = modifiedMilliseconds
        self.flags = flags
        self.hasAttachments = hasAttachments
        self.isLocked = isLocked
        self.hasConflicts = hasConflicts
        self.links = links
        self.keys = keys
    }

    package var kind: UInt8 { entity[0] }

    /// The fields as one text, each a line.
    var fieldText: String { fields.map { "\($0.name) \($0.text)" }.joined(separator: "\n") }

    package static func == (left: SearchDocument, right: SearchDocument) -> Bool {
        left.summary == right.summary && left.body == right.body
            && left.fields.elementsEqual(right.fields, by: ==) && left.links == right.links
            && left.keys == right.keys
    }

    /// The part that lists show.
    package var summary: DocumentSummary {
        DocumentSummary(
            entity: entity, title: title, tags: tags, createdMilliseconds: createdMilliseconds,
            modifiedMilliseconds: modifiedMilliseconds, flags: flags, hasAttachments: hasAttachments,
            isLocked: isLocked, hasConflicts: hasConflicts)
    }
}

/// One line of a list.
package struct DocumentSummary: Flagged, Hashable, Sendable {
    /// Kind (1) ‖ UUID (16).
    package let entity: [UInt8]
    package let title: String
    package let tags: [String]
    package let createdMilliseconds: Milliseconds
    package let modifiedMilliseconds: Milliseconds
    package var flags: FlagSet
    package let hasAttachments: Bool
    package let isLocked: Bool
    package let hasConflicts: Bool

    package var kind: UInt8 { entity[0] }
}

/// One step of bringing the index up to date.
package enum DocumentChange: Sendable {
    /// Adds a document, or replaces the one with the same entity.
    case put(SearchDocument)
    /// Removes a document by its entity (17 bytes); one that is not there is no error.
    case remove([UInt8])
}
