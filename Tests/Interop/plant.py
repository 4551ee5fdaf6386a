"""A careless client: puts a word in clear wherever coffret-server takes bytes from a device.

Usage: plant.py PORT WORD              to a server that runs; the search for canaries must find all of it
       plant.py --server PROGRAM WORD  to a server of its own, which it starts and ends

Prints each place once the word is there.
"""
import os
import sys
import tempfile

from server_client import Client, Server, cbor


def plant(port, word):
    client = Client(port).register().login()
    zone = client.zone()
    events = client.socket("/v1/events")
    address = os.urandom(32)
    client.push(zone, b"", address, [(address, b"object " + word + bytes(64))])
    # Of a busy server news of the account itself may come first.
    while events.receive()[4:36].hex() != zone:
        pass
    events.close()
    print("object")
    chunk = f"/v1/zones/{zone}/chunks/{os.urandom(32).hex()}"
    client.request("PUT", chunk, b"chunk " + word)
    assert client.request("GET", chunk) == b"chunk " + word
    print("chunk")
    client.request("PUT", f"/v1/zones/{zone}/acks/{client.device.id.hex()}", b"acknowledgement " + word)
    print("acknowledgement")
    client.request("POST", f"/v1/mailboxes/{client.chain.id.hex()}", cbor([b"", b"mail " + word]))
    print("mail")


if sys.argv[1] == "--server":
    with tempfile.TemporaryDirectory() as folder, Server(sys.argv[2], folder) as server:
        plant(server.port, sys.argv[3].encode())
        assert server.stop() == 0
else:
    plant(int(sys.argv[1]), sys.argv[2].encode())
