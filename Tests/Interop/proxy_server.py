"""coffret-server behind nginx, with the configuration in Packaging/nginx: TLS, WebSockets, clients' addresses.

Usage: proxy_server.py PROGRAM NGINX
"""
import hashlib
import os
import pathlib
import re
import socket
import ssl
import subprocess
import sys
import tempfile
import time

from server_client import Client, Refused, Server, root

program, nginx = sys.argv[1:]


def made(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, **more).stdout


with tempfile.TemporaryDirectory() as folder:
    # nginx's workers are another user's.
    os.chmod(folder, 0o755)
    certificate, key = f"{folder}/certificate.pem", f"{folder}/key.pem"
    made("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate)
    spki = made("openssl", "pkey", "-pubin", "-outform", "der", input=made("openssl", "x509", "-in", certificate, "-noout", "-pubkey"))
    fingerprint = hashlib.sha256(spki).digest()
    with Server(program, folder, "--trust-forwarded-for", "yes", "--fingerprint", fingerprint.hex(),
                "--requests-per-second-per-address", "20") as server:
        # Bound and not listening, it keeps the number for nginx, which shares it, from everybody else.
        reserved = socket.socket()
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        site = (root / "Packaging/nginx/coffret.conf").read_text()
        for old, new in (("server 127.0.0.1:7440;", f"server 127.0.0.1:{server.port};"),
                         ("listen 443 ssl;", f"listen 127.0.0.1:{port} ssl reuseport;"), ("listen [::]:443 ssl;", ""),
                         ("/etc/ssl/coffret/certificate.pem", certificate), ("/etc/ssl/private/coffret.pem", key)):
            assert old in site, f"{old} is not in the file"
            site = site.replace(old, new)
        paths = "".join(f"{name}_temp_path {folder}/{name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        pathlib.Path(folder, "nginx.conf").write_text(
            f"daemon off; pid {folder}/nginx.pid; error_log {folder}/errors; worker_processes 1;"
            f"events {{ worker_connections 256; }} http {{ access_log off; {paths} {site} }}")
        with open(f"{folder}/nginx.out", "w") as output:
            front = subprocess.Popen([nginx, "-c", f"{folder}/nginx.conf", "-e", f"{folder}/errors"], stderr=output)
        try:
            for attempt in range(200):
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    assert front.poll() is None, pathlib.Path(folder, "nginx.out").read_text()
                    time.sleep(0.05)
            context = ssl.create_default_context(cafile=certificate)

            def client(source, **more):
                return Client(port, certificate=fingerprint, context=context, source=source, **more)

            first = client("127.0.0.2").register().login()
            try:
                Client(port, first.device, first.chain, context=context, source="127.0.0.9").login()
                raise AssertionError("a login for another key was taken")
            except Refused as refusal:
                assert refusal.status == 401
            zone, head = first.zone(), os.urandom(32)
            events = first.socket("/v1/events")
            body = os.urandom(1 << 20)
            first.push(zone, b"", head, [(os.urandom(32), body) for _ in range(12)] + [(head, bytes(64))])
            assert events.receive()[4:36].hex() == zone
            print("event")
            stream = first.request("GET", f"/v1/zones/{zone}/changes")
            assert len(stream) > 12 << 20 and body in stream
            print("stream")
            creator = client("127.0.0.2").socket("/v1/relay")
            joiner = client("127.0.0.3").socket("/v1/relay/" + creator.receive().decode())
            for one, other in ((joiner, creator), (creator, joiner)):
                one.send(b"through both")
                assert other.receive() == b"through both"
            creator.close()
            assert joiner.receive() == 1001
            print("relay")
            # A flood from one address, whatever it says of itself, takes nothing from another's.
            flooder, refused = client("127.0.0.4"), None
            for number in range(1_000):
                try:
                    flooder.request("GET", "/health", fields=[("X-Forwarded-For", f"10.0.0.{number % 250}")])
                except Refused as refusal:
                    refused = refusal.status
                    break
            assert refused == 429, refused
            assert client("127.0.0.5").request("GET", "/health") == b"ok\n"
            print("addresses")
            assert server.stop() == 0
        finally:
            front.terminate()
            front.wait(30)
print("proxy: good")
