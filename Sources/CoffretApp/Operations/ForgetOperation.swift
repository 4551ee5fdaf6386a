// The past of items, deleted for good. Invariant: before anything is written the server has answered, and nothing goes that
// the person was not told of.

internal import CoffretBase
internal import CoffretCore
internal import CoffretKeys
internal import CoffretStorage
internal import CoffretSync
package import CoffretWire

extension ItemForget: PerformedOperation {
    package func perform(on desk: StoreDesk) throws -> Answer {
        let places = try places(on: desk)
        let (record, deletes) = (places.record, deletes == true)
        var answer = Answer()
        answer.isSynced = record.kind != .local
        if isTrial == true {
            answer.take(try places.vault.forgettingPlan(for: places.ids, deletes: deletes))
            return answer
        }
        // Without a server nothing is written: what others have and this device has not would come back.
        if answer.isSynced { try desk.syncNow(record, SyncOptions()) }
        let (plan, report) = try desk.writing(record) { vault -> (ForgettingPlan?, VaultCompaction?) in
            guard let plan = try vault.forgettingPlan(for: places.ids, deletes: deletes) else { return (nil, nil) }
            if let agreedCount, plan.removedCount > agreedCount { throw CoreError(.historyKept, at: "grown") }
            try vault.prepareForgetting(plan, deletes: deletes)
            return (plan, record.kind == .local ? try vault.forget(plan) : nil)
        }
        answer.take(plan)
        guard let plan else { return answer }
        if let report {
            (answer.removedFileCount, answer.record) = (report.removedFileCount, report.link)
        } else {
            var options = SyncOptions()
            options.purges = plan.entities
            let report = try desk.syncNow(record, options)
            guard let purge = report.purge else { throw CoreError(.historyKept, at: report.obstacle ?? "checkpoint") }
            (answer.removedFileCount, answer.record) = (purge.fileCount, purge.link)
        }
        return answer
    }

    /// Items that were removed are known by their whole ids.
    private func places(on desk: StoreDesk) throws -> StoreDesk.Places {
        do { return try desk.find(all: items, vault: vault) } catch let error as CoreError
            where error.code == .itemNotFound
        {
            for record in try desk.records(vault) {
                let opened = try desk.vault(record)
                let ids = try items.compactMap(opened.removedItem)
                if ids.count == items.count { return StoreDesk.Places(record: record, vault: opened, ids: ids) }
            }
            throw error
        }
    }
}

extension ItemForget.Answer {
    fileprivate mutating func take(_ plan: ForgettingPlan?) {
        guard let plan else { return }
        (removedCommitCount, versionCount) = (plan.removedCount, plan.versionCount)
        (otherItemCount, keptCommitCount) = (plan.otherItemCount, plan.keptCount)
    }
}
