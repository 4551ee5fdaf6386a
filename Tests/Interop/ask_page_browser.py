#!/usr/bin/env python3
"""Opens the page of one-time requests in Chromium: as a server gives it, and as a file.

Usage: ask_page_browser.py SERVED FILE HOST PICTURE      addresses; HOST as it is typed for the file
Writes `code: …` for each request, shows the value that comes as `value: …`, and `held: …` for what was checked. Exit code 77: no browser.
"""
import sys

try:
    from playwright.sync_api import sync_playwright
except ImportError:
    sys.exit(77)

served, file, host, picture = sys.argv[1:5]


def check(words, is_so, found=""):
    if not is_so:
        raise AssertionError(f"{words}: {found}")
    print("held:", words, flush=True)


def one_request(page, asked, name):
    page.click("#begin")
    page.wait_for_selector("#text:visible", timeout=60_000)
    text = page.input_value("#text")
    check(f"{name}: a code", text.startswith("COFFRET-ASK:1:") and len(page.get_attribute("#modules", "d")) > 1000, text)
    page.screenshot(path=f"{picture}-{name}-code.png")
    page.locator("#picture").screenshot(path=f"{picture}-{name}-qr.png")
    print("code:", text, flush=True)
    page.wait_for_selector("#value:visible", timeout=120_000)
    check(f"{name}: the value is masked", page.inner_text("#value") == "••••••••", page.inner_text("#value"))
    check(f"{name}: it says for how long", "forgotten in" in page.inner_text("#left"), page.inner_text("#left"))
    page.click("#show")
    print("value:", page.inner_text("#value"), flush=True)
    page.screenshot(path=f"{picture}-{name}-value.png")
    value = page.inner_text("#value")
    page.click("#forget")
    check(f"{name}: it forgets", value not in page.content() and page.input_value("#text") == "")
    outside = [address for address in asked if not address.startswith((served.rsplit("/", 1)[0], "wss://" + host, file))]
    check(f"{name}: it spoke to the server alone", outside == [], outside)


with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox", "--ignore-certificate-errors"])
    try:
        for name, address in [("served", served), ("file", file + "#" + host)]:
            context = browser.new_context(ignore_https_errors=True, viewport={"width": 800, "height": 1000})
            page = context.new_page()
            asked, complaints = [], []
            page.on("request", lambda request: asked.append(request.url))
            page.on("websocket", lambda socket: asked.append(socket.url))
            page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.goto(address)
            one_request(page, asked, name)
            check(f"{name}: no complaint of the browser", complaints == [], complaints)
            check(f"{name}: no cookie, nothing stored", context.cookies() == [])
            context.close()
    finally:
        browser.close()
print("all held", flush=True)
