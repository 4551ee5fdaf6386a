"""Three people with an agent each, which syncs by itself, run commands at once: two at a time each, on one server. Somebody is let in,
lowered, removed and let in again meanwhile, so that keys of the vault and of the stores change under commands. Each command has to end
well, or by one of the refusals that such a life brings; nobody may be accused of anything; and in the end the owners have the same, with
all that an owner wrote and did not remove.

Usage: Tests/Stress/people.py PROGRAMS SECONDS [SEED]     PROGRAMS: the folder with coffret, coffret-agent and coffret-server
Exit code: 0; 1 with what went wrong.
"""

import collections
import json
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

NAMES = ("alice", "bob", "carol")
OWNERS = NAMES[:2]

# Refusals that come of what others did a moment before.
EXPECTED = {
    "cli.vault.not-synced", "core.item.not-found", "core.vault.not-found", "sharing.epoch.stale", "sharing.key.awaited",
    "sharing.member.exists", "sharing.member.unknown", "sharing.role.viewer", "storage.lock.busy", "sync.server.contended", "sync.vault.busy",
    "trust.member.not-permitted",
}
# Warnings that nothing here is a reason for.
ACCUSATIONS = re.compile(r"\((sync\.head\.[a-z-]+|sync\.entry\.missing|sync\.checkpoint\.[a-z-]+|storage\.[a-z.-]+)\)")
CODE = re.compile(r'"code":"([a-z.-]+)"|\[([a-z.-]+)\]\s*$', re.MULTILINE)


class Server:
    def __init__(self, folder, programs):
        folder.mkdir()
        key, certificate = folder / "key.pem", folder / "certificate.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
             "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
            check=True, capture_output=True)
        public = subprocess.run(
            f"openssl x509 -in {certificate} -pubkey -noout | openssl pkey -pubin -outform der | sha256sum", shell=True, check=True,
            capture_output=True, text=True)
        self.fingerprint = public.stdout[:64]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"https://localhost:{port}"
        program = programs / "coffret-server"
        subprocess.run([program, "init", "--data", folder / "data"], check=True, capture_output=True)
        self.process = subprocess.Popen(
            [program, "serve", "--data", folder / "data", "--listen", f"127.0.0.1:{port}", "--registration", "open", "--tls-certificate",
             certificate, "--tls-key", key, "--requests-per-second-per-address", "10000", "--requests-per-second-per-account", "10000"],
            stderr=open(folder / "log", "wb"))
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise SystemExit("the server does not start")

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Person:
    def __init__(self, folder, programs, server, name):
        self.name, self.home, self.programs = name, folder / name, programs
        self.has_agent = False
        (self.home / "run").mkdir(parents=True, mode=0o700)
        self.passphrase = self.home / "passphrase"
        self.passphrase.write_text("correct horse battery\n")
        self.passphrase.chmod(0o600)
        self.succeed("init", "--effort", "light")
        self.succeed("server", "join", server.url, "--fingerprint", server.fingerprint)
        # The first look at what waits founds the identity to which keys are sealed.
        self.succeed("share", "requests")
        self.account = json.loads(self.succeed("server", "status", "--json"))["account"]

    def unlock(self):
        self.has_agent = True
        self.succeed("unlock", asks=True)

    def run(self, *arguments, text="", asks=False):
        variables = {
            "HOME": str(self.home), "PATH": os.environ["PATH"], "COFFRET_STORE": str(self.home / "store"), "COFFRET_TPM": "off",
            "XDG_RUNTIME_DIR": str(self.home / "run"), "LANG": "C.UTF-8"}
        if not self.has_agent:
            variables["COFFRET_AGENT"] = "off"
        # What changes members asks for the passphrase anew, whoever has the agent.
        if not self.has_agent or asks or arguments[:2] in (("share", "add"), ("share", "rm"), ("share", "role")):
            variables["COFFRET_PASSPHRASE_FILE"] = str(self.passphrase)
        return subprocess.run(
            [self.programs / "coffret", *arguments], input=text, capture_output=True, text=True, env=variables, timeout=300)

    def succeed(self, *arguments, asks=False):
        result = self.run(*arguments, asks=asks)
        if result.returncode != 0:
            raise SystemExit(f"{self.name}: {arguments} ended with {result.returncode}: {result.stderr}")
        return result.stdout


