"""Vaults that several people have, by the real programs on loopback. Preparing takes long and measures nothing, so that it may run beside
other work; measuring goes on from the folder that was prepared, and prints rows for Docs/benchmarks.md.

Usage: Benchmarks/sharing.py prepare|measure BIN FOLDER [PART ...]     parts: note members links idle notes revoke log connected; default: all
"""

import argparse
import json
import os
import pathlib
import re
import resource
import shutil
import socket
import statistics
import subprocess
import time
import urllib.request
import ssl

import sharing_parts

TICK = os.sysconf("SC_CLK_TCK")


def processor(pid):
    """Seconds that a process, its children that ended, and its living children took."""
    total = 0.0
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total = sum(int(field) for field in fields[11:15]) / TICK
        for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            total += processor(int(child))
    except (FileNotFoundError, ProcessLookupError):
        pass
    return total


class Server:
    def __init__(self, folder, programs):
        self.folder = folder
        is_new = not folder.exists()
        folder.mkdir(exist_ok=True)
        key, certificate = folder / "key.pem", folder / "certificate.pem"
        if is_new:
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
                       check=True, capture_output=True)
        public = subprocess.run(f"openssl x509 -in {certificate} -pubkey -noout | openssl pkey -pubin -outform der | sha256sum",
                                shell=True, check=True, capture_output=True, text=True)
        self.fingerprint = public.stdout[:64]
        if is_new:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                (folder / "port").write_text(str(free.getsockname()[1]))
        port = int((folder / "port").read_text())
        self.url = f"https://localhost:{port}"
        program = programs / "coffret-server"
        if is_new:
            subprocess.run([program, "init", "--data", folder / "data"], check=True, capture_output=True)
        self.process = subprocess.Popen(
            [program, "serve", "--data", folder / "data", "--listen", f"127.0.0.1:{port}", "--registration", "open", "--tls-certificate",
             certificate, "--tls-key", key, "--requests-per-second-per-address", "10000",
             "--requests-per-second-per-account", "10000"], stderr=open(folder / "log", "wb"))
        for _ in range(200):
            try:
                self.counts()
                return
            except OSError:
                time.sleep(0.05)
        raise SystemExit("the server does not start")

    def counts(self):
        context = ssl._create_unverified_context()
        text = urllib.request.urlopen(self.url + "/metrics", context=context).read().decode()
        requests = sum(int(count) for route, count in re.findall(r'coffret_requests_total\{route="([^"]+)"[^}]*\} (\d+)', text)
                       if route != "metrics")
        return requests, *(int(re.search(rf"coffret_{way}_bytes_total (\d+)", text).group(1)) for way in ("received", "sent"))

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Person:
    def __init__(self, folder, programs, server, name, bare=False):
        self.home, self.programs, self.server = folder / name, programs, server
        self.agent = None
        self.passphrase = self.home / "passphrase"
        if (self.home / "account").exists():
            self.account = (self.home / "account").read_text()
            return
        (self.home / "run").mkdir(parents=True, mode=0o700)
        self.passphrase.write_text("correct horse battery\n")
        self.passphrase.chmod(0o600)
        if bare:
            # It becomes another device of somebody.
            return
        self("init", "--effort", "light")
        self("server", "join", server.url, "--fingerprint", server.fingerprint)
        self("share", "requests")
        self.account = self.json("server", "status")["account"]
        (self.home / "account").write_text(self.account)

    def environment(self, asks=False):
        variables = {"HOME": str(self.home), "PATH": os.environ["PATH"], "COFFRET_STORE": str(self.home / "store"), "COFFRET_TPM": "off",
                     "XDG_RUNTIME_DIR": str(self.home / "run"), "LANG": "C.UTF-8"}
        if self.agent is None:
            variables["COFFRET_AGENT"] = "off"
        if self.agent is None or asks:
            variables["COFFRET_PASSPHRASE_FILE"] = str(self.passphrase)
        return variables

    def run(self, *arguments, text=""):
        # What changes members asks for the passphrase anew, whoever has the agent.
        asks = arguments[:2] == ("device", "revoke") or arguments[0] == "share" and arguments[1] in ("item", "rm", "role", "add")
        return subprocess.run([self.programs / "coffret", *arguments], input=text, capture_output=True, text=True,
                              env=self.environment(asks))

    def __call__(self, *arguments, text=""):
        result = self.run(*arguments, text=text)
        if result.returncode != 0:
            raise SystemExit(f"{arguments} ended with {result.returncode}: {result.stderr}")
        return result.stdout

    def json(self, *arguments):
        return json.loads(self(*arguments, "--json"))

    def unlock(self):
        """An agent that does not sync by itself: what is measured is the command."""
        variables = self.environment()
        del variables["COFFRET_AGENT"]
        subprocess.run([self.programs / "coffret", "unlock"], env=variables, check=True, capture_output=True)
        lock = self.home / "run" / "coffret" / "agent.sock.lock"
        inode = lock.stat().st_ino
        for line in pathlib.Path("/proc/locks").read_text().splitlines():
            words = line.split()
            if len(words) > 5 and words[5].endswith(f":{inode}"):
                self.agent = int(words[4])
        if self.agent is None:
            raise SystemExit("no agent")
        self("agent", "settings", "--sync", "off")

    def stop(self):
        if self.agent is not None:
            self.run("agent", "stop")
            self.agent = None

    def measure(self, *arguments, text=""):
        """Seconds by the clock, of this person's processors, of the server's; requests, bytes to the server and from it."""
        counts = self.server.counts()
        own = processor(self.agent) if self.agent else 0
        theirs = processor(self.server.process.pid)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        self(*arguments, text=text)
        wall = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        work = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if self.agent:
            work += processor(self.agent) - own
        cost = processor(self.server.process.pid) - theirs
        last = self.server.counts()
        # The look at the counts is an answer itself.
        own_answer = self.server.counts()[2] - last[2]
        return {"wall": wall, "work": work, "server": cost, "requests": last[0] - counts[0], "up": last[1] - counts[1],
                "down": last[2] - counts[2] - own_answer}


