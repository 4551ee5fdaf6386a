#!/usr/bin/env python3
"""The screens that the window alone has, in Chromium. Replies that need a window, a server or a person are played; all others are real.

Usage: page_window.py ADDRESS PICTURES
"""
import datetime, json, re, sys

from page_person import Person, check, sync_playwright

hour = "2026-05-20T09:12:00+02:00"
device = {"model": "Debian", "kind": "device", "added": "2026-01-14T10:00:00+01:00", "revoked": False, "current": False}
devices = [{**device, "id": "a1", "name": "laptop", "current": True}, {**device, "id": "b2", "name": "tower"}, {**device, "id": "c3", "name": "old ThinkPad"},
           {**device, "id": "d4", "name": "sheet in the drawer", "kind": "paper"}]
synced = {"vault": "Personal", "id": "", "itemCount": 8, "serverHasOther": False, "pending": 0, "waitingFileCount": 0, "devices": [
    {"id": "b2", "name": "tower", "hasEverything": True, "ahead": False, "heard": hour}, {"id": "c3", "name": "old ThinkPad", "hasEverything": False, "ahead": False, "heard": "2026-04-10T09:12:00+02:00"}]}
asked = []


audit = {"passwordCount": 42, "hiddenCount": 0, "isStrengthKnown": True, "counts": [{"flaw": "weak", "count": 1}, {"flaw": "reused", "count": 2}, {"flaw": "old", "count": 0}],
         "items": [{"item": "GitHub", "title": "GitHub", "flaws": ["weak", "reused"], "changed": hour, "reuseGroup": 1}, {"item": "0" * 32, "title": "Harbour Office", "flaws": ["reused"], "changed": hour, "reuseGroup": 1}]}


forked = {"id": "f" * 32, "kind": "note", "title": "Two sowings", "text": "# Two sowings\n\nEight came up.\n", "tags": ["garden"], "fields": [], "attachments": [], "created": hour, "modified": hour,
          "isPinned": False, "isArchived": False, "isTrashed": False, "isLocked": False, "isHidden": False, "conflicts": ["text"]}
both = [{"number": 1, "attribute": "text", "label": "text", "isSecret": False, "shown": "# Two sowings\n\nEight came up.\n", "other": "# Two sowings\n\nNine came up.\n", "device": "tower", "time": hour,
         "hunks": [{"oldStart": 0, "newStart": 0, "lines": [{"mark": "kept", "text": "# Two sowings"}, {"mark": "kept", "text": ""}, {"mark": "removed", "text": "Eight came up."}, {"mark": "added", "text": "Nine came up."}]}]},
        {"number": 2, "attribute": "title", "label": "title", "isSecret": False, "shown": "Two sowings", "other": "The second sowing"}]
sealed = {**forked, "id": "e" * 32, "title": "Papers for the notary", "text": "", "isLocked": True, "isSealed": True, "conflicts": []}
#: What was dropped on the window and not fetched yet.
dropped = []
#: What is played of the store itself: nothing is there, or two notes that take other devices and passphrases to make.
world = {"isEmpty": False, "isPlayed": False}
listed = [{key: value for key, value in item.items() if key not in ("text", "fields", "attachments", "conflicts")} | {"hasAttachments": False, "hasConflicts": bool(item["conflicts"]), "excerpt": item["text"][2:60]} for item in (forked, sealed)]
password = {"field": {"name": "password", "label": "password", "kind": "secret", "isSecret": True, "value": "k7#Vd-9mQz!r4Tw2"}}


