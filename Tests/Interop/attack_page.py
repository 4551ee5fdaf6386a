#!/usr/bin/env python3
"""Attacks the server of the page in a tab (Spec/page.md section 5) over bare sockets. Each line of output is a check that held;
the first that does not ends it with an error.

Usage: attack_page.py HOST PORT CODE [--other-user UID]
"""
import json, os, socket, subprocess, sys, time

host, port, code = sys.argv[1], int(sys.argv[2]), sys.argv[3]
own = f"{host}:{port}"
origin = f"http://{own}"


def exchange(text, body=b""):
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(text.replace("\n", "\r\n").encode("latin-1") + body)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    head, _, rest = answer.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    fields = {}
    for line in lines[1:]:
        name, _, value = line.partition(":")
        fields[name.lower()] = value.strip()
    return int(lines[0].split()[1]) if answer else 0, fields, rest


def post(path, value, token=None, changes=None, body=None):
    body = json.dumps(value).encode() if body is None else body
    fields = {"Host": own, "Origin": origin, "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json",
              "Content-Length": str(len(body)), "Connection": "close"}
    if token:
        fields["Coffret-Session"] = token
    fields.update(changes or {})
    text = f"POST {path} HTTP/1.1\n" + "".join(f"{name}: {value}\n" for name, value in fields.items() if value is not None)
    return exchange(text + "\n", body)


def get(path, changes=None, method="GET"):
    fields = {"Host": own, "Connection": "close"}
    fields.update(changes or {})
    return exchange(f"{method} {path} HTTP/1.1\n" + "".join(f"{name}: {value}\n" for name, value in fields.items() if value is not None) + "\n")


count = 0


def check(what, holds, seen=""):
    global count
    if not holds:
        sys.exit(f"FAILED: {what}: {seen}")
    count += 1
    print(what)


def refused(what, answer, status=403):
    check(what, answer[0] == status and answer[2] == b"" and not any("access-control" in name for name in answer[1])
          and "set-cookie" not in answer[1], answer)


# Another user of the machine (R124).
if "--other-user" in sys.argv:
    user = sys.argv[sys.argv.index("--other-user") + 1]
    probe = ("import socket,sys\ns=socket.create_connection(('127.0.0.1',%d),timeout=10)\n"
             "s.settimeout(10)\ntry: print(len(s.recv(100)))\nexcept ConnectionError: print(0)\n" % port)
    seen = subprocess.run(["setpriv", f"--reuid={user}", "--clear-groups", "/usr/bin/python3", "-c", probe], capture_output=True, text=True)
    check("another user's connection is closed before a byte is read", seen.stdout.strip() == "0", seen)

# Rebinding (R125).
for other in ["localhost", "127.0.0.1", f"127.0.0.1:{port}", f"localhost:{port}", f"evil.example:{port}", host, f"{own}.", own.upper(), ""]:
    refused(f"host {other or 'without a name'} is not ours", get("/", {"Host": other}), 421)
refused("no host", exchange("GET / HTTP/1.0\n\n"), 421)
two = exchange(f"GET / HTTP/1.1\nHost: {own}\nHost: evil.example\nConnection: close\n\n")
check("two hosts are no host of ours", two[0] in (400, 421) and b"Coffret" not in two[2], two)

# Methods, paths, queries.
for method in ["OPTIONS", "HEAD", "PUT", "DELETE", "TRACE"]:
    answer = get("/", method=method)
    check(f"{method} is refused", answer[0] in (403, 405, 501) and answer[2] == b"" and "allow" not in answer[1], answer)
for path in ["/do", "/open", "/index.html/..", "/../etc/passwd", "/%2e%2e/etc/passwd", "/vendor/", "/vendor/copyright", "//index.html", "/?code=1", f"/?{code}", "/main.js?x=1"]:
    refused(f"GET {path}", get(path))
for path in ["/", "/main.js", "/do/", "/events"]:
    refused(f"POST {path}", post(path, {}))

# Requests of other pages (R126).
shell = {"Sec-Fetch-Site": "none"}
for site in ["cross-site", "same-site"]:
    refused(f"the shell for {site}", get("/", {"Sec-Fetch-Site": site}))
refused("a script from the address bar", get("/main.js", shell))
for foreign in ["http://evil.example", f"http://localhost:{port}", f"http://{host}:{port + 1}", "null", "file://", f"https://{own}"]:
    refused(f"GET from {foreign}", get("/main.js", {"Origin": foreign}))
    refused(f"POST from {foreign}", post("/open", {"code": code}, changes={"Origin": foreign}))