def befriend(first, second):
    """Each may add the other."""
    for one, other in ((first, second), (second, first)):
        one("contact", "add", other.account, "--name", other.home.name)


def share(vault, owner, member, role):
    owner("share", "add", vault, member.account, "--role", role, "--yes")
    member("share", "accept", vault)


def say(name, results):
    """Medians; of processor time the mean, since the system counts it in steps of 10 ms."""
    wall = statistics.median(result["wall"] for result in results) * 1e3
    work, server = (statistics.mean(result[key] for result in results) * 1e3 for key in ("work", "server"))
    requests, up, down = (statistics.median(result[key] for result in results) for key in ("requests", "up", "down"))
    print(f"| {name} | {len(results)} | {wall:.0f} ms | {work:.0f} ms | {server:.1f} ms | {requests:.0f} | {up / 1024:.1f} KiB | "
          f"{down / 1024:.1f} KiB |", flush=True)


class Note:
    """One note with one person."""
    count = 14

    def prepare(self, new):
        alice, bob = new("alice"), new("bob")
        befriend(alice, bob)
        for number in range(self.count):
            alice("new", text=f"Note {number}\nwords of it\n")

    def measure(self, new):
        alice = new("alice")
        say("`status` with the key derivation (`light`), no agent", [alice.measure("status") for _ in range(8)])
        alice.unlock()
        say("`status`, agent warm", [alice.measure("status") for _ in range(8)])
        results = [alice.measure("share", "item", f"Note {number}", "bob", "--role", "viewer", "--yes") for number in range(self.count)]
        say("`share item`, one note with one person", results[2:])


class Members:
    """A vault with many people."""
    count = 100

    def prepare(self, new):
        owners = [new("first"), new("second")]
        befriend(*owners)
        owners[0]("vault", "new", "Club")
        owners[0]("vault", "sync", "Club")
        owners[0]("new", "--vault", "Club", text="Rules\nof the club\n")
        share("Club", owners[0], owners[1], "owner")
        for number in range(self.count - 2):
            # An account adds sixty people a day.
            member, owner = new(f"member{number}"), owners[number % 2]
            befriend(owner, member)
            share("Club", owner, member, "viewer")
        late = new("late")
        befriend(owners[1], late)
        owners[1]("share", "add", "Club", late.account, "--role", "writer", "--yes")
        owners[0]("sync")

    def measure(self, new):
        owner = new("first")
        say(f"`share accept` of a vault with {self.count} members", [new("late").measure("share", "accept", "Club")])
        owner.unlock()
        owner("sync")
        say("`sync` of it, nothing new", [owner.measure("sync") for _ in range(8)][1:])
        gone = [new(f"member{self.count - 3 - number}").account for number in range(min(8, self.count - 2))]
        say(f"`share rm`, one of {self.count} members", [owner.measure("share", "rm", "Club", account[:16], "--yes") for account in gone][1:])


class Links:
    """A vault whose member chain is long, beside one whose chain is short."""
    count = 1_000

    def prepare(self, new):
        alice, bob = new("linked"), new("other")
        befriend(alice, bob)
        for vault in ("Short", "Long"):
            alice("vault", "new", vault)
            alice("vault", "sync", vault)
            alice("new", "--vault", vault, text="A note\nwords\n")
            share(vault, alice, bob, "viewer")
        for number in range(self.count):
            alice("share", "role", "Long", bob.account[:16], "writer" if number % 2 == 0 else "viewer")
        late = new("late")
        befriend(alice, late)
        for vault in ("Short", "Long"):
            alice("share", "add", vault, late.account, "--role", "viewer", "--yes")
        for vault in ("Short", "Long"):
            # Its index is made.
            alice("ls", "--vault", vault)

    def measure(self, new):
        alice = new("linked")
        alice.unlock()
        results = {vault: [] for vault in ("Short", "Long")}
        for _ in range(15):
            for vault in results:
                results[vault].append(alice.measure("ls", "--vault", vault))
        say("`ls` of a vault with few links", results["Short"])
        say(f"`ls` of a vault with {self.count} links more, all known", results["Long"])
        say("`sync` of both, nothing new", [alice.measure("sync") for _ in range(8)][1:])
        late = new("late")
        for vault in results:
            say(f"first opening, `share accept` of {vault}", [late.measure("share", "accept", vault)])


