"""Plays the kernel for coffret-authenticator, and lets libfido2 use the security key that it makes. Spec: Spec/authenticator.md.

libfido2 reaches the key by its own functions for input and output (`fido_dev_set_io_functions`). Writes a line for each thing that held. Exit
code 77: libfido2 is missing.
"""
import ctypes, hashlib, json, os, random, select, signal, socket, struct, subprocess, sys, threading

from bridge_world import HOME, PROGRAM, STORE, World, check, wait

try:
    FIDO = ctypes.CDLL("libfido2.so.1")
except OSError:
    sys.exit(77)

SITE = "shop.example"
ES256 = -7
OPTION = {None: 0, False: 1, True: 2}
DENIED, EXCLUDED, CANCELLED, NONE_THERE, NOT_ALLOWED = 0x27, 0x19, 0x2D, 0x2E, 0x30

OPEN = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_char_p)
CLOSE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
READ = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_ubyte), ctypes.c_size_t, ctypes.c_int)
WRITE = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_ubyte), ctypes.c_size_t)


class Functions(ctypes.Structure):
    _fields_ = [("open", OPEN), ("close", CLOSE), ("read", READ), ("write", WRITE)]


for name in ("fido_dev_new", "fido_cred_new", "fido_assert_new", "es256_pk_new", "fido_cbor_info_new"):
    getattr(FIDO, name).restype = ctypes.c_void_p
for name in ("fido_cred_id", "fido_cred_pubkey", "fido_cred_authdata_raw", "fido_assert_user_id", "fido_assert_authdata", "fido_assert_id"):
    getattr(FIDO, name + "_ptr").restype = ctypes.c_void_p
    getattr(FIDO, name + "_len").restype = ctypes.c_size_t
for name in ("fido_cred_fmt", "fido_assert_user_name", "fido_strerr"):
    getattr(FIDO, name).restype = ctypes.c_char_p
FIDO.fido_assert_count.restype = ctypes.c_size_t
FIDO.fido_assert_flags.restype = FIDO.fido_cred_flags.restype = ctypes.c_uint8
FIDO.fido_cbor_info_options_len.restype = ctypes.c_size_t
FIDO.fido_cbor_info_options_name_ptr.restype = ctypes.POINTER(ctypes.c_char_p)
FIDO.fido_cbor_info_options_value_ptr.restype = ctypes.POINTER(ctypes.c_bool)
FIDO.fido_cbor_info_maxmsgsiz.restype = ctypes.c_uint64


class Kernel:
    """The other end of /dev/uhid: events of linux/uhid.h, one in each packet."""

    def __init__(self):
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.process = subprocess.Popen([PROGRAM + "-authenticator"], stdin=theirs, stdout=subprocess.DEVNULL)
        theirs.close()
        event = self.socket.recv(8192)
        kind, = struct.unpack("=I", event[:4])
        check("the device is made by the kernel's newer event", kind == 11, kind)
        size, bus = struct.unpack("=HH", event[260:264])
        self.descriptor = event[280:280 + size]
        check("the device is one of FIDO, by its descriptor", self.descriptor[:3] == bytes.fromhex("06d0f1") and self.descriptor[-1] == 0xC0 and bus == 3, event[:300])
        self.event(2, b"")
        self.event(4, b"")

    def event(self, kind, body):
        self.socket.send((struct.pack("=I", kind) + body).ljust(4380, b"\0"))

    def write(self, report):
        self.event(6, report.ljust(4096, b"\0") + struct.pack("=HB", len(report), 1))

    def read(self, seconds=60):
        """The next report; None after the time."""
        if not select.select([self.socket], [], [], seconds)[0]:
            return None
        event = self.socket.recv(8192)
        kind, size = struct.unpack("=IH", event[:6])
        if kind != 12:
            raise AssertionError(f"event {kind}")
        return event[6:6 + size]

    def end(self):
        self.socket.close()
        self.process.wait(60)


