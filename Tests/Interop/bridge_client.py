#!/usr/bin/env python3
"""Speaks with coffret-bridge as the extension does, and as hostile programs would: a second implementation of Spec/bridge.md.

Writes a line for each thing that held. Exit code 77: the library for Noise's primitives is missing.
"""
import base64, hashlib, hmac, json, os, struct, subprocess, sys, time

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
except ImportError:
    sys.exit(77)

from bridge_world import HOST, PASSWORD, STORE, TITLE, USER, World, check, wait

CALLER = "coffret@coffret.example"
HTTPS = "https://garden.example"


def mac(key, data):
    return hmac.new(key, data, hashlib.sha256).digest()


def derive(chain, material, count):
    temporary, outputs, last = mac(chain, material), [], b""
    for number in range(1, count + 1):
        last = mac(temporary, last + bytes([number]))
        outputs.append(last)
    return outputs


class Cipher:
    def __init__(self, key):
        self.key, self.count = AESGCM(key), 0

    def next(self):
        self.count += 1
        return b"\0" * 4 + (self.count - 1).to_bytes(8, "big")

    def seal(self, plain, additional=b""):
        return self.key.encrypt(self.next(), plain, additional)

    def open(self, sealed, additional=b""):
        return self.key.decrypt(self.next(), sealed, additional)


class Handshake:
    """Noise_NNpsk0_25519_AESGCM_SHA256, either side."""

    def __init__(self, psk, prologue):
        self.hash = self.chain = b"Noise_NNpsk0_25519_AESGCM_SHA256"
        self.mix(prologue)
        self.chain, mixed, key = derive(self.chain, psk, 3)
        self.mix(mixed)
        self.cipher = Cipher(key)
        self.own = X25519PrivateKey.generate()
        self.public = self.own.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    def mix(self, data):
        self.hash = hashlib.sha256(self.hash + data).digest()

    def mix_key(self, data):
        self.chain, key = derive(self.chain, data, 2)
        self.cipher = Cipher(key)

    def key_of(self, public):
        self.mix(public)
        self.mix_key(public)

    def seal_nothing(self):
        tag = self.cipher.seal(b"", self.hash)
        self.mix(tag)
        return tag

    def open_nothing(self, tag):
        self.cipher.open(tag, self.hash)
        self.mix(tag)

    def agree(self, public):
        self.mix_key(self.own.exchange(X25519PublicKey.from_public_bytes(public)))

    def first(self):
        self.key_of(self.public)
        return self.public + self.seal_nothing()

    def finish(self, answer):
        self.key_of(answer[:32])
        self.agree(answer[:32])
        self.open_nothing(answer[32:])
        return self.split()

    def respond(self, message):
        self.key_of(message[:32])
        self.open_nothing(message[32:])
        self.key_of(self.public)
        self.agree(message[:32])
        return self.public + self.seal_nothing()

    def split(self):
        first, second = derive(self.chain, b"", 2)
        return Cipher(first), Cipher(second)


