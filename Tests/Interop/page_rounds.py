#!/usr/bin/env python3
"""Kills page, front, window, session and agent at random moments while somebody types, and looks for every word afterwards.

Usage: page_rounds.py PRODUCTS PAGE ROUNDS SEED [tab|window ...]     PAGE is the folder that Scripts/page makes
No word may be missing before the last one that is there; the last one may be as old as a draft may be. Exit code 77: nothing to show a
page with. Writes what was lost of the last second.
"""
import collections, glob, json, os, pathlib, random, re, shutil, signal, subprocess, sys, tempfile, time

PRODUCTS, PAGE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
ROUNDS, SEED = int(sys.argv[3]), int(sys.argv[4])
SURFACES = sys.argv[5:] or ["tab", "window"]
PASSPHRASE = "lagoon pewter fig onyx crayon"
#: Rounds over one note, and over one launch of programs that are not killed in it.
ROUNDS_OF_A_NOTE = 20 if ROUNDS >= 40 else 6
#: The newest word may be this old: a second, and the time of a machine that is busy.
SECONDS_LOST_MAX = float(os.environ.get("COFFRET_ROUNDS_SECONDS", "30"))

chance = random.Random(SEED)
folder = pathlib.Path(tempfile.mkdtemp(prefix="coffret-rounds-"))


def wait(what, holds, seconds=300):
    end = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > end:
            raise AssertionError(f"waited for {what}")
        time.sleep(0.02)
    return found


def processes():
    """Of all that run: the parent and the command line."""
    found = {}
    for path in glob.glob("/proc/[0-9]*"):
        try:
            text = open(path + "/stat").read()
            state, parent = text[text.rindex(")") + 2:].split()[:2]
            if state != "Z":
                found[int(path[6:])] = (int(parent), open(path + "/cmdline", "rb").read().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def below(root):
    all_, found = processes(), {root}
    while more := {number for number, (parent, _) in all_.items() if parent in found} - found:
        found |= more
    return {number: all_[number][1] for number in found if number in all_}


def kill(numbers):
    for number in numbers:
        try:
            os.kill(number, signal.SIGKILL)
        except ProcessLookupError:
            pass


class World:
    def __init__(self):
        for name in ["run", "home"]:
            (folder / name).mkdir(mode=0o700)
        secret = folder / "passphrase"
        secret.write_text(PASSPHRASE + "\n")
        secret.chmod(0o600)
        self.store = folder / "home/store"
        self.asking = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "LANG": "C.UTF-8", "TZ": "UTC", "XDG_RUNTIME_DIR": str(folder / "run"),
                       "COFFRET_STORE": str(self.store), "COFFRET_TPM": "off"}
        self.typing = {**self.asking, "COFFRET_PASSPHRASE_FILE": str(secret)}
        self.page = folder / "page"
        shutil.copytree(PAGE, self.page)
        with open(self.page / "session.js", "a") as file:
            file.write((pathlib.Path(__file__).parent / "page_typist.js").read_text())
        self.coffret("init", "--effort", "light", variables={**self.typing, "COFFRET_AGENT": "off"})
        self.known = set()
        self.unlock()

    def coffret(self, *words, variables=None, **options):
        result = subprocess.run([str(PRODUCTS / "coffret"), *words], env=variables or self.asking, capture_output=True, text=True, timeout=600, **options)
        if result.returncode != 0:
            raise AssertionError(f"coffret {' '.join(words)} ended with {result.returncode}: {result.stderr}")
        return result.stdout

    def unlock(self):
        self.coffret("unlock", "--for", "12h", variables=self.typing)
        self.agent = next(number for number, (parent, line) in processes().items() if line.startswith(str(PRODUCTS / "coffret-agent")) and self.mine(number))

    def mine(self, number):
        try:
            return f"XDG_RUNTIME_DIR={folder}/run".encode() in open(f"/proc/{number}/environ", "rb").read().split(b"\0")
        except OSError:
            return False

    def sessions(self):
        return [each["process"] for each in json.loads(self.coffret("agent", "sessions", "--json"))]

    def notes(self):
        return [each for each in json.loads(self.coffret("ls", "--json", "--all"))["items"] if not each["isTrashed"]]

    def state(self):
        """For the one who reads of a failure."""
        def tried(ask):
            try:
                return ask()
            except Exception as error:
                return f"{type(error).__name__}: {error}"
        logs = "".join(f"\n{path.name}: {path.read_text(errors='replace')[-600:]}" for path in sorted(folder.glob("*.log")))
        return f"load {os.getloadavg()[0]:.1f}, drafts {self.is_kept()}, agent {self.agent in processes()}, sessions {tried(self.sessions)}, {tried(lambda: self.coffret('agent', 'status'))}{logs}"

    def new_note(self):
        # A session that ends a moment later would leave its draft to the note that comes.
        wait("all sessions to be over", lambda: not self.sessions())
        wait("all drafts to be saved", lambda: self.notes() is not None and not self.is_kept())
        for each in self.notes():
            self.coffret("rm", "--yes", each["id"])
        self.coffret("new", input="# Diary\n\nBegun.\n")

    def is_kept(self):
        return any(True for path in glob.glob(f"{folder}/home/.local/state/coffret/*/drafts/*/*") if not path.endswith("lock"))

    def words(self):
        """Every word in every note, by life."""
        lives = collections.defaultdict(dict)
        for each in self.notes():
            for life, number, moment in re.findall(r"\b([a-z0-9]{6,10})\.(\d+)\.(\d{13})\b", self.coffret("show", each["id"])):
                lives[life][int(number)] = int(moment)
        return lives


