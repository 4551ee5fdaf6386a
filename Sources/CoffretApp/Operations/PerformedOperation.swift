// Operations, performed. Invariant: every operation that a client can name stands in this list, and nothing else is reached.

internal import CoffretBase
internal import CoffretMessages
package import CoffretWire

/// An operation that this program performs.
package protocol PerformedOperation: StoreOperation {
    func perform(on desk: StoreDesk) throws -> Answer
}

/// An operation whose answer may come in parts.
package protocol PiecewiseOperation: PerformedOperation {
    /// The next part each time, and nil at the end; nil where the answer comes as a whole.
    func parts(on desk: StoreDesk) throws -> (() throws -> Answer?)?
}

extension PerformedOperation {
    fileprivate static func reply(to request: OperationRequest, on desk: StoreDesk) -> OperationReply<Answer> {
        do {
            return .answer(try read(request).perform(on: desk))
        } catch {
            return .failure(OperationFailure(error, tellsCause: request.isAttended))
        }
    }

    private static func read(_ request: OperationRequest) throws -> Self {
        do throws(WireError) {
            return try request.read(as: Self.self)
        } catch {
            throw OperationError(.requestInvalid, at: error.place)
        }
    }

    fileprivate static func makeLayouts() { _ = (layout, Answer.layout) }

    /// The answer, or the refusal, in the form of the request.
    fileprivate static func outcome(of request: OperationRequest, on desk: StoreDesk) -> OperationOutcome {
        let reply = reply(to: request, on: desk)
        let code: String? = if case .failure(let failure) = reply { failure.code } else { nil }
        return OperationOutcome(reply: reply.encoded(isJSON: request.isJSON), code: code)
    }
}

/// What came of a request.
package struct OperationOutcome {
    /// In the form of the request.
    package var reply: [UInt8]
    /// Why it was refused or failed; nil for an answer.
    package let code: String?
}

package enum Operations {
    package static let all: [any PerformedOperation.Type] =
        [Hello.self] + items + looks + files + secrets + transfers + store + account + sharing + access

    private static let items: [any PerformedOperation.Type] = [
        ItemList.self, ItemSearch.self, ItemRead.self, ItemLabel.self, ItemCreate.self, ItemEdit.self, ItemFlag.self,
        ItemTrash.self, ItemMove.self,
        ItemRestore.self, ItemRemove.self, ItemForget.self, ItemHistory.self, ItemCompare.self, ConflictList.self,
        ConflictRead.self,
        ConflictSettle.self, LinkList.self, LinkAdd.self, TagList.self, TagChange.self, TagRename.self,
        DraftKeep.self, DraftSettle.self,
    ]

    private static let looks: [any PerformedOperation.Type] = [
        LogRead.self, NameList.self, LoginMatch.self, PasswordAudit.self,
    ]

    private static let files: [any PerformedOperation.Type] = [
        FileList.self, FileAdd.self, FileRead.self, FileRename.self, FileRemove.self, FileFetch.self,
    ]

    private static let secrets: [any PerformedOperation.Type] = [
        CodeRead.self, FieldRead.self, ReferenceRead.self, SecretGenerate.self, NoteLock.self, NoteUnlock.self,
        NoteClose.self, NoteRelock.self, NoteRelease.self, PassphraseList.self, NoteInspect.self,
        SSHList.self, SSHSign.self,
    ]

    private static let transfers: [any PerformedOperation.Type] = [ImportRun.self, ExportRun.self]

    private static let store: [any PerformedOperation.Type] = [
        VaultList.self, VaultCreate.self, VaultEdit.self, VaultRemove.self, VaultVerify.self, VaultCompact.self,
        StoreRead.self,
        SyncRead.self, SyncRun.self, ChangeWait.self, StoreLock.self,
    ]

    private static let account: [any PerformedOperation.Type] = [
        ServerRead.self, ServerLogRead.self, VaultSyncBegin.self, VaultSyncEnd.self, DeviceList.self, DeviceFollow.self,
        DeviceRename.self, DeviceRevoke.self, DeviceApprove.self, ServerJoin.self, ServerLeave.self, RescueList.self,
        RescueSettle.self,
        SettingsRead.self, SettingsEdit.self,
    ]

    private static let sharing: [any PerformedOperation.Type] = [
        ShareList.self, ShareRequests.self, ShareAdd.self, ShareAnswer.self, ShareChange.self, ShareLeave.self,
        ShareReview.self, ShareUndo.self, ShareItem.self, ShareRestart.self, ShareSeen.self, ShareSettings.self,
        ShareActivity.self,
        ContactsList.self, ContactMe.self, ContactInvite.self, ContactAdd.self, ContactRead.self, ContactEdit.self,
        ContactRemove.self, ContactVerify.self, ContactRequests.self, ContactAnswer.self,
        CircleList.self, CircleMake.self, CircleTest.self, CircleForbid.self, CircleEnd.self, CircleHelp.self,
    ]

    private static let access: [any PerformedOperation.Type] = [
        TokenCreate.self, TokenList.self, TokenRemove.self, AccessList.self, KeyList.self, KeyAdd.self, KeyEdit.self,
        KeyRemove.self, RecoveryList.self, BackupCreate.self, BackupVerify.self, BrowserList.self, BrowserRemove.self,
        BrowserNotices.self, BrowserAllow.self, RemoteAsk.self, RemoteAnswer.self,
    ]

    private static let byName = Dictionary(uniqueKeysWithValues: all.map { ($0.name, $0) })

    /// Makes the tables of all requests and answers, for a process that forks: its children find them made.
    package static func rehearse() {
        for operation in byName.values { operation.makeLayouts() }
    }

    /// Performs a request, if the desk's grant allows it: the one place where that is asked.
    ///
    /// - Returns: an answer or a refusal.
    package static func perform(_ request: OperationRequest, on desk: StoreDesk) -> OperationOutcome {
        guard let operation = byName[request.name] else {
            return refusal(OperationError(.unknown, at: request.name), isJSON: request.isJSON)
        }
        guard desk.grant.allows(operation) else {
            return refusal(OperationError(.notAllowed, at: request.name), isJSON: request.isJSON)
        }
        return operation.outcome(of: request, on: desk)
    }

    /// A reply that says no more than why there is no answer.
    package static func refusal(_ error: any Error, isJSON: Bool) -> OperationOutcome {
        let failure = OperationFailure(error)
        return OperationOutcome(
            reply: OperationReply<NothingMessage>.failure(failure).encoded(isJSON: isJSON), code: failure.code)
    }
}
