// The doctor's look at the TPM, without a library: one command of 22 bytes, and its answer. The one thing to keep
// true: it asks for properties and changes nothing.

internal import CPlatform
internal import CoffretBase
internal import CoffretTerminal
internal import Glibc

/// What a TPM says of its defence against guessing.
struct TPMProbe: Equatable {
    /// Whether a password guards the counter of wrong PINs.
    let isLockoutPasswordSet: Bool
    let failedCount: UInt32
    let failedCountMax: UInt32
    /// After so many seconds one wrong PIN is forgotten.
    let recoverySeconds: UInt32

    var isLockedOut: Bool { failedCountMax > 0 && failedCount >= failedCountMax }

    /// Properties (TPM 2.0 Part 2, table 23: PT_VAR = 0x200 plus a number).
    private enum Property {
        static let permanent: UInt32 = 0x200
        static let failedCount: UInt32 = 0x20E
        static let failedCountMax: UInt32 = 0x20F
        static let recoverySeconds: UInt32 = 0x210
        /// TPMA_PERMANENT lockoutAuthSet.
        static let lockoutPasswordBit: UInt32 = 1 << 2
    }

    /// Asks the TPM behind an open descriptor.
    ///
    /// - Returns: nil if the answer is none that a TPM gives.
    static func ask(_ descriptor: Int32) -> TPMProbe? {
        guard let permanent = property(Property.permanent, descriptor),
            let failedCount = property(Property.failedCount, descriptor),
            let failedCountMax = property(Property.failedCountMax, descriptor),
            let recoverySeconds = property(Property.recoverySeconds, descriptor)
        else { return nil }
        return TPMProbe(
            isLockoutPasswordSet: permanent & Property.lockoutPasswordBit != 0, failedCount: failedCount,
            failedCountMax: failedCountMax, recoverySeconds: recoverySeconds)
    }

    /// TPM2_GetCapability (TPM 2.0 Part 3, section 30.2): tag, size, command, TPM_CAP_TPM_PROPERTIES, property, one.
    /// Answer: tag, size, code, more (1), capability, count, property, value.
    private static func property(_ property: UInt32, _ descriptor: Int32) -> UInt32? {
        let command: [UInt8] =
            [0x80, 0x01] + UInt32(22).bigEndianBytes + UInt32(0x17A).bigEndianBytes + UInt32(6).bigEndianBytes
            + property.bigEndianBytes + UInt32(1).bigEndianBytes
        guard (try? DescriptorIO.write(command, to: descriptor)) != nil else { return nil }
        // The device gives an answer whole; a socket may give it in pieces.
        var answer: [UInt8] = []
        while answer.count < 27 {
            var buffer = [UInt8](repeating: 0, count: 4_096)
            var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&polled, 1, 5_000) == 1 else { return nil }
            let count = unsafe read(descriptor, &buffer, buffer.count)
            guard count > 0 else { return nil }
            answer += buffer[..<count]
            // A refusal is 10 bytes.
            if answer.count >= 10, answer[6..<10] != [0, 0, 0, 0] { return nil }
        }
        func number(at offset: Int) -> UInt32 {
            answer[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
        }
        guard answer.count == 27, number(at: 2) == 27, number(at: 11) == 6, number(at: 15) == 1,
            number(at: 19) == property
        else { return nil }
        return number(at: 23)
    }
}

/// Checks of the TPM.
struct TPMChecks {
    let probe: SystemProbe
    static let device = "/dev/tpmrm0"

    func findings() -> [DoctorFinding] {
        guard probe.exists(Self.device) else {
            return [
                DoctorFinding(
                    .tpmMissing, .note, "There is no TPM that coffret could use.",
                    why: "A PIN is then worth what a key store of files or the desktop's keyring is worth.",
                    remedy: "Where the machine has one, turn it on in the firmware's settings.")
            ]
        }
        guard let file = try? OwnedDescriptor.open(probe.root + Self.device, O_RDWR) else {
            return [
                DoctorFinding(
                    .tpmUnreachable, .note, "This computer has a TPM, but you may not use it.",
                    why: "A PIN in the TPM cannot be guessed by who has the disk alone.",
                    remedy: "sudo usermod -aG tss \"$USER\", and log in again")
            ]
        }
        guard let tpm = TPMProbe.ask(file.number) else { return [] }
        return findings(tpm)
    }

    func findings(_ tpm: TPMProbe) -> [DoctorFinding] {
        var findings: [DoctorFinding] = []
        if !tpm.isLockoutPasswordSet {
            findings.append(
                DoctorFinding(
                    .tpmUnguarded, .warning, "The TPM's counter of wrong PINs has no password (lockoutAuth is empty).",
                    why: "Whoever runs programs here that may use the TPM can reset the counter, and go on guessing.",
                    remedy: "sudo tpm2_changeauth -c lockout PASSWORD; keep the password on paper"))
        }
        if tpm.isLockedOut {
            findings.append(
                DoctorFinding(
                    .tpmLockedOut, .warning,
                    "The TPM takes no PIN now: \(tpm.failedCount) of \(tpm.failedCountMax) wrong ones were tried.",
                    why:
                        "No key with a PIN in this TPM opens until it forgets one, which takes \(tpm.recoverySeconds) seconds.",
                    remedy: "Wait, or unlock with the passphrase."))
        }
        return findings
    }
}