refused("POST without an origin", post("/open", {"code": code}, changes={"Origin": None}))
refused("POST of another site", post("/open", {"code": code}, changes={"Sec-Fetch-Site": "cross-site"}))
for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json; charset=utf-8", None]:
    refused(f"POST as {kind}", post("/open", {"code": code}, changes={"Content-Type": kind}))
refused("POST without a length", exchange(f"POST /open HTTP/1.1\nHost: {own}\nOrigin: {origin}\nContent-Type: application/json\nTransfer-Encoding: chunked\nConnection: close\n\n", b"0\r\n\r\n"))
refused("POST that is too long", post("/open", {}, changes={"Content-Length": str(9 << 20)}))
refused("a socket for WebSockets", get("/do", {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": "x", "Sec-WebSocket-Version": "13"}))

# The shell, and the headers of every answer.
wanted = {"cache-control": "no-store", "referrer-policy": "no-referrer", "x-content-type-options": "nosniff", "x-frame-options": "DENY",
          "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin", "cross-origin-embedder-policy": "require-corp"}
for name, answer in [("the shell", get("/", shell)), ("a refusal", get("/none")), ("a script", get("/main.js", {"Sec-Fetch-Site": "same-origin"}))]:
    for field, value in wanted.items():
        check(f"{name}: {field}", answer[1].get(field) == value, answer[1])
    policy = answer[1].get("content-security-policy", "")
    for part in ["default-src 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'", "form-action 'none'"]:
        check(f"{name}: {part}", part in policy, policy)
    check(f"{name}: no cookie, nothing for other origins", not any(each in answer[1] for each in ["set-cookie", "access-control-allow-origin"]), answer[1])
check("the shell is served", get("/", shell)[0] == 200 and b'src="main.js"' in get("/", shell)[2])

# Code and token (R127).
refused("no token", post("/do", {"do": "front.hello"}))
for token in ["", "0" * 64, code]:
    refused(f"another token of {len(token)} digits", post("/do", {"do": "front.hello"}, token=token))
opened = post("/open", {"code": code})
check("the code opens", opened[0] == 200, opened)
token = json.loads(opened[2])["token"]
check("a token has 256 bits", len(token) == 64 and token != code)
refused("the code opens once", post("/open", {"code": code}))
refused("half of the token", post("/do", {"do": "front.hello"}, token=token[:32]))
refused("the token in the query", post(f"/do?token={token}", {"do": "front.hello"}, token=token))
refused("the token as a cookie", post("/do", {"do": "front.hello"}, changes={"Cookie": f"Coffret-Session={token}"}))
refused("the token from another origin", post("/do", {"do": "front.hello"}, token=token, changes={"Origin": "http://evil.example"}))


def ask(value=None, body=None):
    answer = post("/do", value, token=token, body=body)
    check(f"answered: {str(value or body)[:60]}", answer[0] == 200 and answer[1]["content-type"] == "application/json", answer)
    return json.loads(answer[2])


hello = ask({"do": "front.hello"})["ok"]
check("it is a tab", hello["front"] == "tab" and "field.read" in hello["refuses"])
check("an operation is answered", ask({"do": "item.list", "with": {"limit": 5}})["ok"]["total"] > 0)

# Less power, and nothing beyond the table (R132, R134).
for name in ["field.read", "secret.generate", "note.unlock", "reference.read", "login.match", "export.run", "import.run", "token.create", "settings.edit",
             "device.revoke", "recovery.list", "key.list", "server.join", "backup.create", "file.read", "ssh.sign", "vault.remove", "nothing.known", "", "item.list\0", "front.choose", "front.export", "device.approve", "device.follow"]:
    check(f"{name!r} is refused", ask({"do": name, "with": {}})["error"]["code"] == "front.request.refused")
for value in [True, False, None]:
    check(f"revealsSecrets {value} is refused", ask({"do": "item.read", "with": {"item": "GitHub", "revealsSecrets": value}})["error"]["code"] == "front.request.refused")
for value in [{"do": "hello", "attended": True}, {"do": "hello", "progress": True}, {"do": "hello", "parts": True}, {"do": "hello", "token": "x"}, {"by": "person"},
              {"do": 1}, {"do": "hello", "by": "nobody"}, {"do": "hello", "with": []}, {"do": "front.unknown"}, {"do": "front.hello", "with": {"x": "y"}},
              {"do": "front.copy", "with": {"item": 1}}, {"cancel": True}, {"answer": True, "question": 1}]:
    check(f"{value} is invalid", ask(value)["error"]["code"] == "front.request.invalid")
for body in [b"", b"[]", b"{", b'{"do":"hello","do":"field.read"}', b"\xff", b"null", b'{"do":"hello"}{"do":"hello"}']:
    check(f"{body!r} is invalid", ask(body=body)["error"]["code"] == "front.request.invalid")
check("it still answers", "ok" in ask({"do": "hello"}))

# Files of the page: bounded, by ticket, and none that it did not make itself (R132).
ticket = ask({"do": "front.hold"})["ok"]["ticket"]
check("bytes go in", ask({"do": "front.put", "with": {"ticket": ticket, "bytes": "YWJj"}})["ok"]["byteCount"] == 3)
check("and at the end", ask({"do": "front.put", "with": {"ticket": ticket, "bytes": "ZGVm"}})["ok"]["byteCount"] == 6)
check("they come out from a place on", ask({"do": "front.get", "with": {"ticket": ticket, "offset": 2}})["ok"]["bytes"] == "Y2RlZg==")
check("nothing is behind the end", ask({"do": "front.get", "with": {"ticket": ticket, "offset": 1 << 39}})["ok"]["bytes"] == "")
for fields in [{}, {"ticket": "0" * 32}, {"ticket": "../1"}, {"ticket": 3}, {"ticket": ticket, "path": "/etc/passwd"}]:
    for name in ["front.get", "front.put", "front.drop", "front.progress", "front.cancel", "front.attach", "front.fetch", "front.import"]:
        if name == "front.drop" and "ticket" in fields and isinstance(fields["ticket"], str) and "path" not in fields:
            continue
        extra = {"front.get": {"offset": 0}, "front.put": {"bytes": "YQ=="}}.get(name, {})
        check(f"{name} with {fields} is invalid", ask({"do": name, "with": {**extra, **fields}})["error"]["code"] == "front.request.invalid")
for bytes_ in ["YQ", "Y Q==", "\u00e9", 5]:
    check(f"bytes {bytes_!r} are invalid", ask({"do": "front.put", "with": {"ticket": ticket, "bytes": bytes_}})["error"]["code"] == "front.request.invalid")
for offset in [-1, "0", 1.5, 1 << 62]:
    check(f"offset {offset!r} is invalid", ask({"do": "front.get", "with": {"ticket": ticket, "offset": offset}})["error"]["code"] == "front.request.invalid")
refusal = ask({"do": "front.attach", "with": {"ticket": ticket, "item": "Water meter", "name": "../../x"}})
check("a name with a path is refused by the session", "error" in refusal, refusal)
tickets = [ask({"do": "front.hold"}) for _ in range(40)]
check("a page holds few files", [("ok" in answer) for answer in tickets].count(True) == 15 and tickets[-1]["error"]["code"] == "front.busy", tickets[-1])
for answer in tickets:
    if "ok" in answer:
        ask({"do": "front.drop", "with": {"ticket": answer["ok"]["ticket"]}})
check("it holds others after that", "ok" in ask({"do": "front.hold"}))

# Drafts: names of files are not for the page to choose (R132).
for name in ["", "../../../draft", "0" * 31, "g" * 32, "A" * 32, "0" * 64]:
    check(f"a draft is not called {name!r}", ask({"do": "draft.keep", "with": {"draft": name, "item": "Water meter", "text": "x", "baseText": ""}})["error"]["code"] == "operation.request.invalid")

# Secrets are given one by one, and not many at once (R133).
codes = [ask({"do": "front.copy", "with": {"item": "no such item"}})["error"]["code"] for _ in range(22)]
check("R133: many secrets are refused", codes[:20] == ["front.copy.failed"] * 20 and codes[20:] == ["front.reveal.many"] * 2, codes)

# What waits for changes holds up nothing, and there is a bound.
waiting = []
first = ask({"do": "change.wait"})["ok"]["position"]
for _ in range(40):
    body = json.dumps({"do": "change.wait", "by": "program", "with": {"after": first}}).encode()
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall((f"POST /do HTTP/1.1\r\nHost: {own}\r\nOrigin: {origin}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
                        f"Coffret-Session: {token}\r\n\r\n").encode() + body)
    waiting.append(connection)
time.sleep(0.3)
check("others are answered meanwhile", "ok" in ask({"do": "hello"}))
for connection in waiting:
    connection.close()
check("and after they went", "ok" in ask({"do": "hello"}))
print(f"{count} checks held")
