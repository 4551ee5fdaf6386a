"""Chromium and Firefox, driven so that the extension's own button is clicked: what grants it the page in front."""
import fcntl, json, os, queue, shutil, socket, subprocess, threading

from bridge_world import HOME, check, wait

#: One browser at a time in a checkout: two at once are slower than one after the other.
TURN = open(__file__)
fcntl.flock(TURN, fcntl.LOCK_EX)

#: Nothing where the browsers have the extension, and the manifest of its host, by Debian's packages.
EXTENSION = os.environ.get("COFFRET_TEST_EXTENSION", "")
HOSTS = ["garden.example", "garden.example.", "gardem.example", "evil.example", "garden.example.evil.example"]
CHROMIUM = "/usr/bin/chromium"
FIREFOX = "/usr/bin/firefox-esr"
FIREFOX_ID = "coffret@coffret.example"
#: What drives Firefox turns the extensions of the system off. These are Debian's own settings.
INSTALLED = {} if EXTENSION else {"extensions.enabledScopes": 15, "extensions.autoDisableScopes": 3, "extensions.unsignedScopes": 12}


def chromium_id():
    import base64, hashlib
    key = base64.b64decode(json.load(open((EXTENSION or "/usr/share/chromium/extensions/coffret") + "/manifest.json"))["key"])
    return "".join(chr(97 + int(digit, 16)) for digit in hashlib.sha256(key).hexdigest()[:32])


