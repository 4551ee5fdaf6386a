"""One side of a Noise session with the package noiseprotocol, driven line by line.

Arguments: protocol name, role, prologue, static private key, remote static public key, pre-shared key; the
last four in hexadecimal, "-" for none. Each line on standard input is a command and hexadecimal data; each
answer is one line of hexadecimal data, or "error".
"""

import sys

from noise.connection import Keypair, NoiseConnection

name, role, prologue, static, remote, psk = sys.argv[1:7]
connection = NoiseConnection.from_name(name.encode())
if role == "initiator":
    connection.set_as_initiator()
else:
    connection.set_as_responder()
connection.set_prologue(b"" if prologue == "-" else bytes.fromhex(prologue))
if psk != "-":
    connection.set_psks(psk=bytes.fromhex(psk))
if static != "-":
    connection.set_keypair_from_private_bytes(Keypair.STATIC, bytes.fromhex(static))
if remote != "-":
    connection.set_keypair_from_public_bytes(Keypair.REMOTE_STATIC, bytes.fromhex(remote))
connection.start_handshake()

for line in sys.stdin:
    command, _, data = line.strip().partition(" ")
    data = bytes.fromhex(data)
    try:
        if command == "write":
            answer = connection.write_message(data)
        elif command == "read":
            answer = connection.read_message(data)
        elif command == "encrypt":
            answer = connection.encrypt(data)
        elif command == "decrypt":
            answer = connection.decrypt(data)
        elif command == "rekey":
            connection.rekey_outbound_cipher()
            connection.rekey_inbound_cipher()
            answer = b""
        else:
            answer = connection.get_handshake_hash()
        print(bytes(answer).hex(), flush=True)
    except Exception:
        print("error", flush=True)
