"""Pages for the extension, honest and hostile, over TLS with a certificate that nobody vouches for, and one over bare HTTP."""
import http.server, os, ssl, subprocess, threading, urllib.parse

FORM = "<form action=/in method=post><input name=user autocomplete=username> <input type=password name=pass autocomplete=current-password><button>Sign in</button></form>"
PAGES = {
    "/login": FORM,
    # Scripts send these by themselves. The first takes its fields away once it has; the second says no, and leaves them.
    "/script": "<div id=box><input name=user autocomplete=username> <input type=password name=pass><button type=button onclick=\"setTimeout(() => { box.replaceChildren(); document.title = 'welcome' }, 300)\">Sign in</button></div>",
    "/script-refuses": "<div id=box><input name=user autocomplete=username> <input type=password name=pass><button type=button onclick=\"document.title = 'refused'\">Sign in</button></div>",
    "/script-leaves": "<div id=box><input name=user autocomplete=username> <input type=password name=pass><button type=button onclick=\"setTimeout(() => location.href = '/in', 300)\">Sign in</button></div>",
    "/code": "<form action=/in method=post><input name=a autocomplete=one-time-code><button>Go on</button></form>",
    "/user": "<form action=/in method=post><input type=email name=u autocomplete=username><button>Next</button></form>",
    "/join": "<form action=/in method=post><input name=user autocomplete=username><input type=password name=p1 autocomplete=new-password><input type=password name=p2 autocomplete=new-password><button>Join</button></form>",
    "/none": "<p>Nothing to fill in.</p><p style='height:3000px'></p>",
    "/far": "<p style='height:3000px'></p>" + FORM,
    # Hostile pages: what each does is its name.
    "/see-through": FORM.replace("<form", "<form style='opacity:0'"),
    "/nearly-see-through": "<div style='opacity:.3'><div style='opacity:.3'>" + FORM + "</div></div>",
    "/filtered": "<div style='filter:opacity(1%)'>" + FORM + "</div>",
    "/not-displayed": "<div style='display:none'>" + FORM + "</div>",
    "/not-visible": "<div style='visibility:hidden'>" + FORM + "</div>",
    "/tiny": FORM.replace("<input", "<input style='width:4px;height:4px;padding:0;border:0'"),
    "/outside": "<div style='position:fixed;left:-6000px;top:10px'>" + FORM + "</div>",
    "/clipped": "<div style='clip-path:inset(100%)'>" + FORM + "</div>",
    "/masked": "<div style='-webkit-mask-image:linear-gradient(transparent,transparent);mask-image:linear-gradient(transparent,transparent)'>" + FORM + "</div>",
    "/covered": FORM + "<div style='position:fixed;inset:0;background:white'>Win a prize</div>",
    # It moves a button under the pointer: the field lies below it.
    "/moved": "<div style='position:relative'>" + FORM + "<div style='position:absolute;left:0;top:0;width:100%;height:100%;background:#eee'>Go on</div></div>",
    "/sent-away": FORM.replace("/in", "https://elsewhere.example/in"),
    "/sent-bare": FORM.replace("/in", "http://garden.example/in"),
    "/mailed": FORM.replace("/in", "mailto:a@elsewhere.example"),
    "/base": "<base href='https://elsewhere.example/'>" + FORM.replace("/in", "in"),
    "/button": FORM.replace("<button>", "<button formaction='https://elsewhere.example/in'>"),
    "/picture": FORM.replace("<button>", "<input type=image alt=x formaction='https://elsewhere.example/in'><button>"),
    "/associated": FORM.replace("<form", "<form id=f") + "<button form=f formaction='https://elsewhere.example/in'>x</button>",
    "/shadowing": FORM.replace("/in", "https://elsewhere.example/in").replace("</form>", "".join(f"<input type=hidden name={name}>" for name in ("getAttribute", "hasAttribute", "elements", "action", "form", "querySelectorAll", "parentNode", "getBoundingClientRect")) + "</form>") + "<form name=querySelectorAll></form><img name=elementFromPoint><img id=origin><img id=top>",
    "/thousand": "".join(f"<form action=https://elsewhere.example/in style='display:none'><input name=u{n}><input type=password name=p{n}></form>" for n in range(999)) + FORM,
    "/thousand-shown": "".join(f"<form action=/in><input name=u{n}><input type=password name=p{n}></form>" for n in range(1000)),
    "/thousand-covered": "".join(f"<form action=/in><input name=u{n}><input type=password name=p{n}></form>" for n in range(1000)) + "<div style='position:fixed;inset:0;background:white'>Win a prize</div>",
    "/srcdoc": "<iframe srcdoc=\"" + FORM.replace('"', "'") + "\" width=600 height=200></iframe>",
    "/sandboxed-frame": "<iframe sandbox='allow-scripts allow-forms' src=/login width=600 height=200></iframe>",
    "/sandboxed": FORM,
    "/blob": "<script>onload=()=>{location=URL.createObjectURL(new Blob([`<!doctype html><title>blob</title>" + FORM + "`],{type:'text/html'}))}</script>",
    "/framing": "<iframe src='{own}/login' width=600 height=200></iframe>",
    # What it writes to the page when something is typed, to see that events come.
    "/events": FORM + "<script>seen=[];for(const t of ['input','change'])document.addEventListener(t,e=>seen.push(t+' '+e.target.name))</script>",
}


#: Pages whose fields no person sees, and pages whose forms go to another host.
NEVER = [
    "/see-through", "/nearly-see-through", "/filtered", "/not-displayed", "/not-visible", "/tiny", "/outside", "/clipped", "/masked",
    "/covered", "/moved", "/srcdoc", "/sandboxed-frame", "/thousand-covered",
]
FOREIGN = ["/sent-away", "/base", "/button", "/picture", "/associated", "/shadowing", "/sent-bare", "/mailed"]


class Handler(http.server.BaseHTTPRequestHandler):
    own = ""
    requests = []

    def do_GET(self):
        path = urllib.parse.urlsplit(self.path).path
        Handler.requests.append((self.command, self.headers.get("Host"), path))
        page = PAGES.get(path)
        body = ("<!doctype html><meta charset=utf-8><title>page</title>" + (page or "Gone")).replace("{own}", Handler.own).encode()
        self.send_response(200 if page else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        if path == "/sandboxed":
            self.send_header("Content-Security-Policy", "sandbox allow-forms allow-scripts")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *words):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, address):
        # A browser that closes a connection in the middle is no failure of a test.
        pass


def serve(folder):
    """Ports of the site, of a second one, and of one without TLS."""
    certificate, key = folder + "/site.pem", folder + "/site.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", certificate, "-days", "30", "-subj", "/CN=garden.example"],
        check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    ports = []
    for is_secure in (True, True, False):
        server = Server(("127.0.0.1", 0), Handler)
        if is_secure:
            server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        ports.append(server.server_address[1])
    Handler.own = f"https://garden.example:{ports[0]}"
    return ports
