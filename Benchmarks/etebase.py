"""Etebase's server by itself: how long it takes to take in a first sync, and to give it out again.

Usage: python etebase.py CHECKOUT ITEMS [BATCH]      prints {"up": seconds, "down": seconds} as JSON

CHECKOUT is a copy of github.com/etesync/server; the Python that runs this has its requirements.txt installed. The client
is the least that the server takes for one: random bytes in place of sealed ones, made before the clock starts, and nothing is opened or checked
when it comes back. So what is measured favours Etebase. SQLite, no TLS, loopback, one connection.
"""

import base64
import http.client
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import msgpack
import nacl.signing

ITEM_BYTE_COUNT = 1_024
META_BYTE_COUNT = 100


def name(byte_count):
    return base64.urlsafe_b64encode(os.urandom(byte_count)).decode().rstrip("=")


class Server:
    """The server as its documentation has it: uvicorn with SQLite, registration open."""

    def __init__(self, checkout, folder):
        self.folder = pathlib.Path(folder)
        (self.folder / "static").mkdir()
        (self.folder / "etebase-server.ini").write_text(f"""[global]
secret_file = {folder}/secret.txt
debug = false
static_root = {folder}/static
media_root = {folder}/media
[allowed_hosts]
allowed_host1 = 127.0.0.1
[database]
engine = django.db.backends.sqlite3
name = {folder}/db.sqlite3
""")
        (self.folder / "etebase_server_settings.py").write_text("ETEBASE_CREATE_USER_FUNC = None\n")
        environment = os.environ | {"ETEBASE_EASY_CONFIG_PATH": f"{folder}/etebase-server.ini",
                                    "PYTHONPATH": f"{folder}:{checkout}"}
        subprocess.run([sys.executable, f"{checkout}/manage.py", "migrate"], env=environment, cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "etebase_server.asgi:application", "--port", str(self.port), "--log-level", "error"],
            env=environment, cwd=folder)
        deadline = time.monotonic() + 30
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    break
            if time.monotonic() > deadline or self.process.poll() is not None:
                sys.exit("etebase: the server did not start")
            time.sleep(0.05)
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port)
        self.token = None

    def request(self, method, path, value=None):
        fields = {"Content-Type": "application/msgpack", "Accept": "application/msgpack"}
        if self.token:
            fields["Authorization"] = f"Token {self.token}"
        body = value if isinstance(value, (bytes, type(None))) else msgpack.packb(value, use_bin_type=True)
        self.connection.request(method, "/api/v1" + path, body, fields)
        answer = self.connection.getresponse()
        received = answer.read()
        if answer.status >= 300:
            sys.exit(f"etebase: {method} {path}: {answer.status} {received[:300]!r}")
        return received

    def sign_up(self):
        key = nacl.signing.SigningKey.generate()
        answer = self.request("POST", "/authentication/signup/", {
            "user": {"username": "bench", "email": "bench@example.com"}, "salt": os.urandom(16),
            "loginPubkey": bytes(key.verify_key), "pubkey": os.urandom(32), "encryptedContent": os.urandom(128)})
        self.token = msgpack.unpackb(answer)["token"]

    def end(self):
        self.process.terminate()
        self.process.wait()


def item():
    return {"uid": name(18), "version": 1, "encryptionKey": os.urandom(72), "etag": None,
            "content": {"uid": name(24), "meta": os.urandom(META_BYTE_COUNT), "deleted": False,
                        "chunks": [[name(32), os.urandom(ITEM_BYTE_COUNT)]]}}


def main():
    checkout, count = str(pathlib.Path(sys.argv[1]).resolve()), int(sys.argv[2])
    batch = int(sys.argv[3]) if len(sys.argv) > 3 else 500
    with tempfile.TemporaryDirectory(prefix="etebase-") as folder:
        server = Server(checkout, folder)
        try:
            server.sign_up()
            collection = item()
            server.request("POST", "/collection/", {"collectionType": os.urandom(40), "collectionKey": os.urandom(72), "item": collection})
            path = f"/collection/{collection['uid']}/item/"
            bodies = [msgpack.packb({"items": [item() for _ in range(start, min(start + batch, count))]}, use_bin_type=True)
                      for start in range(0, count, batch)]
            start = time.monotonic()
            for body in bodies:
                server.request("POST", path + "batch/", body)
            up = time.monotonic() - start
            start, received, token, is_done = time.monotonic(), 0, None, False
            while not is_done:
                answer = msgpack.unpackb(server.request(
                    "GET", f"{path}?prefetch=auto&limit={batch}" + (f"&stoken={token}" if token else "")))
                received, token, is_done = received + len(answer["data"]), answer["stoken"], answer["done"]
            down = time.monotonic() - start
            if received != count:
                sys.exit(f"etebase: {received} of {count} items came back")
            print(json.dumps({"up": up, "down": down}))
        finally:
            server.end()


if __name__ == "__main__":
    main()
