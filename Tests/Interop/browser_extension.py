#!/usr/bin/env python3
"""Uses the extension in a real browser as a person does, on honest and hostile pages.

Usage: browser_extension.py chromium|firefox PICTURES. Writes a line for each thing that held. Exit code 77: the browser, or what
drives it, is missing.
"""
import base64, json, os, re, sys, time

from bridge_world import HOME, PASSWORD, TITLE, USER, World, check, wait
from browser_person import Person
from browser_site import FOREIGN, NEVER, Handler, serve
from browsers import EXTENSION, browser_named

Browser = browser_named(sys.argv[1])
if Browser is None:
    sys.exit(77)
pictures = sys.argv[2]
os.makedirs(pictures, exist_ok=True)
world = World()
if EXTENSION:
    world.coffret("browser", "install")
if not EXTENSION:
    check("no folder of this person names a host", not any(os.path.exists(HOME + each) for each in ("/.config/chromium/NativeMessagingHosts", "/.mozilla/native-messaging-hosts")))
    manifest = "/etc/chromium/native-messaging-hosts/org.coffret.bridge.json" if sys.argv[1] == "chromium" else "/usr/lib/mozilla/native-messaging-hosts/org.coffret.bridge.json"
elif sys.argv[1] == "chromium":
    manifest = HOME + "/.config/chromium/NativeMessagingHosts/org.coffret.bridge.json"
else:
    manifest = HOME + "/.mozilla/native-messaging-hosts/org.coffret.bridge.json"
installed = json.load(open(manifest))
check("the manifest names the host", os.path.samefile(installed["path"], os.environ["COFFRET_TEST_PROGRAM"] + "-bridge"), installed)

site, second, bare = serve(HOME)
OWN = f"https://garden.example:{site}"
browser = Browser(manifest)


person = Person(browser)
seen, look, popup, text, click, values = person.seen, person.look, person.popup, person.text, person.click, person.values
state_becomes = person.state_becomes


def is_empty(path):
    check(f"R140: {path}: nothing is filled in", PASSWORD not in json.dumps(values(), ensure_ascii=False) and USER not in json.dumps(values()), values())


STRANGER = """(async (api) => {
    const host = await new Promise(done => {
        const port = api.runtime.connectNative("org.coffret.bridge");
        port.onMessage.addListener(() => done("answered"));
        port.onDisconnect.addListener(ended => done("refused: " + (ended.error?.message ?? api.runtime.lastError?.message)));
        try { port.postMessage({ unlock: true }); } catch { done("refused"); }
    });
    const spoken = await api.runtime.sendMessage(%s, { do: "sent", username: "x", password: "y" }).then(() => "answered", error => "refused: " + error.message);
    return JSON.stringify([host, spoken]);
})(globalThis.browser ?? chrome)"""


def test_strangers():
    """Another extension, and a page, speak to the host and to the extension."""
    folder = HOME + "/stranger"
    os.makedirs(folder)
    rights = {"manifest_version": 3, "name": "Stranger", "version": "1", "permissions": ["nativeMessaging"], "browser_specific_settings": {"gecko": {"id": "stranger@stranger.example"}}}
    json.dump(rights, open(folder + "/manifest.json", "w"))
    open(folder + "/page.html", "w").write("<!doctype html><title>stranger</title>")
    browser.open(OWN + "/login")
    own = browser.id if sys.argv[1] == "chromium" else "coffret@coffret.example"
    host, spoken = json.loads(browser.in_stranger(folder, STRANGER % json.dumps(own)))
    check("R142: the browser starts the host for no other extension", re.search("forbidden|no such native|permission", host, re.I), host)
    check("R142: the extension listens to no other extension", spoken.startswith("refused"), spoken)
    check("R39: nobody was asked for a passphrase", not os.path.exists(world.folder + "/open"))
    page = "typeof globalThis.chrome?.runtime?.connectNative + typeof globalThis.chrome?.runtime?.sendMessage + typeof globalThis.browser"
    check("R39: a page has no way to either", browser.in_page(page) == "undefined" * 3, browser.in_page(page))
    for name in ("keys.js", "page.js", "popup.html"):
        said = browser.in_page(f"fetch('{browser.base}{name}').then(() => 'loaded', () => 'refused')")
        check("R39: nor to a file of the extension", said == "refused", (name, said))