class Host:
    """The program that a browser starts."""

    def __init__(self, *words):
        self.process = subprocess.Popen([HOST, *(words or ("/manifest", CALLER))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def send(self, message):
        text = json.dumps(message).encode()
        try:
            self.process.stdin.write(struct.pack("=I", len(text)) + text)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def receive(self):
        """None once it has ended."""
        head = self.process.stdout.read(4)
        if len(head) < 4:
            return None
        return json.loads(self.process.stdout.read(struct.unpack("=I", head)[0]))

    def pass_on(self, data, **members):
        self.send({**members, "m": base64.b64encode(data).decode()})
        answer = self.receive()
        return answer if answer is None or "m" not in answer else base64.b64decode(answer["m"])

    def close(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.wait(60)
        self.process.stdout.close()


class Refused(Exception):
    pass


class Channel:
    def __init__(self, kind, head, psk, prologue, host=None):
        self.host = host or Host()
        handshake = Handshake(psk, prologue)
        answer = self.host.pass_on(head + handshake.first(), open=kind)
        if not isinstance(answer, bytes):
            self.host.close()
            raise Refused(answer)
        self.out, self.back = handshake.finish(answer)
        self.hash = handshake.hash

    def ask(self, **request):
        return self.ask_text(json.dumps(request))

    def ask_text(self, text):
        answer = self.host.pass_on(self.out.seal(text.encode()))
        if answer is None:
            raise Refused(None)
        return json.loads(self.back.open(answer))

    def close(self):
        self.host.close()


def session(pairing, psk=None):
    return Channel("session", b"\x01" + pairing["id"], psk or pairing["key"], b"coffret/bridge/1" + pairing["id"])


def pairing_channel():
    return Channel("pairing", b"\x02", bytes(32), b"coffret/bridge/pair/1")


def patient_pairing_channel():
    """An attempt that has just ended may not be gone yet."""
    def probe():
        try:
            return pairing_channel()
        except Refused as refused:
            if refused.args[0] == {"failed": "bridge.pairing.busy"}:
                return None
            raise
    return wait("the earlier pairing to be gone", probe)


def lp(data):
    return struct.pack(">I", len(data)) + data


def commit(hash, name, value):
    return hashlib.sha256(b"coffret/bridge/commit/1" + lp(hash) + lp(name.encode()) + value).digest()


def digits(hash, commitment, name, challenge, value):
    data = b"coffret/bridge/digits/1" + lp(hash) + commitment + lp(name.encode()) + challenge + value
    return "%06d" % (int.from_bytes(hashlib.sha512(data).digest()[:8], "big") % 1_000_000)


def begin_pairing(name):
    """Up to the digits."""
    channel, value = patient_pairing_channel(), os.urandom(32)
    commitment = commit(channel.hash, name, value)
    reply = channel.ask(name=name, commitment=commitment.hex())
    if "error" in reply:
        channel.close()
        raise Refused(reply["error"]["code"])
    shown = digits(channel.hash, commitment, name, bytes.fromhex(reply["ok"]["challenge"]), value)
    channel.host.send({"m": base64.b64encode(channel.out.seal(json.dumps({"reveal": value.hex()}).encode())).decode()})
    return channel, shown


def receive(channel):
    message = channel.host.receive()
    return message and json.loads(channel.back.open(base64.b64decode(message["m"])))


def pair(world, name):
    channel, shown = begin_pairing(name)
    world.answer(shown)
    given = receive(channel)["ok"]
    done = channel.ask(kept=True)
    check(f"{name} is paired", done["ok"] == {"done": True}, done)
    channel.close()
    return {"id": bytes.fromhex(given["id"]), "key": bytes.fromhex(given["key"]), "name": given["name"]}


def refuses(work):
    try:
        made = work()
    except Refused:
        return True
    except InvalidTag:
        return True
    return not made


def code_of(reply):
    return reply.get("error", {}).get("code")


def browsers(world):
    return [each["name"] for each in json.loads(world.coffret("browser", "ls", "--json"))]


def test_host():
    for words in (["/manifest", "other@example.org"], ["chrome-extension://aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/"], []):
        made = subprocess.run([HOST, *words], capture_output=True, timeout=60)
        check(f"R142: the host serves no other caller {words}", made.returncode == 64 and made.stdout == b"", made)
    for junk in (b"\xff\xff\xff\xff", struct.pack("=I", 3) + b"{}x", struct.pack("=I", 12) + b'{"m":"####"}', struct.pack("=I", 2) + b"[]"):
        host = Host()
        host.process.stdin.write(junk)
        host.process.stdin.flush()
        check("R142: the host ends with what is no message", host.receive() is None)
        host.close()
    host = Host()
    check("R142: nothing is passed on before a session is open", host.pass_on(b"x") is None)
    host.close()


def test_pairing(world):
    # A wrong digit, and nothing after it.
    channel, shown = begin_pairing("Firefox")
    question = world.question()
    check("R145: the question names the host, who started it, and the browser", "coffret-bridge for" in question and "python" in question and "Firefox" in question, question)
    world.answer("%06d" % ((int(shown) + 1) % 1_000_000))
    check("R145: wrong digits pair nothing", code_of(receive(channel)) == "bridge.pairing.mismatch")
    check("R145: there is no second try", receive(channel) is None and browsers(world) == [])
    channel.close()
    # The extension is gone before the person has typed.
    channel, shown = begin_pairing("Late")
    world.question()
    channel.close()
    world.no_question()
    check("R145: digits that come too late pair nothing", browsers(world) == [])
    # Two at once: neither.
    first, shown = begin_pairing("One")
    world.question()
    second = refuses(lambda: pairing_channel())
    check("R145: a second browser is refused while one waits", second)
    check("R145: and the first one is ended", receive(first) is None and browsers(world) == [])
    first.close()
    world.no_question()
    check("R145: after three questions in ten minutes there is a pause", refuse_code(lambda: begin_pairing_reply("Four")) == "bridge.pairing.pausing")


def begin_pairing_reply(name):
    channel, _ = begin_pairing(name)
    reply = receive(channel)
    channel.close()
    return reply


def refuse_code(work):
    try:
        return code_of(work())
    except Refused as refused:
        return refused.args[0]


def test_program_between(world):
    """A program in between: it speaks with the extension as the agent would, and with the agent as an extension would."""
    # Towards the extension: an own handshake, as responder. It wants both sides to show the same digits.
    extension = Handshake(bytes(32), b"coffret/bridge/pair/1")
    middle = Handshake(bytes(32), b"coffret/bridge/pair/1")
    middle_answer = middle.respond(extension.first())
    extension.finish(middle_answer)
    middle.split()
    check("R145: each handshake has a hash of its own", middle.hash == extension.hash)
    value = os.urandom(32)
    promised = commit(extension.hash, "Firefox", value)
    channel = patient_pairing_channel()
    # It passes the commitment on; the value behind it does not fit the other handshake.
    reply = channel.ask(name="Firefox", commitment=promised.hex())
    challenge = bytes.fromhex(reply["ok"]["challenge"])
    refused = channel.ask(reveal=value.hex())
    check("R145: a commitment that was passed on is refused", code_of(refused) == "bridge.pairing.mismatch", refused)
    channel.close()
    # With a commitment of its own the digits differ.
    channel, theirs = begin_pairing("Firefox")
    ours = digits(extension.hash, promised, "Firefox", challenge, value)
    check("R145: with a program in between the digits differ", ours != theirs)
    world.answer(ours)
    check("R145: so nothing is paired", code_of(receive(channel)) == "bridge.pairing.mismatch" and browsers(world) == [])
    channel.close()


def test_keys(world, pairing):
    check("R142: a wrong key is refused", refuses(lambda: session(pairing, psk=os.urandom(32))))
    check("R142: the key under another id is refused", refuses(lambda: session({**pairing, "id": os.urandom(8)})))
    check("R142: the key that everybody knows opens no session", refuses(lambda: session(pairing, psk=bytes(32))))
    channel = session(pairing)
    sealed = channel.out.seal(json.dumps({"do": "state"}).encode())
    first = channel.host.pass_on(sealed)
    check("the right key is answered", json.loads(channel.back.open(first))["ok"]["store"] == STORE)
    check("R142: a message that is repeated ends the channel", channel.host.pass_on(sealed) is None)
    channel.close()
    channel = session(pairing)
    channel.out.seal(b"{}")
    check("R142: a message that was left out ends the channel", channel.host.pass_on(channel.out.seal(b'{"do":"state"}')) is None)
    channel.close()
    channel = session(pairing)
    sealed = bytearray(channel.out.seal(b'{"do":"state"}'))
    sealed[0] ^= 1
    check("R142: a message that was altered ends the channel", channel.host.pass_on(bytes(sealed)) is None)
    channel.close()
    # The answer to another handshake.
    one, other = Host(), Host()
    prologue = b"coffret/bridge/1" + pairing["id"]
    first, second = Handshake(pairing["key"], prologue), Handshake(pairing["key"], prologue)
    one.pass_on(b"\x01" + pairing["id"] + first.first(), open="session")
    answer = other.pass_on(b"\x01" + pairing["id"] + second.first(), open="session")
    check("R142: the second message of another handshake is refused", refuses(lambda: first.finish(answer)))
    one.close()
    other.close()
    for message in (b"", b"\x01", b"\x03" + bytes(56), b"\x01" + pairing["id"] + bytes(47), b"\x02" + bytes(48)):
        host = Host()
        check(f"R142: no session begins with {len(message)} bytes of something else", host.pass_on(message, open="session") is None)
        host.close()
    host = Host()
    first = Handshake(pairing["key"], prologue)
    check("R142: a session's message does not begin a pairing", host.pass_on(b"\x01" + pairing["id"] + first.first(), open="pairing") is None)
    host.close()


def test_requests(world, pairing):
    channel = session(pairing)
    operations = ["hello", "overview", "list.open", "list.rows", "item", "item.read", "item.list", "item.search", "field.read", "note.read", "draft", "item.edit", "item.history", "settings.read", "settings.edit", "export.run", "store.lock", "token.create", "access.list", "browser.list", "device.list", "events", "change.wait", "passkey.list"]
    for name in operations:
        check(f"R144: a browser cannot ask {name}", code_of(channel.ask(do=name)) == "bridge.request.unsupported")
    for text in ("", "[]", "null", "{}", '{"do":1}', '{"do":"find","do":"find"}', '{"do":"find","origin":1}', '{"do":"find"}', '{"do":"state","vault":"x"}', "x" * 60000):
        check(f"R144: {text[:30]!r} is refused", code_of(channel.ask_text(text)) == "bridge.message.invalid")
    found = channel.ask(do="find", origin=HTTPS)["ok"]
    logins = {each["title"]: each for each in found["logins"]}
    check("R140: the logins of the origin, and no others", sorted(logins) == ["Garden", TITLE], found)
    check("what they are named, without values", logins[TITLE]["username"] == USER and logins[TITLE]["kinds"] == ["password", "code"] and PASSWORD not in json.dumps(found), found)
    for origin in ("https://garden.example:444", "http://garden.example", "https://garden.example.", "https://www.garden.example", "https://mira@garden.example", "null", "https://GARDEN.example", "https://garden.example/login"):
        reply = channel.ask(do="find", origin=origin)
        check(f"R140: nothing for {origin}", code_of(reply) == "bridge.origin.refused" or reply["ok"]["logins"] == [], reply)
    reply = channel.ask(do="find", origin="https://gardem.example")
    check("R140: a look-alike is told, and gets nothing", reply["ok"] == {"logins": [], "like": "garden.example"}, reply)
    other = channel.ask(do="find", origin="https://bank.example:8443")["ok"]["logins"][0]
    mine = logins[TITLE]["id"]
    wrong = channel.ask(do="fill", origin=HTTPS, id=other["id"], fields=["password"])
    check("R141: a login of another origin is not given", code_of(wrong) == "bridge.item.not-found", wrong)
    wrong = channel.ask(do="code", origin="https://bank.example:8443", id=mine)
    check("R141: nor is its code", code_of(wrong) == "bridge.item.not-found", wrong)
    wrong = channel.ask(do="update", origin="https://bank.example:8443", id=mine, password="x")
    check("R141: nor is it changed", code_of(wrong) == "bridge.item.not-found", wrong)
    for id in (mine[:8], TITLE, "*", "", [mine, other["id"]]):
        wrong = channel.ask(do="fill", origin=HTTPS, id=id, fields=["password"])
        check("R141: a login is named by its whole id, one at a time", code_of(wrong) == "bridge.message.invalid", wrong)
    for fields in ([], ["notes"], ["password", "totp"], ["url"]):
        wrong = channel.ask(do="fill", origin=HTTPS, id=mine, fields=fields)
        check(f"R141: {fields} is not given", code_of(wrong) == "bridge.message.invalid", wrong)
    only = channel.ask(do="fill", origin=HTTPS, id=mine, fields=["username"])
    check("a field that was not asked for stays", only == {"ok": {"username": USER}}, only)
    whole = channel.ask(do="fill", origin=HTTPS, id=mine, fields=["username", "password"])
    check("values as they were saved", whole == {"ok": {"username": USER, "password": PASSWORD}}, whole)
    made = channel.ask(do="code", origin=HTTPS, id=mine)["ok"]
    check("a one-time code", len(made["code"]) == 6 and 0 < made["seconds"] <= 30, made)
    hidden = [each["title"] for each in channel.ask(do="find", origin="https://hidden.example")["ok"]["logins"]]
    check("a hidden login does not exist for a browser", hidden == [], hidden)
    generated = channel.ask(do="generate", length=32)["ok"]["password"]
    check("a new password", len(generated) == 32 and generated != channel.ask(do="generate", length=32)["ok"]["password"])
    check("R146: saving does not overwrite", code_of(channel.ask(do="save", origin=HTTPS, username=USER, password="x")) == "bridge.login.exists")
    saved = channel.ask(do="save", origin="https://new.example:8443", username="mira", password=generated)["ok"]
    shown = json.loads(world.coffret("show", saved["id"], "--json", "--reveal"))
    fields = {each["name"]: each["value"] for each in shown["fields"]}
    check("R146: the stored origin is the shown one", fields == {"username": "mira", "password": generated, "url": "https://new.example:8443"}, fields)
    for bad in ("", "a\nb", "x" * 5000):
        check("R146: what is no password is not saved", code_of(channel.ask(do="save", origin="https://new.example", username="u", password=bad)) == "bridge.message.invalid")
    again = channel.ask(do="update", origin="https://new.example:8443", id=saved["id"], password="second one")["ok"]
    check("a changed password", again["isChanged"] is True and again["title"] == "new.example", again)
    same = channel.ask(do="update", origin="https://new.example:8443", id=saved["id"], password="second one")["ok"]
    check("the same password is no change", same["isChanged"] is False, same)
    history = json.loads(world.coffret("history", saved["id"], "--json"))["versions"]
    check("R146: the earlier password stays in the history", len(history) == 2, history)
    channel.close()
    # Another session begins no other count. A slow machine may need more than a minute for eleven.
    times = []
    while True:
        channel = session(pairing)
        reply = channel.ask(do="fill", origin=HTTPS, id=mine, fields=["username"])
        channel.close()
        if "ok" not in reply or len(times) > 200:
            break
        times.append(time.monotonic())
    check("R141: a pause comes, over all sessions", code_of(reply) == "bridge.pausing", reply)
    spans = [later - earlier for earlier, later in zip(times, times[10:])]
    check("R141: ten values in a minute", all(span > 55 for span in spans), spans)
    log = json.loads(world.coffret("browser", "log", "--json"))
    filled = [each for each in log if each.get("operation") == "bridge.fill" and each["event"] == "asked"]
    check("the log has the browser, and which login", filled and filled[0]["browser"] == pairing["name"] and filled[0]["item"] == mine, log[:4])
    check("the log has what was refused", any(each.get("code") == "bridge.item.not-found" for each in log))
    check("the log holds no value", PASSWORD not in json.dumps(log) and USER not in json.dumps(log))


def test_notices(world, pairing, log):
    """`log` is what a desktop writes of notifications."""
    def fill(origin=HTTPS):
        channel = session(pairing)
        found = channel.ask(do="find", origin=origin)["ok"]["logins"]
        given = channel.ask(do="fill", origin=origin, id=found[0]["id"], fields=["password"])
        check("a value is given", given == {"ok": {"password": PASSWORD}}, given)
        channel.close()

    def shown():
        return [line for line in open(log).read().splitlines() if " Notify " in line]

    check("notices are off until a person wants them", "shows nothing" in world.coffret("browser", "notices"))
    fill()
    world.coffret("browser", "notices", "on")
    check("then they are on, and the browser is paired as before", json.loads(world.coffret("browser", "notices", "--json")) == {"on": True} and browsers(world) == ["Firefox"])
    fill()
    wait("the notification", shown)
    world.coffret("browser", "notices", "off")
    fill()
    world.login("Elsewhere", "https://elsewhere.example")
    world.coffret("browser", "notices", "on")
    fill("https://elsewhere.example")
    wait("the next one", lambda: len(shown()) > 1)
    said = shown()
    check("each value has one while they are on, with browser and host", len(said) == 2 and "Firefox was given a login" in said[0] and "For garden.example" in said[0] and "For elsewhere.example" in said[1], said)
    check("no title, name or value is in it", not any(canary in " ".join(said) for canary in (TITLE, USER, PASSWORD)), said)
    world.coffret("browser", "notices", "maybe", code=64)


def test_locked(world, pairing):
    channel = session(pairing)
    world.coffret("lock")
    check("R147: locking ends a session", channel.host.pass_on(channel.out.seal(b'{"do":"state"}')) is None)
    channel.close()
    host = Host()
    answer = host.pass_on(b"\x01" + pairing["id"] + Handshake(pairing["key"], b"x").first(), open="session")
    check("R147: locked, and nothing else", answer == {"locked": "command"}, answer)
    host.send({"unlock": True})
    check("unlocking has the agent ask", host.receive() == {"unlocking": True})
    question = world.question()
    check("R147: the agent's own question names who asks", "coffret for" in question and "passphrase" in question, question)
    world.answer(open(os.environ["HOME"] + "/passphrase").read().strip())
    wait("the store to be unlocked", lambda: "ok" in try_state(pairing))
    host.close()
    world.coffret("browser", "unpair", pairing["name"])
    check("R142: a removed key is refused", refuses(lambda: session(pairing)))
    check("no browser is left", browsers(world) == [])
    world.coffret("browser", "unpair", "Nobody", code=66)


def try_state(pairing):
    try:
        channel = session(pairing)
    except Refused:
        return {}
    try:
        return channel.ask(do="state")
    finally:
        channel.close()


def main():
    world = World()
    world.unlock()
    part = sys.argv[1]
    test_host()
    if part == "pairing":
        test_pairing(world)
    elif part == "between":
        test_program_between(world)
    elif part == "notices":
        world.login(TITLE, HTTPS)
        test_notices(world, pair(world, "Firefox"), sys.argv[2])
    elif part == "passkeys":
        import bridge_passkeys
        pairing = pair(world, "Firefox")
        bridge_passkeys.test(world, lambda: session(pairing), receive)
    else:
        world.login(TITLE, HTTPS, totp="JBSWY3DPEHPK3PXP")
        world.login("Garden", HTTPS + "/beds", user="other", password="x")
        world.login("Bank", "https://bank.example:8443/start", password="y")
        world.login("Hidden", "https://hidden.example", password="z")
        world.coffret("note", "hide", "Hidden")
        pairing = pair(world, "Fire\nfox <b>")
        check("a browser's name is plain", browsers(world) == ["Fire fox b"] and pairing["name"] == "Fire fox b", browsers(world))
        test_keys(world, pairing)
        test_requests(world, pairing)
        test_locked(world, pairing)
    print("all held")


if __name__ == "__main__":
    main()
