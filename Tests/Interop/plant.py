"""A careless client: puts a word in clear wherever coffret-server takes bytes from a device.

Usage: plant.py PORT WORD     Prints each place once it is there. The search for canaries must find all of them.
"""
import os
import sys

from server_client import Client, cbor

port, word = int(sys.argv[1]), sys.argv[2].encode()
client = Client(port).register().login()
zone = client.zone()
address = os.urandom(32)
client.push(zone, b"", address, [(address, b"object " + word)])
print("object")
client.request("PUT", f"/v1/zones/{zone}/chunks/{os.urandom(32).hex()}", b"chunk " + word)
print("chunk")
client.request("PUT", f"/v1/zones/{zone}/acks/{client.device.id.hex()}", b"acknowledgement " + word)
print("acknowledgement")
client.request("POST", f"/v1/mailboxes/{client.chain.id.hex()}", cbor([b"", b"mail " + word]))
print("mail")