def test_wrong_digits():
    shown = person.begin_connecting()
    world.answer(f"{(int(shown) + 1) % 1_000_000:06}")
    wait("R145: wrong digits to pair nothing", lambda: browser.in_page("document.querySelector('main').dataset.state") == "failed")
    check("R145: after wrong digits no browser is connected", json.loads(world.coffret("browser", "ls", "--json")) == [])


def test_pairing():
    shown, question = person.connect(world, f"{pictures}/digits.png")
    check("the extension shows six digits", re.fullmatch(r"\d{6}", shown), shown)
    check("R145: the question names the browser", Browser.name.lower() in question.lower(), question)
    names = [each["name"] for each in json.loads(world.coffret("browser", "ls", "--json"))]
    check(f"{Browser.name} is connected", names == [Browser.name], names)
    kept = browser.in_page("""(async () => {
        const db = await new Promise(done => { const open = indexedDB.open('coffret'); open.onsuccess = () => done(open.result) });
        const kept = await new Promise(done => { const all = db.transaction('keys').objectStore('keys').getAll(); all.onsuccess = () => done(all.result) });
        const said = await crypto.subtle.exportKey('raw', kept[0].key).then(() => "readable", () => "unreadable");
        return JSON.stringify([kept.length, Object.keys(kept[0]), kept[0].key.extractable, said, localStorage.length]);
    })()""")
    check("R145: the extension keeps one key that no script can read", json.loads(kept) == [1, ["id", "name", "key"], False, "unreadable", 0], kept)
    for load in (f"fetch('{OWN}/login')", f"import('{OWN}/code.js')"):
        said = browser.in_page(load + ".then(() => 'loaded', () => 'refused')")
        check("R40: the extension loads nothing from a server", said == "refused" and not Handler.requests, (load, said))


def test_gesture():
    rights = json.load(open((EXTENSION or "/usr/share/chromium/extensions/coffret") + "/manifest.json"))
    check("R139: the manifest has no host and no script for pages", not any(key in rights for key in ("host_permissions", "content_scripts", "externally_connectable", "web_accessible_resources")) and rights["permissions"] == ["activeTab", "scripting", "nativeMessaging", "contextMenus"], rights)
    browser.open(OWN + "/login")
    said = browser.without_gesture()
    check("R139: without a gesture the browser refuses every page, and its address", said and "allowed" not in said and OWN not in said, said)
    is_empty("/login without a gesture")


def test_filling():
    browser.open(OWN + "/events")
    check("one login is filled in at once", popup() == "filled", text())
    check("values as they were saved", values() == [USER, PASSWORD], values())
    check("the page hears of each", browser.in_page("JSON.stringify(seen)") == '["input user","change user","input pass","change pass"]', browser.in_page("JSON.stringify(seen)"))
    check("the popup does not show the password", PASSWORD not in text() and TITLE in text(), text())
    browser.picture(f"{pictures}/filled.png")
    check("nothing was sent", not any(command == "POST" for command, _, _ in Handler.requests))
    wait("the popup to close by itself", lambda: browser.in_popup("1") is None)
    browser.open(OWN + "/far")
    check("a form far below is filled in", popup() == "filled" and values() == [USER, PASSWORD], text())
    browser.open(OWN + "/user")
    check("a page that asks for the user name alone gets it alone", popup() == "filled" and values() == [USER], values())
    browser.open(OWN + "/code")
    check("a one-time code", popup() == "filled" and re.fullmatch(r"\d{6}", values()[0]) and len(values()) == 1, values())
    browser.open(OWN + "/none")
    check("a page without a form", popup() == "choose" and "no field" in text(), text())
    click(".showcode")
    state_becomes("code")
    check("the popup shows a code", re.search(r"\d{3} \d{3}", text()), text())


def test_installed():
    """Where the browsers have the extension by Debian's packages."""
    place = browser.extension_place()
    check("it came from the place of the system", place.startswith(("/usr/share/chromium/extensions/coffret", "jar:file:///usr/share/mozilla/extensions/")), place)
    browser.open(OWN + "/events")
    check("one login is filled in", popup() == "filled" and values() == [USER, PASSWORD], (text(), values()))


