"""The page's speed in Chromium, Firefox and the window, over one store of 100,000 notes. Run through Scripts/bench-page.

Each engine shows the real page, with Benchmarks/page/measure.js behind it, which does what a person does and waits for the frame.
"""

import contextlib
import glob
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from compare import COFFRET, PASSPHRASE, PRODUCTS, ROOT, Store, judged, measured, milliseconds, row, run, table

COUNT = int(os.environ.get("COFFRET_BENCH_NOTES", "100000"))
#: With these `coffret open` starts the window.
TUNED = ["perturb=165", "tcache_count=0", "mmap_threshold=33554432", "trim_threshold=67108864"]
WIPING = {"GLIBC_TUNABLES": ":".join(f"glibc.malloc.{each}" for each in TUNED), "G_SLICE": "always-malloc", "Malloc": "1"}
SCREEN_WORDS = ["garden", "meadow", "copper", "river", "lantern", "harbour", "violet", "thunder"]


def fill(folder):
    """A store with notes of words as people use them: few of them often, many of them seldom."""
    chance = random.Random(20261124)
    letters = "etaoinshrdlucmfwypvbgkqjxz"
    vocabulary = sorted({"".join(chance.choices(letters, weights=range(26, 0, -1), k=chance.randint(3, 10))) for _ in range(30_000)})
    chance.shuffle(vocabulary)
    vocabulary[40:40 + 60 * len(SCREEN_WORDS):60] = SCREEN_WORDS
    weights = list(itertools.accumulate(1 / (rank + 1) for rank in range(len(vocabulary))))
    source = folder / "source"
    source.mkdir()
    for index in range(COUNT):
        words = chance.choices(vocabulary, cum_weights=weights, k=90)
        (source / f"note-{index:06}.md").write_text(f"# {' '.join(words[:4])} {index}\n\n{' '.join(words[4:])}\n")
    lines = [f"- [ ] {' '.join(chance.choices(vocabulary, cum_weights=weights, k=9))} **{number}** `code` #tag/{number % 7}" for number in range(3_598)]
    (source / "long.md").write_text("# Log of the longest summer\n\n" + "\n".join(lines) + "\n")
    (source / "short.md").write_text("# Short and longest\n\nNothing but this line.\n")
    (folder / "coffret").mkdir(mode=0o700)
    store = Store(folder)
    store.environment["COFFRET_TPM"] = "off"
    alone = {**store.environment, "COFFRET_AGENT": "off"}
    run([COFFRET, "init", "--effort", "light"], env=alone)
    run([COFFRET, "import", str(source)], env=alone)
    shutil.rmtree(source)
    run([COFFRET, "ls", "--limit", "50"], env=alone)
    return store


def make_page(folder):
    run([str(ROOT / "Scripts/page"), str(folder)])
    with open(folder / "session.js", "a") as file:
        file.write("\n" + (ROOT / "Benchmarks/page/measure.js").read_text())


