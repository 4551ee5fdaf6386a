"""Imports of what people bring along: a KeePass export beside keepassxc-cli, a vault of Obsidian, a tree of documentation, and the
memory of an archive with large files."""

import base64
import os
import pathlib
import random
import statistics
import subprocess
import time
import zipfile

WORDS = "the quick brown fox jumps over lazy dogs while seven wizards brew strong potions beneath silver moons".split()


def text(generator, count):
    return " ".join(generator.choice(WORDS) for _ in range(count))


def keepass(path, count):
    """A KeePass XML export in plain text."""
    generator = random.Random(1)
    with open(path, "w") as file:
        file.write('<?xml version="1.0" encoding="utf-8"?>\n<KeePassFile><Meta><DatabaseName>D</DatabaseName></Meta><Root><Group>'
                   "<UUID>AAAAAAAAAAAAAAAAAAAAAA==</UUID><Name>Root</Name>\n")
        for number in range(count):
            values = {"Title": f"Entry {number}", "UserName": f"user{number}@example.org", "Password": f"{generator.random():.17f}",
                      "URL": f"https://site{number}.example/login", "Notes": text(generator, 12)}
            strings = "".join(f"<String><Key>{key}</Key><Value>{value}</Value></String>" for key, value in values.items())
            identity = base64.b64encode(number.to_bytes(16, "big")).decode()
            file.write(f"<Entry><UUID>{identity}</UUID><Times><CreationTime>2020-01-02T03:04:05Z</CreationTime>"
                       f"<LastModificationTime>2021-01-02T03:04:05Z</LastModificationTime></Times>{strings}</Entry>\n")
        file.write("</Group></Root></KeePassFile>\n")


def obsidian(folder, count):
    generator = random.Random(2)
    for number in range(count):
        place = folder / f"Area {number % 40}"
        place.mkdir(parents=True, exist_ok=True)
        links = " ".join(f"[[Note {generator.randrange(count)}]]" for _ in range(4))
        (place / f"Note {number}.md").write_text(
            f"---\ntags: [area/{number % 40}, kind{number % 7}]\naliases: N{number}\n---\n# Note {number}\n\n"
            f"{text(generator, 120)}\n\n{links} #inline{number % 50}\n")


def documentation(folder, count):
    generator = random.Random(3)
    for number in range(count):
        place = folder / f"part{number % 30}" / f"chapter{number % 210}"
        place.mkdir(parents=True, exist_ok=True)
        if number % 7 == 0:
            (place / f"figure{number}.png").write_bytes(generator.randbytes(3000))
        else:
            (place / f"page{number}.md").write_text(
                f"# Page {number}\n\n{text(generator, 150)}\n\n![figure](figure{number - number % 7}.png)\n")


def peak(arguments, environment):
    """The most memory that a process had, in MiB."""
    process = subprocess.Popen(arguments, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"bench: {arguments} failed")
    return usage.ru_maxrss / 1024


def section(bench, folder):
    folder = pathlib.Path(folder)

    def imported(source, store_name):
        """Wall and processor seconds of an import into a new store, key derivation excluded."""
        place = folder / store_name
        place.mkdir()
        store = bench.Store(place)
        bench.run([bench.COFFRET, "init"], env=store.environment)
        before = bench.processor_seconds()
        wall, derivation, _ = store.timed("import", str(source))
        return wall - derivation, bench.processor_seconds() - before - derivation

    def database(source, name):
        target = folder / name
        before = bench.processor_seconds()
        start = time.monotonic()
        bench.run(["keepassxc-cli", "import", "-q", "-p", "-t", "100", str(source), str(target)], input=b"x\nx\n")
        result = time.monotonic() - start, bench.processor_seconds() - before
        target.unlink()
        return result

    full, empty = folder / "full.xml", folder / "empty.xml"
    keepass(full, 10_000)
    keepass(empty, 0)
    bench.table("Import of a KeePass XML export of 10,000 entries, key derivation excluded", "program", "median", "processor time", "goal")
    ours, theirs = [], []
    for index in range(5):
        # What an empty export costs is the program's start, and of the peer's also its key derivation.
        bare = imported(empty, f"keepass-empty-{index}")
        with_items = imported(full, f"keepass-{index}")
        ours.append((with_items[0] - bare[0], with_items[1] - bare[1]))
        base = database(empty, f"empty-{index}.kdbx")
        with_entries = database(full, f"full-{index}.kdbx")
        theirs.append((with_entries[0] - base[0], with_entries[1] - base[1]))
    limit = statistics.median(value[0] for value in theirs)
    wall = statistics.median(value[0] for value in ours)
    bench.row("coffret import", bench.judged(wall, f"{wall:.2f} s", limit),
              f"{statistics.median(value[1] for value in ours):.2f} s", f"{limit:.2f} s")
    bench.row("keepassxc-cli import", f"{limit:.2f} s", f"{statistics.median(value[1] for value in theirs):.2f} s", "")
    bench.measured("Whole processes in turn, 5 of each, a new store or database for each; of both, what an empty export takes is subtracted.")

    bench.table("Import of trees, key derivation excluded", "what", "median", "processor time", "goal")
    for name, make, count in [("vault of Obsidian, 6,000 notes", obsidian, 6_000), ("documentation, 14,000 files", documentation, 14_000)]:
        source = folder / make.__name__
        make(source, count)
        times = [imported(source, f"{make.__name__}-{index}") for index in range(3)]
        wall = statistics.median(value[0] for value in times)
        bench.row(name, bench.judged(wall, f"{wall:.2f} s", 3), f"{statistics.median(value[1] for value in times):.2f} s", "3 s")
    bench.measured("Whole processes, 3 of each, a new store for each; durable, indexing included.")

    archive = folder / "large.bear2bk"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as file:
        for number in range(16):
            file.writestr(f"N{number}.textbundle/info.json", '{"version": 2}')
            file.writestr(f"N{number}.textbundle/text.md", f"# N{number}\n\n![](assets/large.bin)\n")
            file.writestr(f"N{number}.textbundle/assets/large.bin", os.urandom(64 << 20))
    place = folder / "large"
    place.mkdir()
    store = bench.Store(place)
    bench.run([bench.COFFRET, "init", "--effort", "light"], env=store.environment)
    used = peak([bench.COFFRET, "import", str(archive)], store.environment)
    bench.table("Memory of an import with 1 GiB of files", "program", "most memory", "goal")
    bench.row("coffret import, light key derivation (64 MiB) included", bench.judged(used, f"{used:.0f} MiB", 100), "100 MiB")
    bench.measured("One run.")
