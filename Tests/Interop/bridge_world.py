"""A vault with logins, its agent, and a person who types digits: what the tests of browsers have in common.

The variables of this process name the world: HOME, XDG_RUNTIME_DIR; COFFRET_TEST_PROGRAM is the path of `coffret`.
"""
import os, shlex, subprocess, time

PROGRAM = os.environ["COFFRET_TEST_PROGRAM"]
HOST = PROGRAM + "-bridge"
HOME = os.environ["HOME"]
STORE = HOME + "/.local/share/coffret"
#: A canary in every value that no process but session and extension may see.
PASSWORD = "grebe-PASSWORD-canary 7 ✓ “ü”"
TITLE = "Marsh-TITLE-canary"
USER = "mira-USER-canary"


def check(what, holds, seen=""):
    if not holds:
        raise AssertionError(f"{what}: {seen}")
    print("held:", what, flush=True)


def wait(what, probe, seconds=240):
    """Polls until `probe` gives something; machines that are busy are slow."""
    end = time.monotonic() + seconds
    while True:
        found = probe()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"waited for {what}; the last look gave {found!r}")
        time.sleep(0.05)


class World:
    def __init__(self):
        self.folder = HOME + "/asked"
        os.makedirs(self.folder, exist_ok=True)
        self.pinentry = self.folder + "/pinentry"
        with open(self.pinentry, "w") as file:
            file.write(PINENTRY.format(folder=shlex.quote(self.folder)))
        os.chmod(self.pinentry, 0o700)

    def coffret(self, *words, typed="", code=0):
        made = subprocess.run([PROGRAM, *words], input=typed.encode(), capture_output=True, timeout=120)
        if made.returncode != code:
            raise AssertionError(f"coffret {words} ended with {made.returncode}: {made.stderr.decode()}")
        return made.stdout.decode()

    def unlock(self):
        """The agent that this starts asks by the pinentry of this world."""
        variables = dict(os.environ, COFFRET_PASSPHRASE_FILE=HOME + "/passphrase", COFFRET_PINENTRY=self.pinentry, DISPLAY=":none")
        made = subprocess.run([PROGRAM, "unlock"], env=variables, capture_output=True, timeout=120)
        if made.returncode != 0:
            raise AssertionError(made.stderr.decode())

    def login(self, title, url, user=USER, password=PASSWORD, totp=None):
        words = ["new", title, "--type", "login", "--set", f"url={url}", "--set", f"username={user}", "--secret", "password"]
        typed = password + "\n"
        if totp:
            words += ["--secret", "totp"]
            typed += totp + "\n"
        self.coffret(*words, typed=typed)

    # The person at the question.

    def question(self):
        """The text of the question that stands open."""
        return wait("the question for the digits", lambda: os.path.exists(self.folder + "/open") and open(self.folder + "/asked").read().split("\n")[-2])

    def answer(self, digits):
        self.question()
        with open(self.folder + "/digits.new", "w") as file:
            file.write(digits)
        os.rename(self.folder + "/digits.new", self.folder + "/digits")

    def no_question(self):
        wait("the end of the question", lambda: not os.path.exists(self.folder + "/open"))


PINENTRY = """#!/bin/sh
cd {folder} || exit 1
echo "OK ready"
while read -r line; do
    case "$line" in
    SETDESC*) echo "$line" >>asked; echo OK ;;
    GETPIN)
        echo $$ >open
        tries=0
        while [ ! -e digits ] && [ $tries -lt 900 ] && [ "$(ps -o ppid= -p $$ | tr -d ' ')" != 1 ]; do sleep 0.1; tries=$((tries + 1)); done
        digits=$(cat digits 2>/dev/null)
        rm -f digits open
        if [ -n "$digits" ]; then echo "D $digits"; echo OK; else echo "ERR 83886179 cancelled"; fi ;;
    BYE) echo OK; exit 0 ;;
    *) echo OK ;;
    esac
done
# The next question may stand open already.
[ "$(cat open 2>/dev/null)" != $$ ] || rm -f open
"""
