// A counter in the TPM's permanent memory that only goes up: what remembers a store's generation when every
// file of the machine is put back.

internal import CTPM2
package import CoffretKeys

/// A monotonic counter of 64 bits in the TPM, at an index chosen by the caller.
extension TPMConnection {
    /// The range of indices that the TCG leaves to the owner of the machine (Registry of reserved handles).
    package static let counterIndices: ClosedRange<UInt32> = 0x0180_0000...0x01BF_FFFF

    /// The counter's value, or nil when there is no counter at this index.
    ///
    /// - Parameter authorization: the counter's own password, so that another program does not raise it by mistake.
    package func counterValue(at index: UInt32, authorization: [UInt8]) throws(KeyStoreError) -> UInt64? {
        guard let handle = try counterHandle(at: index, authorization: authorization) else { return nil }
        return try readCounter(handle)
    }

    /// Makes the counter if it is missing, adds one, and returns the new value.
    ///
    /// A new counter starts above every counter that this TPM ever held (TPM 2.0 Part 1, section 37.2.4),
    /// so removing and remaking it does not turn it back.
    package func incrementCounter(at index: UInt32, authorization: [UInt8]) throws(KeyStoreError) -> UInt64 {
        let existing = try counterHandle(at: index, authorization: authorization)
        let handle: ESYS_TR
        if let existing {
            handle = existing
        } else {
            handle = try defineCounter(at: index, authorization: authorization)
        }
        try unsafe TPMFailure.check(
            Esys_NV_Increment(
                esys, handle, handle, ESYS_TR(ESYS_TR_PASSWORD), ESYS_TR(ESYS_TR_NONE), ESYS_TR(ESYS_TR_NONE)))
        return try readCounter(handle)
    }

    private func counterHandle(at index: UInt32, authorization: [UInt8]) throws(KeyStoreError) -> ESYS_TR? {
        precondition(Self.counterIndices.contains(index), "the index belongs to somebody else")
        var handle = ESYS_TR()
        let found = unsafe Esys_TR_FromTPMPublic(
            esys, index, ESYS_TR(ESYS_TR_NONE), ESYS_TR(ESYS_TR_NONE), ESYS_TR(ESYS_TR_NONE), &handle)
        // A handle that does not exist is a format-one error about a handle (0x08B).
        if found & 0xBF == 0x08B { return nil }
        try TPMFailure.check(found)
        try setAuthorization(authorization, of: handle)
        return handle
    }

    private func defineCounter(at index: UInt32, authorization: [UInt8]) throws(KeyStoreError) -> ESYS_TR {
        var value = TPM2B_AUTH()
        unsafe authorization.withUnsafeBytes { bytes in
            unsafe TPMBuffer.fill(&value.buffer, &value.size, from: bytes)
        }
        var area = TPM2B_NV_PUBLIC()
        area.nvPublic.nvIndex = index
        area.nvPublic.nameAlg = TPM2_ALG_ID(TPM2_ALG_SHA256)
        area.nvPublic.dataSize = 8
        let kind = TPMA_NV(TPM2_NT_COUNTER) << TPMA_NV(TPMA_NV_TPM2_NT_SHIFT)
        area.nvPublic.attributes =
            kind | TPMA_NV(TPMA_NV_AUTHWRITE) | TPMA_NV(TPMA_NV_AUTHREAD) | TPMA_NV(TPMA_NV_NO_DA)
        var handle = ESYS_TR()
        try unsafe TPMFailure.check(
            Esys_NV_DefineSpace(
                esys, ESYS_TR(ESYS_TR_RH_OWNER), ESYS_TR(ESYS_TR_PASSWORD), ESYS_TR(ESYS_TR_NONE),
                ESYS_TR(ESYS_TR_NONE),
                &value, &area, &handle))
        try setAuthorization(authorization, of: handle)
        return handle
    }

    private func setAuthorization(_ authorization: [UInt8], of handle: ESYS_TR) throws(KeyStoreError) {
        var value = TPM2B_AUTH()
        unsafe authorization.withUnsafeBytes { bytes in
            unsafe TPMBuffer.fill(&value.buffer, &value.size, from: bytes)
        }
        try unsafe TPMFailure.check(Esys_TR_SetAuth(esys, handle, &value))
    }

    private func readCounter(_ handle: ESYS_TR) throws(KeyStoreError) -> UInt64 {
        var data: UnsafeMutablePointer<TPM2B_MAX_NV_BUFFER>?
        defer { unsafe Esys_Free(data) }
        try unsafe TPMFailure.check(
            Esys_NV_Read(
                esys, handle, handle, ESYS_TR(ESYS_TR_PASSWORD), ESYS_TR(ESYS_TR_NONE), ESYS_TR(ESYS_TR_NONE), 8, 0,
                &data))
        guard let data = unsafe data else { throw KeyStoreError(.failed, place: "tpm counter") }
        let size = unsafe data.pointee.size
        guard size == 8, let bytes = unsafe TPMBuffer.bytes(of: data.pointee.buffer, size: size, paddedTo: 8) else {
            throw KeyStoreError(.failed, place: "tpm counter")
        }
        return bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
