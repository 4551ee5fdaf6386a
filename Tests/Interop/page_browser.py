#!/usr/bin/env python3
"""Uses the page in Chromium as a person does, takes a picture of each screen, and has axe look at it.

Usage: page_browser.py ADDRESS PICTURES
Lines on standard input: `locked` once the store was locked outside. Writes `ready` when it waits for that. Exit code 77: no browser.
"""
import json, sys, time

from page_person import Person, check, sync_playwright

with sync_playwright() as playwright:
    person = Person(playwright, sys.argv[1], sys.argv[2])
    page, context, origin = person.page, person.context, person.origin
    evaluate, wait, screen, text, click_row = person.evaluate, person.wait, person.screen, person.text, person.click_row

    person.open()
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
    check("nothing can be pressed any more", (found := evaluate("[...window.actions].map((node) => node.outerHTML.slice(0, 140))")) == [], found)

    person.check_end()
