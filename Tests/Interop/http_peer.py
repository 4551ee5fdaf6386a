#!/usr/bin/env python3
"""A small web server for tests of CoffretHTTP: https or http, on a port of its own, until its input ends.

usage: http_peer.py [CERTIFICATE KEY | --silent]     prints the port; --silent: one that ends every connection at once
GET /hello, POST or PUT /echo, GET /big/N, GET /slow, GET /redirect, GET /headers, GET /ws (WebSocket echo).
GET or POST /cut/N: the connection ends after N bytes of the answer. POST /unread: it ends with the body unread.
GET /last: an answer like others, and the connection ends in place of an answer to the next request.
"""
import base64
import hashlib
import http.server
import socketserver
import ssl
import struct
import sys
import threading
import time


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, body, status=200, fields=()):
        self.send_response(status)
        for name, value in fields:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        if self.headers.get("Transfer-Encoding", "") == "chunked":
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def cut(self):
        self.send_response(200)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        self.wfile.write(b"x" * int(self.path[5:]))
        self.close_connection = True

    def do_POST(self):
        if self.path == "/unread":
            self.close_connection = True
            return
        if self.path.startswith("/cut/"):
            self.body()
            return self.cut()
        self.answer(self.body(), 201, [("X-Method", self.command), ("X-Agent", self.headers.get("User-Agent", ""))])

    do_PUT = do_DELETE = do_POST

    def do_HEAD(self):
        self.answer(b"", 200, [("Upload-Offset", "42")])

    def do_GET(self):
        if self.path == "/ws":
            return self.web_socket()
        if self.path.startswith("/big/"):
            return self.answer(b"x" * int(self.path[5:]))
        if self.path.startswith("/cut/"):
            return self.cut()
        if self.path == "/last":
            self.answer(b"last")
            self.wfile.flush()
            # The next request is read, and gets no answer.
            count = 0
            while (line := self.rfile.readline()) not in (b"", b"\r\n"):
                if line.lower().startswith(b"content-length:"):
                    count = int(line.split(b":")[1])
            self.rfile.read(count)
            self.close_connection = True
            return
        if self.path == "/slow":
            time.sleep(3)
        if self.path == "/redirect":
            return self.answer(b"", 302, [("Location", "/hello")])
        if self.path == "/headers":
            return self.answer(str(self.headers).encode(), 200, [("X-One", "1"), ("x-one", "2")])
        self.answer(b"hello")

    def web_socket(self):
        key = self.headers["Sec-WebSocket-Key"].encode() + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key).digest()).decode())
        self.end_headers()
        # Two frames at once with the head: they must not be lost.
        self.wfile.write(b"\x82\x01A\x82\x01B")
        self.close_connection = True
        while True:
            first, second = self.rfile.read(2)
            length = second & 127
            if length == 126:
                length, = struct.unpack(">H", self.rfile.read(2))
            elif length == 127:
                length, = struct.unpack(">Q", self.rfile.read(8))
            mask = self.rfile.read(4)
            data = bytes(b ^ mask[i % 4] for i, b in enumerate(self.rfile.read(length)))
            if first & 15 == 8 or data == b"bye":
                self.wfile.write(b"\x88\x02\x03\xe8")
                return
            if data == b"close and stay":
                self.wfile.write(b"\x88\x02\x03\xe8")
                continue
            head = bytes([first, length]) if length < 126 else bytes([first, 126]) + struct.pack(">H", length)
            self.wfile.write(head + data)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


class Silent(socketserver.BaseRequestHandler):
    """Takes connections and ends them without a word."""


if sys.argv[1:] == ["--silent"]:
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Silent)
else:
    server = Server(("127.0.0.1", 0), Handler)
if len(sys.argv) == 3:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1], sys.argv[2])
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
sys.stdin.read()