with sync_playwright() as playwright:
    person = Person(playwright, sys.argv[1], sys.argv[2])
    page, evaluate, wait, screen = person.page, person.evaluate, person.wait, person.screen

    def play(route):
        request = json.loads(route.request.post_data)
        name, fields = request["do"], request.get("with", {})
        asked.append(request)
        played = {
            "front.hello": lambda: {"front": "window", "version": "0.1.0", "store": "store", "refuses": []},
            "device.list": lambda: {"devices": devices}, "device.follow": lambda: {"requests": [{"id": "81b852f904aac731", "since": (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=12)).isoformat()}]},
            "sync.read": lambda: {"vaults": [synced], "listening": True}, "password.audit": lambda: audit,
            "device.approve": lambda: {"id": "e5", "name": "tablet"}, "settings.edit": lambda: {"syncs": True, "opensWhenAsked": False, **fields},
            "front.choose": lambda: {"ticket": "f" * 32, "name": "Backup"}, "front.progress": lambda: {"done": 3, "total": 4},
            "front.export": lambda: {"items": {"notes": 8, "identical": 0, "otherItems": 1, "attachments": 0, "locked": 1, "trashed": 0, "byteCount": 900, "warnings": []}, "faulty": []},
            "front.drop": lambda: {}, "field.read": lambda: password, "secret.generate": lambda: {"secret": "made-Of-20-letters-77"},
        }
        if world["isPlayed"] or world["isEmpty"]:
            shown = [] if world["isEmpty"] else listed
            played |= {"item.list": lambda: {"items": shown if fields.get("limit") != 1 else shown[:1], "total": len(shown)}, "conflict.list": lambda: {"items": [{"id": forked["id"], "title": forked["title"], "conflicts": ["text"]}] if shown else []},
                       "item.read": lambda: sealed if fields["item"] == sealed["id"] else forked, "conflict.read": lambda: {"id": forked["id"], "title": forked["title"], "conflicts": both},
                       "link.list": lambda: {"links": [], "backlinks": []}, "note.unlock": lambda: {}, "conflict.settle": lambda: {}, "note.lock": lambda: {"notes": []}, "draft.settle": lambda: {"items": []}}
        if name == "front.choose" and fields["kind"] == "dropped":
            answer = {"ok": dropped.pop(0)} if dropped else {"error": {"code": "front.choice.none", "message": "nothing was chosen"}}
            route.fulfill(status=200, content_type="application/json", body=json.dumps(answer))
            return
        if name == "front.get" and fields["ticket"] in ("1" * 32, "3" * 32):
            route.fulfill(status=200, content_type="application/json", body=json.dumps({"ok": {"bytes": "" if fields["offset"] else "IyBCZWRzCg=="}}))
            return
        # A person who is asked for the passphrase of a note, and cancels.
        if world["isPlayed"] and name == "item.read" and fields["item"] == sealed["id"] and "asksNobody" not in fields:
            route.fulfill(status=200, content_type="application/json", body=json.dumps({"error": {"code": "operation.unanswered", "message": "a question of the store was not answered"}}))
            return
        if name in played:
            route.fulfill(status=200, content_type="application/json", body=json.dumps({"ok": played[name]()}))
            return
        route.fallback()

    page.route("**/do", play)
    person.open()
    check("the window has no word about browsers", page.get_by_text("Understood").count() == 0)
    side = page.locator(".side")
    side.get_by_role("button", name="Logins").click()
    wait("a login", "document.querySelectorAll('.rows .item').length === 1")
    person.click_row("GitHub")
    wait("a secret can be shown", "document.querySelector('[aria-label^=Show]') !== null")

    # R129: what was revealed is hidden as soon as the keyboard is elsewhere.
    evaluate("document.querySelector('[aria-label^=Show]').focus()")
    page.keyboard.press("Enter")
    wait("the password", "document.querySelector('.secret')?.innerText === 'k7#Vd-9mQz!r4Tw2'")
    screen("login-shown")
    evaluate("dispatchEvent(new FocusEvent('blur'))")
    check("it is hidden again", evaluate("document.querySelector('.secret') === null && !document.body.innerText.includes('Vd-9m')"))
    page.get_by_role("button", name="Edit").focus()
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Make a new password").focus()
    page.keyboard.press("Enter")
    wait("a new password", "[...document.querySelectorAll('form input')].some((input) => input.value === 'made-Of-20-letters-77')")
    screen("form-generated")
    page.get_by_role("button", name="Logins").focus()
    page.keyboard.press("Enter")
    wait("it asks before it forgets", "document.querySelector('dialog[open]')?.innerText.includes('Leave the form?')")
    screen("leave-form")
    page.get_by_role("button", name="Leave it").focus()
    page.keyboard.press("Enter")
    wait("the form is gone", "document.querySelector('form') === null && document.querySelector('dialog') === null")

    # Two devices that differ, and a note under a passphrase of its own.
    world["isPlayed"] = True
    page.reload()
    wait("two notes", "document.querySelectorAll('.rows .item').length === 2")
    page.locator(".rows").focus()
    for key in ["Home", "Enter"]:
        page.keyboard.press(key)
    wait("both sides", "document.querySelectorAll('.choice').length === 2 && document.querySelector('.choice-lines')?.innerText.includes('Nine came up')")
    check("it says who wrote the other", page.locator(".conflict").first.inner_text().count("tower") == 2, page.locator(".conflict").first.inner_text())
    screen("conflict")
    page.get_by_role("button", name="Take what tower wrote").focus()
    page.keyboard.press("Enter")
    wait("one is taken", "document.querySelector('.toast')?.innerText.startsWith('Taken.')")
    check("the page has said which", [each["with"].get("number") for each in asked if each["do"] == "conflict.settle"] == [1])
    page.get_by_role("button", name="Lock this note").focus()
    page.keyboard.press("Enter")
    wait("it asks which passphrase", "document.querySelector('dialog[open]')?.innerText.includes('Lock this note?')")
    screen("lock-note")
    page.get_by_role("button", name="A new passphrase").focus()
    page.keyboard.press("Enter")
    wait("it is locked", "document.querySelector('.toast')?.innerText === 'It is locked.'")
    check("the page has said which note, and no passphrase", [{**each["with"], "vault": ""} for each in asked if each["do"] == "note.lock"] == [{"notes": [forked["id"]], "isNew": True, "vault": ""}])
    page.locator(".rows").focus()
    for key in ["End", "Enter"]:
        page.keyboard.press(key)
    wait("the locked note", "document.querySelector('.pane h1')?.innerText === 'This note is locked.'")
    screen("note-locked")
    page.get_by_role("button", name="Open it").focus()
    page.keyboard.press("Enter")
    wait("it asks, and reads again", "document.querySelector('.pane h1')?.innerText === 'This note is locked.'")
    for _ in range(600):
        if unlocks := [each["with"] for each in asked if each["do"] == "note.unlock"]:
            break
        page.wait_for_timeout(100)
    check("the page has said which note, and no more", len(unlocks) == 1 and unlocks[0].keys() == {"note", "vault"}, unlocks)

    # What the window takes itself: two texts, a folder, and something that cannot be read.
    dropped.extend([{"ticket": "1" * 32, "name": "beds.md", "isFolder": False, "byteCount": 8, "modified": 1768460400000}, {"ticket": "2" * 32, "name": "garden", "isFolder": True, "byteCount": 4096, "modified": 1768460400000},
                    {"name": "pipe"}, {"ticket": "3" * 32, "name": "beans.md", "isFolder": False, "byteCount": 8, "modified": 1768460400000}])
    evaluate("dispatchEvent(new CustomEvent('coffret-drop', { detail: { left: 400, top: 400 } }))")
    wait("both are looked at", "document.querySelectorAll('.report').length === 2")
    wait("what cannot be read is named", "document.querySelector('.toast')?.innerText.includes('pipe')")
    check("the texts come in together, the folder by itself", sorted(person.text(".report h2.sub").split("\n")) == ["2 texts", "garden"], person.text(".report h2.sub"))
    check("their contents were read, that of the folder was not", {each["with"]["ticket"] for each in asked if each["do"] == "front.get"} == {"1" * 32, "3" * 32})
    check("each is forgotten once it was read", [each["with"]["ticket"] for each in asked if each["do"] == "front.drop"][:2] == ["1" * 32, "3" * 32])

    # A first vault.
    world.update(isPlayed=False, isEmpty=True)
    page.reload()
    wait("the first words", "document.querySelector('.pane h1')?.innerText === 'An empty vault, and it is yours'")
    screen("empty")
    world["isEmpty"] = False
    page.reload()
    wait("the list again", "document.querySelectorAll('.rows .item').length > 3")

    side.get_by_role("button", name="Devices").click()
    wait("who asks", "document.querySelector('.pane').innerText.includes('81b8 52f9')")
    check("which is behind", "is behind" in person.text(".pane"))
    screen("devices")
    page.get_by_role("button", name="Let it in").click()
    wait("the sheet", "document.querySelector('dialog[open]')?.innerText.includes('81b8 52f9')")
    check("it says how long there is", re.search(r"Good for \d more minutes|Its time is nearly over", person.text("dialog")) is not None, person.text("dialog"))
    screen("pair")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Add a device").click()
    check("a number can be typed", evaluate("document.activeElement.id") == "pairing-number")
    screen("pair-number")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Let it in").click()
    page.locator("dialog").get_by_role("button", name="Let it in").click()
    wait("it is in", "document.querySelector('dialog') === null && document.querySelector('.toast')?.innerText.includes('tablet')")
    check("its number went without spaces", [each["with"] for each in asked if each["do"] == "device.approve"] == [{"pairing": "81b852f9"}])

    side.get_by_role("button", name="Passwords").click()
    wait("weak ones", "document.querySelector('.pane').innerText.includes('Used twice · 2')")
    screen("passwords")
    page.locator(".pane").get_by_role("button", name="GitHub").first.click()
    wait("the login is open", "document.querySelector('.hero h1')?.innerText === 'GitHub'")

    side.get_by_role("button", name="Settings").click()
    wait("settings", "document.querySelectorAll('.box').length === 2")
    page.get_by_label("Keep the store locked unless asked to open it").check()
    wait("it is kept", "document.querySelectorAll('.box')[1].checked && !document.querySelectorAll('.box')[1].disabled")
    check("one setting went", [each["with"] for each in asked if each["do"] == "settings.edit"] == [{"opensWhenAsked": True}])

    page.get_by_label("Light or dark").select_option("dark")
    wait("it is dark", "document.documentElement.dataset.theme === 'dark'")
    check("the setting went", [each["with"] for each in asked if each["do"] == "settings.edit"][1:] == [{"look": "dark"}])
    page.get_by_label("Light or dark").select_option("desktop")
    wait("it is light", "document.documentElement.dataset.theme === 'light'")

    side.get_by_role("button", name="Bring in, take out").click()
    wait("export", "document.querySelector('#export-format') !== null")
    page.get_by_label("Format").select_option("html")
    screen("export")
    page.get_by_role("button", name="Choose a folder").last.click()
    wait("it is written", "document.querySelector('.pane').innerText.includes('9 items are in Backup/')")
    check("what is left out is said", "1 locked note was left out" in person.text(".pane"))
    export = [each["with"] for each in asked if each["do"] == "front.export"]
    check("the page names no path", len(export) == 1 and set(export[0]) == {"ticket", "vault", "format", "name"} and "/" not in export[0]["name"], export)
    person.check_end()