class Tab:
    victims = ["page", "front", "session", "agent"]

    def __init__(self, world, playwright):
        self.world = world
        self.browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        self.front = self.context = None

    def is_gone(self):
        return self.front is None or self.front.poll() is not None

    def start(self):
        with open(folder / "front.log", "w") as log:
            self.front = subprocess.Popen([str(PRODUCTS / "coffret-web"), "--store", str(self.world.store), "--page", str(self.world.page)], env=self.world.asking, stdout=subprocess.PIPE, stderr=log, text=True)
        address = self.front.stdout.readline().strip()
        if not address:
            raise AssertionError("the front gives no address")
        self.context = self.browser.new_context()
        self.context.new_page().goto(address, wait_until="commit", timeout=300_000)

    def state(self):
        shown = []
        for page in self.context.pages if self.context else []:
            try:
                shown.append(page.inner_text("body", timeout=5_000)[:400])
            except Exception as error:
                shown.append(str(error)[:200])
        return f"front {self.front and self.front.poll()}, shown {shown}"

    def kill(self, victim):
        if victim == "front":
            kill([self.front.pid])
        else:
            kill([number for number, line in below(os.getpid()).items() if "--type=renderer" in line])

    def end(self):
        """As after a restart of the computer: nothing of it goes on."""
        if self.front:
            kill([self.front.pid])
            self.front.wait()
            self.front.stdout.close()
        if self.context:
            try:
                self.context.close()
            except Exception:
                pass
        self.front = self.context = None

    def close(self):
        self.end()
        self.browser.close()


