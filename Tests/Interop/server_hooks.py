"""What Schemathesis cannot know about coffret-server: ids that exist, and bodies that are nearly right.

Loaded through SCHEMATHESIS_HOOKS by fuzz_server.py, which says in COFFRET_FUZZ what there is on the server.
"""
import json
import os
import random
import re

import schemathesis
from hypothesis import strategies as st

from server_client import cbor

there = json.loads(os.environ["COFFRET_FUZZ"])
# Of our own: Hypothesis seeds the shared one anew for each case, so that it would always say the same.
chance = random.Random(there["seed"])
ids = [bytes.fromhex(there[name]) for name in ("zone", "account", "address", "head", "device")]

leaves = st.one_of(
    st.integers(0, 2**64 - 1), st.integers(0, 3), st.binary(max_size=80), st.sampled_from(ids),
    st.sampled_from([bytes(16), bytes(32), bytes(64), b""]), st.binary(min_size=32, max_size=32))
items = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.integers(0, 3), inner, max_size=3),
    max_leaves=20)


@st.composite
def damaged(draw, good):
    """A few bytes of a body changed, cut off or added."""
    body = bytearray(draw(good))
    for _ in range(draw(st.integers(0, 3))):
        if body:
            body[draw(st.integers(0, len(body) - 1))] = draw(st.integers(0, 255))
    return bytes(body[:draw(st.integers(0, len(body)))] if draw(st.booleans()) else body) + draw(st.binary(max_size=3))


def known(*allowed):
    return st.sampled_from([bytes.fromhex(there[name]) for name in allowed])


hash32, blob = st.binary(min_size=32, max_size=32), st.binary(max_size=200)
head = st.one_of(st.just(b""), known("head"), hash32)
shapes = st.one_of(
    # Challenge, login, registration and zone, push, fetch and missing chunks, mail.
    st.tuples(known("account") | hash32, known("device") | st.binary(min_size=16, max_size=16), hash32),
    st.tuples(known("account"), known("device"), hash32, hash32, st.integers(0, 2**63), st.binary(min_size=64, max_size=64)),
    st.tuples(blob, blob),
    st.tuples(blob),
    st.tuples(head, head, st.integers(0, 2) | st.integers(0, 2**64 - 1), st.lists(st.tuples(hash32, blob).map(list), max_size=4)),
    st.lists(known("address", "head") | hash32, max_size=5),
    st.lists(st.tuples(known("address"), hash32).map(list), max_size=5),
    st.tuples(st.just(b"") | known("device"), blob),
    # Links of several chains, and what is new of them.
    st.lists(st.tuples(st.sampled_from([1, 3]), known("account", "zone") | hash32, blob, st.none() | head).map(list), max_size=3),
    st.lists(st.tuples(st.sampled_from([1, 3]), known("account", "zone") | hash32, st.integers(0, 3), st.integers(0, 3)).map(list),
             max_size=3),
    # Sweeps.
    st.tuples(known("head") | hash32, st.lists(known("address", "head") | hash32, max_size=3),
              st.lists(known("address") | hash32, max_size=3), st.binary(min_size=64, max_size=64)),
).map(lambda value: cbor(list(value)))

# Half of the bodies are whole, so that what stands behind the first check is reached too.
bodies = st.one_of(shapes, shapes, shapes, damaged(shapes), items.map(cbor), st.binary(max_size=300))
schemathesis.openapi.media_type("application/cbor", bodies)
schemathesis.openapi.media_type("application/octet-stream", st.binary(max_size=3000))


def ranges(case):
    """A range that may be one: of what is there, or of what is sent."""
    first, last = chance.choice([(0, 9), (4000, 5000), (9, 0), (0, 0), (5000, 6000), (4095, 4095)])
    if case.method.upper() == "GET":
        return "Range", chance.choice([f"bytes={first}-{last}", f"bytes={first}-", f"bytes=-{last}", "bytes=0-1,3-4"])
    count = len(case.body) if isinstance(case.body, bytes) else 1
    start = chance.choice([0, 0, count, 7])
    return "Content-Range", f"bytes {start}-{start + count - 1}/{start + count + chance.choice([0, 1, count, 1 << 21])}"


@schemathesis.hook
def before_call(context, case, kwargs):
    """Most ids are those of something that is there; what others need is never deleted."""
    if not case.path_parameters:
        return
    if case.operation.path == "/v1/zones/{zone}/chunks/{address}" and case.method.upper() in ("GET", "PUT"):
        if chance.random() < 0.5:
            name, value = ranges(case)
            case.headers = {**(case.headers or {}), name: value}
    # Other cases may share them.
    case.path_parameters = parameters = dict(case.path_parameters)
    kept = {"zone": "/v1/zones/{zone}", "address": "/v1/zones/{zone}/chunks/{address}"}
    for name in ("zone", "account", "address", "device", "id"):
        known = there.get(name) or there["account" if parameters.get("kind") == "device" else "zone"]
        value = parameters.get(name)
        # Only ids of the right form are replaced: those of a wrong form are there to be refused.
        if not isinstance(value, str) or not re.fullmatch(f"[0-9a-f]{{{len(known)}}}", value):
            continue
        if case.method.upper() == "DELETE" and kept.get(name) == case.operation.path:
            parameters[name] = os.urandom(len(known) // 2).hex()
        elif chance.random() < 0.8:
            parameters[name] = known
