#!/usr/bin/env python3
"""Opens the page of one-time requests in a browser: as a server gives it, and as a file.

Usage: ask_page_browser.py chromium|firefox SERVED FILE HOST PICTURE      addresses; HOST as it is typed for the file
Writes `code: …` for each request, shows the value that comes as `value: …`, and `held: …` for what was checked. Exit code 77: no browser.
"""
import base64, socket, sys, time

browser, served, file, host, picture = sys.argv[1:6]


def check(words, is_so, found=""):
    if not is_so:
        raise AssertionError(f"{words}: {found}")
    print("held:", words, flush=True)


class Chromium:
    def __init__(self):
        from playwright.sync_api import sync_playwright
        self.driver = sync_playwright().start()
        self.browser = self.driver.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--ignore-certificate-errors"])

    def open(self, address):
        self.asked, self.complaints = [], []
        self.context = self.browser.new_context(ignore_https_errors=True, viewport={"width": 800, "height": 1000})
        self.page = self.context.new_page()
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("websocket", lambda socket: self.asked.append(socket.url))
        self.page.on("console", lambda message: self.complaints.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(address)

    def click(self, selector):
        self.page.click(selector)

    def is_visible(self, selector):
        self.page.wait_for_timeout(20)
        return self.page.is_visible(selector)

    def read(self, expression):
        return self.page.evaluate(expression)

    def save(self, path, selector=None):
        (self.page.locator(selector) if selector else self.page).screenshot(path=path)

    def cookies(self):
        return self.context.cookies()

    def close(self):
        self.browser.close()
        self.driver.stop()


class Firefox:
    #: Requests of pages; those of the browser's own are none of the page's.
    WATCH = """
        const window = Services.wm.getMostRecentWindow("navigator:browser");
        window.asked = [];
        window.complaints = [];
        if (!window.watching) Services.obs.addObserver(window.watching = { observe(channel) {
            channel.QueryInterface(Ci.nsIHttpChannel);
            if (!channel.loadInfo.triggeringPrincipal.isSystemPrincipal) window.asked.push(channel.URI.spec);
        } }, "http-on-modify-request");
        if (!window.hearing) Services.console.registerListener(window.hearing = { observe(message) {
            if (message instanceof Ci.nsIScriptError && message.innerWindowID && !(message.flags & Ci.nsIScriptError.warningFlag)) window.complaints.push(message.errorMessage);
        } });"""

    def __init__(self):
        from marionette_driver.marionette import Marionette
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.marionette = Marionette(bin="/usr/bin/firefox-esr", port=port, headless=True, startup_timeout=180, gecko_log=picture + ".gecko")
        self.marionette.start_session({"acceptInsecureCerts": True})

    def chrome(self, script):
        with self.marionette.using_context("chrome"):
            return self.marionette.execute_script(script, sandbox="system", new_sandbox=True)

    def open(self, address):
        self.chrome(self.WATCH)
        self.marionette.navigate(address)

    @property
    def asked(self):
        return self.chrome("return Services.wm.getMostRecentWindow('navigator:browser').asked")

    @property
    def complaints(self):
        return self.chrome("return Services.wm.getMostRecentWindow('navigator:browser').complaints")

    def element(self, selector):
        return self.marionette.find_element("css selector", selector)

    def click(self, selector):
        self.element(selector).click()

    def is_visible(self, selector):
        return self.element(selector).is_displayed()

    def read(self, expression):
        return self.marionette.execute_script("return " + expression)

    def save(self, path, selector=None):
        data = self.marionette.screenshot(element=self.element(selector) if selector else None)
        open(path, "wb").write(base64.b64decode(data))

    def cookies(self):
        return [] if address_of(self).startswith("file:") else self.marionette.get_cookies()

    def close(self):
        self.marionette.quit()
        self.marionette.cleanup()


def address_of(page):
    return page.read("location.href")


def wait(page, selector):
    end = time.monotonic() + 120
    while not page.is_visible(selector):
        if time.monotonic() > end:
            raise AssertionError(f"waited for {selector}; the page says: {page.read('document.querySelector(`#state`).textContent')}")
        time.sleep(0.05)


def one_request(page, name):
    text_of = lambda selector: page.read(f"document.querySelector('{selector}').textContent")
    page.click("#begin")
    wait(page, "#text")
    text = page.read("document.querySelector('#text').value")
    check(f"{name}: a code", text.startswith("COFFRET-ASK:1:") and page.read("document.querySelector('#modules').getAttribute('d').length") > 1000, text)
    page.save(f"{picture}-{name}-code.png")
    page.save(f"{picture}-{name}-qr.png", "#picture")
    print("code:", text, flush=True)
    wait(page, "#value")
    check(f"{name}: the value is masked", text_of("#value") == "••••••••", text_of("#value"))
    check(f"{name}: it says for how long", "forgotten in" in text_of("#left"), text_of("#left"))
    page.click("#show")
    value = text_of("#value")
    print("value:", value, flush=True)
    page.save(f"{picture}-{name}-value.png")
    page.click("#forget")
    left = page.read("document.documentElement.outerHTML + [...document.querySelectorAll('input, textarea')].map(each => each.value)")
    check(f"{name}: it forgets", value not in left and page.read("document.querySelector('#text').value") == "")
    outside = [address for address in page.asked if not address.startswith((served.rsplit("/", 1)[0], "wss://" + host, file))]
    check(f"{name}: it spoke to the server alone", outside == [] and any("/v1/relay" in address for address in page.asked), page.asked)


try:
    page = {"chromium": Chromium, "firefox": Firefox}[browser]()
except ImportError:
    sys.exit(77)
try:
    for name, address in [("served", served), ("file", file + "#" + host)]:
        page.open(address)
        one_request(page, name)
        check(f"{name}: no complaint of the browser", page.complaints == [], page.complaints)
        check(f"{name}: no cookie, nothing stored", page.cookies() == [])
finally:
    page.close()
print("all held", flush=True)
