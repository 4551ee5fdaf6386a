"""Fuzzes a coffret-server from Spec/openapi.yaml with Schemathesis.

Usage: fuzz_server.py PROGRAM AMOUNT [SEED]

AMOUNT is a number of seconds, such as 600s, or of cases for each operation, beside those that try each bound once.

Starts the server on a free port with its data in a temporary folder. Whatever is sent, every answer is one that the
description names, with the body that it names, never a failure of the server; other methods are refused; nothing is
answered without a session; and in the end all that was stored is whole.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from server_client import Client, Server, root

program, amount = sys.argv[1:3]
seed = sys.argv[3] if len(sys.argv) > 3 else str(int.from_bytes(os.urandom(4), "big"))
bound = ["--max-time", amount[:-1]] if amount.endswith("s") else ["--max-examples", amount]
checks = ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
          "negative_data_rejection", "unsupported_method", "allow_header_conformance", "ignored_auth"]

with tempfile.TemporaryDirectory() as folder, Server(
        program, folder, "--log", "requests", "--requests-per-second-per-address", "1000000",
        "--requests-per-second-per-account", "1000000") as server:
    client = Client(server.port).register().login()
    zone, head, address = client.zone(), os.urandom(32), os.urandom(32)
    client.push(zone, b"", head, [(head, os.urandom(500))])
    client.request("PUT", f"/v1/zones/{zone}/chunks/{address.hex()}", os.urandom(4096))
    there = {"zone": zone, "account": client.chain.id.hex(), "device": client.device.id.hex(), "head": head.hex(),
             "address": address.hex(), "seed": seed}
    environment = {**os.environ, "SCHEMATHESIS_HOOKS": "server_hooks", "COFFRET_FUZZ": json.dumps(there),
                   "PYTHONPATH": str(pathlib.Path(__file__).parent), "PYTHONDONTWRITEBYTECODE": "1"}
    print(f"fuzz: seed {seed}", flush=True)
    run = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", "run", str(root / "Spec/openapi.yaml"), "--url",
         f"http://127.0.0.1:{server.port}", "-H", f"Authorization: Bearer {client.token}", "--checks", ",".join(checks),
         "--phases", "coverage,fuzzing", *bound, "--seed", seed, "--request-timeout", "60",
         "--generation-database", "none", "--suppress-health-check", "all", "--warnings", "off",
         "--continue-on-failure", "--exclude-path", "/v1/logout"],
        cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if run.returncode:
        print(run.stdout)
    if server.process.poll() is not None:
        sys.exit(f"the server ended with {server.process.returncode}: " + server.log.read_text()[-2000:])
    # The server ends a connection that rests for a minute.
    client.close()
    client.request("GET", "/health")
    client.request("POST", "/v1/logout")
    code = server.stop()
    lines = [json.loads(line) for line in server.log.read_text().splitlines()]
    requests = [line for line in lines if line["event"] == "request"]
    asked = {line["route"] for line in requests} - {"unknown"}
    done = {line["route"] for line in requests if line["status"][0] == "2"}
    failures = [line for line in lines if line["level"] == "error"]
    doctor = subprocess.run([program, "doctor", *server.data], capture_output=True, text=True)
    print(f"requests: {len(requests)}; routes asked: {', '.join(sorted(asked))}; of them refused everything: "
          f"{', '.join(sorted(asked - done))}")
    if run.returncode or code or failures or doctor.returncode:
        sys.exit(f"schemathesis {run.returncode}, server {code}, errors {failures[:3]}, doctor: {doctor.stdout}")
    print("fuzz: good")
