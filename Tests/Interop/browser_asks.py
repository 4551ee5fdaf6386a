#!/usr/bin/env python3
"""What a person has switched on: an offer to save what was sent, notices, and passkeys. And the entry in the context menu.

Usage: browser_asks.py chromium|firefox PICTURES. Writes a line for each thing that held. Exit code 77: the browser, or what drives it, is
missing. No browser without a person at it grants a right that an extension asks for later: Chromium has them in the manifest of
a copy here, and Firefox grants them without its question.
"""
import json, os, shutil, sys, time

from bridge_world import HOME, PASSWORD, TITLE, USER, World, check, wait

name, pictures = sys.argv[1:3]
folder = shutil.copytree(os.environ["COFFRET_TEST_EXTENSION"], HOME + "/extension")
if name == "chromium":
    manifest = json.load(open(folder + "/manifest.json"))
    rights = manifest.pop("optional_permissions"), manifest.pop("optional_host_permissions")
    check("both rights are left to the person", rights == (["webAuthenticationProxy"], ["https://*/*"]), rights)
    manifest["permissions"] += rights[0]
    manifest["host_permissions"] = rights[1]
    json.dump(manifest, open(folder + "/manifest.json", "w"))
os.environ["COFFRET_TEST_EXTENSION"] = folder

from browser_person import Person
from browser_site import Handler, serve
from browsers import browser_named

Browser = browser_named(name)
if Browser is None:
    sys.exit(77)
os.makedirs(pictures, exist_ok=True)
world = World()
world.coffret("browser", "install")
installed = HOME + ("/.config/chromium/NativeMessagingHosts" if name == "chromium" else "/.mozilla/native-messaging-hosts") + "/org.coffret.bridge.json"
site, second, bare = serve(HOME)
OWN = f"https://garden.example:{site}"
browser = Browser(installed)
person = Person(browser)
seen, popup, text, click, state_becomes = person.seen, person.popup, person.text, person.click, person.state_becomes
secret = open(HOME + "/passphrase").read().strip()


def send(user, password, path="/login"):
    """Types into the form, and sends it by its button, as a person does."""
    browser.open(OWN + path)
    browser.do_in_page(f"document.querySelector('[name=user]').value = {json.dumps(user)}; document.querySelector('[type=password]').value = {json.dumps(password)}; document.querySelector('button').click()")
    wait("the page after it", lambda: browser.in_page("location.pathname") == "/in" and browser.in_page("document.readyState") == "complete")


def send_by_script(user, password, path, press):
    browser.open(OWN + path)
    browser.do_in_page(f"document.querySelector('[name=user]').value = {json.dumps(user)}; document.querySelector('[type=password]').value = {json.dumps(password)}")
    press("button")


def fields(title):
    return {each["name"]: each["value"] for each in json.loads(world.coffret("show", title, "--json", "--reveal"))["fields"]}


