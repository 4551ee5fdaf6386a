#!/usr/bin/env python3
"""A server that lies about what passes its relay: it stands before the real one, with the same key, and deals with frames as the file `mode` says.

Usage: lying_relay.py PORT CERTIFICATE KEY FOLDER. PORT is the real server's. Writes its own port. Every frame is written to FOLDER/frames.
`pass`; `alter-opening`, `alter-request`, `alter-answer`: one bit; `repeat-request`, `swap-answer`: what an earlier request had;
`own-answer`: it answers itself; `hold`: the request waits until who was asked has left.
"""
import os, socket, ssl, struct, sys, threading, time

port, certificate, key, folder = int(sys.argv[1]), *sys.argv[2:5]
earlier, joined = {}, set()
outside = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
outside.load_cert_chain(certificate, key)
inside = ssl.create_default_context(cafile=certificate)
inside.check_hostname = False


def mode():
    return open(folder + "/mode").read().strip()


def head(stream):
    """Up to the empty line."""
    text = b""
    while not text.endswith(b"\r\n\r\n"):
        part = stream.recv(1)
        if not part:
            raise EOFError
        text += part
    return text


def exactly(stream, count):
    data = b""
    while len(data) < count:
        part = stream.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data


def frames(stream):
    """First byte and payload of each WebSocket frame (RFC 6455, section 5.2)."""
    while True:
        first, second = exactly(stream, 2)
        count = second & 127
        if count == 126:
            count = struct.unpack(">H", exactly(stream, 2))[0]
        elif count == 127:
            count = struct.unpack(">Q", exactly(stream, 8))[0]
        mask = exactly(stream, 4) if second & 128 else bytes(4)
        payload = exactly(stream, count)
        yield first, bytes(byte ^ mask[index % 4] for index, byte in enumerate(payload))


def send(stream, first, payload, is_masked):
    count = len(payload)
    size = bytes([count]) if count < 126 else b"\x7e" + struct.pack(">H", count)
    size = bytes([size[0] | (128 if is_masked else 0)]) + size[1:]
    # A mask of zeros leaves the payload as it is.
    stream.sendall(bytes([first]) + size + (bytes(4) if is_masked else b"") + payload)


def altered(payload):
    return payload[:-1] + bytes([payload[-1] ^ 1])


def deal(what, payload, client):
    """What goes on in place of a frame. `what` is opening, request or answer."""
    wanted, before = mode(), earlier.get(what)
    if wanted == "pass":
        earlier[what] = payload
    if wanted == "alter-" + what:
        return [altered(payload)]
    if wanted in ("repeat-request", "swap-answer") and wanted.endswith(what):
        return [before]
    if what == "request" and wanted == "own-answer":
        send(client, 0x82, os.urandom(len(earlier["answer"])), False)
        return []
    if what == "request" and wanted == "hold":
        while joined:
            time.sleep(0.05)
    return [payload]


def pump(source, target):
    try:
        while data := source.recv(65_536):
            target.sendall(data)
    except OSError:
        pass
    for each in (source, target):
        try:
            each.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def pump_relay(client, server, is_asked):
    count = 0
    if is_asked:
        joined.add(client)
    try:
        for first, payload in frames(client):
            if first & 15 not in (1, 2):
                send(server, first, payload, True)
                continue
            what = "request" if not is_asked else "opening" if count == 0 else "answer"
            count += 1
            with open(folder + "/frames", "ab") as log:
                log.write(payload)
            for each in deal(what, payload, client):
                send(server, first, each, True)
    except (OSError, EOFError):
        pass
    joined.discard(client)
    for each in (client, server):
        try:
            each.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def serve(plain):
    try:
        client = outside.wrap_socket(plain, server_side=True)
        server = inside.wrap_socket(socket.create_connection(("127.0.0.1", port)))
        request = head(client)
        server.sendall(request)
    except (OSError, EOFError):
        return plain.close()
    is_relay = request.startswith(b"GET /v1/relay")
    threading.Thread(target=pump, args=(server, client), daemon=True).start()
    if is_relay:
        pump_relay(client, server, request.startswith(b"GET /v1/relay/"))
    else:
        pump(client, server)


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
