"""Whole processes of Coffret beside those of its peers, in turn, so that the machine's drift meets both.

Run through Scripts/bench. Every figure is a median; every comparison is a ratio of runs that alternated. What is printed
goes into Docs/benchmarks.md: each table with the day, the machine's load and the method below it. That page joins tables and says
what the misses are made of.
"""

import json
import os
import pathlib
import random
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Release products; COFFRET_BENCH_PRODUCTS names another folder of them.
PRODUCTS = pathlib.Path(os.environ.get("COFFRET_BENCH_PRODUCTS", ROOT / ".build/release"))
COFFRET = str(PRODUCTS / "coffret")
SERVER = str(PRODUCTS / "coffret-server")
BENCH = str(PRODUCTS / "coffret-bench")
SHARED_NOTES = ROOT.parent / "shared/data/notes"
PASSPHRASE = "correct horse battery staple bench"


def run(arguments, **options):
    """Runs a program to its end; its failure is ours."""
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    result = subprocess.run(arguments, **options)
    if result.returncode != 0:
        sys.exit(f"bench: {' '.join(map(str, arguments))} failed: {result.stderr.decode(errors='replace')}")
    return result


def seconds(arguments, **options):
    start = time.monotonic()
    result = run(arguments, **options)
    return time.monotonic() - start, result


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", flush=True)


def table(title, *heads):
    print(f"\n### {title}\n")
    row(*heads)
    row(*["---"] * len(heads))


def load():
    """How many processes wanted to run in the last minute, this one included."""
    return f"{os.getloadavg()[0]:.1f}"


LOAD_BEFORE = load()


def measured(method):
    """The line below a table: when, on what, how."""
    day = time.strftime("%-d %B %Y")
    print(f"\n*{day}, {os.cpu_count()} cores, load {LOAD_BEFORE} before and {load()} after. {method}*", flush=True)


def judged(value, text, goal):
    """Bold where the goal is missed."""
    return f"**{text}**" if value > goal else text


def milliseconds(value):
    return f"{value * 1000:.1f} ms"


def processor_seconds():
    """What all programs that were run and waited for have taken of the processor."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Store:
    """A Coffret store of its own, with the passphrase in a file."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.path = self.folder / "store"
        secret = self.folder / "passphrase"
        secret.write_text(PASSPHRASE + "\n")
        secret.chmod(0o600)
        self.environment = {
            "PATH": os.environ["PATH"], "HOME": str(self.folder), "LANG": "C.UTF-8",
            "XDG_STATE_HOME": str(self.folder / "state"), "XDG_RUNTIME_DIR": str(self.folder),
            "COFFRET_STORE": str(self.path), "COFFRET_PASSPHRASE_FILE": str(secret),
        }

    def command(self, *arguments, **options):
        return seconds([COFFRET, *arguments], env=self.environment, **options)

    def timed(self, *arguments, **options):
        """Wall seconds, and the seconds of key derivation that the program itself reports."""
        wall, result = self.command("--timings", *arguments, **options)
        found = re.search(r"key-derivation ([0-9.]+) ms", result.stderr.decode())
        return wall, float(found.group(1)) / 1000 if found else 0.0, result

    def size(self):
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())


def section_start(folder):
    """How long a process takes to say its version."""
    table("Start: `--version`", "program", "median", "ratio to `age`", "goal")
    programs = {"age": ["age", "--version"], "coffret": [COFFRET, "--version"], "restic": ["restic", "version"],
                "keepassxc-cli": ["keepassxc-cli", "--version"]}
    times = {name: [] for name in programs}
    for _ in range(60):
        for name, arguments in programs.items():
            times[name].append(seconds(arguments)[0])
    base = statistics.median(times["age"])
    for name, values in times.items():
        ratio = statistics.median(values) / base
        text = f"{ratio:.2f}"
        row(name, f"{statistics.median(values) * 1000:.2f} ms", judged(ratio, text, 2) if name == "coffret" else text,
            "2" if name == "coffret" else "")
    measured("Whole processes in turn, 60 of each.")


def unpack_notes(folder):
    archive = SHARED_NOTES / "tldr-pages-en.tar.gz"
    if archive.exists():
        with tarfile.open(archive) as tar:
            tar.extractall(folder, filter="data")
        return "tldr pages, 7,425 files"
    notes = pathlib.Path(folder) / "notes"
    notes.mkdir()
    for index in range(7425):
        (notes / f"note-{index}.md").write_text(f"# Note {index}\n\n" + f"Line about topic {index % 97}.\n" * 12)
    return "7,425 generated notes (the tldr pages are not beside this checkout)"


