#!/usr/bin/env python3
"""A browser on a machine without a vault asks another device of the person for the login of the page in front.

Usage: browser_elsewhere.py chromium|firefox SERVER PERSON PASSWORD PICTURES. SERVER is host:port; PERSON is the folder of the device's
person, who answers as its file `answer` says. Writes `site: PORT`, `code: …` for whoever lets the browser ask, `unpair` when it is to
be forgotten (which the file `unpaired` says), and a line for each thing that held. Exit code 77: the browser is missing.
"""
import json, os, sys

from bridge_world import HOME, check, wait
from browser_person import Person
from browser_site import serve
from browsers import browser_named

name, server, folder, password, pictures = sys.argv[1:6]
Browser = browser_named(name)
if Browser is None:
    sys.exit(77)
os.makedirs(pictures, exist_ok=True)
site, _, _ = serve(HOME)
OWN = f"https://garden.example:{site}"
print("site:", site, flush=True)
# The host that no manifest names is not there.
nothing = HOME + "/org.coffret.bridge.json"
open(nothing, "w").write("{}")
browser = Browser(nothing)
person = Person(browser)
seen = person.seen


def answer(text):
    with open(folder + "/answer.new", "w") as file:
        file.write(text)
    os.rename(folder + "/answer.new", folder + "/answer")


def asked():
    return open(folder + "/asked").read() if os.path.exists(folder + "/asked") else ""


def state():
    return browser.in_page("document.querySelector('#elsewhere')?.dataset.state")


def press(selector):
    browser.do_in_page(f"document.querySelector({json.dumps(selector)}).click()")


def let_in(picture):
    """Shows a code, which somebody takes to the device."""
    wait("the field for the server", lambda: state() == "none")
    browser.do_in_page(f"document.querySelector('#server').value = {json.dumps(server)}; document.querySelector('#elsewhere button').click()")
    wait("the code", lambda: state() == "code")
    check("it has a picture", browser.in_page("document.querySelector('#elsewhere canvas').width") > 200)
    browser.picture(f"{pictures}/elsewhere-{picture}.png")
    print("code:", browser.in_page("document.querySelector('#code').value"), flush=True)
    wait("the device's yes", lambda: state() == "sure")
    return browser.in_page("document.querySelector('#elsewhere').innerText")


def ask(path="/login", origin=OWN):
    """Opens a page, and has the popup ask the device; gives the state that it comes to."""
    browser.open(origin + path)
    check(f"{path}: this browser has no vault on its machine", person.popup() == "unpaired", seen)
    person.click(".elsewhere")
    return person.state_becomes("filled", "error", "foreign")


def is_empty(what):
    check(f"{what}: nothing is filled in", password not in json.dumps(person.values(), ensure_ascii=False), person.values())


try:
    browser.open(OWN + "/login")
    check("without a device elsewhere there is nobody to ask", person.popup() == "unpaired" and not browser.in_popup("document.querySelector('.elsewhere') !== null"), seen)
    browser.close_popup()
    browser.options()
    wait("the field for the server", lambda: state() == "none")
    browser.do_in_page("document.querySelector('#server').value = 'a b'; document.querySelector('#elsewhere button').click()")
    wait("a word about the server", lambda: "Type the name" in browser.in_page("document.querySelector('#elsewhere').innerText"))
    said = let_in("code")
    check("the extension names the device, and asks whether it was the person's own", "Did your own device say so" in said, said)
    press("#elsewhere button:not(.main)")
    wait("R149: who answered in place of the device is not kept", lambda: state() == "none" and "Nothing was kept" in browser.in_page("document.querySelector('#elsewhere').innerText"))
    let_in("code-again")
    press("#elsewhere button.main")
    wait("the device to be kept", lambda: state() == "kept")
    browser.picture(f"{pictures}/elsewhere-kept.png")
    answer("yes")
    check("R150: after a yes the value is filled in", ask() == "filled", seen)
    check("and nothing else", person.values() == [password], person.values())
    for words in ("The browser", "on another machine asks for", "Password of", OWN):
        check(f"R150: the person read: {words}", words in asked(), asked())
    answer("no")
    check("R150: a no is a no", ask() == "error" and seen[2] == "remote.refused", seen)
    browser.picture(f"{pictures}/elsewhere-refused.png")
    is_empty("a no")
    before = asked()
    answer("yes")
    check("R140: another origin has no login there", ask(origin=f"https://evil.example:{site}") == "error" and seen[2] == "remote.item.not-found", seen)
    is_empty("another origin")
    check("R140: a form that goes elsewhere is asked about first", ask("/sent-away") == "foreign", seen)
    is_empty("a form that goes elsewhere")
    check("R150: and nobody was asked about either", asked() == before)
    print("unpair", flush=True)
    wait("the end of it", lambda: os.path.exists(folder + "/unpaired"))
    check("R149: a browser that was forgotten gets nothing", ask() == "error" and seen[2] == "remote.ended", seen)
    is_empty("a browser that was forgotten")
    check("R150: and nobody is asked", asked() == before)
finally:
    browser.close()
print("all held", flush=True)
