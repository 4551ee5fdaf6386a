#!/usr/bin/env python3
"""Counts what the page does for its first list, for a key in the search and for a key in a long note, in Chromium.

Usage: page_counts.py ADDRESS PICTURES
The store has 400 notes at least, one of which is "Log of the longest summer" with 3,600 lines.
"""
import json, sys

from page_person import Person, check, sync_playwright

with sync_playwright() as playwright:
    person = Person(playwright, sys.argv[1], sys.argv[2])
    page, evaluate, wait = person.page, person.evaluate, person.wait
    asked = []
    page.on("request", lambda request: asked.append(json.loads(request.post_data)) if request.url.endswith("/do") else None)

    def names(*wanted):
        return [each["with"] for each in asked if each["do"] in wanted]

    rows = "document.querySelectorAll('.rows .item').length"
    person.open()
    wait("the counts", "/4\\d\\d/.test(document.querySelector('.side').innerText)")
    lists = [each for each in names("item.list") if each.get("givesExcerpts")]
    check("the first list is one request for a few rows", len(lists) == 1 and lists[0]["limit"] == 20, lists)
    check("nothing is asked before it but vaults, look and drafts", [each["do"] for each in asked[:[each["do"] for each in asked].index("item.list")]] == ["draft.settle", "front.hello", "vault.list", "settings.read"], [each["do"] for each in asked])
    check("of all rows, those that are seen and five more are nodes", evaluate(rows) <= evaluate("Math.ceil(document.querySelector('.rows').clientHeight / 88)") + 5, evaluate(rows))
    check("all are said to be there", evaluate("document.querySelector('.rows .item').getAttribute('aria-setsize')") == evaluate("document.querySelector('.sum').innerText.match(/\\d+/)[0]"))

    evaluate("document.querySelector('.rows').scrollTop = document.querySelector('.rows').scrollHeight")
    wait("the end of the list", "[...document.querySelectorAll('.rows .item')].at(-1)?.getAttribute('aria-posinset') === document.querySelector('.rows .item')?.getAttribute('aria-setsize')")
    check("a jump is one request for what is seen there", len([each for each in names("item.list") if each.get("givesExcerpts")]) == 2)
    check("and has no more nodes", evaluate(rows) < 30)

    while len(names("change.wait")) < 2:
        page.wait_for_timeout(50)
    asked.clear()
    page.keyboard.press("Control+f")
    evaluate("window.drawn = 0; new MutationObserver((changes) => { window.drawn += changes.length; }).observe(document.querySelector('.side'), { subtree: true, childList: true })")
    # Letter by letter, each when the one before it is drawn: a search each.
    for letter in range(7):
        page.keyboard.type("longest"[letter])
        wait("what was found", f"document.querySelector('.rows').getAttribute('aria-label') === 'Found for {'longest'[:letter + 1]}'")
    searches = names("item.search")
    check("a key is one search", [each["query"] for each in searches] == ["longest"[:length] for length in range(1, 8)], searches)
    check("for a few rows", all(each["limit"] == 20 for each in searches))
    check("and nothing else is asked", len(asked) == len(searches), [each["do"] for each in asked])
    check("the other panes are not drawn for it", evaluate("window.drawn") == 0, evaluate("window.drawn"))
    evaluate("window.kept = document.querySelector('.rows .item')")
    page.keyboard.press("End")
    page.keyboard.type(" ")
    wait("the same again", "document.querySelector('.rows').getAttribute('aria-label') === 'Found for longest '")
    check("a row that shows the same is the same node", evaluate("window.kept.isConnected"))
    # All at once, while the session is busy: it works on the first and the last.
    asked.clear()
    page.keyboard.press("Control+f")
    evaluate("(() => { const input = document.querySelector('#search'); for (const word of ['s', 'su', 'sum', 'summer', 'longest', 'longest summer']) { input.value = word; input.dispatchEvent(new Event('input')); } })()")
    wait("the last of them", "document.querySelector('.rows').getAttribute('aria-label') === 'Found for longest summer' && /found/.test(document.querySelector('.sum').innerText)")
    check("keys that come meanwhile are one search", [each["query"] for each in names("item.search")] == ["s", "longest summer"], names("item.search"))

    person.click_row("Log of the longest summer")
    wait("the long note", "document.querySelector('.CodeMirror')?.CodeMirror.lineCount() === 3600")
    lines = "document.querySelectorAll('.CodeMirror-line').length"
    check("of its lines, those around the window are nodes", evaluate(lines) < 160, evaluate(lines))
    evaluate("""(() => { const editor = document.querySelector('.CodeMirror').CodeMirror; editor.focus(); editor.setCursor({ line: 1800, ch: 0 });
      window.added = 0; new MutationObserver((changes) => { for (const change of changes) window.added += change.addedNodes.length; }).observe(document.querySelector('.CodeMirror'), { subtree: true, childList: true }); })()""")
    wait("its middle", "document.querySelector('.CodeMirror').CodeMirror.getViewport().from > 1000")
    status = "document.querySelector('.status').innerText"
    evaluate("document.querySelector('.CodeMirror').CodeMirror.replaceSelection('x')")
    check("a key in it is to be saved", "Saving" in evaluate(status), evaluate(status))
    evaluate("document.querySelector('.CodeMirror').CodeMirror.undo()")
    wait("a key that was taken back", f"/Saved/.test({status})")
    evaluate("window.added = 0")
    asked.clear()
    page.keyboard.type("typing", delay=30)
    wait("what was typed", "document.querySelector('.CodeMirror').CodeMirror.getLine(1800).startsWith('typing')")
    check("a key draws its line again, and no other", evaluate("window.added") < 6 * 60, evaluate("window.added"))
    check("and asks for nothing but a draft", all(each["do"] in ("draft.keep", "item.edit", "change.wait", "item.list", "store.read", "tag.list", "conflict.list", "sync.read") for each in asked) and len(names("draft.keep")) <= 2, [each["do"] for each in asked])
    evaluate("""(() => { const editor = document.querySelector('.CodeMirror').CodeMirror; const plain = editor.getValue.bind(editor);
      window.joined = 0; editor.getValue = (...from) => { window.joined += 1; return plain(...from); };
      for (const letter of 'twenty keys at a time') editor.replaceSelection(letter); window.joinedByKeys = window.joined; })()""")
    check("a key does not put a long text together", evaluate("window.joinedByKeys") == 0, evaluate("window.joinedByKeys"))
    person.check_end()