def test_offers():
    switch = "document.querySelector('#offers')"
    if name == "firefox":
        browser.open(OWN + "/login")
        send("early", "before it was switched on")
        check("R139: nothing is seen before a person switches it on", popup() != "offer", seen)
        browser.close_popup()
        browser.options()
        wait("the box", lambda: browser.in_page(f"{switch} !== null"))
        browser.press("#offers")
    else:
        browser.options()
    wait("the box to be ticked", lambda: browser.in_page(f"{switch}?.checked") is True)
    wait("the script to be there", lambda: "sent" in browser.in_page("(globalThis.browser ?? chrome).scripting.getRegisteredContentScripts().then(all => JSON.stringify(all))"))
    before = world.coffret("ls", "--json")
    send("new-user", "sent by hand 9")
    wait("the mark on the button", lambda: browser.badge() == "+")
    check("R146: a page that sends saves nothing", world.coffret("ls", "--json") == before)
    check("the popup offers to save what was sent", popup() == "offer" and "Sent to garden.example" in text() and "new login" in text(), text())
    shown = browser.in_popup("JSON.stringify([...document.querySelectorAll('input')].map(i => [i.type, i.value]))")
    check("it shows the name, and the password masked", json.loads(shown) == [["text", "new-user"], ["password", "sent by hand 9"]], shown)
    browser.picture(f"{pictures}/offer.png")
    click(".confirm")
    state_becomes("saved")
    made = fields("garden.example")
    check("R146: what is stored is what was shown", made == {"username": "new-user", "password": "sent by hand 9", "url": OWN}, made)
    wait("the mark to be gone", lambda: browser.badge() == "")
    send("new-user", "sent by hand 9")
    wait("what is there already to be offered no more", lambda: browser.badge() == "" and not browser.offers())
    send("new-user", "another one 7")
    wait("the mark again", lambda: browser.badge() == "+")
    check("another password is an update", popup() == "offer" and "another one than that of garden.example" in text(), text())
    check("its name is not to be changed", browser.in_popup("document.querySelector('input').readOnly") is True)
    browser.picture(f"{pictures}/offer-update.png")
    click(".confirm")
    state_becomes("updated")
    check("R146: the new one is there, the earlier one in the history", fields("garden.example")["password"] == "another one 7" and len(json.loads(world.coffret("history", "garden.example", "--json"))["versions"]) == 2)
    send("third", "never mind")
    wait("the mark once more", lambda: browser.badge() == "+")
    check("an offer", popup() == "offer", seen)
    click(".later")
    wait("the popup to go on", lambda: person.look() and seen[0] not in ("offer", "waiting"))
    wait("a no to be a no", lambda: browser.badge() == "" and not browser.offers())
    check("and nothing was saved", "third" not in world.coffret("ls", "--json"))
    # Forms that a script sends, without the browser's word for it.
    for path in ("/script", "/script-leaves"):
        send_by_script("script-user", "sent by a script", path, browser.press)
        wait("the mark for what a script has sent", lambda: browser.badge() == "+")
        check(f"{path}: what a script has sent is offered", popup() == "offer" and "new login" in text(), seen)
        shown = browser.in_popup("JSON.stringify([...document.querySelectorAll('input')].map(i => i.value))")
        check("as it was typed", json.loads(shown) == ["script-user", "sent by a script"], shown)
        click(".later")
        wait("a no to be a no", lambda: browser.badge() == "" and not browser.offers())
        browser.close_popup()
    send_by_script("script-user", "not pressed", "/script", lambda selector: browser.do_in_page(f"document.querySelector('{selector}').click()"))
    wait("the page to have taken its fields away", lambda: browser.in_page("document.title") == "welcome")
    time.sleep(1)
    check("R139: what nobody has pressed is not offered", not browser.offers() and browser.badge() == "")
    send_by_script("script-user", "refused", "/script-refuses", browser.press)
    wait("the page to say no", lambda: browser.in_page("document.title") == "refused")
    time.sleep(1)
    check("R139: what stays in the page is not offered", not browser.offers() and browser.badge() == "")
    browser.do_in_page("document.querySelector('[type=password]').value = ''")
    browser.press("button")
    # A form that the page sends by itself, with a login of another page's making, is offered under the page's own address.
    browser.open(f"https://evil.example:{site}/login")
    browser.do_in_page("document.querySelector('[name=user]').value = 'new-user'; document.querySelector('[type=password]').value = 'x'; document.forms[0].requestSubmit()")
    wait("the mark", lambda: browser.badge() == "+")
    check("R146: under the address that the browser says", popup() == "offer" and f"Sent to evil.example:{site}" in text() and "new login" in text(), text())
    browser.close_popup()
    # Nothing of it is left a minute later, whether anybody looked or not.
    wait("the mark to be gone by itself", lambda: browser.badge() == "")
    check("R147: what was sent is gone within a minute", not browser.offers())
    if name == "firefox":
        browser.options()
        wait("the box", lambda: browser.in_page(f"{switch}?.checked") is True)
        browser.press("#offers")
        wait("R139: the script in pages to be gone once it is switched off", lambda: browser.in_page("browser.scripting.getRegisteredContentScripts().then(all => all.length)") == 0)
        check("R139: and the right with it", browser.in_page("browser.permissions.contains({ origins: ['https://*/*'] })") is False)


