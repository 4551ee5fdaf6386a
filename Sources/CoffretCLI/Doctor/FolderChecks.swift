// The doctor's look at the person's own folders: whose they are, and who else gets in.

internal import CoffretBase
internal import CoffretTerminal
internal import Glibc

/// Checks of folders and files with secrets. What is missing is no finding.
struct FolderChecks {
    let probe: SystemProbe

    /// What is looked at, and how people call it.
    struct Place {
        let name: String
        let path: String
        /// Whether others must not even look: for secrets that nothing else seals.
        let isSecret: Bool
    }

    func findings(_ places: [Place]) -> [DoctorFinding] { places.flatMap(findings) }

    private func findings(_ place: Place) -> [DoctorFinding] {
        guard let status = probe.status(place.path) else { return [] }
        let shown = TextWidth.displaySafe(place.path)
        let thing = status.isDirectory ? "folder" : "file"
        var findings: [DoctorFinding] = []
        if status.owner != probe.userID {
            findings.append(
                DoctorFinding(
                    .folderForeign, .problem, "The \(thing) of \(place.name) belongs to somebody else: \(shown).",
                    why: "Its owner can take it away, put another in its place, or let others in.",
                    remedy: "Find out why; then: sudo chown \"$USER\" '\(shown)'"))
        }
        if status.isLink { return findings }
        if status.mode & 0o022 != 0 {
            findings.append(
                DoctorFinding(
                    .folderWritable, .problem, "Others can write to the \(thing) of \(place.name): \(shown).",
                    why: "They cannot read what is sealed, but they can put old or foreign data in its place.",
                    remedy: "chmod go-rwx '\(shown)'"))
        } else if status.mode & 0o077 != 0 {
            findings.append(
                status.isDirectory
                    ? DoctorFinding(
                        .folderReadable, place.isSecret ? .problem : .warning,
                        "Others can look into the folder of \(place.name): \(shown).",
                        why: place.isSecret
                            ? "What lies there helps them to guess a PIN."
                            : "What lies there is sealed, but they can copy it and guess the passphrase at leisure.",
                        remedy: "chmod 700 '\(shown)'")
                    : DoctorFinding(
                        .fileReadable, .problem, "Others can read \(place.name): \(shown).",
                        why: "It opens the store, or helps to.", remedy: "chmod 600 '\(shown)'"))
        }
        return findings
    }
}
