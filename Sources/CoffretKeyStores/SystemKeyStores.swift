// The key stores of this machine: its TPM, the keyring of the desktop session, PAM.

internal import CoffretBase
package import CoffretKeys
internal import Glibc

/// The key stores that `coffret-agent` installs.
package struct SystemKeyStores: KeyStoreProvider {
    package init() {}

    package func keyStore(_ kind: SlotKind, _ surroundings: KeyStoreSurroundings) -> (any KeyStore)? {
        switch kind {
        case .tpm:
            TPMKeyStore(
                transport: transport(surroundings), machineSecret: surroundings.machineSecret,
                random: surroundings.random)
        case .secretService:
            SecretServiceKeyStore(machineSecret: surroundings.machineSecret, random: surroundings.random)
        default: nil
        }
    }

    package func availableKinds(_ surroundings: KeyStoreSurroundings) -> [SlotKind] {
        var kinds: [SlotKind] = []
        if tpmRecords("", surroundings).isAvailable() { kinds.append(.tpm) }
        if keyringRecords("", surroundings).isAvailable() { kinds.append(.secretService) }
        return kinds
    }

    package func idleWrapping(_ surroundings: KeyStoreSurroundings) -> (any IdleWrapping)? {
        // Without a choice the kernel's device is meant, if there is one for this person.
        if surroundings.tpm == nil, unsafe access("/dev/tpmrm0", R_OK | W_OK) != 0 { return nil }
        return surroundings.tpm == "off" ? nil : TPMIdleWrapping(transport: transport(surroundings))
    }

    package func presence(_ conversation: (any PresenceConversation)?) -> (any UserPresence)? {
        PAMPresence(conversation: conversation)
    }

    private func transport(_ surroundings: KeyStoreSurroundings) -> TPMTransport {
        surroundings.tpm.map { TPMTransport(configuration: $0) } ?? .kernelDevice
    }

    private func tpmRecords(_ folder: String, _ surroundings: KeyStoreSurroundings) -> TPMRecords {
        TPMRecords(
            transport: transport(surroundings), folder: folder, fileSystem: surroundings.fileSystem,
            random: surroundings.random)
    }

    private func keyringRecords(_ folder: String, _ surroundings: KeyStoreSurroundings) -> SecretServiceRecords {
        SecretServiceRecords(
            folder: folder, machineSecret: surroundings.machineSecret, fileSystem: surroundings.fileSystem,
            random: surroundings.random)
    }
}