def test_menu():
    """The entry in the context menu is a gesture, too. No interface of Chromium's opens a menu."""
    if name != "firefox":
        return
    if "garden.example" in world.coffret("ls"):
        world.coffret("rm", "garden.example")
    world.login(TITLE, OWN)
    browser.open(OWN + "/login")
    browser.choose_in_menu("[name=user]", "Fill in with Coffret")
    wait("the page to be filled in", lambda: len(person.values()) == 2)
    check("the context menu fills in, without a popup", person.values() == [USER, PASSWORD] and not person.look(), person.values())


MAKE = """navigator.credentials.create({ publicKey: { rp: { id: %s, name: "The garden" }, user: { id: new Uint8Array([7, 7]), name: "mira", displayName: "Mira" },
    challenge: crypto.getRandomValues(new Uint8Array(32)), pubKeyCredParams: [{ type: "public-key", alg: -7 }], excludeCredentials: globalThis.excluded ?? [],
    extensions: { credProps: true } } })"""
USE = """navigator.credentials.get({ publicKey: { rpId: %s, challenge: crypto.getRandomValues(new Uint8Array(32)), allowCredentials: globalThis.allowed ?? [] } })"""
#: The site checks the answer as sites do.
CHECK = """(async (made, used) => {
    const key = await crypto.subtle.importKey("spki", made.response.getPublicKey(), { name: "ECDSA", namedCurve: "P-256" }, true, ["verify"]);
    const der = new Uint8Array(used.response.signature);
    const part = (start) => { const number = der.slice(start + 2, start + 2 + der[start + 1]); return [new Uint8Array([...new Uint8Array(32), ...number]).slice(-32), start + 2 + der[start + 1]]; };
    const [r, next] = part(2), [s] = part(next);
    const data = new Uint8Array(used.response.authenticatorData), hash = new Uint8Array(await crypto.subtle.digest("SHA-256", used.response.clientDataJSON));
    return crypto.subtle.verify({ name: "ECDSA", hash: "SHA-256" }, key, new Uint8Array([...r, ...s]), new Uint8Array([...data, ...hash]));
})(globalThis.made, globalThis.used)"""


def ask_page(script, site="'garden.example'", into="answer"):
    """A click of the person has the page ask; the answer comes later."""
    browser.do_in_page(f"globalThis.said = undefined; ({script % site}).then(got => {{ globalThis.{into} = got; globalThis.said = 'made' }}, error => {{ globalThis.said = error.name }})")


def said():
    return wait("the page's answer", lambda: browser.in_page("globalThis.said"))


def window(state):
    return wait(f"the window to say {state}", lambda: browser.in_popup("document.querySelector('main')?.dataset.state", "passkey.html") == state)


def press(selector):
    browser.in_popup(f"document.querySelector({json.dumps(selector)}).click()", "passkey.html")


def ask_person(script, state, selector, picture=None, **more):
    """The page asks, and the person presses, until Coffret's own question stands open. Ten values in a minute are what a browser gets."""
    is_asked = lambda: os.path.exists(world.folder + "/open")
    shown = lambda expression: browser.in_popup(expression, "passkey.html")
    for attempt in range(8):
        ask_page(script, **more)
        window(state)
        if picture:
            browser.picture_of("passkey.html", picture)
        press(selector)
        wait("Coffret's question, or a word about a pause", lambda: is_asked() or shown("document.querySelector('main').dataset.state") == "failed")
        if is_asked():
            return world.question()
        said_there = shown("document.querySelector('main').innerText")
        check("R141, R148: a pause is said to the person", "ten values within a minute" in said_there, said_there)
        press(".cancel")
        check("R141, R148: the page hears a no", said() == "NotAllowedError")
        time.sleep(10)
    raise AssertionError("the pause does not end")


