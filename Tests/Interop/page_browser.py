#!/usr/bin/env python3
"""Uses the page in Chromium as a person does, takes a picture of each screen, and has axe look at it.

Usage: page_browser.py ADDRESS PICTURES
Lines on standard input: `locked` once the store was locked outside. Writes `ready` when it waits for that. Exit code 77: no browser.
"""
import glob, json, os, sys, time

try:
    import axe_playwright_python
    from playwright.sync_api import sync_playwright
except ImportError:
    sys.exit(77)
if not os.path.exists("/usr/bin/chromium"):
    sys.exit(77)

address, pictures = sys.argv[1], sys.argv[2]
os.makedirs(pictures, exist_ok=True)
axe = open(glob.glob(os.path.dirname(axe_playwright_python.__file__) + "/**/axe*.js", recursive=True)[0]).read()
origin = address.split("/#")[0]
problems, requests, violations = [], [], []


def check(what, holds, seen=""):
    if not holds:
        raise AssertionError(f"{what}: {seen}")
    print("held:", what, flush=True)


with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-GB")
    page = context.new_page()
    page.on("console", lambda message: problems.append(f"{message.text} {message.location.get('url')}") if message.type == "error" else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: problems.append("a dialog: " + dialog.message))
    page.on("request", lambda request: requests.append(request.url))
    inspector = context.new_cdp_session(page)

    def evaluate(expression):
        # The page's own policy refuses functions made of text; the inspector is not bound by it.
        answer = inspector.send("Runtime.evaluate", {"expression": expression, "awaitPromise": True, "returnByValue": True})
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def wait(what, expression, seconds=20):
        end = time.monotonic() + seconds
        while not evaluate(expression):
            if time.monotonic() > end:
                page.screenshot(path=f"{pictures}/failed.png")
                raise AssertionError(f"waited for {what}; {problems}; {evaluate('document.body.innerText')[:1500]}")
            time.sleep(0.05)
        print("held:", what, flush=True)

    def screen(name):
        """A picture in both looks, and what axe finds."""
        for look in ["light", "dark"]:
            page.emulate_media(color_scheme=look, reduced_motion="reduce")
            time.sleep(0.15)
            page.screenshot(path=f"{pictures}/{name}{'' if look == 'light' else '-dark'}.png")
            evaluate(axe + ";0")
            found = evaluate("axe.run(document,{runOnly:['wcag2a','wcag2aa','wcag21aa','wcag22aa']}).then(r=>r.violations.map(v=>[v.id,v.nodes.slice(0,3).map(n=>n.html.slice(0,140)+' | '+(n.any[0]?.message||n.all[0]?.message||'').slice(0,160))]))")
            violations.extend((name, look, *each) for each in found)
        page.emulate_media(color_scheme="light", reduced_motion="reduce")

    def text(selector):
        return evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map(n=>n.innerText).join('\\n')")

    def click_row(title):
        page.locator(".rows .item", has_text=title).first.click()
        wait(f"{title} is open", f"document.querySelector('.pane').innerText.includes({json.dumps(title)})")

    page.goto(address)
    wait("the list", "document.querySelectorAll('.rows .item').length > 3")
    check("the code left the address", page.url == origin + "/", page.url)
    check("the title says nothing", page.title() == "Coffret")
    check("no cookie", context.cookies() == [])
    page.get_by_text("Understood").click()
    click_row("Tomatoes")
    wait("the editor", "document.querySelector('.cm-header-1') !== null")
    wait("counts", "document.querySelector('.side').innerText.includes('garden')")
    screen("notes")
    check("the text is Markdown that is styled", evaluate("document.querySelectorAll('.cm-tag').length") > 0)
    check("each row says its place", evaluate("[...document.querySelectorAll('.rows .item')].every((row, at) => row.getAttribute('aria-posinset') === String(at + 1) && Number(row.getAttribute('aria-setsize')) === document.querySelectorAll('.rows .item').length)"))

    # Search at each key.
    page.keyboard.press("Control+f")
    page.keyboard.type("blight", delay=40)
    wait("what was found", "/found/.test(document.querySelector('.sum').innerText) && document.querySelectorAll('.rows mark').length > 0")
    screen("search")
    page.keyboard.press("Escape")
    wait("the list again", "document.querySelectorAll('.rows mark').length === 0 && document.querySelectorAll('.rows .item').length > 3")

    # Writing: it is saved, and what others write comes in.
    click_row("Copper spray")
    wait("its text", "document.querySelector('.CodeMirror')?.innerText.includes('aphids')")
    page.locator(".CodeMirror").click()
    page.keyboard.press("Control+End")
    page.keyboard.type("\nNot before the rain.")
    check("it is not saved yet", "Saving" in text(".status"), text(".status"))
    page.keyboard.press("Control+s")
    wait("saved", "/Saved/.test(document.querySelector('.status').innerText)")

    # Leaving saves.
    page.keyboard.type(" Twice.")
    page.locator(".rows .item", has_text="Books to borrow").first.click()
    wait("the other is open", "document.querySelector('.CodeMirror').innerText.includes('Overstory')")
    click_row("Copper spray")
    wait("what was typed is there", "document.querySelector('.CodeMirror').innerText.includes('rain. Twice.')")
    page.locator(".CodeMirror").click()
    page.keyboard.press("Control+End")

    # Text of others is text.
    click_row("onerror")
    check("nothing of it ran", evaluate("window.ran === undefined && document.querySelectorAll('.pane img, .list img, iframe, object, embed').length === 0"))
    screen("hostile")

    # A login, by keyboard alone.
    page.get_by_role("button", name="Logins").click()
    wait("logins", "/login/.test(document.querySelector('.sum').innerText) && document.querySelectorAll('.rows .item').length > 0")
    page.locator(".rows").focus()
    page.keyboard.press("j")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    wait("the login", "document.querySelector('.hero h1') !== null")
    wait("a code that runs", r"/^\d{3} \d{3}$/.test(document.querySelector('.code')?.innerText ?? '')")
    check("no secret is in the page", not any(secret in evaluate("document.documentElement.outerHTML") for secret in ["correct-horse-7", "JBSWY3DP"]))
    check("a tab does not show secrets", page.get_by_role("button", name="Show password").count() == 0)
    screen("login")
    page.get_by_role("button", name="Edit").click()
    wait("the form", "document.querySelector('form') !== null")
    screen("form")
    page.get_by_label("username").fill("mira")
    page.get_by_role("button", name="Save").click()
    wait("the change", "document.querySelector('.hero') !== null && document.querySelector('.pane').innerText.includes('mira')")

    # History, trash, keys.
    page.get_by_role("button", name="All notes").click()
    wait("notes", "document.querySelectorAll('.rows .item').length > 3")
    click_row("Copper spray")
    page.keyboard.press("Control+h")
    wait("versions", "document.querySelectorAll('.version').length >= 1 && document.querySelectorAll('.diff').length > 0")
    screen("history")
    page.keyboard.press("Control+h")
    click_row("Water meter")
    page.get_by_role("button", name="To the trash").click()
    wait("it is gone", "!document.querySelector('.rows').innerText.includes('Water meter')")
    page.locator(".side").get_by_role("button", name="Trash").click()
    wait("the trash", "document.querySelector('.rows').innerText.includes('Water meter')")
    click_row("Water meter")
    wait("the way back", "document.querySelector('.banner') !== null")
    screen("trash")
    page.keyboard.press("F1")
    wait("the keys", "document.querySelector('dialog[open]') !== null")
    screen("keys")
    page.keyboard.press("Escape")
    wait("the sheet is gone", "document.querySelector('dialog') === null")

    # A new note from the keyboard.
    page.get_by_role("button", name="All notes").click()
    page.keyboard.press("Control+n")
    wait("an empty note", "document.activeElement?.closest('.CodeMirror') !== null")
    page.keyboard.type("Made in the tab")
    page.keyboard.press("Control+s")
    wait("its row", "document.querySelector('.rows').innerText.includes('Made in the tab')")

    # Narrower.
    for width in [1000, 420]:
        page.set_viewport_size({"width": width, "height": 900})
        time.sleep(0.2)
        screen(f"notes-{width}")
        check(f"nothing sticks out at {width}", evaluate("document.documentElement.scrollWidth <= innerWidth"), evaluate("document.documentElement.scrollWidth"))
    page.set_viewport_size({"width": 1440, "height": 900})

    # Markup is refused by the policy too.
    for sink in ["document.body.innerHTML='x'", "document.body.outerHTML='x'", "document.body.insertAdjacentHTML('beforeend','x')", "document.write('x')",
                 "document.createElement('iframe').srcdoc='x'", "document.createElement('script').src='/main.js'", "document.createElement('script').text='1'"]:
        check(f"refused: {sink}", evaluate(f"(()=>{{try{{{sink};return false}}catch(e){{return e instanceof TypeError}}}})()"))

    # Locked outside: nothing of the store stays.
    print("ready", flush=True)
    sys.stdin.readline()
    wait("the lock", "document.querySelector('.lock') !== null", 30)
    check("nothing of the notes is left", not any(word in evaluate("document.documentElement.outerHTML") for word in ["Tomatoes", "Copper", "mira", "garden"]))
    check("nor the token", evaluate("sessionStorage.length") == 0)
    screen("locked")

    # A request that a lock ended is a message of the browser, and no fault.
    problems[:] = [problem for problem in problems if "ERR_CONNECTION" not in problem and not problem.endswith("/do") and "TrustedHTML" not in problem and "trusted" not in problem.lower() and "Content Security Policy" not in problem]
    check("no error in the console", problems == [], problems)
    check("no request to anybody else", all(url.startswith(origin + "/") for url in requests), [url for url in requests if not url.startswith(origin)])
    check("axe finds nothing", violations == [], "\n".join(map(str, violations)))
    browser.close()
