// The window of one passkey: it says which page asks, lets the person choose, and has the session make or use the key.
// Spec: Spec/passkeys.md.

import { openSession, unlock } from "./channel.js";
import { node, show } from "./view.js";
import { words } from "./words.js";

const api = globalThis.browser ?? chrome;
const ES256 = -7;

/** What a page gets to hear, by the code of a refusal. Everything else is `NotAllowedError`, which says nothing. */
const names = { "bridge.passkey.foreign": "SecurityError", "bridge.origin.refused": "SecurityError", "bridge.passkey.exists": "InvalidStateError" };

const port = api.runtime.connect({ name: `passkey:${location.search.slice(1)}` });
const { kind, options } = await new Promise((resolve, reject) => {
    port.onMessage.addListener(resolve);
    port.onDisconnect.addListener(() => reject(new Error("the request is over")));
}).catch(() => window.close());

const { origin, sameOriginWithAncestors } = options.extensions.remoteDesktopClientOverride;
const host = new URL(origin).host;
const site = (kind === "create" ? options.rp.id : options.rpId) ?? new URL(origin).hostname;
const listed = (kind === "create" ? options.excludeCredentials : options.allowCredentials) ?? [];
const common = { origin, site, framed: !sameOriginWithAncestors };
let session;
/** The host that has the agent ask; it goes with the window. */
let asking;

const text = (words, kind = "") => node("p", { class: kind }, words);
const action = (title, click, kind = "") => node("button", { class: kind, click: () => attempt(click) }, title);

function end(outcome) {
    port.postMessage(outcome);
    session?.close();
    window.close();
}

const refuse = (name, message) => end({ name, message });
const others = () => [
    action(words.passkeyOther, () => end({ other: true, name: "NotAllowedError", message: "the person uses another key" }), "other"),
    action(words.cancel, () => refuse("NotAllowedError", "the person said no"), "cancel"),
];

async function attempt(work) {
    try {
        await work();
    } catch (error) {
        if (error.code === "locked") return show("locked", text(words.locked), action(words.unlock, openVault, "main"), ...others());
        // A pause is no refusal: the person learns why nobody asks.
        if (error.code?.startsWith("bridge.") && error.code !== "bridge.pausing") return refuse(names[error.code] ?? "NotAllowedError", error.message);
        const known = words[error.code];
        show("failed", text(typeof known === "string" ? known : error.message, "warning"), ...others());
    }
}

async function openVault() {
    asking = await unlock();
    show("unlocking", text(words.unlocking), ...others());
    setTimeout(() => attempt(begin), 1000);
}

async function begin() {
    if (!session) {
        try {
            session = await openSession();
        } catch (error) {
            // The person may be typing the passphrase just now.
            if (error.code === "locked" && document.querySelector("main").dataset.state === "unlocking") return setTimeout(() => attempt(begin), 1000);
            throw error;
        }
    }
    if (kind === "create") return offerToMake();
    const { logins } = await session.ask({ do: "passkey-find", ...common, ...(listed.length && { credentials: listed.map((each) => each.id) }) });
    if (!logins.length) return show("none", text(words.passkeyNone(host)), ...others());
    const choices = logins.map((login) => action(login.username || login.title, () => use(login), "main login"));
    show("choose", node("h1", {}, words.passkeyUse(host)), ...choices, ...others());
}

async function use(login) {
    show("asked", text(words.passkeyAsked));
    const made = await session.ask({ do: "passkey-get", ...common, challenge: options.challenge, credentials: [login.credential] });
    end({
        response: credential(made, {
            clientDataJSON: made.clientData, authenticatorData: made.authenticatorData, signature: made.signature, userHandle: made.userHandle,
        }),
    });
}

function offerToMake() {
    // A site that names no kind of key takes this one.
    const kinds = options.pubKeyCredParams ?? [];
    if (kinds.length && !kinds.some((each) => each.alg === ES256)) return refuse("NotSupportedError", "Coffret makes keys for ES256");
    const make = action(words.passkeyMakeIt, async () => {
        show("asked", text(words.passkeyAsked));
        const { user, rp } = options;
        const made = await session.ask({
            do: "passkey-create", ...common, challenge: options.challenge, credentials: listed.map((each) => each.id), siteName: rp.name ?? site,
            username: user.name ?? "", displayName: user.displayName ?? "", userHandle: user.id,
        });
        end({
            response: credential(made, {
                clientDataJSON: made.clientData, attestationObject: made.attestation, authenticatorData: made.authenticatorData,
                publicKey: made.publicKey, publicKeyAlgorithm: ES256, transports: ["internal"],
            }),
        });
    }, "main make");
    show("make", node("h1", {}, words.passkeyMake(site)), text(words.passkeyFor(options.user.name || site), "soft"), make, ...others());
}

/** As `toJSON` of a browser's own credential has it. */
const credential = (made, response) => ({
    id: made.credential, rawId: made.credential, type: "public-key", authenticatorAttachment: "platform",
    clientExtensionResults: options.extensions.credProps ? { credProps: { rk: true } } : {}, response,
});

show("waiting", text(words.waiting, "soft"));
await attempt(begin);
