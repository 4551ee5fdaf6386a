#!/usr/bin/env python3
"""Measures a coffret-server: processor time beside nginx, a first sync's bytes, two servers beside one on PostgreSQL.

Usage: measure.py PATH-TO-coffret-server [nginx] [sync] [postgres]     default: all

A release build; needs wrk, nginx, PostgreSQL's programs, and Python's cryptography. Prints one line per figure. Everything runs
on loopback in a temporary folder; what is compared takes turns. Scripts/load-server measures memory and many devices.
"""
import os
import pathlib
import pwd
import re
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "Tests/Interop"))
from server_client import Client, Server, cpu_seconds  # noqa: E402

UNLIMITED = ["--requests-per-second-per-address", "1000000", "--requests-per-second-per-account", "1000000"]
program = sys.argv[1]
wanted = sys.argv[2:] or ["nginx", "sync", "postgres"]


def wrk(port, path, token=None, seconds=2, script=None):
    """Requests answered in so many seconds, by 64 connections."""
    more = (["-H", f"Authorization: Bearer {token}"] if token else []) + (["-s", script] if script else [])
    output = subprocess.run(["wrk", "-t1", "-c64", f"-d{seconds}s", *more, f"http://127.0.0.1:{port}{path}"],
                            capture_output=True, text=True).stdout
    if "Non-2xx" in output:
        raise SystemExit("not all answers were good: " + output)
    return int(re.search(r"(\d+) requests in", output)[1])


def beside_nginx(folder):
    with Server(program, folder, *UNLIMITED) as server:
        client = Client(server.port).register().login()
        zone, body = client.zone(), os.urandom(4096)
        path = f"/v1/zones/{zone}/chunks/{os.urandom(32).hex()}"
        client.request("PUT", path, body)
        os.chmod(folder, 0o755)
        site = pathlib.Path(folder, "site")
        site.mkdir()
        (site / "blob").write_bytes(body)
        pathlib.Path(folder, "nginx.conf").write_text(f"""
            daemon off; pid {folder}/nginx.pid; error_log /dev/null; worker_processes 1;
            events {{ worker_connections 1024; }}
            http {{ access_log off; keepalive_requests 1000000000; sendfile on;
                    server {{ listen 127.0.0.1:17441; root {site}; }} }}""")
        nginx = subprocess.Popen(["nginx", "-c", f"{folder}/nginx.conf"])
        try:
            time.sleep(1)
            worker = int(subprocess.run(["pgrep", "-P", str(nginx.pid)], capture_output=True, text=True).stdout.split()[0])
            rounds = []
            for _ in range(10):
                figures = []
                for pid, port, target, token in ((worker, 17441, "/blob", None),
                                                 (server.process.pid, server.port, path, client.token)):
                    before = cpu_seconds(pid)
                    count = wrk(port, target, token)
                    figures.append((cpu_seconds(pid) - before) / count * 1e6)
                rounds.append(figures)
        finally:
            nginx.terminate()
            nginx.wait()
        ratios = sorted(ours / theirs for theirs, ours in rounds)
        print(f"reading 4 KiB: {statistics.median(ours for _, ours in rounds):.1f} µs of processor time a request, nginx "
              f"{statistics.median(theirs for theirs, _ in rounds):.1f} µs; ratio {statistics.median(ratios):.2f} "
              f"({ratios[0]:.2f} to {ratios[-1]:.2f}, {len(rounds)} rounds)")


def first_sync(folder):
    with Server(program, folder, *UNLIMITED) as server:
        client = Client(server.port).register().login()
        zone = client.zone()
        objects = [(os.urandom(32), os.urandom(1280)) for _ in range(10_000)]
        started = time.monotonic()
        for start in range(0, 10_000, 5_000):
            client.push(zone, b"", b"", objects[start:start + 5_000])
        up, started = time.monotonic() - started, time.monotonic()
        size = len(client.request("GET", f"/v1/zones/{zone}/changes"))
        print(f"10,000 objects of 1,280 bytes: {up:.2f} s up in two pushes, {time.monotonic() - started:.2f} s down "
              f"({size >> 20} MiB)")


