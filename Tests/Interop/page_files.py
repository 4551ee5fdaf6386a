#!/usr/bin/env python3
"""Files, pictures, import, screens and templates of the page in Chromium, by a person's hand.

Usage: page_files.py ADDRESS PICTURES FOLDER
FOLDER takes the files that are made for it. Exit code 77: no browser.
"""
import json, os, struct, sys, zlib

from page_person import Person, check, sync_playwright

folder = sys.argv[3]
os.makedirs(folder, exist_ok=True)


def png(width, height, real=True):
    """A picture of beds in a garden, or the head of one that is far too large."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b""
    if real:
        for y in range(height):
            bed = (y // 60) % 2 == 1
            rows += b"\0" + b"".join(bytes((0x4C, 0x8C, 0x53) if bed and (x % 60 - 30) ** 2 + (y % 60 - 30) ** 2 < 420 else (0xC9, 0xB8, 0x92) if bed else (0xE6, 0xEB, 0xDC)) for x in range(width))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def write(name, content):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(content)
    return path


picture = write("bed-plan.png", png(720, 300))
big = write("seed-order.pdf", b"%PDF-1.4\n" + bytes(range(256)) * 20_000)
hostile = [
    write("drawing.png", b"<svg xmlns='http://www.w3.org/2000/svg' onload='window.ran=1'><script>window.ran=2</script></svg>"),
    write("page.jpg", b"<!doctype html><script>window.ran=3</script>"),
    write("bomb.png", png(60_000, 60_000, real=False)),
    write("half.gif", b"GIF89a"),
    write("vector.svg", b"<svg xmlns='http://www.w3.org/2000/svg' onload='window.ran=4'/>"),
]
logins = write("logins.csv", b"name,url,username,password\nHarbour Office,https://harbour.example,mira,tide-tables-88\nLibrary,https://library.example,mira,overdue-again-12\n")
export = write("vault.json", json.dumps({"encrypted": False, "folders": [], "items": [
    {"type": 2, "name": f"Imported note {number}", "notes": f"Line of note {number}", "secureNote": {"type": 0}} for number in range(12)]}).encode())

with sync_playwright() as playwright:
    person = Person(playwright, sys.argv[1], sys.argv[2])
    page, evaluate, wait, screen = person.page, person.evaluate, person.wait, person.screen
    person.open()
    page.get_by_text("Understood").click()

    def choose(button, paths):
        with page.expect_file_chooser() as chooser:
            button.click()
        chooser.value.set_files(paths)

    # A picture, added by the button while something is typed.
    person.click_row("Tomatoes")
    wait("the editor", "document.querySelector('.cm-header-1') !== null")
    page.locator(".CodeMirror").click()
    page.keyboard.press("Control+End")
    page.keyboard.type("Typed beside the picture.")
    choose(page.get_by_role("button", name="Add a file"), [picture])
    wait("the picture", "document.querySelector('.pane img')?.naturalWidth === 720")
    wait("it stands at its line", "document.querySelector('.CodeMirror-linewidget img') !== null && document.querySelectorAll('.note-files img').length === 0")
    check("which names it", "\n![](bed-plan.png)\n" in evaluate("document.querySelector('.CodeMirror').CodeMirror.getValue()"))
    check("what was typed is still there", "Typed beside the picture." in person.text(".CodeMirror"))
    wait("it is saved", "/Saved/.test(document.querySelector('.status').innerText)")
    choose(page.get_by_role("button", name="Add a file"), [big])
    wait("the second file", "document.querySelectorAll('.file').length === 2")
    page.locator(".attachments").scroll_into_view_if_needed()
    screen("picture")

    # R131: only what is a picture by its own first bytes is shown as one.
    for path in hostile:
        count = evaluate("document.querySelectorAll('.file').length")
        choose(page.get_by_role("button", name="Add a file"), [path])
        wait(f"{os.path.basename(path)} is there", f"document.querySelectorAll('.file').length === {count + 1}")
    wait("the picture again", "document.querySelector('.pane img')?.naturalWidth === 720")
    person.click_row("Copper spray")
    person.click_row("Tomatoes")
    wait("the picture once more", "document.querySelector('.pane img')?.naturalWidth === 720")
    check("R131: nothing else is drawn, and nothing ran", evaluate("document.querySelectorAll('img, object, embed, iframe').length === 1 && window.ran === undefined"), evaluate("[...document.querySelectorAll('img, object, embed, iframe')].map((each) => each.outerHTML + each.closest('div').className).join()") + person.text(".CodeMirror"))

    # Saving gives the same bytes; a large one comes in pieces.
    for path in [picture, big]:
        name = os.path.basename(path)
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Save {name}", exact=True).click()
        check(f"{name} comes out as it went in", open(download.value.path(), "rb").read() == open(path, "rb").read())
        check("it is a download of bytes", download.value.url.startswith("blob:"), download.value.url)
    for path in hostile + [big]:
        count = evaluate("document.querySelectorAll('.file').length")
        page.get_by_role("button", name=f"Take {os.path.basename(path)} away", exact=True).click()
        wait(f"{os.path.basename(path)} is gone", f"document.querySelectorAll('.file').length === {count - 1}")

    def drop(paths, selector):
        files = [[os.path.basename(path), list(open(path, "rb").read())] for path in paths]
        evaluate(f"""(() => {{ const data = new DataTransfer();
          for (const [name, bytes] of {json.dumps(files)}) data.items.add(new File([new Uint8Array(bytes)], name));
          document.querySelector({json.dumps(selector)}).dispatchEvent(new DragEvent("drop", {{ dataTransfer: data, bubbles: true, cancelable: true }})); }})()""")

    # Dropped on a note a file belongs to it; the text stays as it is.
    person.click_row("Copper spray")
    wait("its editor", "document.querySelector('.CodeMirror')?.innerText.includes('aphids')")
    written = "document.querySelector('.CodeMirror').CodeMirror.getValue()"
    before = evaluate(written)
    drop([logins], ".CodeMirror")
    wait("the dropped file", "document.querySelector('.file b')?.innerText === 'logins.csv'")
    check("its text did not come into the note", evaluate(written) == before, evaluate(written))

    # Dropped anywhere else it is looked at first.
    drop([logins], ".list")
    wait("what it is", "/Ready to take in 2 items/.test(document.querySelector('.report')?.innerText ?? '')")
    screen("import")
    check("nothing was written", evaluate("!document.body.innerText.includes('Harbour Office')"))
    page.get_by_role("button", name="Take in 2 items").click()
    wait("it is in", "/2 items are in /.test(document.querySelector('.report').innerText)")
    choose(page.get_by_role("button", name="Choose files"), [export, logins])
    wait("the second", "[...document.querySelectorAll('.report')].some((card) => /Ready to take in 12 items/.test(card.innerText))")
    wait("the first again", "[...document.querySelectorAll('.report')].some((card) => /Nothing new/.test(card.innerText))")
    page.get_by_role("button", name="Take in 12 items").click()
    wait("they are in", "[...document.querySelectorAll('.report')].some((card) => /12 items are in /.test(card.innerText))")
    choose(page.get_by_role("button", name="Choose files"), [big])
    wait("one that is no source is said to be none", "[...document.querySelectorAll('.report')].some((card) => card.querySelector('h2').innerText === 'seed-order.pdf' && !/Reading|Ready/.test(card.querySelector('b').innerText))")
    texts = [write("walk.md", "# A walk\n\nalong the harbour, é\n".encode()), write("list.md", b"bread, string, paint\n")]
    choose(page.get_by_role("button", name="Choose files"), texts)
    wait("texts", "[...document.querySelectorAll('.report')].some((card) => card.querySelector('h2').innerText === '2 texts' && /Ready to take in 2 items/.test(card.innerText))")
    page.get_by_role("button", name="Take in 2 items").click()
    wait("they are in", "[...document.querySelectorAll('.report')].some((card) => card.querySelector('h2').innerText === '2 texts' && /2 items are in /.test(card.innerText))")
    choose(page.get_by_role("button", name="Choose files"), texts)
    wait("a second time nothing is new", "[...document.querySelectorAll('.report')].some((card) => card.querySelector('h2').innerText === '2 texts' && /Nothing new/.test(card.innerText))")
    choose(page.get_by_role("button", name="Choose files"), [os.path.join(folder, "whole.json")])
    wait("a full export is told", "document.querySelector('.report').innerText.includes('It comes into a vault that is empty')")
    page.get_by_role("button", name="Take in all of it").click()
    wait("this vault is not", "document.querySelector('.report').innerText.includes('can only go into an empty vault')")
    with open(os.path.join(folder, "noise.bin"), "wb") as file:
        file.write(bytes(range(256)))
    choose(page.get_by_role("button", name="Choose files"), [os.path.join(folder, "noise.bin")])
    wait("a file of no format is named", "document.querySelector('.report').innerText.includes('no format that coffret knows: noise.bin')")
    check("a tab exports nothing", page.get_by_role("button", name="Choose a folder").count() == 0)

    # Devices and settings.
    page.locator(".side").get_by_role("button", name="Devices").click()
    wait("devices", "document.querySelector('.screen-title')?.innerText === 'Your devices'")
    screen("devices-alone")
    page.locator(".side").get_by_role("button", name="Settings").click()
    wait("settings", "document.querySelector('.screen-title')?.innerText === 'Settings'")
    check("a tab changes none", evaluate("[...document.querySelectorAll('.box')].length === 2 && [...document.querySelectorAll('.box')].every((box) => box.disabled)"))
    page.get_by_label("Light or dark").select_option("dark")
    wait("it is dark", "document.documentElement.dataset.theme === 'dark'")
    page.get_by_label("Light or dark").select_option("desktop")
    screen("settings")
    check("a tab audits no passwords", page.locator(".side").get_by_role("button", name="Passwords").count() == 0)

    # Today's note, and a template, by keyboard.
    page.keyboard.press("Control+Alt+d")
    wait("today's note", r"/\d{4}-\d\d-\d\d/.test(document.querySelector('.CodeMirror')?.innerText ?? '')")
    page.keyboard.type("first line of today")
    page.keyboard.press("Control+s")
    wait("saved", "/Saved/.test(document.querySelector('.status').innerText)")
    person.click_row("Imported note")
    page.keyboard.press("Control+Alt+d")
    wait("the same one", "document.querySelector('.CodeMirror')?.innerText.includes('first line of today')")
    page.keyboard.press("Control+Alt+n")
    wait("templates", "document.querySelector('dialog[open]')?.innerText.includes('Weekly review')")
    screen("templates")
    page.get_by_role("button", name="Weekly review").click()
    wait("a note from it", r"/What went well on \d{4}-\d\d-\d\d/.test(document.querySelector('.CodeMirror')?.innerText ?? '')")
    check("it is no template", "#template" not in person.text(".CodeMirror"))

    # Narrow: the sidebar comes by a button, and goes with a choice.
    page.set_viewport_size({"width": 420, "height": 900})
    page.keyboard.press("Alt+ArrowLeft")
    page.get_by_role("button", name="Vaults and tags").click()
    wait("the sidebar", "getComputedStyle(document.querySelector('.side')).display !== 'none'")
    screen("menu-420")
    page.locator(".side").get_by_role("button", name="Settings").click()
    wait("settings, narrow", "document.querySelector('.screen-title')?.innerText === 'Settings' && getComputedStyle(document.querySelector('.side')).display === 'none'")
    screen("settings-420")
    check("nothing sticks out", evaluate("document.documentElement.scrollWidth <= innerWidth"))
    page.keyboard.press("Alt+ArrowLeft")
    wait("the list again", "document.querySelectorAll('.rows .item').length > 3 && getComputedStyle(document.querySelector('.list')).display !== 'none'")
    page.set_viewport_size({"width": 1440, "height": 900})
    person.check_end()
