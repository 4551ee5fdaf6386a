// The tasks about unlocking and about several devices. The one thing to keep true: as in the other file,
// every command line shown here parses.

internal import CoffretMessages

extension HelpTasks {
    static let unlocking: [HelpTask] = [
        HelpTask(
            name: "stay-unlocked", title: "type the passphrase only once",
            keywords: ["unlock", "agent", "lock", "idle", "session", "often", "asks", "again"],
            steps: [
                .text(
                    "The first passphrase that you type keeps the store unlocked: an agent holds its key and runs your commands. It locks ten minutes after the last command, twelve hours after unlocking at the latest, with the screen, and before sleep. A passphrase out of a file opens the store for one command."
                ),
                .command("coffret status", "Says whether it is unlocked, and until when."),
                .command("coffret lock", "Locks now, and forgets everything."),
                .command("coffret unlock --for 15m", "Unlocks for a quarter of an hour, used or not."),
                .command("coffret agent settings --idle 5m", "Locks earlier."),
                .command(
                    "coffret agent settings --opens asked", "Only coffret unlock keeps the store unlocked from then on."
                ),
            ]),
        HelpTask(
            name: "unlock-by-pin", title: "unlock with a PIN or a fingerprint",
            keywords: ["pin", "tpm", "fingerprint", "presence", "keyring", "biometry", "hello", "short"],
            steps: [
                .text(
                    "A PIN belongs to this computer: it is of use only together with its TPM, or with the desktop's keyring. Docs/unlocking.md says what each is worth."
                ),
                .command("coffret key add", "Asks for the passphrase and sets a PIN."),
                .command("coffret unlock --pin", "From now on."),
                .command(
                    "coffret key add --presence",
                    "Asks in addition whether you are there, by fingerprint or as PAM is set up for."),
                .command("coffret key ls", "What opens the store here, and how many tries are left."),
                .command("coffret key remove default", "Takes the PIN away. The passphrase stays."),
            ]),
    ]

    static let devices: [HelpTask] = [
        HelpTask(
            name: "several-devices", title: "use the same vault on several devices",
            keywords: ["device", "devices", "sync", "server", "pair", "phone", "laptop", "second", "join"],
            steps: [
                .text(
                    "Devices meet at a server, yours or somebody else's; it cannot read anything. Docs/server.md says how to run one."
                ),
                .command("coffret server join https://vault.example.org", "Once, on the first device."),
                .command("coffret vault sync Personal", "Puts a vault there, for all your devices."),
                .command(
                    "coffret device pair https://vault.example.org",
                    "On a new device. It shows a number and then a code, for the device that is in."),
                .command(
                    "coffret device approve 12345678123456781234567812345678",
                    "On a device that is in: with the number that the new one shows."),
                .command(
                    "coffret sync",
                    "Now. While the agent has the store unlocked, syncing goes by itself: coffret help stay-unlocked."),
                .command(
                    "coffret conflicts ls",
                    "What two devices changed differently; coffret conflicts resolve settles it."),
            ]),
        HelpTask(
            name: "secret-elsewhere", title: "use one secret on another machine",
            keywords: ["ask", "remote", "foreign", "library", "qr", "one-time", "borrowed", "lend"],
            steps: [
                .text("The device that has it confirms. The server in between sees nothing."),
                .command("coffret ask GitHub --from tower", "On a device of yours that does not have it."),
                .text("On a machine that is not yours, open the page and show its code:"),
                .command("coffret ask-page", "Writes the page: coffret ask-page > ask.html, to be carried there."),
                .command(
                    "coffret answer COFFRET-ASK:1:M5QXEZDFNY GitHub code",
                    "On your device, with the code that the page shows. Send a one-time code rather than a password."),
            ]),
        HelpTask(
            name: "older-server", title: "what to do when the server shows an older or another state",
            keywords: ["rollback", "rolled", "older", "server", "restored", "fork", "explain", "attack"],
            steps: [
                .text(
                    "This device remembers what the server has shown it. Now the server shows less. Nothing was changed here, and your data is complete on this device; only your devices do not hear of each other until this is settled."
                ),
                .text(
                    "Ask whoever runs the server, by phone or in person, whether a backup was restored, and of which time. The time is that of the state that is shown now."
                ),
                .command("coffret sync --server-was-restored", "if it was: sends the server what it lost"),
                .text(
                    "If nobody restored anything, the server is broken, or somebody is holding back what your devices write. Do not add devices, and do not use --server-was-restored. Compare the head codes, and keep a copy:"
                ),
                .command("coffret status", "on each of your devices: the head code must be the same"),
                .command("coffret backup create coffret-backup", "keeps what this device has"),
                .command("coffret device ls", "shows a device that you do not know, if there is one"),
            ]),
        HelpTask(
            name: "lost-device", title: "throw out a lost device, or come back after losing all",
            keywords: ["lost", "stolen", "revoke", "device", "paper", "recover", "broken", "phone", "laptop"],
            steps: [
                .command("coffret device ls", "Your devices."),
                .command(
                    "coffret device revoke phone",
                    "What is written from now on it cannot read, and nothing it writes counts. What it has already, it keeps."
                ),
                .command(
                    "coffret device rescue", "Shows what it wrote too late; nothing of it comes in unless you take it."),
                .command(
                    "coffret device renew",
                    "When you put an old copy of the store back from a backup of the disk: coffret sync then brings what is newer."
                ),
                .command(
                    "coffret recovery add --paper",
                    "Before it happens: a sheet of paper that is one of your devices."),
                .command(
                    "coffret device recover https://vault.example.org",
                    "With the sheet alone: makes a bare machine one of your devices, with all synced vaults."),
            ]),
    ]
}
