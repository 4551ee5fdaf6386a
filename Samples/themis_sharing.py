#!/usr/bin/env python3
"""Two people share posts as the ZKA sample of Themis does, with files: Alice uses coffret, Bob uses pythemis, or coffret too.

usage: themis_sharing.py [--bob pythemis|coffret] [FOLDER]

Each has a key pair and a secret key for posts. A post is sealed with the secret key; the secret key goes to a friend in a Secure Message.
Docs/interop/themis-sharing.md explains the steps, and what this way of sharing lacks. pythemis needs the library libthemis.
COFFRET names another program. Exit code 77: pythemis cannot be used here.
"""

import base64
import os
import pathlib
import secrets
import subprocess
import sys
import tempfile
import urllib.parse

COFFRET = os.environ.get("COFFRET", "coffret")


def coffret(*words):
    return subprocess.run([COFFRET, "themis", *map(str, words)], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


class WithCoffret:
    """One person, by the commands."""

    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(mode=0o700)
        coffret("keygen", "-o", folder / "key", "--public", folder / "public")
        coffret("keygen", "--symmetric", "-o", folder / "posts")

    def seal(self, text, post):
        (self.folder / "post.txt").write_bytes(text)
        coffret("seal", "-k", self.folder / "posts", "-i", self.folder / "post.txt", "--transport", "-o", post)

    def share(self, public, wrapped):
        coffret("message", "encrypt", "--private", self.folder / "key", "--public", public, "-i", self.folder / "posts", "-o", wrapped)

    def read(self, public, wrapped, post):
        unwrapped = self.folder / (wrapped.name + ".key")
        coffret("message", "decrypt", "--private", self.folder / "key", "--public", public, "-i", wrapped, "-o", unwrapped)
        return coffret("open", "-k", unwrapped, "-i", post, "--transport")


class WithThemis:
    """The same by the reference implementation."""

    def __init__(self, folder):
        from pythemis.skeygen import KEY_PAIR_TYPE, GenerateKeyPair

        folder.mkdir(mode=0o700)
        pair = GenerateKeyPair(KEY_PAIR_TYPE.EC)
        self.private, self.posts = pair.export_private_key(), secrets.token_bytes(32)
        (folder / "public").write_bytes(pair.export_public_key())

    def seal(self, text, post):
        from pythemis.scell import SCellSeal

        sealed = base64.b64encode(SCellSeal(key=self.posts).encrypt(text)).decode()
        post.write_text(urllib.parse.quote(sealed, safe=""))

    def share(self, public, wrapped):
        from pythemis.smessage import SMessage

        wrapped.write_bytes(SMessage(self.private, public.read_bytes()).wrap(self.posts))

    def read(self, public, wrapped, post):
        from pythemis.scell import SCellSeal
        from pythemis.smessage import SMessage

        key = SMessage(self.private, public.read_bytes()).unwrap(wrapped.read_bytes())
        return SCellSeal(key=key).decrypt(base64.b64decode(urllib.parse.unquote(post.read_text().strip())))


def has_themis():
    try:
        import pythemis.scell  # noqa: F401
    except Exception:
        return False
    return True


def main(words):
    kind = words[1] if words[:1] == ["--bob"] else ("pythemis" if has_themis() else "coffret")
    rest = words[2:] if words[:1] == ["--bob"] else words
    if kind not in ("pythemis", "coffret") or len(rest) > 1:
        sys.exit(__doc__)
    if kind == "pythemis" and not has_themis():
        print("pythemis cannot be used: it finds no libthemis")
        sys.exit(77)
    folder = pathlib.Path(rest[0] if rest else tempfile.mkdtemp(prefix="themis-"))
    folder.mkdir(exist_ok=True)
    alice = WithCoffret(folder / "alice")
    bob = (WithThemis if kind == "pythemis" else WithCoffret)(folder / "bob")
    for name, text, writer, reader in [
        ("alice", "The beans are up.\n".encode(), alice, bob),
        ("bob", "Köstlich! Mine are eaten by snails \u2713\n".encode(), bob, alice),
    ]:
        other = "bob" if name == "alice" else "alice"
        post, wrapped = folder / f"{name}.post", folder / f"{name}.for-{other}"
        writer.seal(text, post)
        writer.share(folder / other / "public", wrapped)
        if reader.read(folder / name / "public", wrapped, post) != text:
            raise SystemExit(f"{other} reads something else than {name} wrote")
        print(f"{other} ({kind if other == 'bob' else 'coffret'}) reads {name}'s post: {text.decode().strip()}")
    print("shared both ways")


if __name__ == "__main__":
    main(sys.argv[1:])
