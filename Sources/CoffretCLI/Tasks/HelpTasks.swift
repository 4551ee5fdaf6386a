// The tasks that `coffret help` explains.

internal import CoffretCore
internal import CoffretMessages
internal import CoffretTerminal

enum HelpTasks {
    /// In the order in which `coffret help` lists them.
    static let all = everyDay + unlocking + devices

    private static let everyDay: [HelpTask] = [
        HelpTask(
            name: "begin", title: "begin with a new vault", keywords: ["start", "first", "init", "setup", "new"],
            steps: [
                .text("A store holds your vaults, encrypted, in ~/.local/share/coffret. One passphrase opens it."),
                .command(
                    "coffret init",
                    "Makes the store with a vault named Personal. Say yes to the recovery key: it is the only way back if you forget the passphrase."
                ),
                .command("coffret new", "Opens your editor for a first note."),
                .command("coffret import ~/Notes", "Or brings in what you already have."),
                .command("coffret", "Shows what you did last."),
            ]),
        HelpTask(
            name: "move-in", title: "move in a folder of notes",
            keywords: ["import", "markdown", "obsidian", "bring", "notes", "folder", "migrate"],
            steps: [
                .text(
                    "A folder of Markdown files becomes notes: subfolders become nested tags, front matter is read, images and other files that notes refer to become attachments, and links between files become links between notes. The folder itself is not changed."
                ),
                .command("coffret import ~/Notes --dry-run", "Says what would come in, and changes nothing."),
                .command(
                    "coffret import ~/Notes", "Brings everything in, as one step: if it fails, nothing was changed."),
                .command("coffret import ~/Notes", "A second time brings in only what is new or has changed."),
                .command("coffret ls --tag travel", "Shows the notes of the folder \"travel\"."),
            ]),
        HelpTask(
            name: "move-out", title: "leave with everything",
            keywords: ["export", "leave", "quit", "markdown", "json", "plain", "copy", "out"],
            steps: [
                .text(
                    "What is exported is not encrypted any more. Put it only where you would put the notes themselves."),
                .command(
                    "coffret export ~/notes-out",
                    "Writes Markdown files and attachments, tags as folders and front matter."),
                .command(
                    "coffret export --format json everything.json",
                    "Writes one file with everything: every item, attachment and earlier version. coffret import takes it back."
                ),
            ]),
        HelpTask(
            name: "exchange", title: "send sealed data to an iPhone or a Themis app",
            keywords: ["iphone", "apple", "ecies", "themis", "enclave", "seal", "send", "sign"],
            steps: [
                .text("The other side's public key is enough to seal for it. No vault is needed for any of this."),
                .command("coffret ecies seal -k phone.pub -i letter.txt -o letter.sealed", "Only the phone opens it."),
                .command("coffret ecies keygen -o own.pem --public own.pub", "Makes a key pair, to be sent things."),
                .command("coffret ecies open -k own.pem -i answer.sealed", "Opens what came for it."),
                .command("coffret themis open -k cell.key -i note.cell", "Opens a cell of a Themis app."),
            ]),
        HelpTask(
            name: "write", title: "write and change notes",
            keywords: ["note", "new", "edit", "editor", "markdown", "create", "change"],
            steps: [
                .text(
                    "Notes are Markdown. The first line is the title. The text is edited in memory and never lies on disk in clear."
                ),
                .command("coffret new -t garden", "Opens $EDITOR for a new note with the tag \"garden\"."),
                .command("echo 'Buy copper wire' | coffret new", "Takes the text from a pipe."),
                .command(
                    "coffret edit tomatoes", "Changes the note whose title begins with \"tomatoes\"; its id works too."),
                .command("coffret pin tomatoes", "Keeps it at the top."),
                .command("coffret rm tomatoes", "Moves it to the trash; coffret restore brings it back."),
            ]),
        HelpTask(
            name: "find", title: "find something",
            keywords: ["search", "query", "look", "filter", "words", "list"],
            steps: [
                .command("coffret search 'tomato blight'", "Notes with both words, best first."),
                .command("coffret search '\"copper spray\" tag:garden'", "A phrase, in notes with a tag."),
                .command("coffret search 'tom* in:title'", "Beginnings of words, in titles only."),
                .command(
                    "coffret search 'type:login bank'",
                    "Only logins. Types: \(ItemKind.namesText)."),
                .command("coffret ls --tag garden --limit 20", "Lists without searching, latest first."),
            ]),
        HelpTask(
            name: "sort", title: "sort with tags and links",
            keywords: ["tag", "tags", "link", "links", "backlinks", "folder", "organise", "organize"],
            steps: [
                .text(
                    "Tags are nested with slashes: garden/beds lies in garden. A link to another note is written [[Title]]."
                ),
                .command("coffret tag ls", "All tags and how many items have them."),
                .command("coffret tag add tomatoes garden/beds", "Gives an item a tag."),
                .command("coffret tag rename garden yard", "Renames a tag and everything below it, everywhere."),
                .command("coffret link tomatoes", "What a note links to, and what links to it."),
                .command("coffret link tomatoes 'Copper spray'", "Adds a link from one to the other."),
            ]),
        HelpTask(
            name: "logins", title: "keep logins and passwords",
            keywords: ["login", "password", "secret", "card", "identity", "totp", "otp", "two-factor", "2fa"],
            steps: [
                .command(
                    "coffret new --type login GitHub --set username=ada --generate password",
                    "Makes a login with a strong password."),
                .command("coffret edit GitHub --secret password", "Asks for a new password, without showing it."),
                .command("coffret copy GitHub", "Copies the password, and clears the clipboard after 45 seconds."),
                .command("coffret otp GitHub", "The current one-time code. Add its key with --secret totp."),
                .command("coffret generate --words 5", "A passphrase to remember."),
            ]),
        HelpTask(
            name: "go-back", title: "go back in time",
            keywords: ["history", "version", "earlier", "undo", "restore", "past", "time", "diff", "old"],
            steps: [
                .text(
                    "Every change is kept until you compact. Moments are written yesterday, '3 May', '3 May 14:00', 2026-05-03, or '2 weeks ago'."
                ),
                .command("coffret history tomatoes", "Every version of an item."),
                .command("coffret show tomatoes --at '3 May'", "The item as it was."),
                .command("coffret diff tomatoes yesterday", "What changed since then."),
                .command(
                    "coffret restore tomatoes --at yesterday", "Makes that version the present one; the others stay."),
                .command("coffret ls --at '2 weeks ago'", "The whole vault as it was."),
            ]),
        HelpTask(
            name: "lost-passphrase", title: "get in without the passphrase",
            keywords: ["lost", "forgot", "forgotten", "passphrase", "password", "locked", "recover"],
            steps: [
                .text(
                    "A recovery key opens the store in place of the passphrase. Without one of them nobody can open it, and no service can help: that is what the encryption is for."
                ),
                .command("coffret passphrase --recovery", "Asks for the recovery key and sets a new passphrase."),
                .text(
                    "If the store itself is gone as well, a backup and either the passphrase or the recovery key bring it back: coffret help back-up."
                ),
            ]),
        HelpTask(
            name: "recovery-keys", title: "keep a way back in",
            keywords: ["recovery", "key", "paper", "print", "qr", "revoke"],
            steps: [
                .command(
                    "coffret recovery add --name 'paper in the safe'",
                    "Shows a recovery key as text and QR code, and asks for part of it to make sure that you have it."),
                .command("coffret recovery ls", "Which keys there are, and when they were made."),
                .command("coffret recovery test", "Asks for a recovery key and says whether it still opens the store."),
                .command(
                    "coffret recovery revoke 'paper in the safe'",
                    "Makes a key useless for this store from now on. Earlier backups can still be opened with it."),
            ]),
        HelpTask(
            name: "change-passphrase", title: "change the passphrase",
            keywords: ["passphrase", "password", "change", "rekey", "new"],
            steps: [
                .command(
                    "coffret passphrase",
                    "Asks for the old one and twice for the new one. Takes a second, however large the store: keys are wrapped anew, data is not rewritten."
                ),
                .text("Backups made before still open with the passphrase of that time."),
            ]),
        HelpTask(
            name: "files", title: "attach files",
            keywords: ["attach", "attachment", "file", "image", "pdf", "photo", "large"],
            steps: [
                .command("coffret attach add tomatoes photo.jpg", "Encrypts a file, of any size, into the vault."),
                .command("coffret attach ls tomatoes", "What is attached."),
                .command(
                    "coffret attach extract tomatoes photo.jpg",
                    "Writes it out again; it appears only when it is complete and verified."),
            ]),
        HelpTask(
            name: "back-up", title: "back up and restore",
            keywords: ["backup", "copy", "disk", "restore", "move", "machine", "computer", "new"],
            steps: [
                .text(
                    "Backups lie in a folder of their own, encrypted as the store is; they open with the same passphrase or recovery key. Each holds everything and writes what changed since the one before."
                ),
                .command("coffret backup create /media/usb/backups", "Adds a backup to the folder."),
                .command(
                    "coffret backup verify /media/usb/backups", "Says whether the backups are whole."),
                .command(
                    "coffret backup restore /media/usb/backups",
                    "On a bare machine: makes the store again. This machine becomes a new device."),
            ]),
        HelpTask(
            name: "scripts", title: "use coffret in scripts",
            keywords: ["script", "automation", "json", "cron", "pipe", "shell"],
            steps: [
                .text(
                    "Secrets never stand in arguments, where every process can read them. The passphrase comes from a file that only you can read, or from an open descriptor."
                ),
                .command(
                    "COFFRET_PASSPHRASE_FILE=~/.secret coffret ls --json",
                    "Reads the passphrase from a file of mode 0600."),
                .command(
                    "coffret read coffret://Personal/GitHub/password --passphrase-fd 3",
                    "Reads the passphrase from descriptor 3; prints one value and nothing else: coffret help references."
                ),
                .command(
                    "coffret run --env TOKEN=coffret://Personal/GitHub/token -- ./release",
                    "Runs a command with a secret in its environment, and masks it in the output."),
                .command(
                    "coffret inject -i app.conf.tpl -o app.conf",
                    "Fills the references in a template; the file is for you only."),
                .text(
                    "--json answers with one JSON value per line. Dangerous commands need --yes. Every kind of failure has an exit code of its own: coffret help exit-codes. An ambiguous name is always an error, never a guess; ids are stable."
                ),
            ]),
        HelpTask(
            name: "lock-notes", title: "lock a note with a passphrase of its own",
            keywords: ["lock", "locked", "unlock", "hide", "hidden", "diary", "bear", "private", "note"],
            steps: [
                .text(
                    "A locked note is encrypted once more: opening the vault does not open it. Title and tags stay visible unless you say --hide-title; the text is in no search."
                ),
                .command("coffret note lock diary", "Asks for the passphrase, and encrypts text and attachments."),
                .command("coffret show diary", "Asks for it again, each time. So does coffret edit."),
                .command(
                    "coffret note unlock diary",
                    "Asks once; the agent keeps the note open until the store locks, or coffret note lock diary closes it."
                ),
                .command(
                    "coffret note lock diary --purge-history",
                    "Also removes the earlier versions, which the history still shows; says first what else goes with them."
                ),
                .command("coffret note relock --all", "Changes the passphrase of all locked notes."),
                .command(
                    "coffret note unlock diary --for-good", "Takes the lock off: the note is like any other again."),
                .text(
                    "There is no way back without the passphrase: the recovery key opens the vault, not its locked notes. coffret note lock --new --hint TEXT keeps a hint."
                ),
                .command(
                    "coffret note hide diary",
                    "Merely asks whether you are there before showing it. That is no encryption."),
            ]),
        HelpTask(
            name: "references", title: "name a secret in a script",
            keywords: ["reference", "uri", "url", "environment", "template", "variable", "inject", "env"],
            steps: [
                .text(
                    "A reference names one value: coffret://VAULT/ITEM/FIELD. It is no secret itself. A part with a slash in it is written with %2F; other characters may be escaped so too."
                ),
                .command("coffret read coffret://Personal/GitHub/password", "A field, by its key or label."),
                .command("coffret read coffret://Personal/GitHub/otp", "The present one-time code."),
                .command(
                    "coffret read 'coffret://Personal/GitHub/attachment/recovery codes.txt'",
                    "A file. text and title are there as well."),
                .text(
                    "Names that fit several items or fields are an error that lists them. Ids never change: coffret ls --json shows them. Items in the trash answer to their ids only."
                ),
            ]),
        HelpTask(
            name: "ssh-and-git", title: "use SSH keys and git passwords of the vault",
            keywords: ["ssh", "git", "key", "agent", "credential", "push", "clone", "authorized"],
            steps: [
                .command("coffret ssh-key new laptop", "Makes a key and prints the line for authorized_keys."),
                .command("coffret ssh-key import ~/.ssh/id_ed25519", "Or takes one that you have."),
                .command("coffret ssh-agent -- bash", "A shell in which ssh and git use the keys of the vault."),
                .text(
                    "git config --global credential.helper '!coffret git-credential' lets git find the passwords of logins by their address. If several fit, git gets none, and the candidates are listed. coffret help credential does so for docker, Cargo, pip, AWS and kubectl."
                ),
            ]),
        HelpTask(
            name: "check", title: "make sure that everything is whole",
            keywords: ["fsck", "damaged", "broken", "corrupt", "verify", "check", "repair", "damage"],
            steps: [
                .command("coffret status", "What the store holds, and whether anything needs attention."),
                .command("coffret fsck", "Reads and verifies everything. Only a damaged search index is made again."),
                .text(
                    "If something is damaged, fsck names it. Copy the store folder away before anything else, then restore a backup beside it: coffret backup restore FOLDER --store OTHER."
                ),
            ]),
        HelpTask(
            name: "space", title: "free disk space",
            keywords: ["compact", "size", "space", "history", "prune", "small", "disk"],
            steps: [
                .command("coffret compact", "Packs what is there more tightly. Nothing is dropped."),
                .command(
                    "coffret compact --drop-history-older-than '2 years'",
                    "Also forgets versions that were replaced longer ago than that, for good. What is there now stays."),
            ]),
        HelpTask(
            name: "vaults", title: "keep several vaults",
            keywords: ["vault", "vaults", "work", "several", "separate"],
            steps: [
                .text(
                    "One store can hold several vaults with keys of their own, opened by the same passphrase. One of them is the default: what you write or import goes there. ls, search and fsck cover all of them, and an item is found in whichever holds it."
                ),
                .command("coffret vault new Work", "Makes another vault."),
                .command(
                    "coffret new --vault Work", "Every command takes --vault, and then works with this one alone."),
                .command("coffret vault default Work", "Makes it the default on this device."),
                .text("COFFRET_VAULT=Work in the environment does so for one shell or script."),
                .command("coffret export ~/out --all-vaults", "Writes all of them, each into a folder of its own."),
                .command("coffret vault rm Work", "Removes a vault and everything in it; asks first, in numbers."),
            ]),
        HelpTask(
            name: "privacy", title: "know what others can see",
            keywords: ["privacy", "secure", "security", "encrypted", "leak", "threat", "see"],
            steps: [
                .text(
                    "Titles, texts, tags, file names, passwords, history and the search index are encrypted. Who copies the store folder sees how large it is, roughly how many pieces it has, and when it changed; not what is in it, and not whether a known file is in it."
                ),
                .text(
                    "Text in an editor lies in memory (tmpfs), in no file of a disk, and is wiped afterwards. A machine that swaps may write it to its swap: encrypt that."
                ),
                .text(
                    "Who can run programs as you while you type the passphrase can read what you read; no encryption changes that. Spec/threat-model.md says it all in detail."
                ),
            ]),
    ]
}