def figures(store, title, seconds=900):
    """Waits for the note that the page writes at its end."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = subprocess.run([COFFRET, "show", title], env=store.asking, capture_output=True, text=True)
        if found.returncode == 0:
            taken = json.loads(found.stdout[found.stdout.index("{"):found.stdout.rindex("}") + 1])
            # In the trash it would be found by the next run over the same store.
            run([COFFRET, "rm", "--yes", "--permanently", title], env=store.asking)
            if "failed" in taken:
                sys.exit(f"bench: {title}: {taken['failed']}")
            return taken
        time.sleep(1)
    sys.exit(f"bench: the page never said: {title}")


def serve(store, page):
    process = subprocess.Popen([str(PRODUCTS / "coffret-web"), "--store", str(store.path), "--page", str(page)], env=store.asking, stdout=subprocess.PIPE, text=True)
    return process, process.stdout.readline().strip()


def chromium(store, page):
    from playwright.sync_api import sync_playwright
    process, address = serve(store, page)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        try:
            browser.new_context(viewport={"width": 1440, "height": 900}).new_page().goto(address)
            return figures(store, "Figures of http: other")
        finally:
            browser.close()
            process.terminate()
            process.wait()


def firefox(store, page):
    from marionette_driver.marionette import Marionette
    process, address = serve(store, page)
    browser = Marionette(bin="/usr/bin/firefox-esr", headless=True, gecko_log=str(store.folder / "gecko.log"), startup_timeout=180)
    try:
        browser.start_session()
        browser.navigate(address)
        return figures(store, "Figures of http: Firefox")
    finally:
        browser.quit()
        browser.cleanup()
        process.terminate()
        process.wait()


def family(process):
    """The processes of a program, by their names."""
    parents, names = {}, {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            text = open(path).read()
        except OSError:
            continue
        number = int(path.split("/")[2])
        names[number] = text[text.index("(") + 1:text.rindex(")")]
        parents[number] = int(text[text.rindex(")") + 2:].split()[1])
    found = {process}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return {number: names[number] for number in found if number in names}


def memory(processes):
    """MiB, pages that several of them have counted in parts."""
    total = 0
    for process in processes:
        try:
            total += int(re.search(r"^Pss:\s+(\d+)", open(f"/proc/{process}/smaps_rollup").read(), re.M).group(1))
        except OSError:
            continue
    return total / 1024


def window(store, page):
    screen = subprocess.Popen(["Xvfb", "-displayfd", "1", "-screen", "0", "1440x900x24", "-nolisten", "tcp"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    display = {**store.asking, "DISPLAY": ":" + screen.stdout.readline().strip()}
    bus = subprocess.Popen(["dbus-daemon", "--session", "--print-address", "--nofork", "--nopidfile"], stdout=subprocess.PIPE, text=True)
    display["DBUS_SESSION_BUS_ADDRESS"] = display["AT_SPI_BUS_ADDRESS"] = bus.stdout.readline().strip()
    run([COFFRET, "lock"], env=store.asking)
    begin = time.monotonic()
    process = subprocess.Popen([str(PRODUCTS / "coffret-desktop"), "--store", str(store.path), "--page", str(page)], env={**display, **WIPING})
    try:
        find = ["xdotool", "search", "--onlyvisible", "--name", "^Coffret$"]
        while not (found := subprocess.run(find, env=display, capture_output=True, text=True).stdout.split()):
            time.sleep(0.01)
        appeared = time.monotonic() - begin
        time.sleep(3)
        run(["xdotool", "windowfocus", "--sync", found[-1]], env=display)
        run(["xdotool", "type", "--delay", "10", PASSPHRASE], env=display)
        run(["xdotool", "key", "Return"], env=display)
        taken = figures(store, "Figures of coffret: other")
        processes = family(process.pid)
        taken["appeared"] = [appeared * 1000]
        taken["memory"] = {name: memory([number for number in processes if processes[number] == name]) for name in sorted(set(processes.values()))}
        taken["locks"] = []
        for _ in range(5):
            pages = {number for number, name in family(process.pid).items() if name == "WebKitWebProces"}
            begin = time.monotonic()
            run([COFFRET, "lock"], env=store.asking)
            while any(os.path.exists(f"/proc/{number}") and open(f"/proc/{number}/stat").read().split(")")[-1].split()[0] != "Z" for number in pages):
                time.sleep(0.002)
            taken["locks"].append((time.monotonic() - begin) * 1000)
            time.sleep(3)
            run(["xdotool", "windowfocus", "--sync", found[-1]], env=display)
            run(["xdotool", "type", "--delay", "10", PASSPHRASE], env=display)
            run(["xdotool", "key", "Return"], env=display)
            time.sleep(6)
        return taken
    finally:
        process.terminate()
        process.wait()
        for other in (bus, screen):
            other.terminate()
            other.wait()


def percentile(values, part=0.95):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


ROWS = [
    ("unlocked → first rows painted", "firstList", {"": 100}, False),
    ("key in the search → painted", "searchKey", {"": 30}, True),
    ("jump to anywhere in the list → painted", "jump", {"": 30}, True),
    ("note of 3,600 lines → painted", "open", {"": 100}, True),
    ("key in it → painted", "key", {"": 16, "window": 50}, True),
    ("request and answer", "request", {"": 3}, True),
]


def main(engines):
    kept = os.environ.get("COFFRET_BENCH_STORE")
    with contextlib.nullcontext(kept) if kept else tempfile.TemporaryDirectory(prefix="coffret-page-") as name:
        folder = pathlib.Path(name)
        folder.mkdir(exist_ok=True)
        store = fill(folder) if not (folder / "store").exists() else Store(folder)
        store.environment["COFFRET_TPM"] = "off"
        if engines == ["none"]:
            return
        store.asking = {name: value for name, value in store.environment.items() if name != "COFFRET_PASSPHRASE_FILE"}
        page = folder / "page"
        make_page(page)
        results = {}
        try:
            for engine in engines:
                run([COFFRET, "unlock"], env=store.environment)
                results[engine] = {"chromium": chromium, "firefox": firefox, "window": window}[engine](store, page)
                print(f"{engine} is measured", file=sys.stderr, flush=True)
        finally:
            subprocess.run([COFFRET, "agent", "stop"], env=store.asking, capture_output=True)
        table(f"The page over {COUNT:,} notes", "what", *[f"{engine}: median (p95)" for engine in results], "goal (p95)")
        for words, key, goals, isMany in ROWS:
            cells = []
            for engine, taken in results.items():
                values, goal = taken[key], goals.get(engine, goals[""])
                worst = percentile(values)
                cells.append(judged(worst, f"{statistics.median(values):.1f} ({worst:.1f}) ms" if isMany else f"{worst:.1f} ms", goal))
            row(words, *cells, " / ".join(f"{value} ms" for value in goals.values()))
        measured("One run. Letters of the search come by `insertText`, those of the note as `keypress`, at the distance of quick typing; a time ends after the frame that shows what came of it.")
        if "window" in results:
            taken = results["window"]
            total = sum(taken["memory"].values())
            table("The window over them", "what", "value", "goal")
            row("cold start → lock screen", milliseconds(taken["appeared"][0] / 1000), "400 ms")
            row("`coffret lock` begins → the page's process is gone, median and worst of 5", judged(max(taken["locks"]), f"{statistics.median(taken['locks']):.0f} ({max(taken['locks']):.0f}) ms", 150), "150 ms")
            row("memory of its processes: " + ", ".join(f"{name} {value:.0f}" for name, value in taken["memory"].items()), judged(total, f"{total:.0f} MiB", 400), "400 MiB")
            measured("Under Xvfb, drawn by software; memory in parts where processes share pages.")


if __name__ == "__main__":
    main(sys.argv[1:] or ["chromium", "firefox", "window"])
