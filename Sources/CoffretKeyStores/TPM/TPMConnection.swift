// One conversation with a TPM through tpm2-tss's ESYS. Invariant: every handle and every session that a call opens is
// flushed when the call ends, in any case, because a TPM without a resource manager has room for three of each.

internal import CTPM2
package import CoffretBase
package import CoffretKeys
internal import Glibc

/// The purpose of a key inside the TPM; one key does one thing.
package enum TPMKeyKind: Sendable {
    case keyAgreement
    case signing
}

/// Where the TPM is, in the words of tpm2-tss: `device:/dev/tpmrm0`, or `swtpm:path=SOCKET` for a software TPM.
package struct TPMTransport: Hashable, Sendable {
    package let configuration: String

    package init(configuration: String) {
        self.configuration = configuration
    }

    /// Modules of tpm2-tss that lead to a TPM. Its loader takes any path of a library as well, and commands to run.
    private static let modules: Set<Substring> = ["device", "swtpm", "mssim", "tabrmd"]

    /// Whether the transport is one of the known modules, by its bare name.
    var isKnown: Bool { Self.modules.contains(configuration.prefix { $0 != ":" }) }

    /// The kernel's resource-managed device.
    package static let kernelDevice = TPMTransport(configuration: "device:/dev/tpmrm0")
}

/// Whose storage root objects are made under.
package enum TPMHierarchy: Sendable {
    /// The machine's owner: objects last until the TPM is cleared.
    case owner
    /// Nobody: objects last until the machine starts anew.
    case untilRestart
}

