// The agent's executable: hands the desktop's events and this machine's keepers of records to the agent, and ends
// with its exit code.

internal import CoffretAgent
internal import CoffretBase
internal import CoffretClient
internal import CoffretDesktop
internal import CoffretKeyStores
internal import CoffretKeys
internal import Glibc

@main
struct Main {
    static func main() {
        KeyStoreProviders.install(SystemKeyStores())
        let code = AgentProgram.run(
            ProgramArguments.words,
            makeSources: {
                // Without a system bus there is nobody to say that the screen is locked.
                LogindWatch(userID: geteuid()).map { [$0] } ?? []
            }, notify: DesktopNotification.tell, makeRecords: records)
        exit(code)
    }

    /// Behind a TPM's counter, in the desktop's keyring, or nil.
    ///
    /// - Parameter chosen: another TPM than the machine's, or "off".
    private static func records(folder: String, tpm chosen: String?) -> (any ProtectedRecords)? {
        let (fileSystem, random) = (PosixFileSystem(), SystemRandomSource())
        if chosen != "off" {
            let transport = chosen.map { TPMTransport(configuration: $0) } ?? .kernelDevice
            let records = TPMRecords(transport: transport, folder: folder, fileSystem: fileSystem, random: random)
            // A person who chose a TPM does not want another home if it is gone.
            if chosen != nil { return records }
            let isUsable = unsafe access("/dev/tpmrm0", R_OK | W_OK) == 0
            if isUsable, records.isAvailable() { return records }
        }
        // A keyring that lies in a store is closed when the agent needs its records, and asking for it would start another one.
        guard !SecretServiceGrant.isOn(stateDirectory: PathText.parent(of: folder)) else { return nil }
        let keyring = SecretServiceRecords(
            folder: folder,
            machineSecret: MachineSecretFile(
                stateDirectory: PathText.parent(of: folder), fileSystem: fileSystem, random: random),
            fileSystem: fileSystem, random: random)
        return keyring.isAvailable() ? keyring : nil
    }
}
