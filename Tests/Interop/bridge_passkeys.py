"""Passkeys as a session makes and uses them, checked as a site checks them. Spec: Spec/passkeys.md."""
import base64, hashlib, json, os, struct

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_der_public_key

from bridge_world import HOME, check

ORIGIN = "https://login.shop.example"
SITE = "shop.example"


def url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unurl(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def code_of(reply):
    return reply.get("error", {}).get("code")


def parse_created(data):
    """Flags, credential id, and the point, from authenticator data with a credential."""
    check("the domain's hash is in front", data[:32] == hashlib.sha256(SITE.encode()).digest(), data[:32])
    count = struct.unpack(">H", data[53:55])[0]
    cose = data[55 + count:]
    check("the key is one of ES256 in COSE's shortest form", cose[:10] == bytes.fromhex("a5010203262001215820") and cose[42:45] == bytes.fromhex("225820") and len(cose) == 77, cose.hex())
    return data[32], data[37:53], data[55:55 + count], (cose[10:42], cose[45:])


def verify(public, made, challenge, kind):
    client = unurl(made["clientData"])
    check("client data say type, challenge and origin", json.loads(client) == {"type": kind, "challenge": url(challenge), "origin": ORIGIN, "crossOrigin": False}, client)
    data = unurl(made["authenticatorData"])
    try:
        public.verify(unurl(made["signature"]), data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        return None
    return data


def test(world, open_session, receive):
    secret = open(HOME + "/passphrase").read().strip()
    channel = open_session()

    def begin(do, **members):
        request = {"do": do, "origin": ORIGIN, "site": SITE, "framed": False, **members}
        request = {key: value for key, value in request.items() if value is not None}
        channel.host.send({"m": base64.b64encode(channel.out.seal(json.dumps(request).encode())).decode()})

    def ask(do, **members):
        begin(do, **members)
        return receive(channel)

    def answered(do, typed, **members):
        begin(do, **members)
        question = world.question()
        world.answer(typed)
        return question, receive(channel)

    account = {"username": "mira@shop.example", "displayName": "Mira", "siteName": "The shop", "userHandle": url(b"account 7")}
    challenges = [os.urandom(32) for _ in range(8)]
    # What no person is asked about.
    refusals = [
        ("another site", {"site": "other.example"}, "bridge.passkey.foreign"),
        ("a site whose name the host ends with, without a dot", {"site": "hop.example"}, "bridge.passkey.foreign"),
        ("a host below the page's", {"site": "a.login.shop.example"}, "bridge.passkey.foreign"),
        ("a public suffix", {"site": "example"}, "bridge.passkey.foreign"),
        ("a public suffix of two labels", {"origin": "https://shop.co.uk", "site": "co.uk"}, "bridge.passkey.foreign"),
        ("a suffix that a host of many people is", {"origin": "https://mira.github.io", "site": "github.io"}, "bridge.passkey.foreign"),
        ("a zero byte", {"site": "shop.example\0"}, "bridge.message.invalid"),
        ("a page in a frame", {"framed": True}, "bridge.passkey.framed"),
        ("a page without encryption", {"origin": "http://login.shop.example"}, "bridge.origin.refused"),
        ("no word about frames", {"framed": None}, "bridge.message.invalid"),
    ]
    for what, members, code in refusals:
        for do in ("passkey-create", "passkey-get", "passkey-find"):
            reply = ask(do, **{**account, "challenge": url(challenges[0]), **members})
            check(f"R148: {do}: {what} is refused", code_of(reply) == code, reply)
    for members in ({"challenge": ""}, {"challenge": "***"}, {"userHandle": ""}, {"userHandle": url(bytes(65))}):
        reply = ask("passkey-create", **{**account, "challenge": url(challenges[0]), **members})
        check(f"R148: {members} makes no key", code_of(reply) == "bridge.message.invalid", reply)
    check("R148: a key that is not there answers nothing", code_of(ask("passkey-get", challenge=url(challenges[0]))) == "bridge.passkey.missing")
    check("R148: nothing was made", json.loads(world.coffret("ls", "--json"))["items"] == [], world.coffret("ls", "--json"))

    # Made, after the person was asked.
    question, reply = answered("passkey-create", secret, challenge=url(challenges[1]), **account)
    check("the question says which account, site and browser", "mira@shop.example" in question and "at shop.example, for Fire" in question, question)
    made = reply["ok"]
    flags, model, credential, point = parse_created(unurl(made["authenticatorData"]))
    check("a person was there and was verified; the key is one that is synced", flags == 0x5D and model == bytes(16), (flags, model))
    check("the id is the one in the data", credential == unurl(made["credential"]) and len(credential) == 16)
    data = unurl(made["authenticatorData"])
    check("the attestation says nothing of a model", unurl(made["attestation"]) == b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58" + bytes([len(data)]) + data)
    public = load_der_public_key(unurl(made["publicKey"]))
    numbers = public.public_numbers()
    check("the two forms of the key are of one key", (numbers.x.to_bytes(32, "big"), numbers.y.to_bytes(32, "big")) == point)
    fields = {each["label"]: each for each in json.loads(world.coffret("show", made["id"], "--json"))["fields"]}
    check("the key is a masked field of a new login", "keyValue" not in json.dumps(fields) and "Passkey of shop.example" in fields, fields)
    reply = ask("passkey-create", challenge=url(challenges[1]), **account)
    check("R148: a challenge that comes again makes no key", code_of(reply) == "bridge.passkey.replayed", reply)
    question, reply = answered("passkey-create", secret, challenge=url(challenges[2]), credentials=[made["credential"]], **account)
    check("R148: an account that has a key gets no second one, and the page learns it after the person", code_of(reply) == "bridge.passkey.exists", reply)

    # Used.
    found = ask("passkey-find")["ok"]["logins"]
    check("what is there for the site", [(each["username"], each["credential"]) for each in found] == [("mira@shop.example", made["credential"])], found)
    question, reply = answered("passkey-get", secret, challenge=url(challenges[3]), credentials=[made["credential"]])
    used = reply["ok"]
    data = verify(public, used, challenges[3], "webauthn.get")
    check("the signature is right", data is not None and data == hashlib.sha256(SITE.encode()).digest() + bytes([0x1D, 0, 0, 0, 0]), used)
    check("the account's handle comes back", unurl(used["userHandle"]) == b"account 7")
    reply = ask("passkey-get", challenge=url(challenges[3]), credentials=[made["credential"]])
    check("R148: a challenge that comes again is not signed", code_of(reply) == "bridge.passkey.replayed", reply)
    question, reply = answered("passkey-get", "not the passphrase", challenge=url(challenges[4]), credentials=[made["credential"]])
    check("R148: who does not show to be there signs nothing", code_of(reply) == "bridge.passkey.refused", reply)
    question, reply = answered("passkey-get", "", challenge=url(challenges[5]), credentials=[made["credential"]])
    check("R148: a question that is closed is a no", code_of(reply) == "bridge.passkey.refused", reply)
    reply = ask("passkey-get", challenge=url(challenges[6]), credentials=[url(b"another id 1234x")])
    check("R148: a key that the page does not name is not used", code_of(reply) == "bridge.passkey.missing", reply)

    # Others may have it: what goes out comes back, and works.
    world.coffret("export", HOME + "/out.json", "--format", "bitwarden", "--yes")
    exported = json.load(open(HOME + "/out.json"))["items"][0]["login"]["fido2Credentials"]
    check("R148: Bitwarden's own export has the passkey whole", len(exported) == 1 and exported[0]["rpId"] == SITE and exported[0]["keyCurve"] == "P-256", list(exported[0]))
    world.coffret("rm", made["id"], "--permanently", "--yes")
    check("the key is gone", ask("passkey-find")["ok"]["logins"] == [])
    world.coffret("import", HOME + "/out.json")
    channel.close()
    channel = open_session()
    found = ask("passkey-find")["ok"]["logins"]
    check("R148: it is there again after an import", [each["credential"] for each in found] == [made["credential"]], found)
    question, reply = answered("passkey-get", secret, challenge=url(challenges[7]))
    check("R148: and signs as before", verify(public, reply["ok"], challenges[7], "webauthn.get") is not None, reply)
    log = json.loads(world.coffret("browser", "log", "--json"))
    check("the log has each", {"bridge.passkey-create", "bridge.passkey-get"} <= {each.get("operation") for each in log}, log[:3])
    channel.close()