class Life:
    """The commands of one person, one after the other."""

    def __init__(self, stress, person, number):
        self.stress, self.person, self.number = stress, person, number
        self.random = random.Random(f"{stress.seed} {person.name} {number}")
        self.items = []
        # Written into the shared vault, and not removed.
        self.kept = set()

    def choose(self):
        pick, vault = self.random, self.random.choice(["Team", "Team", "Personal"])
        choices = [
            ("new", "--vault", vault, "--json"), ("new", "--vault", vault, "--json"), ("ls", "--vault", vault), ("sync",), ("status",),
            ("search", "words"), ("ls", "--vault", "all"), ("log", "--vault", vault), ("conflicts", "--vault", vault)]
        if self.items:
            item = pick.choice(self.items)
            choices += [
                ("edit", item), ("edit", item), ("pin", item), ("rm", item), ("tag", "add", item, f"t{pick.randrange(5)}"),
                ("history", item), ("show", item)]
        if self.number > 0:
            return pick.choice(choices)
        guest = self.stress.people["carol"].account
        if self.person.name in OWNERS:
            choices += [
                ("share", "add", "Team", guest, "--role", pick.choice(["writer", "viewer"]), "--yes"),
                ("share", "rm", "Team", guest[:8], "--yes"),
                ("share", "role", "Team", guest[:8], pick.choice(["writer", "viewer", "owner"]))]
        else:
            choices += [("share", "accept", "Team"), ("share", "accept", "Team"), ("share", "leave", "Team", "--yes")]
        choices += [("vault", "new", f"V{pick.randrange(10**6)}"), ("share", "requests"), ("share", "members", "Team")]
        return pick.choice(choices)

    def go(self):
        try:
            self.live()
        except Exception as error:  # A thread that dies says it to nobody else.
            self.stress.note(f"{self.person.name}: {error!r}")

    def live(self):
        while time.monotonic() < self.stress.end:
            arguments = self.choose()
            text = f"Note by {self.person.name}\nwords {self.random.randrange(10**6)}\n" if arguments[0] in ("new", "edit") else ""
            result = self.person.run(*arguments, text=text)
            self.stress.judge(self.person, arguments, result)
            if result.returncode == 0 and arguments[0] == "new":
                self.items.append(json.loads(result.stdout.splitlines()[-1])["id"])
                if arguments[2] == "Team":
                    self.kept.add(self.items[-1])
            elif arguments[0] == "rm":
                # One that ended with an error may have been done.
                self.kept.discard(arguments[1])


class Stress:
    def __init__(self, programs, folder, seconds, seed):
        self.seed = seed
        self.faults, self.refusals, self.count = [], collections.Counter(), 0
        self.lock = threading.Lock()
        self.people = {}
        self.server = Server(folder / "server", programs)
        try:
            self.prepare(folder, programs)
        except BaseException:
            self.stop()
            raise
        self.end = time.monotonic() + seconds

    def prepare(self, folder, programs):
        for name in NAMES:
            self.people[name] = Person(folder, programs, self.server, name)
        for person in self.people.values():
            for other in self.people.values():
                if other is not person:
                    person.succeed("contact", "add", other.account, "--name", other.name)
        alice, bob, _ = self.people.values()
        alice.succeed("vault", "new", "Team")
        alice.succeed("share", "add", "Team", bob.account, "--role", "owner", "--yes")
        bob.succeed("share", "accept", "Team")
        for person in self.people.values():
            person.unlock()

    def judge(self, person, arguments, result):
        codes = {first or second for first, second in CODE.findall(result.stderr)} if result.returncode != 0 else set()
        with self.lock:
            self.count += 1
            self.refusals.update(codes)
            if ACCUSATIONS.search(result.stderr) or result.returncode != 0 and (not codes or not codes <= EXPECTED):
                self.faults.append(f"{person.name}: {arguments} ended with {result.returncode}: {result.stderr.strip()[:500]}")

    def note(self, fault):
        with self.lock:
            self.faults.append(fault)

    def live(self):
        self.lives = [Life(self, person, number) for person in self.people.values() for number in range(2)]
        threads = [threading.Thread(target=life.go) for life in self.lives]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def compare(self):
        """What was written has gone round, and no store is damaged."""
        owners = [self.people[name] for name in OWNERS]
        for _ in range(3):
            for owner in owners:
                self.judge(owner, ("sync",), owner.run("sync"))
        shown = []
        for owner in owners:
            lines = owner.succeed("ls", "--vault", "Team", "--limit", "100000", "--json").splitlines()
            found = [json.loads(line) for line in lines]
            shown.append({item["id"] for page in found for item in page.get("items", [page] if "id" in page else [])})
        if shown[0] != shown[1]:
            self.faults.append(f"the owners differ in {len(shown[0] ^ shown[1])} items of {len(shown[0] | shown[1])}")
        kept = set().union(*(life.kept for life in self.lives if life.person.name in OWNERS))
        if not kept or kept - shown[0]:
            self.faults.append(f"of {len(kept)} items that owners wrote {len(kept - shown[0])} are lost")
        for person in self.people.values():
            self.judge(person, ("fsck",), person.run("fsck"))
        return len(shown[0])

    def stop(self):
        for person in self.people.values():
            person.run("agent", "stop")
        self.server.stop()


def main():
    if len(sys.argv) not in (3, 4):
        print(__doc__.strip(), file=sys.stderr)
        raise SystemExit(64)
    programs, seconds = pathlib.Path(sys.argv[1]).resolve(), float(sys.argv[2])
    seed = sys.argv[3] if len(sys.argv) > 3 else str(random.randrange(10**9))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="coffret-stress-"))
    try:
        stress = Stress(programs, folder, seconds, seed)
        try:
            stress.live()
            count = stress.compare()
        finally:
            stress.stop()
        print(f"stress: {stress.count} commands of three people, {count} items, {len(stress.faults)} wrong; seed {seed}; refused: "
              + (", ".join(f"{code} {number}" for code, number in sorted(stress.refusals.items())) or "none"))
        for fault in stress.faults:
            print(fault)
        raise SystemExit(1 if stress.faults else 0)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