def section_import(folder):
    """A first import, durable, beside a first backup of the same files."""
    source = pathlib.Path(folder) / "source"
    source.mkdir()
    what = unpack_notes(source)
    table(f"First import of {what}, durable, key derivation and indexing included", "program", "median", "processor time",
          "stored", "ratio to `restic backup`", "goal")
    ours, theirs, sizes = [], [], {}
    used = {"coffret": [], "restic": []}
    for index in range(7):
        place = pathlib.Path(folder) / f"import-{index}"
        place.mkdir()
        store = Store(place)
        run([COFFRET, "init"], env=store.environment)
        before = processor_seconds()
        ours.append(store.command("import", str(source))[0])
        used["coffret"].append(processor_seconds() - before)
        sizes["coffret"] = store.size()
        repository = place / "restic"
        environment = {"PATH": os.environ["PATH"], "HOME": str(place), "RESTIC_PASSWORD": PASSPHRASE}
        run(["restic", "-q", "init", "-r", str(repository)], env=environment)
        before = processor_seconds()
        theirs.append(seconds(["restic", "-q", "backup", "-r", str(repository), str(source)], env=environment)[0])
        used["restic"].append(processor_seconds() - before)
        sizes["restic"] = sum(file.stat().st_size for file in repository.rglob("*") if file.is_file())
        shutil.rmtree(place)
    ratio = statistics.median(a / b for a, b in zip(ours, theirs))
    row("coffret import", f"{statistics.median(ours):.2f} s", f"{statistics.median(used['coffret']):.2f} s",
        f"{sizes['coffret'] / 1e6:.1f} MB", judged(ratio, f"{ratio:.2f}", 1), "1")
    row("restic backup", f"{statistics.median(theirs):.2f} s", f"{statistics.median(used['restic']):.2f} s",
        f"{sizes['restic'] / 1e6:.1f} MB", "1.00", "")
    measured("Whole processes in turn, 7 of each, a new store for each; the ratio is the median of the pairs.")


def section_read(folder):
    """One entry out of 10,000, in a fresh process."""
    count = 10_000
    source = pathlib.Path(folder) / "logins"
    source.mkdir()
    for index in range(count):
        (source / f"entry-{index:05}.md").write_text(f"# Entry {index:05}\n\nuser{index}@example.org\n")
    place = pathlib.Path(folder) / "read"
    place.mkdir()
    store = Store(place)
    run([COFFRET, "init"], env=store.environment)
    store.command("import", str(source))
    xml = place / "entries.xml"
    entries = "".join(
        f"<Entry><UUID>{'%032x' % index}</UUID><String><Key>Title</Key><Value>Entry {index:05}</Value></String>"
        f"<String><Key>Password</Key><Value>secret{index}</Value></String></Entry>" for index in range(count))
    import base64
    entries = re.sub(r"<UUID>([0-9a-f]{32})</UUID>",
                     lambda m: f"<UUID>{base64.b64encode(bytes.fromhex(m.group(1))).decode()}</UUID>", entries)
    xml.write_text("<?xml version='1.0' encoding='utf-8'?><KeePassFile><Meta><Generator>bench</Generator></Meta><Root>"
                   f"<Group><UUID>{base64.b64encode(b'0' * 16).decode()}</UUID><Name>Root</Name>{entries}</Group>"
                   "</Root></KeePassFile>")
    database = place / "entries.kdbx"
    secret = (PASSPHRASE + "\n").encode()
    run(["keepassxc-cli", "import", "-p", str(xml), str(database)], input=secret + secret)
    ours, derivation, theirs = [], [], []
    for index in range(11):
        wall, kdf, _ = store.timed("show", f"Entry {(index * 797) % count:05}")
        ours.append(wall - kdf)
        derivation.append(kdf)
        theirs.append(seconds(["keepassxc-cli", "show", str(database), f"Entry {(index * 797) % count:05}"],
                              input=secret)[0])
    table("One entry out of 10,000, fresh process", "program", "median", "ratio to `keepassxc-cli show`", "goal")
    ratio = statistics.median(a / b for a, b in zip(ours, theirs))
    row("coffret show, key derivation excluded", milliseconds(statistics.median(ours)),
        judged(ratio, f"{ratio:.3f}", 0.1), "0.1")
    row("coffret show, key derivation alone", milliseconds(statistics.median(derivation)), "", "")
    row("keepassxc-cli show (its own derivation included)", milliseconds(statistics.median(theirs)), "1.000", "")
    measured("Whole processes in turn, 11 of each; key derivation is what the program itself reports, taken off.")


