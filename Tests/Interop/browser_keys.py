#!/usr/bin/env python3
"""Fills in by the extension's keys, pressed on a screen, without a popup; on hostile pages the popup opens and nothing is filled in.

Usage: browser_keys.py chromium|firefox PICTURES [COUNT]. Writes a line for each thing that held; with COUNT it measures so many fills instead.
Exit code 77: the browser, what drives it, or a screen is missing.
"""
import json, os, shutil, statistics, sys, time

from bridge_world import HOME, PASSWORD, TITLE, USER, World, check, wait
from browser_person import Person
from browser_site import FOREIGN, NEVER, Handler, serve
from browsers import Screen, browser_named

name, pictures = sys.argv[1:3]
count = int(sys.argv[3]) if len(sys.argv) > 3 else 0
Browser = browser_named(name)
if Browser is None or not (shutil.which("Xvfb") and shutil.which("xdotool")):
    sys.exit(77)
os.makedirs(pictures, exist_ok=True)
world = World()
world.coffret("browser", "install")
installed = HOME + ("/.config/chromium/NativeMessagingHosts" if name == "chromium" else "/.mozilla/native-messaging-hosts") + "/org.coffret.bridge.json"
site, second, bare = serve(HOME)
OWN = f"https://garden.example:{site}"
screen = Screen()
browser = Browser(installed, screen)
person = Person(browser)
seen, text, values = person.seen, person.text, person.values


def press(wanted):
    """Presses the keys until `wanted` gives something: keys that come while a page is still arriving do nothing."""
    for _ in range(4):
        start = time.monotonic()
        browser.close_popup()
        seen[:] = ["waiting", "", None]
        browser.press_keys()
        try:
            found = wait("an answer to the keys", wanted, 30)
        except AssertionError:
            continue
        if seen[2] != "bridge.pausing":
            return found
        wait("the pause to be over", lambda: time.monotonic() > start + 10)
    raise AssertionError(f"the keys do nothing: {seen}")


def popup():
    return press(lambda: person.look() and seen[0] not in ("waiting", None) and seen[0])


def is_empty(what):
    check(f"R140: by the keys: {what}: nothing is filled in", PASSWORD not in json.dumps(values(), ensure_ascii=False) and USER not in json.dumps(values()), values())


def test_filling():
    browser.open(OWN + "/events")
    check("R139: before the keys are pressed nothing is filled in", values() == [])
    check("the keys fill in", press(lambda: values()) and values() == [USER, PASSWORD], values())
    check("without a popup", not person.look())
    wait("the button to say so", lambda: browser.badge() == "✓")
    screen_picture("keys")
    wait("and to stop saying so", lambda: browser.badge() == "")
    if name == "chromium":
        browser.in_worker("globalThis.control = 'heap-CONTROL-canary'; 0")
        found = [word for word in (PASSWORD[:21], USER, TITLE, "heap-CONTROL-canary") if word in browser.worker_heap()]
        check("R147: by the keys: the worker holds nothing of a login after it", found == ["heap-CONTROL-canary"], found)
    check("the page hears of each, and nothing else", browser.in_page("JSON.stringify(seen)") == '["input user","change user","input pass","change pass"]', browser.in_page("JSON.stringify(seen)"))
    check("nothing was sent", not any(command == "POST" for command, _, _ in Handler.requests))


def screen_picture(what):
    """What a person sees, with the browser's own buttons."""
    if shutil.which("import"):
        os.system(f"DISPLAY={screen.name} import -window root {pictures}/{what}.png")


def test_hostile():
    for path in NEVER:
        browser.open(OWN + path)
        check(f"R140: by the keys: {path}: the popup says that there is no field", popup() == "choose" and "no field" in text(), seen)
        is_empty(path)
    for path in FOREIGN:
        browser.open(OWN + path)
        check(f"R140: by the keys: {path}: the popup asks about the other host", popup() == "foreign", seen)
        is_empty(path)
    screen_picture("keys-foreign")
    browser.open(f"https://evil.example:{site}/framing")
    check("R140: by the keys: a page that frames the saved site has no login", popup() == "nothing", text())
    wait("the frame", lambda: browser.frame_values())
    check("R140: by the keys: and nothing is filled in within the frame", all(value == "" for value in browser.frame_values()))
    addresses = [
        (f"https://gardem.example:{site}/login", None, ("like",)), (f"https://garden.example:{second}/login", None, ("nothing",)),
        (f"http://garden.example:{bare}/login", None, ("insecure",)), (f"https://garden.example.:{site}/login", None, ("odd", "nothing")),
        (f"https://garden.example@evil.example:{site}/login", "https://", ("nothing", "blocked")), (OWN + "/sandboxed", None, ("blocked",)), (OWN + "/blob", "blob:", ("blocked",)),
        ("data:text/html,<input name=user autocomplete=username><input type=password>", "data:", ("blocked",)),
    ]
    for address, shown, states in addresses:
        browser.open(address, shown)
        check(f"R140: by the keys: {address}: the popup opens", popup() in states, seen)
        is_empty(address)


def test_choices():
    browser.open(OWN + "/login")
    browser.do_in_page("document.querySelector('[type=password]').value = 'typed by hand'")
    check("what was typed stays, and the popup opens", popup() == "choose" and values() == ["typed by hand"], (seen, values()))
    world.login("Second", OWN, user="second", password="other")
    browser.open(OWN + "/login")
    check("among two logins the person chooses", popup() == "choose" and "Second" in text(), seen)
    is_empty("two logins")
    world.coffret("rm", "Second")
    world.coffret("lock")
    browser.open(OWN + "/login")
    check("R147: by the keys: a locked vault gives nothing, and the popup says so", popup() == "locked", seen)
    is_empty("a locked vault")


def measure():
    """From the last key that the page itself sees, which is Shift, to its own event."""
    times = []
    while len(times) < count:
        begin = time.monotonic()
        browser.open(OWN + "/login")
        browser.do_in_page("""
            window.at = window.down = undefined;
            document.addEventListener('input', event => { if (event.target.type === 'password') window.at = performance.now() });
            document.addEventListener('keydown', event => { if (event.key === 'Shift') window.down = performance.now() }, true)""")
        browser.press_keys()
        try:
            times.append(wait("the fill", lambda: browser.in_page("window.at && window.down ? window.at - window.down : null"), 15))
        except AssertionError:
            print("no fill:", person.look() and seen, flush=True)
        browser.close_popup()
        # Ten values in a minute are what a browser gets.
        time.sleep(max(0, 6.5 - (time.monotonic() - begin)))
    print(f"{Browser.name}: from the keys to the page's event: {statistics.median(times):.0f} ms ({min(times):.0f} to {max(times):.0f}), {count} times", flush=True)


try:
    world.unlock()
    world.login(TITLE, OWN)
    person.connect(world)
    if count:
        measure()
    else:
        test_filling()
        test_hostile()
        test_choices()
        print("all held")
finally:
    browser.close()
    screen.close()