class Wire:
    """CTAP over HID by hand."""

    def __init__(self, kernel):
        self.kernel, self.channel = kernel, b"\xff" * 4
        self.channel = self.exchange(6, os.urandom(8))[1][8:12]

    def send(self, command, message, count=None, channel=None):
        channel = channel or self.channel
        self.kernel.write((channel + struct.pack(">BH", 0x80 | command, len(message) if count is None else count) + message[:57]).ljust(64, b"\0"))
        rest, sequence = message[57:], 0
        while rest:
            self.kernel.write((channel + bytes([sequence]) + rest[:59]).ljust(64, b"\0"))
            rest, sequence = rest[59:], sequence + 1

    def receive(self):
        """Channel, command and message of the next answer that is no sign of life."""
        while True:
            report = self.kernel.read()
            if report[4] == 0x80 | 0x3B:
                continue
            channel, command, count = report[:4], report[4] & 0x7F, struct.unpack(">H", report[5:7])[0]
            message = report[7:]
            while len(message) < count:
                message += self.kernel.read()[5:]
            self.answered = channel
            return command, message[:count]

    def exchange(self, command, message, **how):
        self.send(command, message, **how)
        return self.receive()

    def status(self, message):
        command, answer = self.exchange(0x10, message)
        return answer[0] if command == 0x10 else (command, answer)


class Key:
    """The security key, as libfido2 sees it."""

    def __init__(self, kernel):
        def read(_, buffer, count, milliseconds):
            report = kernel.read(None if milliseconds < 0 else milliseconds / 1000)
            if report is None or len(report) > count:
                return -1
            ctypes.memmove(buffer, report, len(report))
            return len(report)

        def write(_, buffer, count):
            # The first byte is the number of the report, as a program writes it to the kernel.
            kernel.write(bytes(buffer[:count]))
            return count

        self.functions = Functions(OPEN(lambda path: 1), CLOSE(lambda handle: None), READ(read), WRITE(write))
        self.device = ctypes.c_void_p(FIDO.fido_dev_new())
        check("libfido2 takes the functions", FIDO.fido_dev_set_io_functions(self.device, ctypes.byref(self.functions)) == 0)
        code = FIDO.fido_dev_open(self.device, b"coffret")
        check("libfido2 opens the key as one of FIDO 2", code == 0 and FIDO.fido_dev_is_fido2(self.device), code)

    def options(self):
        made = ctypes.c_void_p(FIDO.fido_cbor_info_new())
        check("the key says what it can", FIDO.fido_dev_get_cbor_info(self.device, made) == 0)
        names, values = FIDO.fido_cbor_info_options_name_ptr(made), FIDO.fido_cbor_info_options_value_ptr(made)
        return {names[i].decode(): values[i] for i in range(FIDO.fido_cbor_info_options_len(made))}, FIDO.fido_cbor_info_maxmsgsiz(made)

    def make(self, user, name, site=SITE, exclude=(), hash=None):
        made = ctypes.c_void_p(FIDO.fido_cred_new())
        hash = hash or os.urandom(32)
        assert FIDO.fido_cred_set_type(made, ES256) == 0
        assert FIDO.fido_cred_set_clientdata_hash(made, hash, ctypes.c_size_t(32)) == 0
        assert FIDO.fido_cred_set_rp(made, site.encode(), b"The shop") == 0
        assert FIDO.fido_cred_set_user(made, user, ctypes.c_size_t(len(user)), name, b"Mira", None) == 0
        assert FIDO.fido_cred_set_rk(made, OPTION[True]) == 0 and FIDO.fido_cred_set_uv(made, OPTION[True]) == 0
        for id in exclude:
            assert FIDO.fido_cred_exclude(made, id, ctypes.c_size_t(len(id))) == 0
        return FIDO.fido_dev_make_cred(self.device, made, None), made

    def sign(self, site=SITE, allow=(), hash=None, up=None):
        made = ctypes.c_void_p(FIDO.fido_assert_new())
        hash = hash or os.urandom(32)
        assert FIDO.fido_assert_set_rp(made, site.encode()) == 0
        assert FIDO.fido_assert_set_clientdata_hash(made, hash, ctypes.c_size_t(32)) == 0
        if up is not None:
            assert FIDO.fido_assert_set_up(made, OPTION[up]) == 0
        else:
            assert FIDO.fido_assert_set_uv(made, OPTION[True]) == 0
        for id in allow:
            assert FIDO.fido_assert_allow_cred(made, id, ctypes.c_size_t(len(id))) == 0
        return FIDO.fido_dev_get_assert(self.device, made, None), made