def section_agent(folder):
    """One field out of 10,000 items with the agent warm, beside pass; unlocking 100,000 items; locking."""
    def fill(count, name):
        source = pathlib.Path(folder) / f"source-{name}"
        source.mkdir()
        for index in range(count):
            (source / f"entry-{index:06}.md").write_text(f"# Entry {index:06}\n\nuser{index}@example.org topic{index % 97}\n")
        place = pathlib.Path(folder) / name
        place.mkdir()
        (place / "coffret").mkdir(mode=0o700)
        store = Store(place)
        store.environment["COFFRET_AGENT"] = "off"
        run([COFFRET, "init"], env=store.environment)
        store.command("import", str(source))
        store.command("new", "--type", "login", "GitHub", "--secret", "password", input=b"correct horse\n")
        shutil.rmtree(source)
        unlocked = dict(store.environment)
        del unlocked["COFFRET_AGENT"]
        return store, unlocked

    store, unlocked = fill(10_000, "warm")
    environment = {"PATH": os.environ["PATH"], "HOME": str(store.folder), "GNUPGHOME": str(store.folder / "gnupg"),
                   "PASSWORD_STORE_DIR": str(store.folder / "pass")}
    (store.folder / "gnupg").mkdir(mode=0o700)
    run(["gpg", "--batch", "--passphrase", "", "--quick-generate-key", "bench@example.org"], env=environment)
    run(["pass", "init", "bench@example.org"], env=environment)
    run(["pass", "insert", "-e", "github"], env=environment, input=b"correct horse\n")
    run([COFFRET, "unlock"], env=unlocked)
    asking = {name: value for name, value in unlocked.items() if name != "COFFRET_PASSPHRASE_FILE"}
    reference = "coffret://Personal/GitHub/password"
    theirs, reads, shows = [], [], []
    for _ in range(41):
        theirs.append(seconds(["pass", "show", "github"], env=environment)[0])
        reads.append(seconds([COFFRET, "read", reference], env=asking)[0])
        shows.append(seconds([COFFRET, "show", "GitHub", "--field", "password"], env=asking)[0])
    table("One field out of 10,001 items, agent warm", "program", "median", "ratio to `pass show`", "goal")
    for name, values in (("coffret read", reads), ("coffret show --field", shows)):
        ratio = statistics.median(a / b for a, b in zip(values, theirs))
        row(name, milliseconds(statistics.median(values)), judged(ratio, f"{ratio:.2f}", 0.5), "0.5")
    row("pass show (gpg-agent warm)", milliseconds(statistics.median(theirs)), "1.00", "")
    measured("Whole processes in turn, 41 of each; the ratio is the median of the pairs.")
    subprocess.run(["gpgconf", "--kill", "all"], env=environment)
    locks = []
    for _ in range(21):
        run([COFFRET, "unlock"], env=unlocked)
        # A command that is under way has to be ended, too.
        busy = subprocess.Popen([COFFRET, "new"], env=asking, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        time.sleep(0.1)
        locks.append(seconds([COFFRET, "lock"], env=asking)[0])
        busy.communicate()
    run([COFFRET, "agent", "stop"], env=asking)

    store, unlocked = fill(100_000, "large")
    asking = {name: value for name, value in unlocked.items() if name != "COFFRET_PASSPHRASE_FILE"}
    # The first opening builds the index; that is part of the import.
    store.command("ls", "--limit", "50")
    run([COFFRET, "agent", "start"], env=asking)
    derivation, rest = [], []
    for index in range(7):
        _, kdf, _ = store.timed("show", "GitHub")
        derivation.append(kdf)
        wall = seconds([COFFRET, "unlock"], env=unlocked)[0]
        wall += seconds([COFFRET, "ls", "--limit", "50"], env=asking)[0]
        wall += seconds([COFFRET, "search", f"user{index * 797}"], env=asking)[0]
        rest.append(wall - kdf)
        run([COFFRET, "lock"], env=asking)
    run([COFFRET, "agent", "stop"], env=asking)
    table("Unlocking and locking", "what", "median", "worst", "goal")
    row("unlock of 100,000 items, until 50 are listed and one is found, key derivation excluded (three processes)",
        judged(statistics.median(rest), milliseconds(statistics.median(rest)), 0.3), milliseconds(max(rest)), "300 ms")
    row("key derivation, of the `coffret show` before each", milliseconds(statistics.median(derivation)),
        milliseconds(max(derivation)), "")
    row("coffret lock, with a command under way (whole process)", milliseconds(statistics.median(locks)),
        judged(max(locks), milliseconds(max(locks)), 0.05), "50 ms")
    measured("7 times unlocked, 21 times locked. The derivation that is taken off is another process's: where it varies, "
             "so does the first row.")


def section_attachment(folder):
    """A file of 1 GiB in and out, both synced to one disk."""
    big = pathlib.Path(folder) / "big.bin"
    block = os.urandom(1 << 20)
    with open(big, "wb") as file:
        for index in range(1024):
            file.write(index.to_bytes(8, "big") + block[8:])
        file.flush()
        os.fsync(file.fileno())
    place = pathlib.Path(folder) / "attachment"
    place.mkdir()
    store = Store(place)
    run([COFFRET, "init"], env=store.environment)
    store.command("new", "Big file", input=b"holds a big file\n")
    identity = place / "identity"
    run(["age-keygen", "-o", str(identity)])
    recipient = re.search(r"public key: (\S+)", identity.read_text()).group(1)
    age_in = f"age -r {recipient} -o {place}/big.age {big} && sync {place}/big.age"
    age_out = f"age -d -i {identity} -o {place}/big.out {place}/big.age && sync {place}/big.out"
    table("A file of 1 GiB, synced to disk", "direction", "coffret (key derivation excluded)", "age", "ratio", "goal",
          "peak memory of coffret", "goal")
    results = {"in": [], "out": []}
    memory = {"in": 0, "out": 0}
    for index in range(5):
        name = f"big-{index}.bin"
        link = place / name
        os.link(big, link)
        for direction, ours, theirs in (
            ("in", ["attach", "add", "Big file", str(link)], age_in),
            ("out", ["attach", "extract", "Big file", name, "--output", f"{place}/{name}.out"], age_out),
        ):
            peer = seconds(["sh", "-c", theirs])[0]
            with tempfile.NamedTemporaryFile() as report:
                wall, kdf, _ = store_timed_with_memory(store, ours, report.name)
                memory[direction] = max(memory[direction], int(pathlib.Path(report.name).read_text().split()[-1]) * 1024)
            results[direction].append((wall - kdf, peer))
        for leftover in (place / f"{name}.out", place / "big.age", place / "big.out", link):
            leftover.unlink(missing_ok=True)
    for direction, pairs in results.items():
        ratio = statistics.median(a / b for a, b in pairs)
        mebibytes = memory[direction] / (1 << 20)
        row(direction, f"{statistics.median(a for a, _ in pairs):.2f} s", f"{statistics.median(b for _, b in pairs):.2f} s",
            judged(ratio, f"{ratio:.2f}", 1.5), "1.5", judged(mebibytes, f"{mebibytes:.0f} MiB", 64), "64 MiB")
    measured("Whole processes in turn, 5 of each; key derivation is what the program itself reports, taken off; it is in the "
             "peak memory, with its 256 MiB.")
    big.unlink()
    # The same code without a passphrase: what the streaming takes by itself.
    print("\n### The same inside one process that derives no key\n")
    subprocess.run([BENCH, "blobs", "--directory", str(place / "blobs")], check=True)
    measured("`coffret-bench blobs`, once.")


def store_timed_with_memory(store, arguments, report):
    wall, result = seconds(["/usr/bin/time", "-f", "%M", "-o", report, COFFRET, "--timings", *arguments],
                           env=store.environment)
    found = re.search(r"key-derivation ([0-9.]+) ms", result.stderr.decode())
    return wall, float(found.group(1)) / 1000 if found else 0.0, result


def section_commit(folder):
    """One durable write of a 1 KiB value: ours with signature, tree and searchability, theirs a row."""
    import sqlcipher3
    database = pathlib.Path(folder) / "peer.db"
    connection = sqlcipher3.connect(str(database), isolation_level=None)
    connection.execute("pragma key = 'bench'")
    connection.execute("pragma journal_mode = wal")
    connection.execute("pragma synchronous = full")
    connection.execute("create table t (k blob primary key, v blob)")
    value = os.urandom(1024)

    def peer(count):
        samples, used = [], []
        for _ in range(count):
            key = os.urandom(16)
            start, start_used = time.perf_counter(), time.process_time()
            connection.execute("insert into t values (?, ?)", (key, value))
            used.append(time.process_time() - start_used)
            samples.append(time.perf_counter() - start)
        return samples, used

    table("One durable commit of 1 KiB", "program", "p50", "p99", "mean", "processor time", "ratio", "goal")
    names = ("coffret, one fact of 1 KiB: signed, in the tree, to be found by the next search",
             "coffret, one change of a note of 1 KiB: the note read and compared, two facts written",
             "coffret, the same with its share of the index, brought up to date after 16 changes",
             "coffret, the same with the index brought up to date after each change, as for a list",
             "coffret, the same with a search after each change")
    ours, used, ratios = ({name: [] for name in names} for _ in range(3))
    theirs, theirs_used = [], []
    for _ in range(7):
        theirs_round, used_round = peer(1000)
        theirs += theirs_round
        theirs_used += used_round
        peer_median = statistics.median(theirs_round)

        def bench(*words):
            output = run([BENCH, "commit", folder, "1008", *words]).stdout.decode()
            return list(zip(*[[float(word) / 1e6 for word in line.split()] for line in output.splitlines()]))

        # The first two as the peer's: one after the other, and nothing else in the process meanwhile.
        fact, note, grouped, each = bench("1008", "fact"), bench("1008"), bench("16"), bench("1")
        searched = bench("1", "search")
        for name, samples, processor in zip(names, (fact[0], note[0], grouped[1], each[1], searched[1]),
                                            (fact[2], note[2], grouped[3], each[3], searched[3])):
            ours[name] += samples
            used[name] += processor
            ratios[name].append(statistics.median(samples) / peer_median)
    rows = [(name, ours[name], used[name], statistics.median(ratios[name])) for name in names]
    for name, samples, processor, ratio in rows + [("SQLCipher 4, WAL, synchronous=FULL", theirs, theirs_used, None)]:
        samples.sort()
        row(name, f"{samples[len(samples) // 2] * 1e6:.0f} us", f"{samples[len(samples) * 99 // 100] * 1e6:.0f} us",
            f"{statistics.fmean(samples) * 1e6:.0f} us", f"{statistics.median(processor) * 1e6:.0f} us",
            judged(ratio, f"{ratio:.2f}", 1) if ratio else "1.00", "1" if ratio else "")
    measured("1,000 of each in turn, seven rounds, one process each, without its start; processor time is the median; the ratio "
             "is that of the wall medians of a round, its median over the rounds. Words are brought into the index for 32 changes "
             "together: that is in the mean and the p99 of the rows with the index, and in all of the last.")


def pair(server, new, old):
    """Pairs two devices as two scripts would: codes go from one's output to the other's input."""
    def start(store, *arguments):
        return subprocess.Popen([COFFRET, *arguments, "--json"], env=store.environment, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True)

    def event(process, name):
        for line in process.stdout:
            value = json.loads(line)
            if value.get("event") == name:
                return value
        sys.exit(f"bench: pairing ended without {name}")

    def type_code(process, code):
        process.stdin.write(code + "\n")
        process.stdin.flush()

    requester = start(new, "device", "pair", server)
    approver = start(old, "device", "approve", event(requester, "waiting")["pairing"])
    type_code(approver, event(requester, "code")["code"])
    type_code(requester, event(approver, "code")["code"])
    event(requester, "paired")
    event(approver, "added")


def section_edits(folder):
    """One edit on its way to the other device, in both directions, through agents and a server on loopback."""
    count = int(os.environ.get("COFFRET_BENCH_NOTES", "100000"))
    source = pathlib.Path(folder) / "source"
    source.mkdir()
    for index in range(count):
        (source / f"note-{index:06}.md").write_text(f"# Note {index:06}\n\n" + f"Line about topic {index % 97}.\n" * 46)
    data = pathlib.Path(folder) / "data"
    run([SERVER, "init", "--data", str(data)])
    server = subprocess.Popen([SERVER, "serve", "--data", str(data), "--listen", "127.0.0.1:0", "--registration", "open",
                               "--quota-bytes", "4000000000"], stderr=subprocess.PIPE, text=True)
    stores = []
    try:
        for line in server.stderr:
            if found := re.search(r"port\W+(\d+)", line):
                break
        url = f"http://127.0.0.1:{found.group(1)}"
        threading.Thread(target=server.stderr.read, daemon=True).start()
        for name in ("first", "second"):
            place = pathlib.Path(folder) / name
            (place / "coffret").mkdir(mode=0o700, parents=True)
            store = Store(place)
            store.environment["COFFRET_AGENT"] = "off"
            store.environment["COFFRET_TPM"] = "off"
            stores.append(store)
        first, second = stores
        run([COFFRET, "init"], env=first.environment)
        first.command("import", str(source))
        run([COFFRET, "server", "join", url], env=first.environment)
        up = first.command("vault", "sync", "Personal")[0]
        pair(url, second, first)
        down = second.command("sync")[0]
        for store in stores:
            unlocked = {name: value for name, value in store.environment.items() if name != "COFFRET_AGENT"}
            run([COFFRET, "unlock"], env=unlocked)
        result = run([BENCH, "edits", str(first.folder), str(second.folder), "60"])
        figures = {}
        for line in result.stdout.decode().splitlines():
            name, value = line.split()
            figures.setdefault(name, []).append(float(value))
        table(f"Syncing a vault of {count:,} notes over loopback", "what", "median", "p95", "goal")
        for name, words, goal in (("there", "an edit on the first device is visible on the second after its commit", "50 ms"),
                                  ("back", "the same the other way", "50 ms"),
                                  ("nothing", "nothing new: the head, and the words of the other devices", "2 ms"),
                                  ("head", "nothing new: the head alone", "2 ms")):
            values = sorted(figures[name])
            median = statistics.median(values)
            row(words, judged(median, f"{median:.2f} ms", float(goal.split()[0])),
                f"{values[int(len(values) * 0.95)]:.2f} ms", goal)
        row("first sync up / down, key derivation included", f"{up:.1f} s / {down:.1f} s", "", "")
        measured("Two stores, an agent for each, and the server on loopback without TLS; 60 edits of a note of 1 KiB in each "
                 "direction, one at a time. An edit is visible when a reader of the other vault has read its text; time begins "
                 "when the commit has returned. First syncs once.")
    finally:
        for store in stores:
            unlocked = {name: value for name, value in store.environment.items() if name != "COFFRET_AGENT"}
            subprocess.run([COFFRET, "agent", "stop"], env=unlocked, stdout=subprocess.DEVNULL)
        server.terminate()
        server.wait()


def quality_queries(pages, holding, name, generator, count):
    """A title, three words of a page's description, the same with the last one cut, and with one typo.

    Words that ten descriptions or more have together ("this command alias") name no page; what is found by the others is told apart.
    """
    written = []
    for title, _, description in pages:
        words = []
        for word in re.findall(r"[^\W_]+", description.lower()):
            if len(word) >= 4 and word.isascii() and word not in words:
                words.append(word)
        if len(words) < 3:
            continue
        three = [words[place] for place in sorted(generator.sample(range(len(words)), 3))]
        last = three[2]
        cut = last[:min(len(last) - 1, max(3, len(last) - generator.randint(1, len(last) // 2)))]
        place = generator.randrange(3)
        word, letter = three[place], generator.choice("abcdefghijklmnopqrstuvwxyz")
        at = generator.randrange(len(word) - 1)
        typo = generator.choice([word[:at] + word[at + 1:], word[:at] + letter + word[at:], word[:at] + letter + word[at + 1:],
                                 word[:at] + word[at + 1] + word[at] + word[at + 2:]])
        for kind, text in (("title", title), ("three words of the description", " ".join(three)),
                           ("the same, last word cut", " ".join(three[:2] + [cut])),
                           ("the same, one typo", " ".join(three[:place] + [typo] + three[place + 1:]))):
            written.append("\x1f".join((name, kind, title, text)) + "\x1e")
        if len(set.intersection(*(holding[word] for word in three))) < 10:
            written.append("\x1f".join((name, "three words that fewer than ten descriptions have", title, " ".join(three))) + "\x1e")
        count -= 1
        if count == 0:
            break
    return written


def section_search_quality(folder):
    """Mean reciprocal rank at ten of the right page, by its title. Weights were chosen on one half of the pages; the other is held out."""
    if not (SHARED_NOTES / "tldr-pages-en.tar.gz").exists():
        print("search-quality: skipped, the tldr pages are not beside this checkout")
        return
    unpack_notes(folder)
    pages = []
    for path in sorted(pathlib.Path(folder).rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        if "pages" not in str(path.relative_to(folder)) or not text.startswith("# "):
            continue
        said = [line[2:] for line in text.splitlines() if line.startswith("> ") and not re.match("> (More information|See also)", line)]
        pages.append((text.splitlines()[0][2:], text, " ".join(said)))
    holding = {}
    for number, (_, _, description) in enumerate(pages):
        for word in re.findall(r"[^\W_]+", description.lower()):
            holding.setdefault(word, set()).add(number)
    queries = []
    for name, half, seed in (("chosen on", 0, 20260101), ("held out", 1, 20261123)):
        generator = random.Random(seed)
        part = pages[half::2]
        generator.shuffle(part)
        queries += quality_queries(part, holding, name, generator, 1000)
    (pathlib.Path(folder) / "documents").write_text("".join(f"{title}\x1f{text}\x1e" for title, text, _ in pages))
    (pathlib.Path(folder) / "queries").write_text("".join(queries))
    subprocess.run([BENCH, "search-quality", folder], check=True)
    measured(f"`Scripts/bench search-quality`, {len(pages):,} tldr pages; weights were chosen on every second page with seed 20260101, "
             "the other pages and seed 20261123 were used for nothing else. One run.")


def section_inside(folder):
    """What coffret-bench measures inside one process; limits that were not held are told when all of it ran."""
    failed = []
    pages = sorted(str(page) for part in ("Spec", "Docs") for page in pathlib.Path(part).rglob("*.md"))
    arguments = {"search": [folder], "history": pages}
    for mode in ("crypto", "storage", "history", "search"):
        print(f"\n### coffret-bench {mode}\n", flush=True)
        if subprocess.run([BENCH, mode] + arguments.get(mode, [])).returncode != 0:
            failed.append(mode)
        measured(f"`coffret-bench {mode}`, one run, one process.")
    if failed:
        sys.exit(f"bench: limits were not held in coffret-bench {', '.join(failed)}")


class Server:
    """The real server on loopback with a certificate of its own."""

    def __init__(self, folder):
        certificate, key, data = (str(folder / name) for name in ("server.pem", "server.key", "server"))
        run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
             "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate])
        digest = run(["sh", "-c", f"openssl x509 -in {certificate} -pubkey -noout | openssl pkey -pubin -outform der | sha256sum"])
        self.fingerprint = digest.stdout.decode()[:64]
        run([SERVER, "init", "--data", data])
        self.process = subprocess.Popen(
            [SERVER, "serve", "--data", data, "--listen", "127.0.0.1:0", "--registration", "open",
             "--requests-per-second-per-address", "100000", "--requests-per-second-per-account", "100000",
             "--quota-bytes", str(1 << 40), "--tls-certificate", certificate, "--tls-key", key],
            stderr=subprocess.PIPE)
        port = None
        while port is None:
            line = self.process.stderr.readline().decode()
            if not line:
                sys.exit("bench: the server ended")
            found = re.search(r"port\W+(\d+)", line)
            port = found and found.group(1)
        # What it logs further is read away, so that it never waits for us.
        threading.Thread(target=lambda: [None for _ in self.process.stderr], daemon=True).start()
        self.url = f"https://localhost:{port}"

    def end(self):
        self.process.terminate()
        self.process.wait()


class Pairing:
    """One of the two commands of a pairing, which speak JSON and read codes."""

    def __init__(self, store, *arguments):
        self.process = subprocess.Popen(
            [COFFRET, "device", *arguments, "--json"], env=store.environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def wait(self, event):
        for line in self.process.stdout:
            value = json.loads(line)
            if value.get("event") == event:
                return value
        sys.exit(f"bench: no {event}: {self.process.stderr.read().decode()}")

    def type(self, code):
        self.process.stdin.write((code.replace(" ", "") + "\n").encode())
        self.process.stdin.flush()


def section_sync(folder):
    """A vault between two devices over the real server: first sync, nothing new, one edit."""
    folder = pathlib.Path(folder) / "sync"
    folder.mkdir()
    server = Server(folder)
    stores = []
    for name in ("first", "second"):
        (folder / name).mkdir()
        stores.append(Store(folder / name))
        stores[-1].environment["COFFRET_AGENT"] = "off"
    first, second = stores
    try:
        first.command("init", "--effort", "light")
        first.command("server", "join", server.url, "--fingerprint", server.fingerprint)
        new = Pairing(second, "pair", server.url, "--fingerprint", server.fingerprint, "--name", "second", "--effort", "light")
        old = Pairing(first, "approve", new.wait("waiting")["pairing"])
        old.type(new.wait("code")["code"])
        new.type(old.wait("code")["code"])
        new.wait("paired")
        old.wait("added")
        places = [str(place) for store in stores for place in (store.path, store.environment["XDG_STATE_HOME"])]
        print("\n### Two devices and a server\n")
        for count, rounds in ((10_000, 5), (20_000, 1), (100_000, 1)):
            if os.environ.get("COFFRET_BENCH_NOTES", str(count)) != str(count):
                continue
            result = run([BENCH, "sync", str(count), str(rounds), PASSPHRASE, *places])
            print(result.stdout.decode(), flush=True)
        measured("A new vault for each round: five of 10,000 notes, one of 20,000 and of 100,000; TLS, SQLite, all on the same cores. A sync "
                 "is what `coffret sync` does for one vault, from opening it to the acknowledgement.")
        beside_etebase(places)
    finally:
        server.end()


def beside_etebase(places):
    """The first sync of 10,000 notes beside what Etebase's server takes for as many; COFFRET_ETEBASE names a copy of its source."""
    checkout = os.environ.get("COFFRET_ETEBASE")
    if not checkout:
        print("\nNot compared with Etebase: it is in no package registry. `git clone https://github.com/etesync/server`, and name "
              "the folder in COFFRET_ETEBASE.", flush=True)
        return
    python = ROOT / ".build/etebase/bin/python"
    if not python.exists():
        run([sys.executable, "-m", "venv", python.parent.parent])
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", f"{checkout}/requirements.txt"])
    ours, theirs = [], []
    for _ in range(3):
        theirs.append(json.loads(run([python, ROOT / "Benchmarks/etebase.py", checkout, "10000"]).stdout))
        printed = run([BENCH, "sync", "10000", "1", PASSPHRASE, *places]).stdout.decode()
        ours.append({way: float(re.search(rf"first sync {way}[^|]*\| ([0-9.]+) ms", printed)[1]) / 1000 for way in ("up", "down")})
    table("First sync of 10,000 notes of 1 KiB", "direction", "coffret", "Etebase's server alone", "ratio", "goal")
    for way in ("up", "down"):
        ratio = statistics.median(mine[way] / other[way] for mine, other in zip(ours, theirs))
        row(way, f"{statistics.median(each[way] for each in ours):.2f} s", f"{statistics.median(each[way] for each in theirs):.1f} s",
            judged(ratio, f"{ratio:.4f}", 0.1), "0.1")
    measured("Medians of three rounds in turn. Coffret: as above, TLS, every note sealed, sent, opened and verified. Etebase: random bytes made "
             "beforehand, batches of 500, one connection without TLS, nothing opened; so only its server is measured.")


class SlowLine:
    """Hands bytes on to the server and back, back at 10 Mbit/s at most, and counts those."""
    BYTES_PER_SECOND = 1_250_000

    def __init__(self, port):
        self.target = ("127.0.0.1", port)
        self.byte_count = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(self.target)
            threading.Thread(target=self.carry, args=(near, far, False), daemon=True).start()
            threading.Thread(target=self.carry, args=(far, near, True), daemon=True).start()

    def carry(self, source, sink, is_slow):
        free = time.monotonic()
        try:
            while data := source.recv(16384):
                if is_slow:
                    self.byte_count += len(data)
                    free = max(free, time.monotonic()) + len(data) / self.BYTES_PER_SECOND
                    time.sleep(max(0, free - time.monotonic()))
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def end(self):
        self.listener.close()


def section_history(folder):
    """The first sync of a vault that was edited much, over a slow line: when it may be used, and when all of it is there."""
    note_count, edit_count, word_count = 200, 4000, 1200
    folder = pathlib.Path(folder) / "history"
    folder.mkdir()
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 10))) for _ in range(8000)]

    def text(index):
        return f"# Note {index:03}\n\n" + " ".join(chance.choices(words, k=word_count)) + "\n"

    source = folder / "source"
    source.mkdir()
    for index in range(note_count):
        (source / f"note-{index:03}.md").write_text(text(index))
    server = Server(folder)
    line = SlowLine(int(server.url.rsplit(":", 1)[1]))
    stores = []
    for name in ("first", "second"):
        (folder / name / "coffret").mkdir(mode=0o700, parents=True)
        stores.append(Store(folder / name))
        stores[-1].environment["COFFRET_AGENT"] = "off"
    first, second = stores
    unlocked = {name: value for name, value in first.environment.items() if name != "COFFRET_AGENT"}
    try:
        first.command("init", "--effort", "light")
        first.command("import", str(source))
        run([COFFRET, "unlock"], env=unlocked)
        for index in range(edit_count):
            number = index % note_count
            run([COFFRET, "edit", f"Note {number:03}"], env=unlocked, input=text(number).encode())
        run([COFFRET, "server", "join", server.url, "--fingerprint", server.fingerprint], env=unlocked)
        run([COFFRET, "vault", "sync", "Personal"], env=unlocked)
        new = Pairing(second, "pair", f"https://localhost:{line.port}", "--fingerprint", server.fingerprint, "--name", "second",
                      "--effort", "light")
        old = Pairing(first, "approve", new.wait("waiting")["pairing"])
        old.type(new.wait("code")["code"])
        new.type(old.wait("code")["code"])
        new.wait("paired")
        old.wait("added")
        before, begun = line.byte_count, time.monotonic()
        process = subprocess.Popen([COFFRET, "sync"], env=second.environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        usable = None
        for said in process.stderr:
            if b"may be used now" in said and usable is None:
                usable = (time.monotonic() - begun, line.byte_count - before)
        if process.wait() != 0 or usable is None:
            sys.exit("bench: the first sync failed, or the present did not come first")
        whole = (time.monotonic() - begun, line.byte_count - before)
        table(f"First sync of {note_count} notes of {word_count * 7.5 / 1024:.0f} KiB that were edited {edit_count:,} times, over 10 Mbit/s",
              "moment", "after", "bytes received")
        for words_, (after, byte_count) in (("the vault may be listed, searched and written", usable), ("all of its history is there and verified", whole)):
            row(words_, f"{after:.1f} s", f"{byte_count / 1e6:.1f} MB")
        measured("Two stores and a server on one machine, TLS, and between them a process that hands on 10 Mbit/s; once. The second device "
                 "was paired before, so that the first put the present at the server.")
    finally:
        subprocess.run([COFFRET, "agent", "stop"], env=unlocked, stdout=subprocess.DEVNULL)
        line.end()
        server.end()


def section_session(folder):
    """A session of the agent that stays open, asked from Python as JSON (Samples/session.py)."""
    sys.path.insert(0, str(ROOT / "Samples"))
    import session

    count = int(os.environ.get("COFFRET_BENCH_NOTES", "100000"))
    chance = random.Random(20261123)
    letters = "etaoinshrdlucmfwypvbgkqjxz"
    vocabulary = sorted({"".join(chance.choices(letters, weights=range(26, 0, -1), k=chance.randint(3, 10))) for _ in range(30_000)})
    weights = [1 / (rank + 1) for rank in range(len(vocabulary))]
    chance.shuffle(vocabulary)
    source = pathlib.Path(folder) / "source"
    source.mkdir()
    for index in range(count):
        words = chance.choices(vocabulary, weights=weights, k=90)
        (source / f"note-{index:06}.md").write_text(f"# {' '.join(words[:4])} {index}\n\n{' '.join(words[4:])}\n")
    place = pathlib.Path(folder) / "store-of-sessions"
    place.mkdir()
    (place / "coffret").mkdir(mode=0o700)
    store = Store(place)
    unlocked = dict(store.environment)
    store.environment["COFFRET_AGENT"] = "off"
    run([COFFRET, "init"], env=store.environment)
    store.command("import", str(source))
    shutil.rmtree(source)
    store.command("ls", "--limit", "50")
    run([COFFRET, "unlock"], env=unlocked)
    try:
        begin = time.monotonic()
        open_session = session.Session(str(store.path), unlocked)
        opening = time.monotonic() - begin
        ids = [item["id"] for item in open_session.ask("item.list", {"order": "created", "limit": 5_000})["items"]]

        def measure(asked):
            times = []
            for operation, fields in asked:
                begin = time.monotonic()
                open_session.ask(operation, fields)
                times.append(time.monotonic() - begin)
            return times

        typed = []
        for _ in range(60):
            first, second = chance.choices(vocabulary, weights=weights, k=2)
            text = f"{first} {second}"
            typed += [text[:end] for end in range(1, len(text) + 1) if text[end - 1] != " "]
        results = {
            "item.read, one of 5,000 at random": (measure([("item.read", {"item": chance.choice(ids)}) for _ in range(2_000)]), 0.001),
            "item.search, each letter of two words as it is typed, 20 hits": (
                measure([("item.search", {"query": text, "limit": 20, "marksMatches": True}) for text in typed]), 0.010),
            "item.list, the latest 50": (measure([("item.list", {"limit": 50})] * 200), None),
            "tag.list": (measure([("tag.list", {})] * 200), None),
            "item.edit, one line more, committed and synced": (
                measure([("item.edit", {"item": chance.choice(ids), "text": f"# Edited\n\n{index}\n"}) for index in range(200)]), None),
            "hello, which touches no vault": (measure([("hello", {})] * 500), None),
        }
    finally:
        run([COFFRET, "agent", "stop"], env=unlocked)
    table(f"An open session with {count:,} notes", "request", "median", "p95", "goal")
    row("opening it, store and all", milliseconds(opening), "", "")
    for name, (times, goal) in results.items():
        median, late = statistics.median(times), sorted(times)[len(times) * 95 // 100]
        row(name, f"{median * 1000:.2f} ms" if goal is None else judged(median, f"{median * 1000:.2f} ms", goal),
            f"{late * 1000:.2f} ms", f"{goal * 1000:.0f} ms" if goal else "")
    measured(f"One connection, one request after the other, {len(typed):,} of them searches; the time has both encodings and "
             "Python's part.")


def section_moving(folder):
    """What people bring along."""
    import moving

    moving.section(sys.modules[__name__], folder)


SECTIONS = {"start": section_start, "import": section_import, "read": section_read, "agent": section_agent, "commit": section_commit, "sync": section_sync,
            "attachment": section_attachment, "edits": section_edits, "history": section_history,
            "search-quality": section_search_quality, "session": section_session, "inside": section_inside,
            "moving": section_moving}


def main():
    global LOAD_BEFORE
    names = sys.argv[1:]
    if not names or names == ["all"]:
        names = list(SECTIONS)
    for name in names:
        if name not in SECTIONS:
            sys.exit(f"bench: no section called {name}; there are {', '.join(SECTIONS)}")
        folder = tempfile.mkdtemp(prefix="coffret-bench-")
        LOAD_BEFORE = load()
        try:
            SECTIONS[name](folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