class Window:
    victims = ["page", "window", "session", "agent"]

    def __init__(self, world):
        self.world, self.process = world, None
        self.screen = subprocess.Popen(["Xvfb", "-displayfd", "1", "-screen", "0", "1280x800x24", "-nolisten", "tcp"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.variables = {**world.asking, "DISPLAY": ":" + self.screen.stdout.readline().strip()}
        self.bus = subprocess.Popen(["dbus-daemon", "--session", "--print-address", "--nofork", "--nopidfile"], stdout=subprocess.PIPE, text=True)
        self.variables["DBUS_SESSION_BUS_ADDRESS"] = self.variables["AT_SPI_BUS_ADDRESS"] = self.bus.stdout.readline().strip()

    def is_gone(self):
        return self.process is None or self.process.poll() is not None

    def start(self):
        with open(folder / "window.log", "w") as log:
            self.process = subprocess.Popen([str(PRODUCTS / "coffret-desktop"), "--store", str(self.world.store), "--page", str(self.world.page)], env=self.variables, stderr=log)

    def state(self):
        names = subprocess.run(["xdotool", "search", "--onlyvisible", "--name", ".", "getwindowname", "%@"], env=self.variables, capture_output=True, text=True).stdout.split("\n")
        return f"window {self.process and self.process.poll()}, on the screen {names}, {sorted(line.split(' ')[0] for line in below(self.process.pid).values()) if self.process else []}"

    def kill(self, victim):
        if victim == "window":
            kill([self.process.pid])
        else:
            kill([number for number, line in below(self.process.pid).items() if "WebKitWebProcess" in line])

    def end(self):
        if self.process:
            kill(below(self.process.pid))
            self.process.wait()
        self.process = None

    def close(self):
        self.end()
        for process in (self.bus, self.screen):
            process.terminate()
            process.wait()


def round_(world, surface, victim):
    """One death. Gives the seconds of typing that went with it, or None where nobody had typed since the page began."""
    wait("a draft", world.is_kept)
    time.sleep(chance.uniform(0, 2.5))
    moment = time.time()
    if victim == "session":
        kill(world.sessions())
    elif victim == "agent":
        kill(below(world.agent))
        wait("the agent to be gone", lambda: world.agent not in processes())
        surface.end()
        world.unlock()
    else:
        surface.kill(victim)
        # The front still has the drafts of its page: it is closed, as a person closes it. A session that ends a moment later has them too.
        surface.end()
        wait("all sessions to be over", lambda: not world.sessions())
    lives = wait("words", world.words)
    lost = None
    for life, words in lives.items():
        missing = set(range(max(words) + 1)) - set(words)
        if missing:
            raise AssertionError(f"{victim}: words {sorted(missing)[:5]} of {max(words) + 1} of life {life} are gone")
        newest = max(words.values())
        if life not in world.known:
            lost = max(0.0, moment - newest / 1000) if lost is None else min(lost, max(0.0, moment - newest / 1000))
    if victim != "session":
        world.known |= set(lives)
    if lost is not None and lost > SECONDS_LOST_MAX:
        raise AssertionError(f"{victim}: the newest word is {lost:.1f} s old")
    return lost


def main():
    world = World()
    begun, counts, losses = time.monotonic(), collections.Counter(), []
    with open_browser() as playwright:
        surfaces = [Tab(world, playwright) if name == "tab" else Window(world) for name in SURFACES]
        try:
            for number in range(ROUNDS):
                surface = surfaces[number // ROUNDS_OF_A_NOTE % len(surfaces)]
                victim = chance.choice(surface.victims)
                try:
                    if number % ROUNDS_OF_A_NOTE == 0:
                        for each in surfaces:
                            each.end()
                        world.new_note()
                        world.known = set()
                    if surface.is_gone():
                        surface.end()
                        surface.start()
                    lost = round_(world, surface, victim)
                except Exception as error:
                    raise AssertionError(f"round {number} of seed {SEED}, {type(surface).__name__}, {victim}: {error}; {surface.state()}; {world.state()}") from error
                counts[f"{type(surface).__name__.lower()}: {victim}"] += 1
                if lost is not None:
                    losses.append(lost)
                if (number + 1) % 50 == 0:
                    print(f"{number + 1} rounds, {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
        finally:
            for surface in surfaces:
                surface.close()
            kill(below(world.agent))
    losses.sort()
    print(f"{ROUNDS} deaths, no word lost before the last draft: " + ", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    print(f"typed since the last draft: median {losses[len(losses) // 2]:.2f} s, 95 % {losses[int(len(losses) * 0.95)]:.2f} s, most {losses[-1]:.2f} s")


def open_browser():
    if "tab" not in SURFACES:
        import contextlib
        return contextlib.nullcontext()
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sys.exit(77)
    if not os.path.exists("/usr/bin/chromium"):
        sys.exit(77)
    return sync_playwright()


try:
    main()
finally:
    shutil.rmtree(folder, ignore_errors=True)
