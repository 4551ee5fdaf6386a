#!/usr/bin/env bash
# Makes a golden store with a built coffret: for a new format version only. What is here already is never made anew,
# since it stands for data that people have.
#
# Usage: generate.sh COFFRET FOLDER      writes store.tar.gz, the exports, and what opens the store, into FOLDER
set -euo pipefail
coffret="$1" target="$2"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir -p "$target" "$work/home"
export HOME="$work/home" COFFRET_STORE="$work/store" COFFRET_AGENT=off COFFRET_TPM=off
export COFFRET_PASSPHRASE_FILE="$work/passphrase"
(umask 077; echo 'golden store passphrase' > "$work/passphrase")
echo 'golden note passphrase' > "$work/note-passphrase"

"$coffret" init --effort light < /dev/null > /dev/null
printf '# Golden note\n\nThe first text.\n' | "$coffret" new -t golden/first
printf '# Golden note\n\nThe second text, with a [[Locked diary]].\n' | "$coffret" edit 'Golden note'
printf 'A file that is attached.\n' > "$work/attached.txt"
"$coffret" attach add 'Golden note' "$work/attached.txt"
(printf "# Long note\n\n"; for _ in {1..700}; do echo "The same line, again and again."; done) | "$coffret" new
printf '# Locked diary\n\nThe quagga sleeps under the stairs.\n' | "$coffret" new
"$coffret" note lock 'Locked diary' --effort light --purge-history --yes --note-passphrase-fd 3 3< "$work/note-passphrase"
printf '# Thrown away\n' | "$coffret" new
"$coffret" rm 'Thrown away'
echo 'golden password' | "$coffret" new --type login 'Golden login' --set username=ada --secret password < /dev/stdin
"$coffret" recovery add --name 'golden recovery' --print-only > "$target/recovery-key.txt"
"$coffret" vault new Work
printf 'Work\n\nversion 0\n' | "$coffret" new --vault Work
for version in 1 2 3; do
    printf 'Work\n\nversion %s\n' "$version" | "$coffret" edit Work --vault Work
done
sleep 2
printf 'Work\n\nversion 4\n' | "$coffret" edit Work --vault Work
"$coffret" compact --vault Work --drop-history-older-than "$(date '+%F %T')" --yes
printf 'Work\n\nafter the compaction\n' | "$coffret" edit Work --vault Work
for vault in Personal Work; do
    "$coffret" fsck --vault "$vault"
    "$coffret" export --vault "$vault" --format json "$target/$vault.json" --yes
done
"$coffret" backup create "$work/backups"
tar -C "$work" --sort=name --owner=0 --group=0 -czf "$target/store.tar.gz" store backups
cp "$work/passphrase" "$target/passphrase.txt"
cp "$work/note-passphrase" "$target/note-passphrase.txt"