def test_passkeys():
    if name != "chromium":
        return
    browser.open(OWN + "/login")
    wait("the browser to ask the extension", lambda: browser.in_worker("typeof chrome.webAuthenticationProxy") == "object")
    question = ask_person(MAKE, "make", ".make", f"{pictures}/passkey-make.png", into="made")
    check("R148: the agent's own question names account, site and browser", '"mira" at garden.example, for Chromium' in question, question)
    world.answer(secret)
    check("R148: a passkey is made", said() == "made", browser.in_page("globalThis.said"))
    check("it is discoverable", browser.in_page("made.getClientExtensionResults().credProps.rk") is True)
    listed = [each for each in json.loads(world.coffret("ls", "--json"))["items"] if each["title"] == "garden.example"]
    check("and lies in the vault", "Passkey of garden.example" in world.coffret("show", listed[0]["id"], "--json"), listed)
    ask_person(USE, "choose", ".login", f"{pictures}/passkey-use.png", into="used")
    world.answer(secret)
    check("R148: and used", said() == "made", browser.in_page("globalThis.said"))
    check("R148: the page verifies the signature", browser.in_page(CHECK) is True)
    ask_person(USE, "choose", ".login")
    world.answer("not the passphrase")
    check("R148: without presence the page hears NotAllowedError", said() == "NotAllowedError")
    browser.do_in_page("globalThis.excluded = [{ type: 'public-key', id: made.rawId }]")
    ask_person(MAKE, "make", ".make")
    world.answer(secret)
    check("R148: an account that has a key: InvalidStateError", said() == "InvalidStateError")
    for wrong in ("'example'", "'evil.example'", "'den.example'"):
        ask_page(MAKE, wrong)
        check(f"R148: the site {wrong}: SecurityError", said() == "SecurityError", browser.in_page("globalThis.said"))
    ask_page(USE)
    window("choose")
    press(".cancel")
    check("a no is NotAllowedError", said() == "NotAllowedError")
    ask_page(USE)
    window("choose")
    browser.close_window("passkey.html")
    check("so is a window that is closed", said() == "NotAllowedError")
    browser.open(f"https://evil.example:{site}/framing")
    ask = (USE % "'garden.example'").replace("navigator", "document.querySelector('iframe').contentWindow.navigator")
    heard = browser.in_frame("(" + USE % "'garden.example'" + ").then(() => 'made', error => error.name)")
    check("R148: a page in a frame gets none", heard == "NotAllowedError", heard)
    browser.open(OWN + "/login")
    ask_page(USE)
    window("choose")
    press(".other")
    check("another key: the browser has the requests again", said() == "NotAllowedError")
    world.coffret("lock")
    browser.in_worker("chrome.webAuthenticationProxy.attach()")
    ask_page(USE)
    window("locked")
    press(".cancel")
    check("R148: a locked vault uses none", said() == "NotAllowedError")


def main():
    world.unlock()
    person.connect(world)
    parts = {"offers": test_offers, "menu": test_menu, "passkeys": test_passkeys}
    for part in sys.argv[3:] or parts:
        parts[part]()
    print("all held", flush=True)


try:
    main()
except BaseException:
    try:
        print("the popup said:", seen, flush=True)
        print("the site was asked:", Handler.requests[-5:], flush=True)
        if name == "chromium":
            print("targets:", [(each["type"], each["url"]) for each in browser.send("Target.getTargets")["targetInfos"]], flush=True)
        browser.picture(f"{pictures}/asks-failed.png")
    except BaseException as second_error:
        print("no picture:", second_error, flush=True)
    raise
finally:
    browser.close()
