"""Reads a JSON list of Markdown texts, and answers the destinations of links and images that md4c finds in each."""

import ctypes
import html.parser
import json
import sys
import urllib.parse

library = ctypes.CDLL("libmd4c-html.so.0")
OUTPUT = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_char), ctypes.c_uint, ctypes.c_void_p)


def render(text):
    parts = []
    take = OUTPUT(lambda data, count, _: parts.append(ctypes.string_at(data, count)))
    data = text.encode()
    if library.md_html(data, len(data), take, None, 0, 0) != 0:
        raise SystemExit("md4c failed")
    return b"".join(parts).decode()


class Links(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if (tag, name) in (("a", "href"), ("img", "src")):
                self.found.append(urllib.parse.unquote(value or ""))

    handle_startendtag = handle_starttag


answers = []
for text in json.load(sys.stdin):
    links = Links()
    links.feed(render(text))
    links.close()
    answers.append(sorted(set(links.found)))
json.dump(answers, sys.stdout)