def on_postgres(folder):
    """Two servers, half of the connections each, beside one with all of them: reads and durable writes."""
    programs = next(path for path in pathlib.Path("/usr/lib/postgresql").glob("*/bin") if (path / "initdb").exists())
    as_user = []
    if os.getuid() == 0:
        as_user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"]
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
    subprocess.run([*as_user, programs / "initdb", "-D", f"{folder}/base", "-A", "trust", "-E", "UTF8", "--locale=C"],
                   check=True, stdout=subprocess.DEVNULL, cwd="/")
    base = subprocess.Popen([*as_user, programs / "postgres", "-D", f"{folder}/base", "-k", folder, "-c",
                             "listen_addresses=", "-c", "max_connections=100"], cwd="/", stderr=subprocess.DEVNULL)
    try:
        name = "postgres" if as_user else pwd.getpwuid(os.getuid()).pw_name
        ready = [*as_user, programs / "pg_isready", "-q", "-h", folder]
        while subprocess.run(ready, cwd="/").returncode:
            time.sleep(0.1)
        subprocess.run([*as_user, programs / "createdb", "-h", folder, "coffret"], check=True, cwd="/")
        storage = ["--postgres", f"host={folder} dbname=coffret user={name}"]
        subprocess.run([program, "init", *storage], check=True)
        def serve(number):
            own = pathlib.Path(folder, f"server{number}")
            own.mkdir()
            return Server(program, own, *storage, *UNLIMITED)

        with serve(1) as one, serve(2) as two:
            client = Client(one.port).register().login()
            zone = client.zone()
            chunk = f"/v1/zones/{zone}/chunks/{os.urandom(32).hex()}"
            client.request("PUT", chunk, os.urandom(4096))
            # One account's writes to one zone go one after the other, so there are several.
            writers = [Client(one.port).register().login() for _ in range(16)]
            known = ", ".join(f'{{"{writer.zone()}", "{writer.token}"}}' for writer in writers)
            script = pathlib.Path(folder, "write.lua")
            script.write_text("local known = {" + known + "}" + """
                math.randomseed(os.time() + tonumber(tostring({}):match("0x(%x+)"), 16) % 1000000)
                function request()
                    local address, one = "", known[math.random(#known)]
                    for _ = 1, 8 do address = address .. string.format("%08x", math.random(0, 2147483647)) end
                    return wrk.format("PUT", "/v1/zones/" .. one[1] .. "/chunks/" .. address,
                        {Authorization = "Bearer " .. one[2]}, string.rep("x", 1024))
                end""")
            for what, path, lua in (("reads of 4 KiB", chunk, None), ("durable writes of 1 KiB", "/", script)):
                ratios, figures = [], []
                for _ in range(6):
                    alone = both([one.port], path, client.token, lua)
                    together = both([one.port, two.port], path, client.token, lua)
                    ratios.append(together / alone)
                    figures.append((alone, together))
                alone, together = (statistics.median(column) for column in zip(*figures))
                print(f"PostgreSQL, {what}: one server {alone:.0f} a second, two {together:.0f}; "
                      f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
    finally:
        base.send_signal(3)
        base.wait()


def both(ports, path, token, script, seconds=3):
    """Requests a second over all servers, 64 connections in all."""
    more = ["-s", str(script)] if script else []
    runs = [subprocess.Popen(["wrk", "-t1", f"-c{64 // len(ports)}", f"-d{seconds}s", "-H", f"Authorization: Bearer {token}",
                              *more, f"http://127.0.0.1:{port}{path}"], stdout=subprocess.PIPE, text=True) for port in ports]
    total = 0.0
    for run in runs:
        output = run.communicate()[0]
        if "Non-2xx" in output:
            raise SystemExit("not all answers were good: " + output)
        total += float(re.search(r"Requests/sec:\s+([\d.]+)", output)[1])
    return total


for name, section in (("nginx", beside_nginx), ("sync", first_sync), ("postgres", on_postgres)):
    if name in wanted:
        with tempfile.TemporaryDirectory() as folder:
            section(folder)
