// Findings about members and the server, in words. The one thing to keep true: the named person signed it, and where the server may have
// done it as well, that is said.

internal import CoffretHistory
internal import CoffretSync

extension SyncFinding {
    /// - Parameter who: whose device it is, in a person's words; nil: nobody signed it.
    func words(_ who: String?) -> String {
        let name = who ?? "somebody"
        let text =
            switch kind {
            case .membersWithheld:
                who == nil
                    ? "the vault has a newer key than the server tells of here"
                    : "\(name) knows changes of the members that are not here"
            case .chainForked: "\(name) has another list of the members"
            case .headRefused: "\(name) left a state at the server that is wrong; it is replaced"
            case .entryMissing: "\(name) named changes at the server that never came; what they named is replaced"
            case .entryWithheld: "\(name) has said for a day that changes are there which do not come"
            case .auditFailed: "the word of \(name) is not at the server any more, or cannot be read"
            case .checkpointUnproven: "\(name) accepted changes that nobody has shown for a day; that says nothing here"
            case .checkpointDiffers:
                "\(name) wrote a wrong state of the vault; it does not count, and a right one replaces it"
            case .logForked:
                "\(name) has two changes with one number; what was taken before counts, and a link ends that log"
            }
        let server = who == nil ? "; the server did it" : "; or the server did it"
        return text + (mayBeServer ? server : "") + " (\(kind.rawValue))"
    }
}
