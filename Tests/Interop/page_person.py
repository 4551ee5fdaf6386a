"""A person at the page in Chromium: looks, clicks, types, takes pictures, and has axe look at each screen."""
import glob, json, os, sys, time

try:
    import axe_playwright_python
    from playwright.sync_api import sync_playwright
except ImportError:
    sys.exit(77)
if not os.path.exists("/usr/bin/chromium"):
    sys.exit(77)

AXE = open(glob.glob(os.path.dirname(axe_playwright_python.__file__) + "/**/axe*.js", recursive=True)[0]).read()
RULES = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa"]

#: Writes down every node that does something when it is pressed or changed.
ACTIONS = """(() => {
  const add = EventTarget.prototype.addEventListener;
  const kinds = new Set(["click", "mousedown", "pointerdown", "dblclick", "change", "submit"]);
  window.actions = new Set();
  window.actionCount = 0;
  EventTarget.prototype.addEventListener = function (kind, ...rest) {
    if (this instanceof Element && kinds.has(kind) && !/\\/vendor\\//.test(new Error().stack)) {
      window.actions.add(this);
      window.actionCount += 1;
    }
    return add.call(this, kind, ...rest);
  };
})()"""
#: Nodes that the mouse presses and the keyboard does not reach, each beside the key that does the same. page_keys.py presses them.
MOUSE_ALONE = {".rows .item": "Enter", ".version": "ArrowDown", "dialog": "Escape"}
#: Those that are seen and have no key: a browser presses buttons, fields and addresses that it goes to with Tab.
WITHOUT_KEY = f"""(() => {{
  for (const node of window.actions) if (!node.isConnected) window.actions.delete(node);
  const isReached = (node) => node.tabIndex >= 0 && node.matches("button, select, input, textarea, summary, a[href]") || node.matches("form") || node.matches({json.dumps(", ".join(MOUSE_ALONE))});
  return [...window.actions].filter((node) => node.getClientRects().length > 0 && !node.disabled && !isReached(node)).map((node) => node.outerHTML.slice(0, 140));
}})()"""


def check(what, holds, seen=""):
    if not holds:
        raise AssertionError(f"{what}: {seen}")
    print("held:", what, flush=True)


class Person:
    def __init__(self, playwright, address, pictures):
        self.address, self.pictures = address, pictures
        self.origin = address.split("/#")[0]
        self.problems, self.requests, self.violations = [], [], []
        os.makedirs(pictures, exist_ok=True)
        self.browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        self.context = self.browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-GB")
        self.page = self.context.new_page()
        self.page.add_init_script(ACTIONS)
        self.page.on("console", lambda message: self.problems.append(f"{message.text} {message.location.get('url')}") if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("dialog", lambda dialog: self.problems.append("a dialog: " + dialog.message))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.inspector = self.context.new_cdp_session(self.page)

    def evaluate(self, expression):
        # The page's own policy refuses functions made of text; the inspector is not bound by it.
        answer = self.inspector.send("Runtime.evaluate", {"expression": expression, "awaitPromise": True, "returnByValue": True})
        if "exceptionDetails" in answer:
            raise AssertionError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def wait(self, what, expression, seconds=60):
        end = time.monotonic() + seconds
        while not self.evaluate(expression):
            if time.monotonic() > end:
                self.page.screenshot(path=f"{self.pictures}/failed.png")
                raise AssertionError(f"waited for {what}; {self.problems}; {self.evaluate('document.body.innerText')[:1500]}")
            time.sleep(0.05)
        print("held:", what, flush=True)

    def screen(self, name):
        """A picture in both looks, and what axe finds. Each action on it has a key, once all have been counted since the page began."""
        check("actions are counted", self.evaluate("window.actionCount") > 0)
        check(f"each action has a key: {name}", (found := self.evaluate(WITHOUT_KEY)) == [], found)
        for look in ["light", "dark"]:
            self.page.emulate_media(color_scheme=look, reduced_motion="reduce")
            self.wait(f"{name}, {look}", f"document.documentElement.dataset.theme === '{look}'")
            self.page.screenshot(path=f"{self.pictures}/{name}{'' if look == 'light' else '-dark'}.png")
            self.evaluate(AXE + ";0")
            found = self.evaluate(f"axe.run(document,{{runOnly:{json.dumps(RULES)}}}).then(r=>r.violations.map(v=>[v.id,v.nodes.slice(0,3).map(n=>n.html.slice(0,140)+' | '+(n.any[0]?.message||n.all[0]?.message||'').slice(0,160))]))")
            self.violations.extend((name, look, *each) for each in found)
        self.page.emulate_media(color_scheme="light", reduced_motion="reduce")

    def text(self, selector):
        return self.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map(n=>n.innerText).join('\\n')")

    def click_row(self, title):
        self.page.locator(".rows .item", has_text=title).first.click()
        self.wait(f"{title} is open", f"document.querySelector('.pane').innerText.includes({json.dumps(title)})")

    def open(self):
        self.page.goto(self.address)
        self.wait("the list", "document.querySelectorAll('.rows .item').length > 3")

    def check_end(self):
        # A request that a lock ended is a message of the browser, and no fault; refused markup was tried on purpose.
        problems = [problem for problem in self.problems if "ERR_CONNECTION" not in problem and not problem.endswith("/do") and "trusted" not in problem.lower() and "Content Security Policy" not in problem]
        check("no error in the console", problems == [], problems)
        others = [url for url in self.requests if not url.startswith((self.origin + "/", f"blob:{self.origin}/"))]
        check("no request to anybody else", others == [], others)
        check("axe finds nothing", self.violations == [], "\n".join(map(str, self.violations)))
        self.browser.close()
