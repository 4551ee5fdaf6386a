#!/usr/bin/env python3
"""The page in Firefox, by keys alone: list, search, writing, a login, history, screens, the bounds of a tab, and the lock.

Usage: page_firefox.py FOLDER
Lines on standard input: the address, once it has written `started`: a page's code is good for a minute, and a browser may take longer
to start. Then `locked` once the store was locked outside. Writes `ready` when it waits for that. Exit code 77: no browser.
"""
import fcntl, glob, json, os, socket, sys, time

try:
    import axe_playwright_python
    from marionette_driver import errors
    from marionette_driver.keys import Keys
    from marionette_driver.marionette import Marionette
except ImportError:
    sys.exit(77)
if not os.path.exists("/usr/bin/firefox-esr"):
    sys.exit(77)

AXE = open(glob.glob(os.path.dirname(axe_playwright_python.__file__) + "/**/axe*.js", recursive=True)[0]).read()
RULES = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"]
folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
#: One browser at a time in a checkout.
TURN = open(os.path.dirname(os.path.abspath(__file__)) + "/browsers.py")
fcntl.flock(TURN, fcntl.LOCK_EX)


def check(what, holds, seen=""):
    if not holds:
        raise AssertionError(f"{what}: {seen}")
    print("held:", what, flush=True)


# The usual port may be that of another checkout's Firefox, which answers there and refuses a second session.
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
firefox = Marionette(bin="/usr/bin/firefox-esr", port=port, headless=True, gecko_log=folder + "/gecko.log", startup_timeout=240,
                     prefs={"app.update.enabled": False, "browser.shell.checkDefaultBrowser": False, "network.proxy.type": 0})


def evaluate(expression):
    return firefox.execute_script(f"return ({expression})", sandbox=None)


def holds(expression):
    """A part of the page that is not there yet is no fault."""
    try:
        return evaluate(expression)
    except errors.JavascriptException:
        return False


def wait(what, expression, seconds=120):
    end = time.monotonic() + seconds
    while not holds(expression):
        if time.monotonic() > end:
            raise AssertionError(f"waited for {what}; {evaluate('document.body.innerText')[:1500]}")
        time.sleep(0.05)
    print("held:", what, flush=True)


def keys(*parts):
    # What has the keyboard may be drawn again while it is looked for.
    end = time.monotonic() + 60
    while True:
        try:
            firefox.get_active_element().send_keys(*parts)
            return
        except (errors.NoSuchElementException, errors.StaleElementException):
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


def focus(selector):
    evaluate(f"document.querySelector({json.dumps(selector)}).focus()")


def press(name, place="document"):
    """A button by its words, by the keyboard; again where the page was drawn anew between focus and key."""
    found = f"[...{place}.querySelectorAll('button')].find((each) => (each.getAttribute('aria-label') ?? each.innerText).includes({json.dumps(name)}))"
    evaluate("(() => { document.pressed = 0; document.onclick = () => { document.pressed += 1; }; return 0; })()")
    end = time.monotonic() + 120
    while evaluate("document.pressed") == 0:
        if time.monotonic() > end:
            raise AssertionError(f"the button {name} cannot be pressed; {evaluate('document.body.innerText')[:1500]}")
        if holds(f"((button) => {{ button.focus(); return document.activeElement === button; }})({found})"):
            keys(Keys.ENTER)
        else:
            time.sleep(0.05)
    print("held: pressed", name, flush=True)


def screen(name):
    for look in ["light", "dark"]:
        evaluate(f"document.documentElement.dataset.theme = '{look}'")
        firefox.execute_script(AXE, sandbox=None)
        found = firefox.execute_async_script(
            f"const [done] = arguments; axe.run(document, {{ runOnly: {json.dumps(RULES)} }}).then((r) => done(r.violations.map((v) => v.id + ' ' + v.nodes[0].html.slice(0, 140))), (error) => done(['' + error]))", sandbox=None, script_timeout=120_000)
        check(f"axe finds nothing: {name}, {look}", found == [], found)