class Idle:
    """Many shared vaults with one note each, and as many of one person."""
    count = 100

    def prepare(self, new):
        alice, bob = new("idle"), new("friend")
        befriend(alice, bob)
        one, other = new("single"), new("pal")
        befriend(one, other)
        for vault, is_shared in (("Shared", True), ("Own", False)):
            one("vault", "new", vault)
            one("vault", "sync", vault)
            one("new", "--vault", vault, text="A note\nwords\n")
            if is_shared:
                share(vault, one, other, "writer")
        for number in range(self.count):
            # An account adds sixty times a day.
            owner, member = ((alice, bob), (bob, alice))[number % 2]
            owner("vault", "new", f"V{number}")
            owner("vault", "sync", f"V{number}")
            owner("new", "--vault", f"V{number}", text="A note\nwords\n")
            share(f"V{number}", owner, member, "writer")
            alice("vault", "new", f"Own {number}")
            alice("new", "--vault", f"Own {number}", text="A note\nwords\n")
        for person in (alice, bob, alice, one, other, one):
            person("sync")
        alice("ls", "--vault", "all")

    def measure(self, new):
        one, alice = new("single"), new("idle")
        one.unlock()
        say("`sync`, nothing new, one shared vault and one own", [one.measure("sync") for _ in range(10)][2:])
        pushes = {"Own": [], "Shared": []}
        for number in range(24):
            for vault in pushes:
                one("new", "--vault", vault, text=f"Of {number}\nwords\n")
                pushes[vault].append(one.measure("sync"))
        for vault, results in pushes.items():
            say(f"`sync` with one new note in the {vault.lower()} vault", results[4:])
        one.stop()
        alice.unlock()
        alice("sync")
        say(f"`sync`, nothing new, {self.count} shared vaults", [alice.measure("sync") for _ in range(8)][1:])
        say(f"`ls --vault all`, {2 * self.count} vaults of one note", [alice.measure("ls", "--vault", "all") for _ in range(12)][2:])


class Notes:
    """The first read of a vault with many notes: of two members, of ten, and of ten with three devices each."""
    count = 10_000
    # Other members; further devices of each.
    shapes = {"Two": (1, 0), "Ten": (9, 0), "Devices": (9, 2)}

    def prepare(self, new):
        owner = new("author")
        folder = owner.home / "notes"
        folder.mkdir(exist_ok=True)
        for number in range(self.count):
            (folder / f"{number}.md").write_text(f"# Note {number}\n\n" + f"words of note {number} " * 45)
        for vault, (others, devices) in self.shapes.items():
            owner("vault", "new", vault)
            owner("import", str(folder), "--vault", vault)
            owner("vault", "sync", vault)
            for number in range(others):
                member = new(f"{vault.lower()}{number}")
                for count in range(devices):
                    sharing_parts.pair(new(f"{vault.lower()}{number}-{count}", bare=True), member, f"Phone {count}")
                befriend(owner, member)
                owner("share", "add", vault, member.account, "--role", "viewer", "--yes")
                if number > 0:
                    member("share", "accept", vault)

    def measure(self, new):
        for vault, (others, devices) in self.shapes.items():
            say(f"`share accept`, {self.count:,} notes, {others + 1} members with {devices + 1} devices",
                [new(f"{vault.lower()}0").measure("share", "accept", vault)])


class Apart:
    """A part of the other file, with what it needs of this one."""
    kind = None

    def __init__(self):
        self.part = self.kind()

    @property
    def count(self):
        return self.part.count

    @count.setter
    def count(self, value):
        self.part.count = value

    def prepare(self, new):
        self.part.prepare(new, befriend, share)

    def measure(self, new):
        self.part.measure(new, say)


def apart(kind):
    return type(kind.__name__, (Apart,), {"kind": kind})


PARTS = {"note": Note, "members": Members, "links": Links, "idle": Idle, "notes": Notes, "revoke": apart(sharing_parts.Revoke),
         "log": apart(sharing_parts.Log), "connected": apart(sharing_parts.Connected)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("phase", choices=["prepare", "measure"])
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], default=[])
    parser.add_argument("--count", type=int, help="members, links, vaults or notes of each part, to try it")
    arguments = parser.parse_args()
    programs, parent = arguments.programs.resolve(), arguments.folder.resolve()
    parent.mkdir(exist_ok=True)
    if arguments.phase == "measure":
        print("| what | times | by the clock | work here | work of the server | requests | up | down |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in arguments.parts or PARTS:
        part = PARTS[name]()
        if arguments.count and name != "note":
            part.count = arguments.count
        folder = parent / name
        if arguments.phase == "prepare" and folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(exist_ok=True)
        server = Server(folder / "server", programs)
        people = []

        def new(person, bare=False):
            people.append(Person(folder, programs, server, person, bare))
            return people[-1]

        new.server = server

        try:
            getattr(part, arguments.phase)(new)
        finally:
            for person in people:
                person.stop()
            server.stop()


main()