/// A connection to one TPM 2.0, with the storage root loaded.
///
/// Calls block until the TPM answers (milliseconds on a software TPM, up to seconds on hardware), so this
/// class lives on a thread of its own behind `TPMKeyStore`.
///
/// Source: TCG TPM 2.0 Library parts 1 to 3; tpm2-tss ESYS API 3.2.
@safe package final class TPMConnection {
    let esys: OpaquePointer
    private let tcti: OpaquePointer
    private let root: ESYS_TR

    /// Connects and derives the storage root, which takes no room in the TPM's permanent memory.
    ///
    /// - Throws: `.unavailable` when there is no TPM behind the transport.
    package init(transport: TPMTransport, hierarchy: TPMHierarchy = .owner) throws(KeyStoreError) {
        guard transport.isKnown else { throw KeyStoreError(.unavailable, place: "transport") }
        // tpm2-tss writes every refused command to standard error unless it is told not to; each of them
        // becomes an error of ours. A person who set the variable keeps the log.
        unsafe setenv("TSS2_LOG", "all+none", 0)
        var tcti: OpaquePointer?
        guard unsafe Tss2_TctiLdr_Initialize(transport.configuration, &tcti) == TSS2_RC_SUCCESS, let tcti = unsafe tcti
        else {
            throw KeyStoreError(.unavailable, place: "tpm")
        }
        var esys: OpaquePointer?
        guard unsafe Esys_Initialize(&esys, tcti, nil) == TSS2_RC_SUCCESS, let esys = unsafe esys else {
            var closing: OpaquePointer? = unsafe tcti
            unsafe Tss2_TctiLdr_Finalize(&closing)
            throw KeyStoreError(.unavailable, place: "tpm")
        }
        do throws(KeyStoreError) {
            root = try unsafe Self.makeStorageRoot(esys, hierarchy)
        } catch {
            unsafe Self.close(esys, tcti)
            throw error
        }
        unsafe self.tcti = unsafe tcti
        unsafe self.esys = unsafe esys
    }

    deinit {
        unsafe Esys_FlushContext(esys, root)
        unsafe Self.close(esys, tcti)
    }

    private static func close(_ esys: OpaquePointer, _ tcti: OpaquePointer) {
        var esys: OpaquePointer? = unsafe esys
        unsafe Esys_Finalize(&esys)
        var tcti: OpaquePointer? = unsafe tcti
        unsafe Tss2_TctiLdr_Finalize(&tcti)
    }

    private static func makeStorageRoot(
        _ esys: OpaquePointer, _ hierarchy: TPMHierarchy
    ) throws(KeyStoreError) -> ESYS_TR {
        let owner = hierarchy == .owner ? ESYS_TR(ESYS_TR_RH_OWNER) : ESYS_TR(ESYS_TR_RH_NULL)
        var sensitive = TPM2B_SENSITIVE_CREATE()
        var template = TPMObjectKind.storageRoot.template
        var outside = TPM2B_DATA()
        var registers = TPML_PCR_SELECTION()
        var handle = ESYS_TR()
        try unsafe TPMFailure.check(
            Esys_CreatePrimary(
                esys, owner, ESYS_TR(ESYS_TR_PASSWORD), ESYS_TR(ESYS_TR_NONE), ESYS_TR(ESYS_TR_NONE),
                &sensitive, &template, &outside, &registers, &handle, nil, nil, nil, nil))
        return handle
    }

    /// The name of the storage root, which the library computes from its public area.
    private func rootName() throws(KeyStoreError) -> [UInt8] {
        var name: UnsafeMutablePointer<TPM2B_NAME>?
        defer { unsafe Esys_Free(name) }
        try unsafe TPMFailure.check(Esys_TR_GetName(esys, root, &name))
        guard let name = unsafe name,
            let bytes = unsafe TPMBuffer.bytes(
                of: name.pointee.name, size: name.pointee.size, paddedTo: TPMKeyBlob.rootNameByteCount)
        else { throw KeyStoreError(.failed, place: "tpm name") }
        return bytes
    }

    // MARK: Sessions and objects, flushed when their use ends

    /// Opens an HMAC session salted to the storage root, with parameters encrypted both ways.
    func withSession<Result>(_ body: (ESYS_TR) throws(KeyStoreError) -> Result) throws(KeyStoreError) -> Result {
        var symmetric = TPMSymmetric.aes128CFBSession
        var session = ESYS_TR()
        try unsafe TPMFailure.check(
            Esys_StartAuthSession(
                esys, root, ESYS_TR(ESYS_TR_NONE), ESYS_TR(ESYS_TR_NONE), ESYS_TR(ESYS_TR_NONE), ESYS_TR(ESYS_TR_NONE),
                nil,
                TPM2_SE(TPM2_SE_HMAC), &symmetric, TPMI_ALG_HASH(TPM2_ALG_SHA256), &session))
        defer { unsafe Esys_FlushContext(esys, session) }
        let attributes = TPMA_SESSION(TPMA_SESSION_DECRYPT | TPMA_SESSION_ENCRYPT | TPMA_SESSION_CONTINUESESSION)
        try unsafe TPMFailure.check(Esys_TRSess_SetAttributes(esys, session, attributes, 0xFF))
        return try body(session)
    }

    /// Makes a key inside the TPM; only its wrapped form leaves it.
    ///
    /// - Parameter authorization: what the TPM will ask for at each use, at most 32 bytes; empty for none.
    package func createKey(
        _ kind: TPMKeyKind, authorization: borrowing SecretBytes
    ) throws(KeyStoreError) -> TPMKeyBlob {
        try unsafe create(kind == .signing ? .signing : .keyAgreement, authorization: authorization, data: nil)
    }

    /// Seals at most 128 bytes, which this TPM alone gives back, and only with `authorization`.
    package func seal(
        _ secret: borrowing SecretBytes, authorization: borrowing SecretBytes
    ) throws(KeyStoreError) -> TPMKeyBlob {
        try seal(secret, as: .sealedData, authorization: authorization)
    }

    /// Seals at most 128 bytes for every program that may use this TPM, also while it takes no PIN.
    func sealOpen(_ secret: borrowing SecretBytes) throws(KeyStoreError) -> TPMKeyBlob {
        let nothing = unsafe SecretBytes(byteCount: 0) { _ in }
        return try seal(secret, as: .openData, authorization: nothing)
    }

    private func seal(
        _ secret: borrowing SecretBytes, as kind: TPMObjectKind, authorization: borrowing SecretBytes
    ) throws(KeyStoreError) -> TPMKeyBlob {
        precondition(secret.byteCount <= 128, "a TPM seals at most 128 bytes")
        let authorization = authorization.duplicate()
        // EXPOSE: into the command's parameter, which travels encrypted.
        return try unsafe secret.withUnsafeBytes { bytes throws(KeyStoreError) in
            try unsafe create(kind, authorization: authorization, data: bytes)
        }
    }

    private func create(
        _ kind: TPMObjectKind, authorization: borrowing SecretBytes, data: UnsafeRawBufferPointer?
    ) throws(KeyStoreError) -> TPMKeyBlob {
        var sensitive = TPM2B_SENSITIVE_CREATE()
        defer { TPMBuffer.zero(&sensitive) }
        // EXPOSE: into the command's parameter, which travels encrypted and is zeroed above.
        unsafe authorization.withUnsafeBytes { bytes in
            unsafe TPMBuffer.fill(&sensitive.sensitive.userAuth.buffer, &sensitive.sensitive.userAuth.size, from: bytes)
        }
        if let data = unsafe data {
            unsafe TPMBuffer.fill(&sensitive.sensitive.data.buffer, &sensitive.sensitive.data.size, from: data)
        }
        return try withSession { session throws(KeyStoreError) in
            var template = kind.template
            var outside = TPM2B_DATA()
            var registers = TPML_PCR_SELECTION()
            var privatePart: UnsafeMutablePointer<TPM2B_PRIVATE>?
            var publicPart: UnsafeMutablePointer<TPM2B_PUBLIC>?
            defer {
                unsafe Esys_Free(privatePart)
                unsafe Esys_Free(publicPart)
            }
            try unsafe TPMFailure.check(
                Esys_Create(
                    esys, root, session, ESYS_TR(ESYS_TR_NONE), ESYS_TR(ESYS_TR_NONE), &sensitive, &template, &outside,
                    &registers, &privatePart, &publicPart, nil, nil, nil))
            guard let privatePart = unsafe privatePart, let publicPart = unsafe publicPart else {
                throw KeyStoreError(.failed, place: "tpm create")
            }
            return try unsafe TPMKeyBlob(
                rootName: rootName(), publicPart: publicPart.pointee, privatePart: privatePart.pointee)
        }
    }

    /// Loads a wrapped object for the duration of `body`.
    ///
    /// - Throws: `.keyUnusable` when another TPM made it, or this one was cleared since.
    func withObject<Result>(
        _ blob: TPMKeyBlob, authorization: borrowing SecretBytes,
        _ body: (_ object: ESYS_TR, _ session: ESYS_TR) throws(KeyStoreError) -> Result
    ) throws(KeyStoreError) -> Result {
        var parts = try blob.decoded()
        // An attacker on the bus can put a key of its own in the root's place, and would read what sessions hide.
        guard try rootName() == parts.rootName else { throw KeyStoreError(.keyUnusable) }
        var object = ESYS_TR()
        let loaded = unsafe Esys_Load(
            esys, root, ESYS_TR(ESYS_TR_PASSWORD), ESYS_TR(ESYS_TR_NONE), ESYS_TR(ESYS_TR_NONE), &parts.privatePart,
            &parts.publicPart, &object)
        guard loaded == TSS2_RC_SUCCESS else { throw TPMFailure.whileLoading(loaded) }
        defer { unsafe Esys_FlushContext(esys, object) }
        var value = TPM2B_AUTH()
        defer { TPMBuffer.zero(&value) }
        // EXPOSE: into ESYS, which keeps it with the object's handle until the handle is flushed.
        unsafe authorization.withUnsafeBytes { bytes in
            unsafe TPMBuffer.fill(&value.buffer, &value.size, from: bytes)
        }
        try unsafe TPMFailure.check(Esys_TR_SetAuth(esys, object, &value))
        return try withSession { session throws(KeyStoreError) in
            do throws(KeyStoreError) {
                return try body(object, session)
            } catch {
                guard error.code == .lockedOut else { throw error }
                throw KeyStoreError(.lockedOut, waitSeconds: try? lockout().waitSeconds)
            }
        }
    }

    /// One numeric property of the TPM (TPM 2.0 Part 2, section 6.13).
    func property(_ property: UInt32) throws(KeyStoreError) -> UInt32 {
        var more = TPMI_YES_NO()
        var data: UnsafeMutablePointer<TPMS_CAPABILITY_DATA>?
        defer { unsafe Esys_Free(data) }
        try unsafe TPMFailure.check(
            Esys_GetCapability(
                esys, ESYS_TR(ESYS_TR_NONE), ESYS_TR(ESYS_TR_NONE), ESYS_TR(ESYS_TR_NONE),
                TPM2_CAP(TPM2_CAP_TPM_PROPERTIES), property, 1, &more, &data))
        guard let data = unsafe data else { throw KeyStoreError(.failed, place: "tpm property") }
        let list = unsafe data.pointee.data.tpmProperties
        guard list.count == 1, list.tpmProperty.0.property == property else {
            throw KeyStoreError(.failed, place: "tpm property")
        }
        return list.tpmProperty.0.value
    }

    /// How many wrong PINs the TPM still takes, and how long it makes people wait.
    ///
    /// The counter is shared by all keys of the TPM, and a right PIN does not reset it; it falls by one
    /// in each recovery interval.
    package func lockout() throws(KeyStoreError) -> TPMLockout {
        let failed = try property(TPMProperty.lockoutCounter)
        let limit = try property(TPMProperty.failedCountMax)
        let interval = try property(TPMProperty.lockoutInterval)
        let permanent = try property(TPMProperty.permanent)
        return TPMLockout(
            failedCount: failed, failedCountMax: limit, intervalSeconds: interval,
            isLockoutPasswordSet: permanent & UInt32(TPMA_PERMANENT_LOCKOUTAUTHSET) != 0)
    }

    /// Tells the TPM that it will be stopped in good order; without it a restart may count one failed attempt.
    package func shutDown() throws(KeyStoreError) {
        try unsafe TPMFailure.check(
            Esys_Shutdown(
                esys, ESYS_TR(ESYS_TR_NONE), ESYS_TR(ESYS_TR_NONE), ESYS_TR(ESYS_TR_NONE), TPM2_SU(TPM2_SU_CLEAR)))
    }
}

/// Variable properties (TPM 2.0 Part 2, table 23: PT_VAR = 0x200 plus a number); the header adds them up
/// in a way that Swift does not see.
enum TPMProperty {
    static let permanent: UInt32 = 0x200
    static let lockoutCounter: UInt32 = 0x20E
    static let failedCountMax: UInt32 = 0x20F
    static let lockoutInterval: UInt32 = 0x210
}

/// The state of a TPM's defence against guessing.
package struct TPMLockout: Equatable, Sendable {
    package let failedCount: UInt32
    package let failedCountMax: UInt32
    /// After this many seconds the count falls by one.
    package let intervalSeconds: UInt32
    /// False: every program that can talk to the TPM can reset the counter. `coffret doctor` says so.
    package let isLockoutPasswordSet: Bool

    package var attemptsLeft: UInt32 { failedCountMax > failedCount ? failedCountMax - failedCount : 0 }
    package var isLockedOut: Bool { attemptsLeft == 0 }
    package var waitSeconds: UInt32 { isLockedOut ? intervalSeconds : 0 }
}
