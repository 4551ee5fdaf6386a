"""Further parts of Benchmarks/sharing.py: devices that go, the log of keys, and people who are connected."""

import os
import pathlib
import pty
import re
import resource
import select
import ssl
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "Tests/Interop"))


class Terminal:
    """A program and its person."""

    def __init__(self, person, *arguments):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [person.programs / "coffret", *arguments], stdin=slave, stdout=slave, stderr=slave, close_fds=True,
            env={**person.environment(asks=True), "TERM": "xterm"}, start_new_session=True)
        os.close(slave)
        self.text = ""

    def wait(self, pattern):
        deadline = time.monotonic() + 120
        while not (found := re.search(pattern, self.text)):
            if time.monotonic() > deadline or not select.select([self.master], [], [], 120)[0]:
                raise SystemExit(f"no {pattern!r} in {self.text!r}")
            try:
                self.text += os.read(self.master, 65536).decode(errors="replace")
            except OSError:
                raise SystemExit(f"ended without {pattern!r}: {self.text!r}")
        return found

    def type(self, line):
        self.text = ""
        os.write(self.master, line.encode() + b"\n")


def pair(phone, person, name):
    """Lets a bare store in as another device of a person, by two terminals."""
    server = person.server
    asking = Terminal(phone, "device", "pair", server.url, "--fingerprint", server.fingerprint, "--name", name, "--effort", "light")
    request = asking.wait(r"approve ([0-9a-f]{32})").group(1)
    approving = Terminal(person, "device", "approve", request)
    code = r"(\d{3}) (\d{3})"
    asking.wait("Type the code that")
    first = asking.wait(code)
    approving.wait("Type the code that")
    approving.type(first.group(1) + first.group(2))
    second = approving.wait(code + r"[\s\S]*on the other device|on the other device[\s\S]*" + code)
    asking.type("".join(group for group in second.groups() if group))
    asking.wait("one of yours now")
    approving.wait("one of your devices now")
    for terminal in (asking, approving):
        terminal.process.wait(60)


class Revoke:
    """A device of a person with many vaults is revoked."""
    count = 50
    others = 3

    def prepare(self, new, befriend, share):
        person = new("lost")
        # An account adds sixty people a day: each lets the next one in.
        people = [person] + [new(f"friend{number}") for number in range(self.others)]
        for owner, friend in zip(people, people[1:]):
            befriend(owner, friend)
        pair(new("phone", bare=True), person, "Phone")
        for number in range(self.count):
            person("vault", "new", f"V{number}")
            person("vault", "sync", f"V{number}")
            person("new", "--vault", f"V{number}", text="A note\nwords\n")
            for owner, friend in zip(people, people[1:]):
                share(f"V{number}", owner, friend, "owner")
        person("sync")

    def measure(self, new, say):
        person = new("lost")
        say(f"`device revoke`, {self.count} vaults of {self.others + 1} people", [person.measure("device", "revoke", "Phone", "--yes")])


class Log:
    """The server's log of keys, read by a device that has not read it for long."""
    count = 500

    def prepare(self, new, befriend, share):
        one, other = new("reader"), new("writer")
        befriend(one, other)
        one("server", "log", "--check")
        for number in range(self.count):
            # Links that the reader's chains do not have.
            other("vault", "new", f"V{number}")
            other("vault", "sync", f"V{number}")

    def measure(self, new, say):
        one = new("reader")
        one.unlock()
        before = one.json("server", "log")["size"]
        result = one.measure("server", "log", "--check")
        after = one.json("server", "log")["size"]
        say(f"`server log --check`, {after - before:,} new entries", [result])
        say("the same, nothing new", [one.measure("server", "log", "--check") for _ in range(8)])


class Connected:
    """The server's memory while many members of shared vaults are connected. Accounts of this program, without stores."""
    count = 1_000
    vaults = 200

    def prepare(self, new, befriend, share):
        pass

    def measure(self, new, say):
        import server_client
        server = new.server
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, self.count * 2 + 500), hard))
        context = ssl._create_unverified_context()
        size = self.count // self.vaults
        print(f"{self.count} people in {self.vaults} vaults of {size}, over TLS", flush=True)

        def client():
            made = server_client.Client(
                int((server.folder / "port").read_text()), host="localhost", certificate=bytes.fromhex(server.fingerprint), context=context)
            made.register().login()
            return made

        def memory():
            text = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
            return int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) / 1024

        cbor, chains = server_client.cbor, server_client.chains
        print(f"| before anybody came | {memory():.1f} MiB |", flush=True)
        everybody = []
        for _ in range(self.vaults):
            people = [client() for _ in range(size)]
            founder = people[0]
            for member in people[1:]:
                member.request("PUT", "/v1/contacts", cbor([founder.chain.id]))
            vault = chains.Chain(3).append(
                {0: 1, 1: os.urandom(32), 2: founder.chain.id, 3: founder.chain.hashes[0], 4: bytes(32)}, founder.device)
            for member in people[1:]:
                vault.append(
                    {0: 2, 1: founder.chain.id, 2: founder.chain.hashes[0], 3: member.chain.id, 4: 2, 5: member.chain.hashes[0], 6: b""},
                    founder.device)
            founder.request("POST", "/v1/links", cbor([[3, vault.id, link, None] for link in vault.links]))
            for member in people:
                member.close()
            everybody += people
        base = memory()
        print(f"| {self.count} accounts logged in, nobody connected | {base:.1f} MiB |", flush=True)
        sockets = [member.socket("/v1/events") for member in everybody]
        time.sleep(2)
        connected = memory()
        print(f"| all connected | {connected:.1f} MiB: {connected - base:.1f} MiB more |", flush=True)
        for socket in sockets:
            socket.close()