def test_hostile():
    for path in NEVER:
        browser.open(OWN + path)
        state = popup()
        check(f"R140: {path} is told to have no field that a person sees", state == "choose" and "no field" in text(), (state, text()))
        is_empty(path)
        if "iframe" in browser.in_page("document.body.innerHTML"):
            check(f"R140: {path}: nor in its frame", all(value == "" for value in browser.frame_values()))
    for path in FOREIGN:
        browser.open(OWN + path)
        state = popup()
        other = {"/sent-bare": "garden.example", "/mailed": "mailto:"}.get(path, "elsewhere.example")
        check(f"R140: {path}: the popup asks, and names the other host", state == "foreign" and other in text(), (state, text()))
        is_empty(path)
    browser.picture(f"{pictures}/foreign.png")
    browser.open(OWN + "/sent-away")
    popup()
    click("button.main")
    state_becomes("filled")
    check("R140: a person who says yes gets it filled in", values() == [USER, PASSWORD], values())
    browser.open(OWN + "/thousand")
    check("R140: of a thousand forms the one that is seen", popup() == "filled" and values() == [USER, PASSWORD], (text(), values()[:4]))
    browser.open(OWN + "/thousand-shown")
    check("R140: of a thousand that are seen, one", popup() == "filled" and values() == [USER, PASSWORD], (text(), values()[:4]))

    # Other addresses.
    browser.open(f"https://gardem.example:{site}/login")
    check("R140: a look-alike host is told", popup() == "like" and "gardem.example" in text() and "garden.example" in text(), text())
    is_empty("look-alike host")
    browser.picture(f"{pictures}/like.png")
    browser.open(f"https://garden.example.evil.example:{site}/login")
    check("R140: so is one that begins with the saved host", popup() == "like", text())
    is_empty("longer host")
    browser.open(f"https://garden.example:{second}/login")
    check("R140: another port has no login", popup() == "nothing", text())
    is_empty("other port")
    browser.open(f"http://garden.example:{bare}/login")
    check("R140: a page without encryption gets nothing", popup() == "insecure", text())
    is_empty("http")
    browser.open(f"https://garden.example.:{site}/login")
    check("R140: a trailing dot is another host", popup() in ("odd", "nothing"), text())
    is_empty("trailing dot")
    browser.open(f"https://garden.example@evil.example:{site}/login", f"https://")
    check("R140: user info is no host", popup() in ("nothing", "blocked"), text())
    is_empty("user info")
    person.is_retried = False
    browser.open(OWN + "/sandboxed")
    check("R140: a sandboxed page has no address, whatever stands in the bar", popup() == "blocked" and "shut off" in text(), text())
    is_empty("/sandboxed")
    browser.open(OWN + "/blob", "blob:")
    check("R140: a blob gets nothing", popup() == "blocked", text())
    is_empty("/blob")
    page = "data:text/html,<title>page</title><input name=user autocomplete=username><input type=password>"
    browser.open(page, "data:")
    check("R140: a data address gets nothing", popup() == "blocked", text())
    is_empty("data:")
    person.is_retried = True
    browser.open(f"https://evil.example:{site}/framing")
    check("R140: a page that frames the saved site has no login", popup() == "nothing", text())
    wait("the frame", lambda: browser.frame_values())
    check("R140: and nothing is filled in within the frame", all(value == "" for value in browser.frame_values()))


def change(what, code):
    browser.do_in_page(code)
    if "page" in what:
        wait("the other page", lambda: browser.in_page("document.readyState === 'complete' && !window.wasOpen"))


def chosen(meanwhile):
    """Chooses the first of two logins, after something has happened. None where that has closed the popup."""
    while True:
        start = time.monotonic()
        browser.open(OWN + "/login")
        browser.do_in_page("window.wasOpen = true")
        check("with two logins the popup asks which", popup() == "choose" and "Second" in text(), seen)
        meanwhile()
        if not look():
            return None
        click(".login")
        state_becomes("changed", "error", "filled")
        if seen[2] != "bridge.pausing":
            return seen[0]
        wait("the pause to be over", lambda: time.monotonic() > start + 10)


