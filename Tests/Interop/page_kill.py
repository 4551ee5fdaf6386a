#!/usr/bin/env python3
"""Types into a note without a pause, until it is killed.

Usage: page_kill.py ADDRESS PICTURES TITLE WORD
Writes `kept` once the page says that WORD is kept, and is not saved.
"""
import sys, time

from page_person import Person, sync_playwright

with sync_playwright() as playwright:
    person = Person(playwright, sys.argv[1], sys.argv[2])
    person.open()
    person.click_row(sys.argv[3])
    person.wait("the editor", "document.querySelector('.CodeMirror') !== null")
    person.page.locator(".CodeMirror").click()
    person.page.keyboard.press("Control+End")
    person.page.keyboard.type(sys.argv[4])
    person.wait("kept", "document.querySelector('.status [title^=Kept]') !== null && /Saving/.test(document.querySelector('.status').innerText)")
    print("kept", flush=True)
    end = time.monotonic() + 600
    while time.monotonic() < end:
        person.page.keyboard.type(".")
        time.sleep(0.1)
