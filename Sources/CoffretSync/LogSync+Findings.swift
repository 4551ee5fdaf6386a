// What a sync has to say of members and server. The one thing to keep true: it is told as long as it is so, and stops nothing.

internal import CoffretCrypto
internal import CoffretHistory
internal import CoffretLogs
internal import CoffretStorage
internal import CoffretTrust

extension LogSync {
    /// The chains were followed: what is stated and is not here by now is withheld.
    func noteFollowed() throws {
        memory.withheld.followed(
            linkCount: follower.chains.links.count, epoch: follower.chains.rights?.rights.epoch ?? 1,
            members: try members())
    }

    func lookForFindings() throws {
        report.findings += memory.withheld.findings
        report.findings += receiver.forkers.sorted().map { SyncFinding(.chainForked, by: $0, mayBeServer: true) }
        report.findings += try repository.step { (machine) throws(StorageError) in
            let links = machine.members.chain.links
            var found = machine.unprovenLinks.map {
                SyncFinding(.checkpointUnproven, by: links[$0].signer, mayBeServer: true)
            }
            found += machine.refuted.filter { $0 > machine.base ?? -1 }.sorted().map {
                SyncFinding(.checkpointDiffers, by: links[$0].signer, mayBeServer: false)
            }
            for instance in try machine.due().ends {
                found.append(SyncFinding(.logForked, by: machine.owners[instance]?.author, mayBeServer: false))
            }
            return found
        }
    }

    /// Notes what entries that came say of this copy, and of other vaults.
    func noteWords() {
        memory.copied = receiver.copied
        for context in receiver.withheld { memory.withheld.note(context) }
        if let epoch = receiver.unknownEpoch { memory.withheld.note(epoch: epoch) }
        // Durable with the entries: one that is here is not shown again.
        for (instance, number) in receiver.ownShown where number > memory.served[instance] ?? 0 {
            memory.served[instance] = number
        }
        for statement in receiver.takeStatements() {
            guard let key = options.headsKey else { continue }
            let heads = EntryStatement.open(
                statement.bytes, key: key, vaultID: repository.keys.vaultID, instance: statement.instance)
            for head in heads ?? [] where head.vaultID != repository.keys.vaultID {
                let stated = WitnessReport(device: statement.device, head: head)
                memory.unchecked.removeAll {
                    $0.device == stated.device && $0.head.vaultID == head.vaultID
                }
                memory.unchecked.append(stated)
            }
        }
        memory.unchecked = memory.unchecked.suffix(LogMemory.uncheckedCountMax)
    }
}