try:
    firefox.start_session()
    firefox.set_window_rect(width=1440, height=900)
    print("started", flush=True)
    address = sys.stdin.readline().strip()
    origin = address.split("/#")[0]
    firefox.navigate(address)
    wait("the list", "document.querySelectorAll('.rows .item').length > 3")
    check("the code left the address", firefox.get_url() == origin + "/", firefox.get_url())
    check("the title says nothing", firefox.title == "Coffret", firefox.title)
    check("no cookie", firefox.get_cookies() == [])
    press("Understood")
    wait("the counts", "document.querySelector('.side').innerText.includes('garden')")
    check("each row says its place", evaluate("[...document.querySelectorAll('.rows .item')].every((row, at) => row.getAttribute('aria-posinset') === String(at + 1))"))
    check("nothing of a text is a node", evaluate("document.querySelectorAll('.pane img, .list img, iframe, object, embed, .rows script').length === 0"))

    # Search, and what is found is opened.
    focus(".rows")
    keys(Keys.CONTROL, "f")
    wait("the search has the keyboard", "document.activeElement.id === 'search'")
    keys("blight")
    wait("what was found", "/found/.test(document.querySelector('.sum').innerText) && document.querySelectorAll('.rows mark').length > 0")
    keys(Keys.ENTER)
    keys(Keys.ENTER)
    wait("it is open", "document.activeElement.closest('.CodeMirror') !== null")
    screen("search")

    # Writing.
    keys(Keys.CONTROL, Keys.END)
    keys("Written in Firefox.")
    wait("it is typed", "document.querySelector('.CodeMirror').CodeMirror.getValue().includes('Written in Firefox.')")
    wait("it is kept", "document.querySelector('.status [title^=Kept]') !== null || /Saved/.test(document.querySelector('.status').innerText)")
    keys(Keys.CONTROL, "s")
    wait("it is saved", "/Saved/.test(document.querySelector('.status').innerText)")
    press("History")
    wait("its versions", "document.querySelectorAll('.version').length >= 1 && document.querySelectorAll('.diff').length > 0")
    screen("history")

    # A login.
    press("Logins")
    wait("logins", "/login/.test(document.querySelector('.sum').innerText) && document.querySelectorAll('.rows .item').length > 0")
    focus(".rows")
    keys("j")
    keys(Keys.ENTER)
    wait("the login", "document.querySelector('.hero h1') !== null")
    wait("a code that runs", r"/^\d{3} \d{3}$/.test(document.querySelector('.code')?.innerText ?? '')")
    check("no secret is in the page", not any(secret in evaluate("document.documentElement.outerHTML") for secret in ["correct-horse-7", "JBSWY3DP"]))
    screen("login")

    for name in ["Devices", "Bring in", "Settings"]:
        press(name, "document.querySelector('.side')")
        wait(name, "document.querySelector('.screen-title') !== null")
        screen(name)
    keys(Keys.F1)
    wait("the keys", "document.querySelector('dialog[open]') !== null")
    screen("keys")
    keys(Keys.ESCAPE)
    wait("the sheet is gone", "document.querySelector('dialog') === null")

    # A tab's bounds in this engine.
    for sink in ["window.wrappedJSObject.eval('1')", "new window.wrappedJSObject.Function('return 1')()"]:
        check(f"refused: {sink}", evaluate(f"(() => {{ try {{ {sink}; return false; }} catch (error) {{ return true; }} }})()"))
    check("nothing is stored", evaluate("localStorage.length === 0 && document.cookie === ''"))
    check("the page is in no frame of others", firefox.execute_async_script(
        "const [address, done] = arguments; const frame = document.createElement('iframe'); frame.src = address; let loaded = false; frame.onload = () => { loaded = true; };"
        "document.body.append(frame); setTimeout(() => { let seen = ''; try { seen = frame.contentDocument?.querySelector('#root') ? 'shown' : 'empty'; } catch { seen = 'foreign'; } frame.remove(); done(seen); }, 1500)",
        script_args=(origin + "/",), sandbox=None, script_timeout=60_000) != "shown")

    print("ready", flush=True)
    sys.stdin.readline()
    wait("the lock", "document.querySelector('.lock') !== null")
    check("nothing of the notes is left", not any(word in evaluate("document.documentElement.outerHTML") for word in ["Tomatoes", "Copper", "mira", "garden"]))
    check("nor the token", evaluate("sessionStorage.length") == 0)
    screen("locked")
    print("held: everything in Firefox", flush=True)
finally:
    try:
        firefox.quit()
    except Exception:
        pass
    firefox.cleanup()
