// Operations on files of items. Invariant: an item names a file only when its content is durable, and what leaves through a
// descriptor was verified.

internal import CoffretAccount
internal import CoffretBase
package import CoffretCore
internal import CoffretKeys
package import CoffretStorage
internal import CoffretSync
package import CoffretTerminal
package import CoffretWire

/// The files of an item.
package struct ItemFiles {
    package let item: Item
    package let place: StoreDesk.Place

    /// The faults that sizes and heads show.
    package func faults() throws -> [EntityID: AttachmentFault] {
        var faults: [EntityID: AttachmentFault] = [:]
        for file in item.attachments { faults[file.id] = try place.vault.fault(of: file, reads: false) }
        return faults
    }
}

extension StoreDesk {
    /// The item with its files; asks as reading it does.
    package func files(of item: String, vault: String?) throws -> ItemFiles {
        let place = try find(item, vault: vault)
        return ItemFiles(item: try readable(place), place: place)
    }
}

extension FileList: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let found = try desk.files(of: item, vault: vault)
        let faults = try found.faults()
        var answer = Answer(found.item, faults)
        if let names, !names.isEmpty {
            let ids = try names.map { try found.item.attachment(named: $0).id.uuid.hex }
            answer.files = ids.compactMap { id in answer.files.first { $0.id == id } }
            return answer
        }
        guard givesFaults == true else { return answer }
        let isSynced = found.place.record.kind == .synced
        for (index, file) in found.item.attachments.enumerated() {
            answer.files[index].fault = faults[file.id].map {
                isSynced && $0 == .missing ? "at the server" : $0.words
            }
        }
        return answer
    }
}

extension FileList.Answer {
    fileprivate init(_ item: Item, _ faults: [EntityID: AttachmentFault]) {
        self.init()
        files = item.attachments.map { AttachmentMessage($0, isHere: faults[$0.id] != .missing) }
    }
}

extension FileAdd: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> AttachmentMessage {
        let source = try desk.takeDescriptor()
        return AttachmentMessage(try DescriptorTransfer.told { try added(reading: source, on: desk) })
    }

    /// Reads to the end of a descriptor, which may be slow: nobody waits for it with the writer's lock.
    ///
    /// - Throws: `SystemFailure` if the descriptor cannot be read; `OperationError.cancelled`.
    package func added(reading source: borrowing OwnedDescriptor, on desk: StoreDesk) throws -> Attachment {
        let number = source.number
        // The file of a locked note is sealed like its text, so the note is opened first.
        let place = try desk.files(of: item, vault: vault).place
        let (work, total) = (desk.work, DescriptorTransfer.byteCount(of: number))
        var done = 0
        let kept = try DescriptorTransfer.naming { failure in
            try unsafe place.vault.keepFile(for: place.id, name: name, mediaType: mediaType) {
                (buffer) throws(StorageError) in
                try failure.note(at: name) {
                    try work.step(done, of: total.map { max(done, $0) }, stage: "attaching")
                    let count = try unsafe DescriptorTransfer.read(into: buffer, from: number, work)
                    done += count
                    return count
                }
            }
        }
        return try desk.writing(place.record) { vault in try vault.attach(kept, to: place.id) }
    }
}

extension FileRead: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> AttachmentMessage {
        let sink = try desk.takeDescriptor()
        let found = try desk.files(of: item, vault: vault)
        let file = try found.item.attachment(named: name)
        try DescriptorTransfer.told { try Self.write(file, of: found.place.vault, to: sink.number, desk.work) }
        return AttachmentMessage(file)
    }

    /// Writes verified pieces.
    ///
    /// - Throws: `SystemFailure` if the descriptor takes no more; `OperationError.cancelled`.
    package static func write(
        _ file: Attachment, of vault: Vault, to descriptor: Int32, _ work: OperationWork
    ) throws {
        var done = 0
        try DescriptorTransfer.naming { failure in
            try unsafe vault.read(file) { (bytes) throws(StorageError) in
                try failure.note(at: file.name) {
                    try work.step(done, of: file.byteCount, stage: "writing")
                    try unsafe DescriptorTransfer.write(bytes, to: descriptor, work)
                    done += bytes.count
                }
            }
        }
    }
}

extension FileRename: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> AttachmentMessage {
        let found = try desk.files(of: item, vault: vault)
        let file = try found.item.attachment(named: name)
        return try desk.writing(found.place.record) { vault in
            AttachmentMessage(
                try vault.batch { batch in try batch.renameAttachment(file, to: newName) })
        }
    }
}

extension FileRemove: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> AttachmentMessage {
        let found = try desk.files(of: item, vault: vault)
        let file = try found.item.attachment(named: name)
        try desk.writing(found.place.record) { vault in try vault.removeAttachment(file) }
        return AttachmentMessage(file)
    }
}

extension FileFetch: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let found = try desk.files(of: item, vault: vault)
        let (record, vault) = (found.place.record, found.place.vault)
        guard record.kind == .synced else { throw CommandFailure.notSynced(record.name) }
        let files = try names.map { try $0.map(found.item.attachment(named:)) } ?? found.item.attachments
        guard !files.isEmpty else {
            throw CommandFailure(.notFound, .attachmentNotFound, "nothing is attached to this item")
        }
        let absent = try files.filter { try !vault.hasFile(of: $0) }
        var answer = Answer()
        answer.files = files.map { AttachmentMessage($0, isHere: nil) }
        answer.wantedCount = absent.count
        guard !absent.isEmpty else { return answer }
        let account = try desk.account()
        defer { account.connection.logOut() }
        let work = desk.work
        let tally = try desk.sync(account).fetch(absent, in: vault, of: record, isAskedFor: true) {
            work.report(OperationProgress($0))
        }
        (answer.receivedCount, answer.receivedByteCount) = (tally.movedCount, tally.movedByteCount)
        answer.problems = tally.problems.map(\.code.rawValue)
        answer.failure = tally.problems.first.map { OperationFailure($0) }
        return answer
    }
}
