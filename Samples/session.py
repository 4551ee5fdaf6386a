#!/usr/bin/env python3
"""Asks a store that the agent has unlocked, as Spec/agent.md and Spec/operations.md say.

usage: session.py [--store PATH] [--token-file FILE] OPERATION [FIELDS AS JSON]
       session.py item.search '{"query": "tomato bl"}'

With a token (coffret token new) the session has what the token allows, and nothing else.

Needs no package beside Python's own. `Session` may be copied into other programs.
"""

import json
import os
import socket
import struct
import sys

VARIABLES = ["HOME", "PATH", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "TZ", "LANG"]


class Refused(Exception):
    """A request that was refused: `code` as Spec/errors.md lists it."""

    def __init__(self, code, message=""):
        super().__init__(f"{message or code} [{code}]")
        self.code = code


def head(major, number):
    """The first bytes of a CBOR item, in the shortest form."""
    if number < 24:
        return bytes([major << 5 | number])
    for extra, form in ((24, ">B"), (25, ">H"), (26, ">I")):
        if number < 1 << 8 * struct.calcsize(form):
            return bytes([major << 5 | extra]) + struct.pack(form, number)
    raise ValueError(number)


def cbor(value):
    """Deterministic CBOR of numbers, texts, lists and maps."""
    if isinstance(value, int):
        return head(0, value)
    if isinstance(value, str):
        text = value.encode()
        return head(3, len(text)) + text
    if isinstance(value, list):
        return head(4, len(value)) + b"".join(map(cbor, value))
    pairs = sorted((cbor(name), cbor(item)) for name, item in value.items())
    return head(5, len(pairs)) + b"".join(name + item for name, item in pairs)


def texts(message):
    """The texts in an array of the agent: all that is needed of a refusal."""
    found, index = [], 0
    while index < len(message):
        major, number, index = message[index] >> 5, message[index] & 31, index + 1
        if number >= 24:
            size = 1 << number - 24
            number, index = int.from_bytes(message[index:index + size], "big"), index + size
        if major == 3:
            found.append(message[index:index + number].decode())
            index += number
    return found


class Session:
    """An open session. Each call of `ask` is one request."""

    def __init__(self, store, token=None, environment=os.environ):
        self._terms = store, token, environment
        self._open()

    def _open(self):
        store, token, environment = self._terms
        runtime = environment.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}"
        self.socket = socket.socket(socket.AF_UNIX)
        place = os.path.join(runtime, "coffret", "agent.sock")
        if token and not os.path.exists(place):
            place = os.path.join(runtime, "coffret-programs", "session.sock")  # all that a container needs
        self.socket.connect(place)
        self._send(cbor([1, 1]))
        if self._receive() != cbor([1, 1]):
            raise Refused("wire.message.unsupported", "the agent speaks another version")
        variables = {name: environment[name] for name in VARIABLES if environment.get(name)}
        self._send(cbor([12, os.path.realpath(store), 1, variables] + ([token] if token else [])))
        answer = self._receive()
        if answer != cbor([6]):
            words = texts(answer)
            raise Refused(words[0] if answer[1] == 5 else "agent.store.locked", " ".join(words))

    def ask(self, operation, fields=None, by="person"):
        """Performs an operation and returns its answer."""
        request = json.dumps({"do": operation, "by": by, "with": fields or {}}).encode()
        reply = self._exchange(request)
        if "end" in reply:
            # Nobody asked for a while, and the session ended by itself: the request was not looked at.
            self._open()
            reply = self._exchange(request)
        if "error" in reply:
            raise Refused(reply["error"]["code"], reply["error"]["message"])
        return reply["ok"]

    def _exchange(self, request):
        try:
            self._send(request)
        except BrokenPipeError:
            pass  # The session may have said why it ended.
        return json.loads(self._receive())

    def _send(self, message):
        self.socket.sendall(struct.pack(">I", len(message)) + message)

    def _receive(self):
        return self._read(struct.unpack(">I", self._read(4))[0])

    def _read(self, count):
        parts = []
        while count:
            part = self.socket.recv(count)
            if not part:
                raise Refused("net.closed", "the session is over: the store was locked, or its keys have changed")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


def main():
    words = sys.argv[1:]
    store = os.environ.get("COFFRET_STORE")
    token = None
    while words[:1] in (["--store"], ["--token-file"]):
        if words[0] == "--store":
            store = words[1]
        else:
            with open(words[1], encoding="ascii") as file:
                token = file.readline().strip()
        words = words[2:]
    if not words:
        sys.exit(__doc__)
    data = os.environ.get("XDG_DATA_HOME") or os.path.expanduser("~/.local/share")
    try:
        session = Session(store or os.path.join(data, "coffret"), token)
        answer = session.ask(words[0], json.loads(words[1]) if len(words) > 1 else None)
    except (Refused, OSError) as refused:
        sys.exit(f"session.py: {refused}")
    print(json.dumps(answer, ensure_ascii=False))


if __name__ == "__main__":
    main()
