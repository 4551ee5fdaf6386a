#!/usr/bin/env python3
"""Measures a fill from the gesture to the page's own event, and the handshake before it. Spec: Docs/benchmarks.md.

Usage: browser_bench.py chromium|firefox|handshake COUNT. Prints milliseconds: median, least and most.
"""
import json, os, statistics, sys, time

from bridge_world import HOME, TITLE, World, wait

name, count = sys.argv[1], int(sys.argv[2])
world = World()


def report(what, times):
    print(f"{what}: {statistics.median(times):.1f} ms ({min(times):.1f} to {max(times):.1f}), {len(times)} times", flush=True)


if name == "handshake":
    sys.argv[1:] = ["none"]
    import bridge_client as client

    world.unlock()
    world.login(TITLE, client.HTTPS)
    pairing = client.pair(world, "Firefox")
    opened, found, filled = [], [], []
    for _ in range(count):
        start = time.perf_counter()
        channel = client.session(pairing)
        opened.append((time.perf_counter() - start) * 1000)
        start = time.perf_counter()
        made = channel.ask(do="find", origin=client.HTTPS)["ok"]["logins"]
        found.append((time.perf_counter() - start) * 1000)
        start = time.perf_counter()
        reply = channel.ask(do="fill", origin=client.HTTPS, id=made[0]["id"], fields=["password"])
        if "ok" in reply:
            filled.append((time.perf_counter() - start) * 1000)
        channel.close()
    report("host started, session opened, handshake done", opened)
    report("first find, which opens the store", found)
    report("fill", filled)
    sys.exit()

from browser_person import Person
from browser_site import serve
from browsers import browser_named

Browser = browser_named(name)
if Browser is None:
    sys.exit(77)
world.coffret("browser", "install")
site, _, _ = serve(HOME)
OWN = f"https://garden.example:{site}"
browser = Browser(HOME + ("/.config/chromium/NativeMessagingHosts" if name == "chromium" else "/.mozilla/native-messaging-hosts") + "/org.coffret.bridge.json")
try:
    world.unlock()
    world.login(TITLE, OWN)
    person = Person(browser)
    person.connect(world)
    times = []
    while len(times) < count:
        begin = time.monotonic()
        browser.open(OWN + "/login")
        browser.do_in_page("window.at = undefined; document.addEventListener('input', event => { if (event.target.type === 'password') window.at = performance.timeOrigin + performance.now() })")
        pressed = time.time() * 1000
        browser.click_button()
        try:
            moment = wait("the fill", lambda: browser.in_page("window.at ?? null"), 15)
            times.append(moment - pressed)
        except AssertionError:
            # A click that granted nothing; or a pause.
            print("no fill:", person.look() and person.seen, flush=True)
        browser.close_popup()
        # Ten values in a minute are what a browser gets.
        time.sleep(max(0, 6.5 - (time.monotonic() - begin)))
    report(f"{Browser.name}: from the click on the button to the page's event", times)
finally:
    browser.close()
