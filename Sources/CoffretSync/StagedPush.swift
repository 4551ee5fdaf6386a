// Blobs that are put down at a server while its head stays. The one thing to keep true: they are there or the push is
// refused; nothing here moves a head.

internal import CoffretBase
package import CoffretStorage
internal import CoffretWire

/// Puts blobs of a vault into its zone, beside the head that is there.
struct StagedPush {
    static let partByteCountMax = 4 << 20

    let repository: VaultRepository
    let transport: any SyncTransport

    /// - Parameter goesOn: asked before each part, with what was put down by then.
    /// - Returns: false if the head is another one, or it was not to go on.
    func put(
        _ names: [BlobName], at head: BlobAddress,
        goesOn: (_ doneCount: Int, _ doneByteCount: Int) -> Bool = { _, _ in true }
    ) throws(SyncError) -> Bool {
        var rest = names[...]
        var byteCount = 0
        while !rest.isEmpty {
            guard goesOn(names.count - rest.count, byteCount) else { return false }
            var objects: [ZoneObject] = []
            var partByteCount = 0
            while let name = rest.first, objects.isEmpty || partByteCount < Self.partByteCountMax,
                objects.count < ServerLimits.pushObjectCountMax
            {
                let blob = try sealed(name)
                objects.append(ZoneObject(address: blob.address.bytes, ciphertext: blob.bytes))
                partByteCount += blob.bytes.count
                rest.removeFirst()
            }
            byteCount += partByteCount
            let push = ZonePush(
                expectedHead: head.bytes, newHead: head.bytes, epoch: repository.currentEpoch, objects: objects)
            switch transport.send(.push(push), frame: { _ in }) {
            case .pushed: continue
            case .headMoved: return false
            case .refused(let code): throw SyncError(refusal: code)
            default: throw SyncError(.unreachable)
            }
        }
        return true
    }

    private func sealed(_ name: BlobName) throws(SyncError) -> SealedBlob {
        do throws(StorageError) { return try repository.sealedBlob(name) } catch {
            throw SyncError(.vaultFailed, at: error.code.rawValue, cause: error)
        }
    }
}

/// Puts the present of a vault where a device that was just let in finds it, ahead of a history that is much larger.
package struct PresentOffer {
    private let push: StagedPush
    private let policy: PresentPolicy

    package init(
        repository: VaultRepository, transport: any SyncTransport, policy: PresentPolicy = PresentPolicy()
    ) {
        push = StagedPush(repository: repository, transport: transport)
        self.policy = policy
    }

    /// - Parameters:
    ///   - head: what the server showed last, which it has to show still.
    ///   - goesOn: asked again and again, with how much of how many bytes is there.
    /// - Returns: what the new device is to be told; nil where its first sync takes the whole history.
    package func make(
        at head: BlobName, goesOn: (_ doneByteCount: Int, _ byteCount: Int) -> Bool = { _, _ in true }
    ) throws -> PresentMark? {
        guard let contents = try push.repository.presentContents(of: head, policy), goesOn(0, contents.byteCount) else {
            return nil
        }
        guard case .head(let zone) = push.transport.send(.head, frame: { _ in }), let bytes = zone.address,
            let address = BlobAddress(bytes: bytes), try push.repository.addresses(of: head).contains(address)
        else { return nil }
        let isThere = try push.put(contents.names, at: address) { _, done in goesOn(done, contents.byteCount) }
        return isThere ? contents.mark : nil
    }
}