def bytes_of(name, *arguments):
    return ctypes.string_at(getattr(FIDO, name + "_ptr")(*arguments), getattr(FIDO, name + "_len")(*arguments))


def signed_by(made, index, public):
    key = ctypes.c_void_p(FIDO.es256_pk_new())
    assert FIDO.es256_pk_from_ptr(key, public, ctypes.c_size_t(len(public))) == 0
    return FIDO.fido_assert_verify(made, ctypes.c_size_t(index), ES256, key) == 0


def asked(world, work, typed):
    """Runs `work` while the person types at the question; gives the question and the result."""
    made = []
    thread = threading.Thread(target=lambda: made.append(work()))
    thread.start()
    questions = []
    for each in typed if isinstance(typed, list) else [typed]:
        questions.append(world.question())
        world.answer(each)
        world.no_question()
    thread.join(240)
    return questions[-1], made[0]


def passkeys(world):
    items = json.loads(world.coffret("ls", "--json"))["items"]
    return [field for item in items for field in json.loads(world.coffret("show", item["id"], "--json"))["fields"] if field["label"].startswith("Passkey")]


def head(number, *members):
    """A command and the head of a map, by hand: members are CBOR already."""
    return bytes([number, 0xA0 | (len(members) // 2)]) + b"".join(members)


def hostile(wire):
    channel = wire.channel
    ping = lambda: wire.exchange(1, b"still there") == (1, b"still there")
    check("a message comes back whole", wire.exchange(1, bytes(range(256)) * 29) == (1, bytes(range(256)) * 29))
    failure = lambda code: (0x3F, bytes([code]))
    check("a channel that nobody was given", wire.exchange(1, b"x", channel=b"\0\0\x7f\x01") == failure(0x0B))
    check("the channel of nobody", wire.exchange(0x10, b"\4", channel=b"\0\0\0\0") == failure(0x0B))
    check("the channel of all, for anything but a beginning", wire.exchange(0x10, b"\4", channel=b"\xff" * 4) == failure(0x0B))
    check("a beginning of another length", wire.exchange(6, b"1234567", channel=b"\xff" * 4) == failure(3))
    for command in (3, 4, 8, 0x12, 0x3B, 0x3F, 0x40, 0x7F):
        check(f"command {command:#x} is none of this key", wire.exchange(command, b"") == failure(1))
    check("a message of no bytes", wire.exchange(0x10, b"") == failure(3))
    check("a message that is too long by its own word", wire.exchange(1, b"x" * 57, count=7610) == failure(3))
    wire.send(0x11, b"")
    wire.kernel.write((channel + b"\0" + b"x" * 59))
    wire.kernel.write(b"")
    wire.kernel.write(channel + b"\x81\0\1x")
    wire.kernel.write(b"\1" + channel + b"\x81\0\1x".ljust(60, b"\0"))
    check("nothing to cancel, a part of nothing, and reports of other sizes are left alone", ping())
    wire.send(1, b"x" * 57, count=100)
    wire.kernel.write((channel + b"\1" + b"y" * 59))
    check("a part that is not the next one ends the message", wire.receive() == failure(4) and ping())
    wire.send(1, b"x" * 57, count=100)
    check("a new message in the middle of one ends it", wire.exchange(1, b"x") == failure(4) and ping())
    other = Wire(wire.kernel)
    wire.send(1, b"x" * 57, count=100)
    check("another channel hears that the key is busy", other.exchange(1, b"x") == failure(6) and other.answered == other.channel)
    wire.kernel.write((channel + b"\0" + b"y" * 59))
    check("and the message is finished", wire.receive() == (1, b"x" * 57 + b"y" * 43))
    wire.send(1, b"x" * 57, count=100)
    check("a message that stops is forgotten", wire.receive() == failure(5) and other.exchange(1, b"x") == (1, b"x"))
    wire.send(1, b"x" * 57, count=100)
    check("a channel begins anew", wire.exchange(6, b"12345678")[1][:12] == b"12345678" + channel and ping())

    text = lambda value: bytes([0x60 | len(value)]) + value
    hash, site = b"\x58\x20" + bytes(32), text(b"nowhere.example")
    whole = head(2, b"\1", site, b"\2", hash)
    check("a site without a key", wire.status(whole) == NONE_THERE)
    create = lambda rp, user, algorithms, *more: head(1, b"\1", hash, b"\2", rp, b"\3", user, b"\4", algorithms, *more)
    good = (b"\xa1" + text(b"id") + site, b"\xa1" + text(b"id") + b"\x41u", b"\x81\xa2" + text(b"alg") + b"\x26" + text(b"type") + text(b"public-key"))
    cases = [
        ("an unknown command", b"\x40", 1), ("a PIN", b"\x06\xa0", 1), ("a reset", b"\x07", 1), ("no parameters", b"\1", 0x12), ("no map", b"\2\x80", 0x11),
        ("parameters for a command without", b"\4\xa0", 3), ("bytes behind the map", whole + b"\0", 0x12), ("a map that is cut short", whole[:-1], 0x12),
        ("a map of 2^64 - 1 members", b"\2\xbb" + b"\xff" * 8, 0x12), ("a text of 2^63 bytes", b"\2\xa1\1\x7b\x7f" + b"\xff" * 7, 0x12),
        ("lists in lists, as deep as a message", b"\2\xa1\4" + b"\x81" * 7000, 0x12), ("maps in maps", b"\2\xa1\4" + b"\xa1\0" * 3000, 0x12), ("tags in tags", b"\2\xa1\4" + b"\xc1" * 7000, 0x12),
        ("an endless map", b"\2\xbf\xff", 0x12), ("an endless text", head(2, b"\1", b"\x7f\x61a\xff", b"\2", hash), 0x12),
        ("a number longer than it needs to be", head(2, b"\1", b"\x78\1a", b"\2", hash), 0x12), ("members in another order", head(2, b"\2", hash, b"\1", site), 0x12),
        ("a member twice", head(2, b"\1", site, b"\1", site), 0x12), ("a text that is no UTF-8", head(2, b"\1", b"\x62\xc3\x28", b"\2", hash), 0x12),
        ("a float", head(2, b"\1", site, b"\2", b"\xfb" + bytes(8)), 0x11), ("a site that is a number", head(2, b"\1", b"\1", b"\2", hash), 0x11),
        ("no site", head(2, b"\2", hash), 0x14), ("no hash", head(2, b"\1", site), 0x14), ("a short hash", head(2, b"\1", site, b"\2", b"\x41\0"), 3),
        ("an empty site", head(2, b"\1", b"\x60", b"\2", hash), 3), ("a long site", head(2, b"\1", b"\x79\1\0" + b"a" * 256, b"\2", hash), 3),
        ("a site that is none", head(2, b"\1", text(b"a/b@c"), b"\2", hash), 2), ("a site in capitals", head(2, b"\1", text(b"Shop.Example"), b"\2", hash), 2),
        ("a PIN's proof", head(2, b"\1", site, b"\2", hash, b"\6", b"\x50" + bytes(16)), 0x33), ("keys that are to be kept, in a signature", head(2, b"\1", site, b"\2", hash, b"\5", b"\xa1" + text(b"rk") + b"\xf5"), 0x2B),
        ("an option that is a number", head(2, b"\1", site, b"\2", hash, b"\5", b"\xa1" + text(b"up") + b"\1"), 0x11),
        ("a new key without a user", head(1, b"\1", hash, b"\2", good[0], b"\4", good[2]), 0x14), ("a user without a handle", create(good[0], b"\xa0", good[2]), 0x14),
        ("an empty handle", create(good[0], b"\xa1" + text(b"id") + b"\x40", good[2]), 3), ("a handle of 65 bytes", create(good[0], b"\xa1" + text(b"id") + b"\x58\x41" + bytes(65), good[2]), 3),
        ("another algorithm alone", create(good[0], good[1], b"\x81\xa2" + text(b"alg") + b"\x27" + text(b"type") + text(b"public-key")), 0x26),
        ("no algorithm", create(good[0], good[1], b"\x80"), 0x26), ("a new key without a person", create(*good, b"\7", b"\xa1" + text(b"up") + b"\xf4"), 0x2C),
        ("a next account of nobody", b"\x08", NOT_ALLOWED),
    ]
    for what, message, status in cases:
        seen = wire.status(message)
        check(f"R148: {what} is an error of CTAP", seen == status, seen)
    seeded = random.Random(7)
    for _ in range(600):
        message = bytearray(whole)
        for _ in range(seeded.randrange(1, 4)):
            message[seeded.randrange(len(message))] = seeded.randrange(256)
        if message[0] not in (1, 8):
            wire.status(bytes(message[:seeded.randrange(1, len(message) + 1)]))
    check("after 600 broken messages the key answers as before", ping() and wire.status(whole) == NONE_THERE)


def main():
    world = World()
    os.environ["DISPLAY"] = ":none"
    secret = open(HOME + "/passphrase").read().strip()
    for given in (subprocess.DEVNULL, subprocess.PIPE):
        made = subprocess.run([PROGRAM + "-authenticator"], stdin=given, capture_output=True, timeout=60)
        check("without a device it does nothing", made.returncode == (0 if given == subprocess.DEVNULL else 64), made)
    # A key that is there before anybody has unlocked anything.
    kernel = Kernel()
    wire = Wire(kernel)
    check("what the key can do is known while the store is locked", wire.status(b"\4") == 0)
    world.unlock()
    hostile(wire)
    check("nobody was asked, and nothing was made", not os.path.exists(world.folder + "/asked") and passkeys(world) == [])

    FIDO.fido_init(0)
    key = Key(kernel)
    options, longest = key.options()
    check("the key keeps keys, and checks persons by itself", options == {"rk": True, "up": True, "uv": True, "plat": False} and longest == 7609, (options, longest))
    question, (code, made) = asked(world, lambda: key.make(b"account 7", b"mira@shop.example"), "not the passphrase")
    check("R148: who does not show to be there makes no key", code == DENIED and passkeys(world) == [], code)
    question, (code, made) = asked(world, lambda: key.make(b"account 7", b"mira@shop.example"), secret)
    check("the question says which account and site", 'make a passkey for "mira@shop.example" at shop.example' in question and "coffret-authenticator" in question, question)
    check("libfido2 takes the new key", code == 0, code)
    first, public = bytes_of("fido_cred_id", made), bytes_of("fido_cred_pubkey", made)
    data = bytes_of("fido_cred_authdata_raw", made)
    check("it is one of a person who was verified, of no model", FIDO.fido_cred_flags(made) == 0x5D and FIDO.fido_cred_fmt(made) == b"none" and data[:32] == hashlib.sha256(SITE.encode()).digest() and data[37:53] == bytes(16), data.hex())
    check("it lies in the vault", len(passkeys(world)) == 1)
    hash = os.urandom(32)
    question, (code, made) = asked(world, lambda: key.sign(allow=[first], hash=hash), secret)
    check("the signature is right, by libfido2", code == 0 and signed_by(made, 0, public), code)
    check("and names the person", 'sign in as "mira@shop.example" at shop.example' in question and FIDO.fido_assert_flags(made, 0) == 0x1D, question)
    code, made = key.sign(allow=[first], hash=hash)
    check("R148: the same request again is not signed", code == NOT_ALLOWED, code)
    code, made = key.sign(site="other.example", allow=[first])
    check("R148: a key is not there for another site, and nobody is asked", code == NONE_THERE, code)
    code, made = key.sign(allow=[first], up=False)
    check("R148: a look without a person gets a signature that no site takes", code == 0 and FIDO.fido_assert_flags(made, 0) == 0x18 and not signed_by(made, 0, public), code)
    code, made = key.sign(up=False)
    check("R148: a look without a person does not list keys", code == NONE_THERE, code)
    question, (code, made) = asked(world, lambda: key.make(b"account 7", b"mira@shop.example", exclude=[first]), secret)
    check("R148: an account that has a key gets no second one", code == EXCLUDED and len(passkeys(world)) == 1, code)

    question, (code, made) = asked(world, lambda: key.make(b"account 8", b"ada@shop.example"), secret)
    second, other = bytes_of("fido_cred_id", made), bytes_of("fido_cred_pubkey", made)
    question, (code, made) = asked(world, lambda: key.sign(), secret)
    check("without a list both accounts answer, after one question", code == 0 and FIDO.fido_assert_count(made) == 2 and "one of 2 accounts" in question, (code, question))
    accounts = {FIDO.fido_assert_user_name(made, ctypes.c_size_t(i)): (bytes_of("fido_assert_user_id", made, ctypes.c_size_t(i)), i) for i in range(2)}
    check("each with its name", {name: handle for name, (handle, _) in accounts.items()} == {b"mira@shop.example": b"account 7", b"ada@shop.example": b"account 8"}, accounts)
    check("each with its own signature", signed_by(made, accounts[b"mira@shop.example"][1], public) and signed_by(made, accounts[b"ada@shop.example"][1], other) and not signed_by(made, accounts[b"ada@shop.example"][1], public))

    # The browser withdraws its request, closes the device, or goes.
    result = []
    thread = threading.Thread(target=lambda: result.append(key.sign(allow=[first])[0]))
    thread.start()
    world.question()
    check("libfido2 cancels", FIDO.fido_dev_cancel(key.device) == 0)
    thread.join(60)
    world.no_question()
    check("R148: a request that is withdrawn takes its question away", result == [CANCELLED], result)
    whole = lambda: head(2, b"\1", b"\x6c" + SITE.encode(), b"\2", b"\x58\x20" + os.urandom(32))
    wire = Wire(kernel)
    wire.send(0x10, whole())
    world.question()
    busy = Wire(kernel)
    check("while a person is asked, others hear that the key is busy", busy.exchange(1, b"x") == (0x3F, b"\6"))
    kernel.event(5, b"")
    world.no_question()
    check("R148: a device that is closed takes its question away", True)
    check("and the key is free for others", busy.exchange(1, b"x") == (1, b"x") and wire.exchange(1, b"x") == (1, b"x"))
    for kind in (9, 13):
        kernel.event(kind, struct.pack("=I", 77))
        event = kernel.socket.recv(8192)
        check("a report that the key does not have is refused", struct.unpack("=IIH", event[:10]) == (kind + 1, 77, 5), event[:12])

    # A locked store.
    world.coffret("lock")
    question, (code, made) = asked(world, lambda: key.sign(allow=[second]), [secret, secret])
    check("R148: a locked store is unlocked by the person, who is then asked for the passkey", code == 0 and signed_by(made, 0, other), (code, question))
    asked_for = [is_asked(world, key, first) for _ in range(10)]
    check("R141: after ten values in a minute nobody is asked for more", not asked_for[-1], asked_for)
    entries = json.loads(world.coffret("browser", "log", "--json"))
    operations = {each.get("operation") for each in entries if each.get("browser") == "security key"}
    check("the log has each", {"authenticator.create", "authenticator.sign"} <= operations, entries[:3])
    kernel.process.send_signal(signal.SIGTERM)
    kernel.end()
    print("all held")


def is_asked(world, key, id):
    """Whether the person is asked for one more signature, which they do not want to give."""
    made, asked = [], False
    thread = threading.Thread(target=lambda: made.append(key.sign(allow=[id])[0]))
    thread.start()
    while thread.is_alive():
        if os.path.exists(world.folder + "/open"):
            asked = True
            world.answer("")
            world.no_question()
        thread.join(0.05)
    check("it is refused", made == [DENIED], made)
    return asked


main()