def test_changes():
    """The page changes between the look and the fill. Two logins make the popup ask first."""
    world.login("Second", OWN, user="second", password="other")
    changes = [
        ("the form goes elsewhere", "document.forms[0].action = 'https://elsewhere.example/in'", "another place"),
        ("a button goes elsewhere", "document.querySelector('button').setAttribute('formaction', 'https://elsewhere.example/in')", "another place"),
        ("the field is covered", "document.body.insertAdjacentHTML('beforeend', \"<div style='position:fixed;inset:0;background:white'></div>\")", "form has changed"),
        ("the field is gone", "document.querySelector('[type=password]').remove()", "form has changed"),
        ("another page has come", "location.href = '/none'", "page has changed"),
        ("the same page has come anew", "location.reload()", "page has changed"),
    ]
    for what, code, words in changes:
        state = chosen(lambda: change(what, code))
        if state is None:
            # A navigation closes the popup in some browsers: then nothing can be filled in.
            check(f"R140: {what}: nothing is left to fill in from", True)
        else:
            check(f"R140: {what}: the popup says so in words", words in seen[1].replace("\n", " "), seen)
        is_empty(what)
    check("the one that was chosen is filled in", chosen(lambda: browser.picture(f"{pictures}/choose.png")) == "filled" and values() == ["second", "other"], values())
    world.coffret("rm", "Second")


def test_saving():
    browser.open(f"https://evil.example:{site}/login")
    browser.do_in_page("document.querySelector('[name=user]').value='new-user'; document.querySelector('[type=password]').value='typed by hand 9'")
    before = world.coffret("ls", "--json")
    check("R146: a typed login can be saved", popup() == "nothing" and browser.in_popup("document.querySelector('.save') !== null"), text())
    check("R146: a page cannot save without the popup", world.coffret("ls", "--json") == before)
    click(".save")
    state_becomes("save")
    check("R146: the popup shows for which page", f"evil.example:{site}" in text(), text())
    browser.picture(f"{pictures}/save.png")
    check("R146: nothing is saved before the person says so", world.coffret("ls", "--json") == before)
    if sys.argv[1] == "chromium":
        enter = "document.querySelector('input').dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, repeat: %s })); 0"
        browser.in_popup(enter % "true")
        check("R146: a key that is held from before saves nothing", world.coffret("ls", "--json") == before and look() and seen[0] == "save", seen)
        browser.in_popup(enter % "false")
    else:
        click(".confirm")
    state_becomes("saved")
    shown = {each["name"]: each["value"] for each in json.loads(world.coffret("show", "evil.example", "--json", "--reveal"))["fields"]}
    check("R146: the stored origin is the one that was shown", shown == {"username": "new-user", "password": "typed by hand 9", "url": f"https://evil.example:{site}"}, shown)
    browser.open(f"https://evil.example:{site}/login")
    browser.do_in_page("document.querySelector('[name=user]').value='new-user'; document.querySelector('[type=password]').value='typed anew'")
    check("R146: what was typed is not overwritten", popup() == "choose" and values() == ["new-user", "typed anew"], (text(), values()))
    click(".save")
    state_becomes("save")
    click(".confirm")
    state_becomes("error")
    check("R146: the same login is not saved twice", "already" in text(), text())
    browser.open(f"https://evil.example:{site}/login")
    browser.do_in_page("document.querySelector('[type=password]').value='typed anew'")
    popup()
    click(".update")
    state_becomes("update")
    browser.picture(f"{pictures}/update.png")
    click(".confirm")
    state_becomes("updated")
    versions = json.loads(world.coffret("history", "evil.example", "--json"))["versions"]
    revealed = json.loads(world.coffret("show", "evil.example", "--json", "--reveal"))["fields"]
    check("R146: a changed password, and the earlier one in the history", len(versions) == 2 and any(each["value"] == "typed anew" for each in revealed), revealed)
    browser.open(f"https://garden.example:{second}/join")
    check("a page to join gets nothing at once", popup() == "nothing" and values() == [], text())
    click(".generate")
    state_becomes("generate")
    browser.in_popup("document.querySelector('input').value='joined'")
    click(".confirm")
    state_becomes("saved")
    filled = values()
    check("a new password is saved and filled in twice", len(filled) == 3 and filled[0] == "joined" and filled[1] == filled[2] and len(filled[1]) == 20, filled)
    check("it is the one in the vault", filled[1] in world.coffret("show", "garden.example", "--json", "--reveal"))


