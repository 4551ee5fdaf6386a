"""Attacks a coffret-server on loopback, and measures what a well-behaved client beside them notices.

Usage: attack_server.py PROGRAM [--short] [--pinned] [ATTACK]...     default: all

--short is for tests: a tenth of each attack for a second; times are printed and hold nobody to anything.
--pinned keeps the attackers on the last processor, and the server and the client on the others, so that of the attack only
what the server does for it takes processor time from them.

Each attack has ROUNDS rounds with a server of their own. The well-behaved client is a process of its own with one account,
one connection and an address of its own; it pushes 1 KiB and asks for its head, again and again with a pause of 25 ms, which
is within its limits, three seconds before the attack and SECONDS during it. Attackers are processes with the lowest
priority, from other addresses, within the limits of a server as it is set up without settings. Times are of all rounds
together. Prints a line per attack and ends with 1 when a goal is missed.
"""
import itertools
import multiprocessing
import os
import resource
import socket
import statistics
import sys
import tempfile
import threading
import time

from server_client import Client, Refused, Server, cbor, cpu_seconds

is_short, is_pinned = "--short" in sys.argv, "--pinned" in sys.argv
ROUNDS, SECONDS, SCALE = (1, 1, 10) if is_short else (3, 6, 1)
# The memory of a server with a sanitizer is the sanitizer's.
is_sanitized = "ASAN_OPTIONS" in os.environ or "TSAN_OPTIONS" in os.environ
PAUSE, RESIDENT_MIB = 0.025, float("inf") if is_sanitized else 300
program, *wanted = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
processors = sorted(os.sched_getaffinity(0))
if is_pinned and len(processors) < 2:
    sys.exit("--pinned needs two processors")
_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
processes = multiprocessing.get_context("fork")


def member(port, source):
    return Client(port, source=source).register().login()


