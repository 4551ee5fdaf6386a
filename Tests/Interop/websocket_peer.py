# Python's `websockets` as the other end of our codec, over a Unix socket.
# `serve PATH`: echoes messages until one reads "close". `drive PATH`: connects to an echo server of ours and
# checks what comes back; prints what it did.
import sys
import threading

from websockets.sync.client import unix_connect
from websockets.sync.server import unix_serve


def serve(path):
    def echo(connection):
        for message in connection:
            if message == "close":
                connection.close(4001, "as asked")
                break
            if message == "ping":
                message = "pong" if connection.ping(b"are you there").wait(10) else "nothing"
            if message == "pieces":
                message = iter(["pi", "e", "", "ces"])
            connection.send(message)

    with unix_serve(echo, path, compression=None, max_size=4 << 20) as server:
        print("ready", flush=True)
        threading.Thread(target=lambda: (sys.stdin.read(), server.shutdown()), daemon=True).start()
        server.serve_forever()


def drive(path):
    with unix_connect(path, "ws://localhost/echo", max_size=4 << 20) as connection:
        for count in [0, 1, 125, 126, 65535, 65536, 1 << 20]:
            sent = bytes(index % 251 for index in range(count))
            connection.send(sent)
            assert connection.recv(10) == sent, count
        connection.send("κόσμε 𐍈")
        assert connection.recv(10) == "κόσμε 𐍈"
        connection.send(iter([b"in ", b"", b"three ", b"pieces"]))
        assert connection.recv(10) == b"in three pieces"
        assert connection.ping(b"x" * 125).wait(10)
        connection.close(3001, "enough")
        print("closed", connection.close_code, flush=True)


{"serve": serve, "drive": drive}[sys.argv[1]](sys.argv[2])