def test_host():
    """The host passes on what it cannot read. What passes through it is written down, to look for canaries in it."""
    recorder = HOME + "/recorder"
    with open(recorder, "w") as file:
        file.write(f'#!/bin/sh\ntee -a "{HOME}/passed.in" | "{installed["path"]}" "$@" | tee -a "{HOME}/passed.out"\n')
    os.chmod(recorder, 0o700)
    with open(browser.host_manifest, "w") as file:
        json.dump({**installed, "path": recorder}, file)
    browser.open(OWN + "/events")
    check("a fill through the recorder", popup() == "filled", seen)
    browser.open(OWN + "/none")
    popup()
    click(".showcode")
    state_becomes("code")
    digits = re.search(r"\d{3} \d{3}", text())[0].replace(" ", "")
    processes = [int(name) for name in os.listdir("/proc") if name.isdigit() and is_host(int(name))]
    check("a host runs", processes)
    passed = b""
    for process in processes:
        memory = read_memory(process)
        if memory is None:
            print("not looked at: the memory of the host, which root may read", flush=True)
        else:
            check("the memory of the host was read", len(memory) > 100_000 and b"coffret" in memory)
            passed += memory
    for name in ("passed.in", "passed.out"):
        raw = open(f"{HOME}/{name}", "rb").read()
        passed += raw + b"".join(base64.b64decode(each) for each in re.findall(rb'"m":"([A-Za-z0-9+/=]*)"', raw))
    check("what the host passed on was written down", len(passed) > 5_000)
    with open(browser.host_manifest, "w") as file:
        json.dump(installed, file)
    for canary in (PASSWORD, TITLE, USER, "garden.example", "\"do\"", digits):
        found = canary.encode() in passed or canary.encode("utf-16-le") in passed
        check(f"R143: the host has not seen {canary[:20]!r}", not found)


def is_host(process):
    try:
        return os.readlink(f"/proc/{process}/exe").endswith("coffret-bridge") and HOME.encode() in open(f"/proc/{process}/environ", "rb").read()
    except OSError:
        return False


def read_memory(process):
    found = b""
    try:
        with open(f"/proc/{process}/mem", "rb", 0) as memory:
            for line in open(f"/proc/{process}/maps"):
                span, rights = line.split()[:2]
                if not rights.startswith("rw"):
                    continue
                start, end = (int(part, 16) for part in span.split("-"))
                try:
                    memory.seek(start)
                    found += memory.read(end - start)
                except (OSError, ValueError, OverflowError):
                    continue
    except OSError:
        return None
    return found


def test_locked():
    browser.open(OWN + "/login")
    world.coffret("lock")
    check("R147: a locked vault gives nothing", popup() == "locked", text())
    is_empty("locked")
    check("R147: and names nothing", TITLE not in text() and USER not in text(), text())
    browser.picture(f"{pictures}/locked.png")
    click("button.main")
    state_becomes("unlocking")
    question = world.question()
    check("R147: Coffret's own question asks, and names the browser", "passphrase" in question and Browser.name.lower() in question.lower(), question)
    world.answer(open(HOME + "/passphrase").read().strip())
    wait("the vault to be open", lambda: "unlocked" in world.coffret("agent", "status"))
    browser.open(OWN + "/login")
    check("after that it fills in", popup() == "filled" and values() == [USER, PASSWORD], text())
    wait("R147: the popup, and what it held, to be gone", lambda: browser.in_popup("1") is None)
    world.coffret("browser", "unpair", Browser.name)
    browser.open(OWN + "/login")
    check("R142: a browser that was removed is refused", popup() == "refused", text())
    is_empty("removed")


def main():
    world.unlock()
    world.login(TITLE, OWN, totp="JBSWY3DPEHPK3PXP")
    parts = {"gesture": test_gesture, "installed": test_installed, "strangers": test_strangers, "filling": test_filling, "hostile": test_hostile, "changes": test_changes, "saving": test_saving, "host": test_host, "locked": test_locked}
    if not sys.argv[3:]:
        test_wrong_digits()
    test_pairing()
    for name in sys.argv[3:] or [part for part in parts if part != "installed"]:
        parts[name]()
    print("all held", flush=True)


try:
    main()
except BaseException:
    try:
        print("the popup said:", seen, flush=True)
        print("the site was asked:", Handler.requests[-5:], flush=True)
        if sys.argv[1] == "chromium":
            print("targets:", [(each["type"], each["url"]) for each in browser.send("Target.getTargets")["targetInfos"]], flush=True)
        browser.picture(f"{pictures}/failed.png")
    except BaseException as second_error:
        print("no picture:", second_error, flush=True)
    raise
finally:
    browser.close()
