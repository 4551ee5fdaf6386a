#!/usr/bin/env python3
"""Every key of the page in Chromium, without the mouse: the table of this program is held against the page's sources, so that a key
that is new there and has no line here fails.

Usage: page_keys.py ADDRESS PICTURES
"""
import os, pathlib, re, sys

from page_person import MOUSE_ALONE, Person, check, sync_playwright

SOURCES = pathlib.Path(__file__).resolve().parent.parent.parent / "Web/page"
read = lambda name: (SOURCES / name).read_text()


def names_after(text, start):
    """The names of the members of the object that begins there, written on one line or several."""
    body = text[text.index(start) + len(start):]
    body = body[:body.index("}")]
    return re.findall(r'(?:^|[{,])\s*(?:"([^"]+)"|(\w+)):', body)


def members(name, start):
    return [quoted or plain for quoted, plain in names_after(read(name), start)]


def known_keys():
    everywhere = members("keys.js", "const topics = {")
    rows = ["list " + key for start in ("const steps = /** @type {Record<string, number>} */ ({", "const topics = /** @type {Record<string, string>} */ ({") for key in members("list.js", start)]
    editor = ["editor " + key for key in re.findall(r'(?:"([A-Za-z-]+)"): \(\) =>', read("editor.js")[read("editor.js").index("extraKeys"):][:400])]
    history = ["history " + key for key in members("history.js", "const step = /** @type {Record<string, number>} */ ({")]
    return everywhere + rows + editor + history


#: Handlers that stand on nodes which are no buttons, fields or addresses.
NODES = {("list.js", "div"): ".rows .item", ("history.js", "div"): ".version", ("dialogs.js", "dialog"): "dialog"}


def check_sources():
    """Each handler of the page stands on a node that the keyboard presses, or on one of the table."""
    count = 0
    for file in sorted(SOURCES.glob("*.js")):
        text = file.read_text()
        for match in re.finditer(r"\bon(?:click|mousedown|pointerdown|dblclick|change)\b(?=[:,])", text):
            # The call that it is an argument of.
            depth, at = 0, match.start()
            while at > 0 and depth >= 0:
                at -= 1
                depth += (text[at] in ")]}") - (text[at] in "([{")
                if depth < 0 and text[at] in "{[":
                    depth = 0
            call = re.search(r"(\w+)\($", text[:at + 1])
            name = call.group(1) if call else ""
            tag = re.match(r'\("(\w+)"', text[at:])
            if name not in ("el", "iconButton"):
                continue
            count += 1
            native = name == "iconButton" or tag and tag.group(1) in ("button", "select", "input", "textarea", "a", "form")
            # The icon's own definition has the tag in place of the call.
            listed = tag and NODES.get((file.name, tag.group(1))) in MOUSE_ALONE
            check(f"{file.name}: {match.group()} stands where the keyboard presses", native or listed, text[at:at + 160])
        for match in re.finditer(r'(\w+)\.addEventListener\("(?:click|mousedown|pointerdown|dblclick)"', text):
            count += 1
            check(f"{file.name}: {match.group(1)} has a key", NODES.get((file.name, match.group(1))) in MOUSE_ALONE, match.group())
        # The browser's own field for files is opened by a button, and is not seen.
        check(f"{file.name}: nothing is taken from the keyboard", not re.search(r'tabindex: "-', re.sub(r'el\("input", \{ type: "file"[^}]*\}', "", text)))
    check("handlers were looked at", count > 30, count)


#: Changes of the last ten minutes are one version: those before the last were made a day earlier.
EARLIER = """(() => {
  const plain = window.fetch.bind(window);
  window.fetch = async (...request) => {
    const response = await plain(...request);
    if (!String(request[1]?.body).includes('"do":"item.history"')) return response;
    const reply = await response.json();
    for (const version of reply.ok.versions.slice(1)) version.time = new Date(new Date(version.time) - 86_400_000).toISOString();
    return new Response(JSON.stringify(reply), { status: 200, headers: { "Content-Type": "application/json" } });
  };
})()"""