class Screen:
    """A screen of its own, with a keyboard whose keys no browser tells from a person's."""

    def __init__(self):
        self.process = subprocess.Popen(["Xvfb", "-displayfd", "1", "-screen", "0", "1280x800x24", "-nolisten", "tcp"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.name = ":" + self.process.stdout.readline().strip()
        self.variables = dict(os.environ, DISPLAY=self.name)

    def run(self, *words):
        return subprocess.run(["xdotool", *words], env=self.variables, capture_output=True, text=True, timeout=60)

    def press(self, window, *keys):
        """Presses keys in a window, by a part of its title."""
        found = wait(f"the window {window}", lambda: self.run("search", "--onlyvisible", "--name", window).stdout.split())
        self.run("windowfocus", "--sync", found[-1])
        return self.run("key", "--clearmodifiers", *keys)

    def close(self):
        self.process.terminate()
        self.process.wait(60)


class Chromium:
    """CDP over a pipe: JSON with a zero byte at the end, on descriptors 3 and 4."""

    name = "Chromium"

    def __init__(self, host_manifest, screen=None):
        self.screen = screen
        self.id, self.counter, self.answers, self.chunks = chromium_id(), 0, {}, []
        self.base = f"chrome-extension://{self.id}/"
        profile = HOME + "/chromium"
        shutil.rmtree(profile, ignore_errors=True)
        os.makedirs(profile + "/NativeMessagingHosts")
        self.host_manifest = shutil.copy(host_manifest, profile + "/NativeMessagingHosts/") if EXTENSION else host_manifest
        out_read, self.write_end = os.pipe()
        self.read_end, in_write = os.pipe()
        arguments = [
            CHROMIUM, f"--user-data-dir={profile}", "--window-size=1000,700" if screen else "--headless=new", "--no-sandbox", "--remote-debugging-pipe",
            "--enable-unsafe-extension-debugging", "--no-first-run", "--disable-gpu", "--ignore-certificate-errors",
            "--host-resolver-rules=" + ",".join(f"MAP {host} 127.0.0.1" for host in HOSTS) + ",MAP *.invalid ~NOTFOUND", "about:blank"]

        def arrange():
            first, second = os.dup(out_read), os.dup(in_write)
            os.dup2(first, 3)
            os.dup2(second, 4)

        for descriptor in (out_read, in_write):
            os.set_inheritable(descriptor, True)
        # Its socket lies in the folder for temporary files, and the path of a test's own is too long for one.
        variables = {name: value for name, value in os.environ.items() if name != "TMPDIR"} | ({"DISPLAY": screen.name} if screen else {})
        self.process = subprocess.Popen(arguments, env=variables, close_fds=False, preexec_fn=arrange, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(HOME + "/chromium.log", "wb"))
        os.close(out_read)
        os.close(in_write)
        threading.Thread(target=self.listen, daemon=True).start()
        if EXTENSION:
            made = self.send("Extensions.loadUnpacked", {"path": EXTENSION})
            check("the extension has the id that its key gives", made["id"] == self.id, made)
        self.page = self.session = None

    def listen(self):
        buffer = b""
        while True:
            data = os.read(self.read_end, 65536)
            if not data:
                return
            buffer += data
            while b"\0" in buffer:
                text, buffer = buffer.split(b"\0", 1)
                message = json.loads(text)
                if "id" in message and message["id"] in self.answers:
                    self.answers.pop(message["id"])[1].put(message)
                if message.get("method") == "HeapProfiler.addHeapSnapshotChunk":
                    self.chunks.append(message["params"]["chunk"])
                # A page that goes leaves what it was asked without an answer, for ever.
                if message.get("method") == "Target.detachedFromTarget":
                    gone = message["params"]["sessionId"]
                    for number in [number for number, (session, _) in list(self.answers.items()) if session == gone]:
                        self.answers.pop(number)[1].put({"error": {"message": "the page navigated, or has gone"}})

    def send(self, method, parameters=None, session=None):
        self.counter += 1
        answer = queue.Queue()
        self.answers[self.counter] = (session, answer)
        message = {"id": self.counter, "method": method, "params": parameters or {}}
        if session:
            message["sessionId"] = session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        try:
            made = answer.get(timeout=120)
        except queue.Empty:
            log = open(HOME + "/chromium.log", "rb").read()[-2000:].decode(errors="replace")
            raise AssertionError(f"Chromium does not answer {method}: {self.process.poll()} {log}")
        if "error" in made:
            raise RuntimeError(made["error"]["message"])
        return made["result"]

    def targets(self, type="page"):
        return [target for target in self.send("Target.getTargets")["targetInfos"] if target["type"] == type]

    def attach(self, target):
        return self.send("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]

    def evaluate(self, session, expression):
        made = self.send("Runtime.evaluate", {"expression": expression, "awaitPromise": True, "returnByValue": True, "userGesture": True}, session)
        if "exceptionDetails" in made:
            raise AssertionError(made["exceptionDetails"].get("exception", {}).get("description", made))
        return made["result"].get("value")

    def open(self, url, shown=None):
        """Opens a page as the only one. `shown` is its address if that is another one."""
        self.page = self.send("Target.createTarget", {"url": url})["targetId"]
        self.session = self.attach(self.page)
        wait("the other pages to be closed", self.is_alone)
        # A navigation takes the grant of a click away again.
        wait(f"{url} to be loaded", lambda: self.loaded(shown or url))

    def is_alone(self):
        """Closes pages that are not the one in front; also those that the browser opens by itself."""
        others = [target["targetId"] for target in self.targets() if target["targetId"] != self.page]
        for other in others:
            self.close_target(other)
        return not others

    def close_target(self, target):
        try:
            self.send("Target.closeTarget", {"targetId": target})
        except RuntimeError:
            # It has closed by itself.
            pass

    def loaded(self, url):
        try:
            state = self.evaluate(self.session, "document.readyState + ' ' + location.href")
        except RuntimeError:
            # Between two documents there is none that could answer.
            return False
        return bool(state) and state.startswith("complete " + url)

    def in_page(self, expression):
        try:
            return self.evaluate(self.session, expression)
        except RuntimeError as error:
            # A page that goes while it is asked has no answer yet.
            if "navigated" not in str(error):
                raise
            return None

    def do_in_page(self, statements):
        self.evaluate(self.session, statements + "; 0")

    def click_button(self):
        """A click on the button of the extension."""
        self.send("Target.activateTarget", {"targetId": self.page})
        tabs = self.send("Target.getTargets", {"filter": [{"type": "tab"}]})["targetInfos"]
        self.send("Extensions.triggerAction", {"id": self.id, "targetId": tabs[-1]["targetId"]})

    def press(self, selector):
        """A click of the mouse: what a browser takes for a person's."""
        box = json.loads(self.in_page(f"JSON.stringify(document.querySelector({json.dumps(selector)}).getBoundingClientRect())"))
        where = {"x": box["left"] + box["width"] / 2, "y": box["top"] + box["height"] / 2, "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", {"type": kind, **where}, self.session)

    def press_keys(self):
        """The keys of the extension, in the window in front."""
        self.send("Target.activateTarget", {"targetId": self.page})
        self.screen.press("Chromium", "ctrl+shift+u")

    def popups(self, name="popup.html"):
        return [target["targetId"] for target in self.targets() if target["url"].startswith(f"chrome-extension://{self.id}/{name}")]

    def in_popup(self, expression, name="popup.html"):
        """None where no popup, or other window of the extension, is open."""
        try:
            found = self.popups(name)
            return self.evaluate(self.attach(found[0]), expression) if found else None
        except RuntimeError:
            return None

    def close_popup(self):
        for target in self.popups():
            self.close_target(target)
        wait("the popup to be closed", lambda: not self.popups())

    def options(self):
        self.open(f"chrome-extension://{self.id}/options.html")

    def extension_place(self):
        """The folder of the extension, as Chromium tells it."""
        self.open("chrome://extensions")
        return self.evaluate(self.session, f"new Promise(done => chrome.developerPrivate.getExtensionInfo({json.dumps(self.id)}, info => done(info.path)))")

    def close_window(self, name):
        for target in self.popups(name):
            self.close_target(target)

    def in_worker(self, expression):
        worker = wait("the worker", lambda: self.targets("service_worker"))[0]["targetId"]
        return self.evaluate(self.attach(worker), expression)

    def worker_heap(self):
        """Every text that the worker can reach."""
        session = self.attach(wait("the worker", lambda: self.targets("service_worker"))[0]["targetId"])
        self.chunks.clear()
        self.send("HeapProfiler.collectGarbage", session=session)
        self.send("HeapProfiler.takeHeapSnapshot", session=session)
        return "\n".join(json.loads("".join(self.chunks))["strings"])

    def badge(self):
        """What stands on the extension's button, for the tab in front."""
        return self.in_worker("chrome.tabs.query({}).then(tabs => Promise.all(tabs.map(tab => chrome.action.getBadgeText({ tabId: tab.id }).catch(() => ''))).then(texts => texts.join('')))")

    def offers(self):
        """How many logins that were sent the worker holds."""
        return self.in_extension(OFFERS)

    def in_extension(self, expression):
        """In a page of the extension behind the one in front."""
        return self.in_page_behind(self.base + "options.html", expression)

    def in_stranger(self, folder, expression):
        """In a page of another extension."""
        made = self.send("Extensions.loadUnpacked", {"path": folder})["id"]
        return self.in_page_behind(f"chrome-extension://{made}/page.html", expression)

    def in_page_behind(self, page, expression):
        extension = self.send("Target.createTarget", {"url": page, "background": True})["targetId"]
        session = self.attach(extension)
        wait("the extension's page", lambda: self.evaluate(session, "document.readyState + location.href") == "complete" + page)
        made = self.evaluate(session, expression)
        self.send("Target.closeTarget", {"targetId": extension})
        return made

    def without_gesture(self):
        """What the browser says to a look at the page that nobody allowed."""
        return self.in_extension(PEEK)

    def frame_values(self):
        """What stands in the fields of frames of other sites."""
        values = []
        for target in self.targets("iframe"):
            values += self.evaluate(self.attach(target["targetId"]), "[...document.querySelectorAll('input')].map(i => i.value)")
        return values

    def in_frame(self, expression):
        """In the first frame of another site."""
        return self.evaluate(self.attach(wait("the frame", lambda: self.targets("iframe"))[0]["targetId"]), expression)

    def picture_of(self, name, path):
        self.picture(path, name)

    def picture(self, path, name="popup.html"):
        import base64
        found = self.popups(name)
        session = self.attach(found[0]) if found else self.session
        open(path, "wb").write(base64.b64decode(self.send("Page.captureScreenshot", {}, session)["data"]))

    def close(self):
        try:
            self.send("Browser.close")
        except Exception:
            pass
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()


PEEK = """(async () => {
    const api = globalThis.browser ?? chrome;
    const said = [];
    for (const tab of await api.tabs.query({})) {
        try { await api.scripting.executeScript({ target: { tabId: tab.id }, func: () => document.title }); said.push("allowed"); }
        catch (error) { said.push("refused " + (tab.url ?? "without an address")); }
    }
    return said.join("; ");
})()"""


#: How many logins that were sent a moment ago the worker holds.
OFFERS = """(async (api) => {
    const tabs = await api.tabs.query({});
    const offers = await Promise.all(tabs.map((tab) => api.runtime.sendMessage({ do: "offer", tab: tab.id })));
    return offers.filter(Boolean).length;
})(globalThis.browser ?? chrome)"""


class Firefox:
    name = "Firefox"

    def __init__(self, host_manifest, screen=None):
        from marionette_driver.addons import Addons
        from marionette_driver.marionette import Marionette
        # Firefox looks for the manifest of the host below HOME, where `coffret browser install` put it.
        self.host_manifest, self.screen = host_manifest, screen
        if screen:
            os.environ["DISPLAY"] = screen.name
        # Its usual port may be another Firefox's.
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.marionette = Marionette(
            bin=FIREFOX, port=port, headless=not screen, gecko_log=HOME + "/gecko.log", startup_timeout=180,
            prefs=INSTALLED | {"network.dns.localDomains": ",".join(HOSTS), "network.proxy.type": 0, "app.update.enabled": False, "browser.shell.checkDefaultBrowser": False, "security.data_uri.block_toplevel_data_uri_navigations": False, "extensions.webextOptionalPermissionPrompts": False})
        self.marionette.start_session({"acceptInsecureCerts": True})
        self.marionette.timeout.script = 120
        self.marionette.timeout.page_load = 120
        if EXTENSION:
            Addons(self.marionette).install(EXTENSION, temp=True)
        self.base = self.base_of(FIREFOX_ID)

    def base_of(self, identifier):
        return "moz-extension://" + wait("the extension", lambda: self.chrome(f"return WebExtensionPolicy.getByID('{identifier}')?.mozExtensionHostname")) + "/"

    def chrome(self, script, *arguments):
        with self.marionette.using_context("chrome"):
            return self.marionette.execute_script(script, script_args=arguments, sandbox="system", new_sandbox=True)

    def chrome_async(self, script, *arguments):
        with self.marionette.using_context("chrome"):
            return self.marionette.execute_async_script(script, script_args=arguments, sandbox="system", new_sandbox=True, script_timeout=120000)

    def open(self, url, shown=None):
        self.marionette.navigate(url)
        wait(f"{url} to be loaded", lambda: self.loaded(shown or url))

    def loaded(self, url):
        state = self.marionette.execute_script("return document.readyState + ' ' + location.href", sandbox=None)
        return bool(state) and state.startswith("complete " + url)

    def in_page(self, expression):
        return self.marionette.execute_script(f"return ({expression})", sandbox=None)

    def do_in_page(self, statements):
        self.marionette.execute_script(statements, sandbox=None)

    def click_button(self):
        self.chrome(f"""
            const {{ ExtensionParent }} = ChromeUtils.importESModule("resource://gre/modules/ExtensionParent.sys.mjs");
            const {{ extension }} = WebExtensionPolicy.getByID("{FIREFOX_ID}");
            ExtensionParent.apiManager.global.browserActionFor(extension).triggerAction(Services.wm.getMostRecentWindow("navigator:browser"));""")

    def in_popup(self, expression, name="popup.html"):
        """None where no popup is open."""
        return self.chrome_async("""
            const [expression, name, resolve] = arguments;
            const window = Services.wm.getMostRecentWindow("navigator:browser");
            const popup = [...window.document.querySelectorAll("browser")].find(each => each.currentURI?.spec.startsWith("moz-extension://") && each.currentURI.spec.endsWith(name));
            if (!popup) return resolve(null);
            const timer = window.setTimeout(() => resolve(null), 5000);
            const answer = "coffret:" + Math.random();
            popup.messageManager.addMessageListener(answer, message => { window.clearTimeout(timer); resolve(message.data); });
            const code = `const { document } = content; Promise.resolve().then(() => (${expression})).then(v => sendAsyncMessage("${answer}", v ?? null), e => sendAsyncMessage("${answer}", "error: " + e))`;
            popup.messageManager.loadFrameScript("data:," + encodeURIComponent(code), false);""", expression, name)

    def close_popup(self):
        self.chrome("""
            const window = Services.wm.getMostRecentWindow("navigator:browser");
            for (const panel of window.document.querySelectorAll("panel")) panel.hidePopup();""")
        wait("the popup to be closed", lambda: self.in_popup("1") is None)

    def press_keys(self):
        """The keys of the extension, in the window in front."""
        self.screen.press("Mozilla Firefox", "ctrl+shift+u")

    def press(self, selector):
        """A click of the mouse: what a browser takes for a person's."""
        from marionette_driver.by import By
        self.marionette.find_element(By.CSS_SELECTOR, selector).click()

    def badge(self):
        return self.chrome(f"""
            const {{ ExtensionParent }} = ChromeUtils.importESModule("resource://gre/modules/ExtensionParent.sys.mjs");
            const {{ extension }} = WebExtensionPolicy.getByID("{FIREFOX_ID}");
            const window = Services.wm.getMostRecentWindow("navigator:browser");
            const action = ExtensionParent.apiManager.global.browserActionFor(extension).action;
            return action.getContextData(window.gBrowser.selectedTab).badgeText ?? "";""")

    def offers(self):
        return self.in_extension(OFFERS)

    def choose_in_menu(self, selector, entry):
        """Opens the context menu of an element by the mouse's other button, and chooses an entry."""
        from marionette_driver.by import By
        from marionette_driver.marionette import ActionSequence
        mouse = ActionSequence(self.marionette, "pointer", "mouse", {"pointerType": "mouse"})
        mouse.click(self.marionette.find_element(By.CSS_SELECTOR, selector), button=2).perform()
        wait(f"the menu's entry {entry}", lambda: self.chrome("""
            const menu = Services.wm.getMostRecentWindow("navigator:browser").document.getElementById("contentAreaContextMenu");
            const item = menu.state === "open" && [...menu.querySelectorAll("menuitem")].find(each => each.label === arguments[0]);
            if (item) menu.activateItem(item);
            return Boolean(item);""", entry))

    def options(self):
        self.open(self.base + "options.html")

    def extension_place(self):
        """The archive of the extension, as Firefox tells it."""
        return self.chrome(f"return WebExtensionPolicy.getByID('{FIREFOX_ID}').extension.rootURI.spec")

    def in_extension(self, expression):
        return self.in_page_behind(self.base + "options.html", expression)

    def in_stranger(self, folder, expression):
        """In a page of another extension."""
        from marionette_driver.addons import Addons
        return self.in_page_behind(self.base_of(Addons(self.marionette).install(folder, temp=True)) + "page.html", expression)

    def in_page_behind(self, page, expression):
        handle = self.marionette.current_window_handle
        made = self.marionette.open(type="tab", focus=False)["handle"]
        self.marionette.switch_to_window(made, focus=False)
        self.open(page)
        said = self.marionette.execute_async_script("const [resolve] = arguments; (%s).then(resolve, error => resolve('error ' + error))" % expression, sandbox=None, script_timeout=60000)
        self.marionette.close()
        self.marionette.switch_to_window(handle)
        return said

    def without_gesture(self):
        return self.in_extension(PEEK)

    def frame_values(self):
        self.marionette.switch_to_frame(0)
        values = self.marionette.execute_script("return [...document.querySelectorAll('input')].map(i => i.value)")
        self.marionette.switch_to_frame()
        return values

    def picture(self, path):
        import base64
        with self.marionette.using_context("chrome"):
            open(path, "wb").write(base64.b64decode(self.marionette.screenshot()))

    def close(self):
        self.marionette.quit()
        self.marionette.cleanup()


def browser_named(name):
    """None where the browser, or what drives it, is missing."""
    if name == "chromium":
        return Chromium if os.path.exists(CHROMIUM) else None
    try:
        import marionette_driver
    except ImportError:
        return None
    return Firefox if os.path.exists(FIREFOX) else None
