# A client of the Secret Service that asks for more than it may have, and one that does everything right, often. Each line of output is
# JSON: [name of the try, error or null, answer].
#
# Usage: attack_secret_service.py ABSENT FOREIGN...     ids of items: one that does not exist, and some that are no entries
import json, sys, threading
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from jeepney import DBusAddress, MessageType, new_method_call
from jeepney.io.blocking import open_dbus_connection
import secrets as random

ROOT = "/org/freedesktop/secrets"
LOGIN = ROOT + "/collection/login"
PRIME = int("FFFFFFFFFFFFFFFFC90FDAA22168C234C4C6628B80DC1CD129024E088A67CC74020BBEA63B139B22514A08798E3404DD"
            "EF9519B3CD3A431B302B0A6DF25F14374FE1356D6D51C245E485B576625E7EC6F44C42E9A637ED6B0BFF5CB6F406B7ED"
            "EE386BFB5A899FA5AE9F24117C4B1FE649286651ECE65381FFFFFFFFFFFFFFFF", 16)
AGREED = "dh-ietf1024-sha256-aes128-cbc-pkcs7"


class Client:
    def __init__(self):
        self.connection = open_dbus_connection(bus="SESSION")

    def ask(self, path, interface, member, signature=None, body=()):
        if "." not in interface: interface = "org.freedesktop.Secret." + interface
        address = DBusAddress(path, bus_name="org.freedesktop.secrets", interface=interface)
        reply = self.connection.send_and_get_reply(new_method_call(address, member, signature, body), timeout=120)
        if reply.header.message_type == MessageType.error: return reply.header.fields[4], None
        return None, reply.body

    def properties(self, path, interface):
        return self.ask(path, "org.freedesktop.DBus.Properties", "GetAll", "s", ("org.freedesktop.Secret." + interface,))

    def session(self):
        return self.ask(ROOT, "Service", "OpenSession", "sv", ("plain", ("s", "")))[1][1]

    def create(self, session, attributes, secret, replace=False):
        properties = {"org.freedesktop.Secret.Item.Label": ("s", "made"),
                      "org.freedesktop.Secret.Item.Attributes": ("a{ss}", attributes)}
        return self.ask(LOGIN, "Collection", "CreateItem", "a{sv}(oayays)b",
                        (properties, (session, b"", secret, "text/plain"), replace))


def say(name, result): print(json.dumps([name, *result], default=lambda value: value.hex()), flush=True)


client, other = Client(), Client()
mine, theirs = client.session(), other.session()
for name, identifier in zip(["absent"] + ["foreign"] * 100, sys.argv[1:]):
    path = LOGIN + "/" + identifier
    say(name, client.ask(path, "Item", "GetSecret", "o", (mine,)))
    say(name, client.properties(path, "Item"))
    say(name, client.ask(path, "Item", "SetSecret", "(oayays)", ((mine, b"", b"taken", "text/plain"),)))
    say(name, client.ask(path, "Item", "Delete"))
    say(name, client.ask(path, "org.freedesktop.DBus.Properties", "Set", "ssv",
                         ("org.freedesktop.Secret.Item", "Label", ("s", "taken"))))
    say(name + " secrets", client.ask(ROOT, "Service", "GetSecrets", "aoo", ([path], mine)))
for path in ["/collection/Personal", "/collection/Work", "/collection/login/short", "/aliases/other", "/session/s1/x", "x", ""]:
    say("path", client.ask(ROOT + path + ("/a" if not path else ""), "org.freedesktop.DBus.Properties", "GetAll", "s", ("x",)))
say("nothing", client.ask(ROOT, "Service", "SearchItems", "a{ss}", ({},)))
say("nothing in collection", client.ask(LOGIN, "Collection", "SearchItems", "a{ss}", ({},)))
many = {f"attribute {number}": "x" for number in range(10_000)}
say("many", client.ask(ROOT, "Service", "SearchItems", "a{ss}", (many,)))
say("many", client.create(mine, many, b"x"))
say("large", client.create(mine, {"a": "b" * 100_000}, b"x"))
say("large", client.create(mine, {"a": "b"}, b"x" * 1_000_000))
say("session of another", client.create(theirs, {"a": "b"}, b"x"))
say("session of another", client.ask(ROOT, "Service", "GetSecrets", "aoo", ([], theirs)))
say("session of another", client.ask(theirs, "Session", "Close"))
say("prompt of another", client.ask(ROOT + "/prompt/p1", "Prompt", "Prompt", "s", ("",)))
for number in [b"", b"\0", b"\1", (PRIME - 1).to_bytes(128, "big"), PRIME.to_bytes(128, "big"), b"\xff" * 4_096]:
    say("number", client.ask(ROOT, "Service", "OpenSession", "sv", (AGREED, ("ay", number))))
say("unsupported", client.ask(ROOT, "Service", "OpenSession", "sv", ("rot13", ("s", ""))))
say("unsupported", client.ask(ROOT, "Service", "CreateCollection", "a{sv}s", ({}, "mine")))
say("unsupported", client.ask(LOGIN, "Collection", "Delete"))
say("unsupported", client.ask(ROOT, "Service", "SetAlias", "so", ("default", LOGIN)))
say("wrong types", client.ask(ROOT, "Service", "SearchItems", "s", ("x",)))
say("wrong types", client.ask(ROOT, "Service", "Unlock", "as", (["x"],)))
say("lock", client.ask(ROOT, "Service", "Lock", "ao", ([LOGIN],)))
opened = [client.ask(ROOT, "Service", "OpenSession", "sv", ("plain", ("s", "")))[0] for _ in range(300)]
say("sessions", (opened[-1], opened.count(None)))
client.connection.close()

# What is right works, also after that, and with numbers of any size.
client = Client()
error, made = client.create(client.session(), {"right": "yes"}, b"s3cret")
item, failed = made[0], 0
for _ in range(300):
    private = random.randbelow(PRIME - 3) + 2
    error, answer = client.ask(ROOT, "Service", "OpenSession", "sv", (AGREED, ("ay", pow(2, private, PRIME).to_bytes(128, "big"))))
    (_, number), session = answer
    shared = pow(int.from_bytes(number, "big"), private, PRIME).to_bytes(128, "big")
    key = HKDF(algorithm=hashes.SHA256(), length=16, salt=None, info=b"").derive(shared)
    _, ((_, vector, sealed, _),) = client.ask(item, "Item", "GetSecret", "o", (session,))
    opener = Cipher(algorithms.AES(key), modes.CBC(vector)).decryptor()
    if opener.update(sealed) + opener.finalize() != b"s3cret" + b"\n" * 10: failed += 1
    client.ask(session, "Session", "Close")
say("agreed", (None, failed))
say("deleted", client.ask(item, "Item", "Delete"))