check_sources()
with sync_playwright() as playwright:
    person = Person(playwright, sys.argv[1], sys.argv[2])
    page, evaluate, wait = person.page, person.evaluate, person.wait
    press = page.keyboard.press
    done = []

    def key(name, pressed, what, holds):
        """Presses a key, and sees what came of it."""
        press(pressed)
        wait(f"{name}: {what}", holds)
        done.append(name)

    title = "document.querySelector('.rows [aria-selected=true] .title')?.innerText"
    at = "Number(document.querySelector('.rows [aria-selected=true]')?.getAttribute('aria-posinset') ?? 0)"
    said = lambda words: f"document.querySelector('.toast')?.innerText.includes('{words}')"
    caret = "document.activeElement?.closest('.CodeMirror') !== null"
    editor = "document.querySelector('.CodeMirror').CodeMirror"

    def rows(query):
        """Finds something, and has the keyboard in the list."""
        press("Control+f")
        press("Control+a")
        page.keyboard.type(query)
        wait(f"{query} is found", f"document.querySelector('.rows').getAttribute('aria-label') === 'Found for {query}' && document.querySelectorAll('.rows mark').length > 0")
        press("ArrowDown")
        wait("the keyboard is in the list", "document.activeElement.id === 'rows' && " + at + " === 1")

    def opened(query):
        rows(query)
        press("Enter")

    page.add_init_script(EARLIER)
    # Whoever listens is asked in place of the person, who never chooses.
    page.on("filechooser", lambda chooser: None)
    person.open()
    wait("the counts", "document.querySelector('.side').innerText.includes('garden')")
    count = evaluate("Number(document.querySelector('.rows .item').getAttribute('aria-setsize'))")
    key("Ctrl f", "Control+f", "the search", "document.activeElement.id === 'search'")
    press("Escape")
    wait("Escape leads to the list", "document.activeElement.id === 'rows'")
    key("Ctrl k", "Control+k", "the search", "document.activeElement.id === 'search'")
    press("Escape")
    wait("in the list", "document.activeElement.id === 'rows'")
    key("list Home", "Home", "the first row", f"{at} === 1")
    key("list j", "j", "the second", f"{at} === 2")
    key("list ArrowDown", "ArrowDown", "the third", f"{at} === 3")
    key("list k", "k", "the second", f"{at} === 2")
    key("list ArrowUp", "ArrowUp", "the first", f"{at} === 1")
    key("list End", "End", "the last", f"{at} === {count}")
    key("list PageUp", "PageUp", "rows above it", f"{at} < {count - 1}")
    press("Home")
    key("list PageDown", "PageDown", "rows below it", f"{at} > 2")

    rows("copper")
    key("list p", "p", "pinned", said("Pinned"))
    key("list e", "e", "archived", said("Archived"))
    press("Control+f")
    opened("overstory")
    wait("its text", "document.querySelector('.CodeMirror')?.innerText.includes('Overstory')")
    wait("the keyboard is in the note", caret)
    done.append("list Enter")
    key("Alt arrowleft", "Alt+ArrowLeft", "back in the list", "document.activeElement.id === 'rows'")
    rows("meter")
    key("list Delete", "Delete", "in the trash", said("trash"))

    opened("sowing")
    wait("its text", "document.querySelector('.CodeMirror')?.innerText.includes('After the rain')")
    wait("the keyboard is in the note", caret)
    line = evaluate(f"{editor}.getValue().split('\\n').findIndex((line) => line.includes('Swap the string'))")
    evaluate(f"{editor}.setCursor({{ line: {line}, ch: 8 }})")
    key("editor Ctrl-Enter", "Control+Enter", "the task is done", f"{editor}.getLine({line}).startsWith('- [x]')")
    key("Ctrl s", "Control+s", "saved", "/Saved/.test(document.querySelector('.status').innerText)")
    key("Ctrl h", "Control+h", "versions", "document.querySelectorAll('.version').length >= 2 && document.querySelectorAll('.diff').length > 0")
    evaluate("document.querySelector('.version').parentElement.closest('[tabindex]').focus()")
    chosen = "[...document.querySelectorAll('.version')].findIndex((node) => node.getAttribute('aria-selected') === 'true')"
    key("history ArrowDown", "ArrowDown", "the version before", f"{chosen} === 1")
    key("history ArrowUp", "ArrowUp", "the last one", f"{chosen} === 0")
    key("history j", "j", "the version before", f"{chosen} === 1")
    key("history k", "k", "the last one", f"{chosen} === 0")
    press("Control+h")
    wait("the note", "document.querySelector('.CodeMirror') !== null")
    link = evaluate(f"(([line, ch]) => {{ {editor}.focus(); {editor}.setCursor({{ line, ch }}); return line; }})({editor}.getValue().split('\\n').map((line, at) => [at, line.indexOf('[[Lisbon') + 3]).find(([, ch]) => ch > 2))")
    check("there is a link", link > 0)
    key("editor Alt-Enter", "Alt+Enter", "the note that it leads to", "document.querySelector('.CodeMirror')?.innerText.includes('Entrecampos')")
    key("Ctrl Alt a", "Control+Alt+a", "a file can be chosen", "document.querySelector('input[type=file]') !== null")

    opened("mira-marsh")
    wait("the login", "document.querySelector('.hero h1') !== null")
    for what, pressed in [("Ctrl Shift c", "Control+Shift+C"), ("Ctrl Shift b", "Control+Shift+B"), ("Ctrl Shift x", "Control+Shift+X")]:
        evaluate("document.querySelector('.toast')?.remove()")
        # Where there is no clipboard the refusal says so; the front's own tests copy.
        key(what, pressed, "it is copied, or it is said why not", "document.querySelector('.toast') !== null")

    key("f1", "F1", "the sheet", "document.querySelector('dialog[open]') !== null")
    sheet = evaluate("[...document.querySelectorAll('dialog dd')].map((node) => node.innerText)")
    press("Escape")
    wait("the sheet is gone", "document.querySelector('dialog') === null")
    key("Ctrl n", "Control+n", "an empty note", f"{caret} && {editor}.getValue() === '# \\n'")
    page.keyboard.type("Made by keys")
    press("Control+s")
    wait("it is saved", "/Saved/.test(document.querySelector('.status').innerText) && document.querySelector('.CodeMirror').innerText.includes('Made by keys')")
    key("Ctrl Shift n", "Control+Shift+N", "a form", "document.querySelector('form') !== null")
    press("Alt+ArrowLeft")
    key("Ctrl Alt n", "Control+Alt+n", "templates", "document.querySelector('dialog')?.innerText.includes('Weekly review')")
    press("Escape")
    wait("no sheet", "document.querySelector('dialog') === null")
    key("Ctrl Alt d", "Control+Alt+d", "today's note", f"document.querySelector('.CodeMirror') !== null && {caret} && /\\d{{4}}/.test({editor}.getValue())")
    key("Ctrl l", "Control+l", "locked", "document.querySelector('.lock') !== null")

    missing, unknown = set(known_keys()) - set(done), set(done) - set(known_keys())
    missing -= {"list Enter"} & set(done)
    check("every key of the page was pressed", not missing, sorted(missing))
    check("and no other is thought to be one", not unknown, sorted(unknown))
    check("the sheet of keys names them", len(sheet) > 15, sheet)
    print("held: every key", flush=True)
    person.browser.close()
