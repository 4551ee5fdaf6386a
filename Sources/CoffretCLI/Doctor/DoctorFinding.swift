// What `coffret doctor` can find, and its words. The one thing to keep true: every finding says what is there, what
// that means for the person's secrets, and what to do; nothing is a finding that nobody can do anything about.

internal import CoffretBase
internal import CoffretTerminal

/// Stable codes of findings; Docs/unlocking.md lists them.
enum DoctorCode: String, Sendable, CaseIterable {
    case preload = "doctor.process.preload"
    case traced = "doctor.process.traced"
    case root = "doctor.process.root"
    case tracing = "doctor.system.tracing"
    case swap = "doctor.system.swap"
    case cores = "doctor.system.cores"
    case coreProgram = "doctor.system.core-program"
    case lockLimit = "doctor.memory.lock-limit"
    case memory = "doctor.memory.derivation"
    case folderForeign = "doctor.folder.foreign"
    case folderWritable = "doctor.folder.writable"
    case folderReadable = "doctor.folder.readable"
    case fileReadable = "doctor.file.readable"
    case tpmUnreachable = "doctor.tpm.unreachable"
    case tpmUnguarded = "doctor.tpm.unguarded"
    case tpmLockedOut = "doctor.tpm.locked-out"
    case tpmMissing = "doctor.tpm.missing"
}

/// How much a finding matters.
enum DoctorLevel: String, Sendable, Comparable {
    /// Good to know; nothing is wrong.
    case note
    /// A protection is weaker than it could be.
    case warning
    /// Secrets can get out now.
    case problem

    private var rank: Int {
        switch self {
        case .note: 0
        case .warning: 1
        case .problem: 2
        }
    }

    static func < (left: DoctorLevel, right: DoctorLevel) -> Bool { left.rank < right.rank }
}

/// One thing that `coffret doctor` found.
struct DoctorFinding: Equatable, Sendable {
    let code: DoctorCode
    let level: DoctorLevel
    /// What is there, as a sentence.
    let what: String
    /// What it means for the person's secrets.
    let why: String
    /// What to do about it; a command where there is one.
    let remedy: String

    init(_ code: DoctorCode, _ level: DoctorLevel, _ what: String, why: String, remedy: String) {
        self.code = code
        self.level = level
        self.what = what
        self.why = why
        self.remedy = remedy
    }

    var json: JSONValue {
        .fields([
            "code": .string(code.rawValue), "level": .string(level.rawValue), "what": .string(what),
            "why": .string(why), "remedy": .string(remedy),
        ])
    }
}
