// Passkeys that pages ask the browser for, while the person has that switched on. The window of `passkey.js` answers; the worker passes on.
// Spec: Spec/passkeys.md.

const api = globalThis.browser ?? chrome;
/** How long the browser asks for other keys, once the person wants one. */
const otherwise = 60_000;
const right = { permissions: ["webAuthenticationProxy"] };

/** The one request that is being answered: `{ id, kind, options, window }`. */
let current;
let isListening = false;

function complete(request, outcome) {
    if (current?.id === request.id) current = undefined;
    const proxy = api.webAuthenticationProxy;
    const finish = request.kind === "create" ? proxy.completeCreateRequest : proxy.completeGetRequest;
    // One that was taken back has nobody to hear it.
    Promise.resolve(finish.call(proxy, { requestId: request.id, ...outcome })).catch(() => {});
}

const refusal = (name, message) => ({ error: { name, message } });

async function begin(id, kind, details) {
    const request = { id, kind, options: JSON.parse(details) };
    // A second window would hide the first.
    if (current) return complete(request, refusal("NotAllowedError", "another request is being answered"));
    current = request;
    const made = await api.windows.create({ url: `passkey.html?${id}`, type: "popup", width: 400, height: 420 });
    request.window = made.id;
    if (current !== request) api.windows.remove(made.id).catch(() => {});
}

/** Lets the browser ask for other keys for a while. */
function stepAside() {
    const proxy = api.webAuthenticationProxy;
    proxy.detach();
    const awake = setInterval(() => api.runtime.getPlatformInfo(), 15_000);
    setTimeout(() => {
        clearInterval(awake);
        attach();
    }, otherwise);
}

/** Another extension may have this part of the browser; then it stays there. */
const attach = () => Promise.resolve(api.webAuthenticationProxy?.attach()).catch(() => {});

function listen() {
    const proxy = api.webAuthenticationProxy;
    if (!proxy || isListening) return;
    isListening = true;
    proxy.onCreateRequest.addListener(({ requestId, requestDetailsJson }) => begin(requestId, "create", requestDetailsJson));
    proxy.onGetRequest.addListener(({ requestId, requestDetailsJson }) => begin(requestId, "get", requestDetailsJson));
    proxy.onIsUvpaaRequest.addListener(({ requestId }) => proxy.completeIsUvpaaRequest({ requestId, isUvpaa: true }));
    proxy.onRequestCanceled.addListener((id) => {
        if (current?.id !== id) return;
        if (current.window) api.windows.remove(current.window).catch(() => {});
        current = undefined;
    });
    attach();
}

export function answerForPasskeys() {
    listen();
    api.permissions.onAdded.addListener(async () => {
        if (await api.permissions.contains(right).catch(() => false)) {
            listen();
            attach();
        }
    });
    api.runtime.onConnect.addListener((port) => {
        const request = current;
        if (port.name !== `passkey:${request?.id}` || !port.sender.url.startsWith(api.runtime.getURL("passkey.html"))) return port.disconnect();
        port.onMessage.addListener((outcome) => {
            if (current !== request) return;
            complete(request, outcome.response ? { responseJson: JSON.stringify(outcome.response) } : refusal(outcome.name, outcome.message));
            if (outcome.other) stepAside();
        });
        // A window that is closed is a no.
        port.onDisconnect.addListener(() => {
            if (current === request) complete(request, refusal("NotAllowedError", "the person closed the window"));
        });
        port.postMessage({ kind: request.kind, options: request.options });
    });
}