def busy(count, end, work):
    """Calls `work(number)` again and again on so many threads until the end; a refusal is an answer."""
    done = itertools.count()

    def loop(number):
        while not end.is_set():
            try:
                work(number)
                next(done)
            except Refused as refused:
                next(done)
                time.sleep(0.05 if refused.status == 429 else 0)
            except OSError:
                time.sleep(0.05)

    threads = [threading.Thread(target=loop, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return next(done)


# Each attack prepares itself, says `ready`, and goes on until `end`.


def chains(port, ready, end):
    """An account with a long chain posts its own zone and reads its chain on six connections."""
    first = member(port, "127.0.1.1")
    for _ in range(1_000 // SCALE):
        first.chain.append({0: 6, 1: first.device.id}, first.device, sealed=os.urandom(4_000))
        try:
            first.request("POST", f"/v1/chains/device/{first.chain.id.hex()}", cbor([first.chain.links[-1]]))
        except Refused:
            time.sleep(0.1)
    _, zone = first.founding()
    first.request("POST", "/v1/links", zone)
    clients = [first.another(f"127.0.1.{2 + number}") for number in range(6)]
    ready.set()

    def work(number):
        if number % 3 == 2:
            clients[number].request("GET", f"/v1/chains/device/{first.chain.id.hex()}")
        else:
            clients[number].request("POST", "/v1/links", zone)
    return busy(6, end, work)


def variants(port, ready, end):
    """300 variants of a mebibyte under one address, asked for on four connections."""
    first = member(port, "127.0.1.1")
    zone, address = first.zone(), os.urandom(32)
    for _ in range(30 // SCALE):
        first.push(zone, b"", b"", [(address, os.urandom(1 << 20)) for _ in range(10)])
    clients = [first.another(f"127.0.1.{2 + number}") for number in range(4)]
    ready.set()
    return busy(4, end, lambda number: clients[number].request("POST", f"/v1/zones/{zone}/fetch", cbor([address])))


def bodies(port, ready, end):
    """Strangers from 16 addresses begin registrations of 164,000 bytes, as often as they may, and send nothing more."""
    ready.set()
    head = b"POST /v1/accounts HTTP/1.1\r\nHost: a\r\nContent-Length: 164000\r\n\r\n"
    held = []

    def work(number):
        stream = socket.create_connection(("127.0.0.1", port), 5, (f"127.0.1.{1 + number}", 0))
        stream.sendall(head + bytes(1_000))
        held.append(stream)
        time.sleep(0.1)
    return busy(16, end, work)


def streams(port, ready, end):
    """Eight accounts with 16 streams each that are read as slowly as may be."""
    requests = []
    for number in range(8):
        first = member(port, f"127.0.1.{1 + number}")
        zone = first.zone()
        first.push(zone, b"", b"", [(os.urandom(32), os.urandom(1 << 20)) for _ in range(8)])
        head = f"GET /v1/zones/{zone}/changes HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {first.token}\r\n\r\n"
        requests += [(f"127.0.1.{1 + number}", head.encode())] * 16
    ready.set()
    held = [None] * len(requests)

    def work(number):
        if held[number] is None:
            source, head = requests[number]
            held[number] = socket.socket()
            held[number].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            held[number].settimeout(5)
            held[number].bind((source, 0))
            held[number].connect(("127.0.0.1", port))
            held[number].sendall(head)
        if not held[number].recv(5_000):
            held[number] = None
        time.sleep(0.5)
    return busy(len(requests), end, work)


def connections(port, ready, end):
    """20 addresses take all the connections that they get."""
    held = []
    ready.set()

    def work(number):
        stream = socket.create_connection(("127.0.0.1", port), 5, (f"127.0.1.{1 + number}", 0))
        stream.sendall(b"GET /health HTTP/1.1\r\nHost: a\r\n")
        held.append(stream)
        if len(held) > 20_000 // SCALE:
            time.sleep(0.1)
    return busy(20, end, work)


def challenges(port, ready, end):
    """Strangers from 32 addresses ask for challenges, and answer some of them wrongly."""
    clients = [Client(port, source=f"127.0.1.{1 + number}") for number in range(32)]
    ready.set()

    def work(number):
        client = clients[number]
        client.request("POST", "/v1/login/challenge", cbor([client.chain.id, client.device.id, os.urandom(32)]))
        client.login()
    return busy(32, end, work)


def rows(port, ready, end):
    """Four accounts push as many objects as one push takes, each of 64 bytes, one after the other."""
    clients = [member(port, f"127.0.1.{1 + number}") for number in range(4)]
    zones = [client.zone() for client in clients]
    pushes = [[(os.urandom(32), os.urandom(64)) for _ in range(16_384)] for _ in clients]
    for client in clients:
        client.close()
    ready.set()

    def work(number):
        pushes[number] = [(os.urandom(4) + address[4:], data) for address, data in pushes[number]]
        clients[number].push(zones[number], b"", b"", pushes[number])
    return busy(4, end, work)


def questions(port, ready, end):
    """One account asks for 16,384 missing chunks at a time, on eight connections."""
    first = member(port, "127.0.1.1")
    zone = first.zone()
    clients = [first.another(f"127.0.1.{2 + number}") for number in range(8)]
    body = cbor([[os.urandom(32), os.urandom(32)] for _ in range(16_384)])
    ready.set()
    return busy(8, end, lambda number: clients[number].request("POST", f"/v1/zones/{zone}/chunks/missing", body))


def events(port, ready, end):
    """One account listens on all the sockets that it gets, and moves a head again and again."""
    first = member(port, "127.0.1.1")
    zone, sockets, head = first.zone(), [], b""
    for number in range(1_500 // SCALE):
        try:
            sockets.append(first.another(f"127.0.1.{2 + number % 8}").socket("/v1/events"))
        except (Refused, OSError):
            pass
    first.close()
    ready.set()
    state = {"head": head}

    def work(number):
        after = os.urandom(32)
        first.push(zone, state["head"], after, [(after, os.urandom(100))])
        state["head"] = after
    return busy(1, end, work)


def well_behaved(port, requests, results):
    client = member(port, "127.0.2.1")
    zone, head = client.zone(), b""
    while (seconds := requests.get()) is not None:
        times, refused, until = {"push": [], "head": []}, 0, time.monotonic() + seconds
        while time.monotonic() < until:
            after = os.urandom(32)
            started = time.monotonic()
            try:
                client.push(zone, head, after, [(after, os.urandom(1024))])
                head = after
                pushed = time.monotonic()
                times["push"].append(pushed - started)
                client.request("GET", f"/v1/zones/{zone}/head")
                times["head"].append(time.monotonic() - pushed)
            except (Refused, OSError):
                refused += 1
                client.close()
            time.sleep(PAUSE)
        results.put((times, refused))


def attacker(attack, port, ready, end, results):
    os.nice(19)
    if is_pinned:
        os.sched_setaffinity(0, processors[-1:])
    results.put(attack(port, ready, end))


def one_round(attack):
    """Times of the client before and during an attack, how often it was refused, and what the server took."""
    with tempfile.TemporaryDirectory() as folder, Server(program, folder) as server:
        requests, results, done = processes.Queue(), processes.Queue(), processes.Queue()
        ready, end, over = processes.Event(), processes.Event(), threading.Event()
        client = processes.Process(target=well_behaved, args=(server.port, requests, results))
        other = processes.Process(target=attacker, args=(attack, server.port, ready, end, done))
        client.start()
        requests.put(0.5 if is_short else 3)
        before, _ = results.get(timeout=60)
        other.start()
        if not ready.wait(120):
            sys.exit(f"{attack.__name__}: was never ready")
        most = [0.0]

        def watch():
            while not over.wait(0.05):
                most[0] = max(most[0], server.resident_mib())
        watcher = threading.Thread(target=watch)
        watcher.start()
        time.sleep(0.5)
        spent = [server.cpu_seconds(), cpu_seconds(other.pid)]
        requests.put(SECONDS)
        during, refused = results.get(timeout=120)
        over.set()
        if server.process.poll() is not None:
            sys.exit(f"{attack.__name__}: the server ended: {server.log.read_text()[-3000:]}")
        spent = [(after - first) / SECONDS
                 for after, first in zip([server.cpu_seconds(), cpu_seconds(other.pid)], spent)]
        watcher.join()
        end.set()
        answers = done.get(timeout=60)
        requests.put(None)
        other.join(20)
        client.join(20)
        return before, during, refused, most[0], spent, answers


def run(attack):
    rounds = [one_round(attack) for _ in range(ROUNDS)]
    faults, words = [], []
    for kind in ("push", "head"):
        before, during = ([time for one in rounds for time in one[place][kind]] or [float("inf")] for place in (0, 1))
        medians = [statistics.median(times) * 1000 for times in (before, during)]
        words.append(f"{kind} {medians[0]:.2f} -> {medians[1]:.2f} ms "
                     f"(worst {max(before) * 1000:.1f} -> {max(during) * 1000:.1f})")
        if medians[1] > 2 * medians[0] and not is_short:
            faults.append(f"{attack.__name__} {kind}")
    refused, most, answers = sum(one[2] for one in rounds), max(one[3] for one in rounds), sum(one[5] for one in rounds)
    asked = refused + sum(len(one[1]["push"]) for one in rounds)
    if refused:
        faults.append(f"{attack.__name__} refusals")
    if most > RESIDENT_MIB:
        faults.append(f"{attack.__name__} memory")
    spent = [statistics.mean(one[4][place] for one in rounds) for place in (0, 1)]
    print(f"{attack.__name__}: {', '.join(words)}; refused {refused} of {asked}; server {most:.0f} MiB; "
          f"processors: server {spent[0]:.2f}, attackers {spent[1]:.2f}; {answers} requests of the attack", flush=True)
    return faults


attacks = [chains, variants, bodies, streams, connections, challenges, rows, questions, events]
if strange := set(wanted) - {attack.__name__ for attack in attacks}:
    sys.exit(f"there is no attack {', '.join(strange)}")
if is_pinned:
    # The server and the client inherit it; attackers take theirs.
    os.sched_setaffinity(0, processors[:-1])
print(f"load {os.getloadavg()[0]:.1f}, {'attackers on a processor of their own' if is_pinned else 'all on all'} "
      f"of {len(processors)} processors, {ROUNDS} rounds of {SECONDS} s", flush=True)
missed = [fault for attack in attacks if not wanted or attack.__name__ in wanted for fault in run(attack)]
print("attacks: good" if not missed else f"attacks: missed: {', '.join(missed)}")
sys.exit(1 if missed else 0)
