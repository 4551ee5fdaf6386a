// What a sync has to say of members and server. The one thing to keep true: it is told as long as it is so, and stops nothing.

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
}
