"""A session ends when its time is over, also for a connection that has used it all along, and a new login goes on.

Usage: renew_session.py PROGRAM     The twelve hours of a session are cut to a second in the server's database.
"""
import sqlite3
import sys
import tempfile
import time

from server_client import Client, Refused, Server

program = sys.argv[1]


def refused(client, zone):
    try:
        client.request("GET", f"/v1/zones/{zone}/head")
        return False
    except Refused as refusal:
        assert refusal.status == 401, refusal
        return True


with tempfile.TemporaryDirectory() as folder, Server(program, folder) as server:
    maker = Client(server.port).register().login()
    zone = maker.zone()
    client = Client(server.port, maker.device, maker.chain).login()
    base = sqlite3.connect(f"{folder}/data/server.sqlite", timeout=20)
    (stated,) = base.execute("SELECT MAX(expiry) FROM sessions").fetchone()
    assert 11.9 < (stated / 1000 - time.time()) / 3600 <= 12
    expiry = time.time() + 1
    base.execute("UPDATE sessions SET expiry = ? WHERE expiry = ?", (int(expiry * 1000), stated))
    base.commit()
    assert not refused(client, zone), "the session is good for a second"
    connection = client.connection
    count = 1
    while not refused(client, zone):
        count += 1
        assert time.time() < expiry + 5, "a session outlived its time"
        time.sleep(0.01)
    assert time.time() >= expiry and client.connection is connection
    print(f"ended after {count} requests on one connection")
    assert not refused(maker, zone), "another session of the device goes on"
    client.login()
    assert not refused(client, zone)
    # Logged out on another connection, it is refused on the one that knew it.
    other = Client(server.port, maker.device, maker.chain)
    other.token = client.token
    other.request("POST", "/v1/logout")
    assert refused(client, zone), "a session outlived its end"
    assert server.stop() == 0
print("renewal: good")
