#!/usr/bin/env python3
"""Texts of others in every place of the page: markup, addresses with code, marks of writing direction, names of the editor's own classes.

Usage: page_hostile.py make FILE      writes an export with them, to be imported
       page_hostile.py ADDRESS FOLDER opens every item that came of it
"""
import itertools, json, sys, time

tags = ["img src=x", "svg", "body", "iframe src=//evil.example", "video src=x", "details open", "math", "object data=x", "embed src=x", "input autofocus", "a href=x", "style", "link rel=stylesheet href=x", "base href=//evil.example", "form action=//evil.example", "meta http-equiv=refresh content=0", "marquee", "template", "audio src=x", "select autofocus"]
events = ["onerror", "onload", "onfocus", "ontoggle", "onmouseover", "onanimationstart", "onbegin", "onclick", "onpointerenter", "onscroll"]
texts = [f"<{tag} {event}=\"window.ran=1\">" for tag, event in itertools.product(tags, events)]
texts += [f"[x]({scheme}:window.ran=1)" for scheme in ["javascript", "JaVaScRiPt", "java\tscript", "vbscript", "data:text/html,<script>window.ran=1</script>", "blob", "file", " javascript", "\u0001javascript", "javascript&colon;"]]
texts += [f"<script{space}>window.ran=1</script{space}>" for space in ["", " ", "\n", "/", " x", "\t", "\u00a0"]]
texts += [f"{quote}><script>window.ran=1</script>" for quote in ["'", '"', "`", "]]>", "-->", "</title>", "</textarea>", "</style>", "</div>", "*/"]]
texts += [f"{mark}gnp.exe{mark}" for mark in "\u202e\u202d\u202a\u202b\u2066\u2067\u2068\u200f\u200e\u061c"]
texts += ["cm-header", "CodeMirror-line", "cm-tag nav", "__proto__", "constructor", "toString", "${window.ran=1}", "{{constructor.constructor('window.ran=1')()}}", "%3Cscript%3E", "&lt;script&gt;", "&#60;script&#62;", "\\u003cscript\\u003e", "+ADw-script+AD4-", "a" * 20_000, "\u0000x".replace("\u0000", "\ufffd"), "🜁" * 300, "\ufeff<svg onload=window.ran=1>", "x' onclick='window.ran=1", "url(javascript:window.ran=1)", "expression(window.ran=1)"]
texts += [f"![x]({place})" for place in ["http://evil.example/a.png", "//evil.example/a.png", "javascript:window.ran=1", "data:image/svg+xml,<svg onload=window.ran=1>", "file:///etc/passwd"]]
texts += [f"#{tag}/<b>{number}" for number, tag in enumerate(["<img", "\"x", "'y", "a{b}", "constructor"])]
texts += [f"[[{title}|<img src=x onerror=window.ran=1>]]" for title in ["a", "<svg onload=window.ran=1>", "\u202e", "__proto__"]]
while len(texts) < 300:
    texts.append(f"<p id=x{len(texts)} style=\"position:fixed;inset:0\" onpointermove=window.ran=1>{len(texts)}")

if sys.argv[1] == "make":
    items = []
    for number, text in enumerate(texts):
        note = {"type": 2, "name": text, "notes": f"{text}\n\n{text} of {number}", "secureNote": {"type": 0}}
        login = {"type": 1, "name": text, "notes": text, "fields": [{"name": text[:200], "value": text, "type": 0}], "login": {"username": text, "password": "p", "uris": [{"uri": text}]}}
        items += [note, login]
    with open(sys.argv[2], "w") as file:
        json.dump({"encrypted": False, "folders": [], "items": items}, file)
    print(len(texts))
    sys.exit(0)

from page_person import Person, check, sync_playwright

allowed = {"HTML", "HEAD", "META", "TITLE", "LINK", "SCRIPT", "BODY", "DIV", "SPAN", "NAV", "SECTION", "MAIN", "LABEL", "B", "SMALL", "BUTTON", "INPUT", "SELECT", "OPTION", "H1", "H2", "P", "TIME", "MARK", "DL", "DT", "DD", "PRE", "TEXTAREA", "UL", "LI", "A", "SVG", "PATH", "CIRCLE", "BR"}

with sync_playwright() as playwright:
    person = Person(playwright, sys.argv[1], sys.argv[2])
    page, evaluate, wait = person.page, person.evaluate, person.wait
    person.open()
    shell = evaluate("[document.scripts.length, document.styleSheets.length]")
    seen = set()
    for kind, word in [("All notes", "notes"), ("Logins", "logins")]:
        page.locator(".side").get_by_role("button", name=kind).click()
        wait(kind, f"/^[0-9,]+ {word}/.test(document.querySelector('.sum').innerText) && document.querySelectorAll('.rows .item').length > 3")
        total = int(evaluate("document.querySelector('.rows .item').getAttribute('aria-setsize')"))
        check(f"{kind}: all are there", total >= 300, total)
        page.locator(".rows").focus()
        page.keyboard.press("Home")
        for place in range(1, total + 1):
            page.keyboard.press("ArrowDown" if place > 1 else "Home")
            if place % 3 and place < total - 20:
                continue
            wait_for = f"document.querySelector('.rows [aria-selected=true]')?.getAttribute('aria-posinset') === '{place}' && document.querySelector('.pane .CodeMirror, .pane .hero') !== null"
            end = time.monotonic() + 60
            while not evaluate(wait_for):
                if time.monotonic() > end:
                    raise AssertionError(f"{kind} {place} was not opened")
            seen |= set(evaluate("[...new Set([...document.querySelectorAll('*')].map((node) => node.tagName.toUpperCase()))]"))
            if evaluate("window.ran !== undefined"):
                raise AssertionError(f"{kind} {place} ran: {person.text('.pane')[:300]}")
        check(f"{kind}: none of them ran", evaluate("window.ran === undefined"))
    check("R169: no node but those of the page", seen <= allowed, seen - allowed)
    check("R169: no script and no style more than the page has", evaluate("[document.scripts.length, document.styleSheets.length]") == shell)
    links = evaluate("[...document.querySelectorAll('a')].map((node) => node.getAttribute('href')).filter((href) => href && !/^https?:/.test(href))")
    check("R169: no address but of the web", links == [], links)
    check("the address is the same", page.url == person.origin + "/", page.url)
    person.violations = []
    person.check_end()
