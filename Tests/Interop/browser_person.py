"""A person at a browser: clicks the extension's button, and looks at its popup."""
import json, time

from bridge_world import wait

VALUES = "JSON.stringify([...Document.prototype.querySelectorAll.call(document, 'input')].filter(i => i.value).map(i => i.value))"
LOOK = "(main => main && JSON.stringify([main.dataset.state, document.body.innerText, main.dataset.code ?? null]))(document.querySelector('main'))"


class Person:
    def __init__(self, browser):
        self.browser = browser
        #: State, text and code of the popup when it was last seen: it closes by itself once it is done.
        self.seen = [None, "", None]
        #: Whether a popup that could not look at the page is tried again.
        self.is_retried = True

    def look(self):
        """Whether a popup is open; `seen` is what it shows."""
        made = self.browser.in_popup(LOOK)
        if made:
            self.seen[:] = json.loads(made)
        return bool(made)

    def popup(self):
        """Opens the popup by a click on its button, and gives the state that it comes to."""
        for attempt in range(12):
            start = time.monotonic()
            self.browser.close_popup()
            self.seen[:] = ["waiting", "", None]
            self.browser.click_button()
            self.wait_for_popup()
            if self.seen[2] == "bridge.pausing":
                # Ten values in a minute are what a browser gets.
                wait("the pause to be over", lambda: time.monotonic() > start + 10)
            # A click that came while the page was still arriving grants nothing.
            elif self.seen[0] != "blocked" or not self.is_retried or attempt > 3:
                break
        return self.seen[0]

    def wait_for_popup(self):
        wait("the popup", lambda: self.look() and self.seen[0] != "waiting")

    def text(self):
        self.look()
        return self.seen[1]

    def click(self, selector):
        self.browser.in_popup(f"document.querySelector({json.dumps(selector)}).click()")

    def state_becomes(self, *wanted):
        def probe():
            self.look()
            return self.seen[0] if self.seen[0] in wanted else None
        return wait(f"the popup to say one of {wanted}", probe)

    def values(self):
        return json.loads(self.browser.in_page(VALUES))

    def begin_connecting(self):
        """Has the extension ask to be paired; gives the digits that it shows."""
        for attempt in range(4):
            # A page of an extension that is still being started can stay without its interfaces.
            self.browser.options()
            try:
                wait("the button", lambda: self.browser.in_page("document.querySelector('main')?.dataset.state") == "unpaired", 60)
                break
            except AssertionError:
                if attempt == 3:
                    raise
        self.browser.do_in_page("document.querySelector('main button').click()")
        return wait("the digits", lambda: self.browser.in_page("document.querySelector('.digits')?.textContent"))

    def connect(self, world, picture=None):
        """Pairs the browser; gives the digits and the question."""
        shown = self.begin_connecting()
        if picture:
            self.browser.picture(picture)
        question = world.question()
        world.answer(shown)
        wait("the connection", lambda: self.browser.in_page("document.querySelector('main').dataset.state") == "connected")
        return shown, question
