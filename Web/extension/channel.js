// From the extension to the agent: the host, and the sealed channel through it. Spec: Spec/bridge.md.

import { base64, concat, hex, prefixed, text, unbase64, unhex, utf8 } from "./bytes.js";
import { forgetPairing, keepPairing, readPairing } from "./keys.js";
import { handshake, importKey, sha256 } from "./noise.js";

const api = globalThis.browser ?? chrome;

/** Why nothing came: `missing`, `locked`, `refused`, `ended`, `unpaired`, or a code of `errors.md`. */
export class BridgeError extends Error {
    constructor(code, words) {
        super(words ?? code);
        this.code = code;
    }
}

/** The host that the browser starts. One message, one answer. */
class Host {
    #port = api.runtime.connectNative("org.coffret.bridge");
    #waiting = [];
    #hasAnswered = false;
    #end;

    constructor() {
        this.#port.onMessage.addListener((message) => {
            this.#hasAnswered = true;
            this.#waiting.shift()?.resolve(message);
        });
        this.#port.onDisconnect.addListener((port) => {
            const words = port.error?.message ?? api.runtime.lastError?.message ?? "";
            const isMissing = /not found|no such native|forbidden|access to the specified/i.test(words);
            this.#end = new BridgeError(isMissing ? "missing" : this.#hasAnswered ? "ended" : "refused", words);
            for (const waiting of this.#waiting.splice(0)) waiting.reject(this.#end);
        });
    }

    async exchange(message) {
        if (this.#end) throw this.#end;
        const answer = await new Promise((resolve, reject) => {
            this.#waiting.push({ resolve, reject });
            this.#port.postMessage(message);
        });
        if (answer.locked) throw new BridgeError("locked", answer.locked);
        if (answer.absent) throw new BridgeError("absent");
        if (answer.failed) throw new BridgeError(answer.failed);
        return answer;
    }

    /** Sends bytes to the session, and gives the bytes that come back. */
    async pass(bytes, members = {}) {
        return unbase64((await this.exchange({ ...members, m: base64(bytes) })).m);
    }

    close() {
        this.#port.disconnect();
    }
}

/** A channel with the session, after its handshake. Requests take turns. */
class Channel {
    #turn = Promise.resolve();

    constructor(host, keys) {
        this.host = host;
        this.keys = keys;
    }

    /** @returns the answer, or throws the refusal. */
    ask(request) {
        const answer = this.#turn.then(async () => {
            const sealed = await this.host.pass(await this.keys.out.seal(utf8(JSON.stringify(request))));
            return JSON.parse(text(await this.keys.back.open(sealed)));
        });
        this.#turn = answer.catch(() => {});
        return answer.then((reply) => {
            if (reply.error) throw new BridgeError(reply.error.code, reply.error.message);
            return reply.ok;
        });
    }

    close() {
        this.host.close();
    }
}

/** @param prepare gives what the handshake begins with; meanwhile the browser starts the host, which takes longest */
async function open(kind, prepare) {
    const host = new Host();
    try {
        const { head, psk, prologue } = await prepare();
        const keys = await handshake(psk, prologue, (first) => host.pass(concat(head, first), { open: kind }));
        return new Channel(host, keys);
    } catch (error) {
        host.close();
        throw error;
    }
}

/** Opens a session for the paired browser. */
export function openSession() {
    return open("session", async () => {
        const pairing = await readPairing();
        if (!pairing) throw new BridgeError("unpaired");
        const { id, key } = pairing;
        return { head: concat([1], id), psk: key, prologue: concat(utf8("coffret/bridge/1"), id) };
    });
}

/**
 * Has the agent ask the person for the passphrase.
 * @returns the host, which is closed by its page's end: while it runs the question can name the browser
 */
export async function unlock() {
    const host = new Host();
    try {
        await host.exchange({ unlock: true });
    } catch (error) {
        host.close();
        throw error;
    }
    return host;
}

export async function commitmentOf(hash, name, value) {
    return sha256(concat(utf8("coffret/bridge/commit/1"), prefixed(hash), prefixed(utf8(name)), value));
}

export async function digitsOf(hash, commitment, name, challenge, value) {
    const input = concat(
        utf8("coffret/bridge/digits/1"), prefixed(hash), commitment, prefixed(utf8(name)), challenge, value);
    const output = await crypto.subtle.digest("SHA-512", input);
    return String(new DataView(output).getBigUint64(0) % 1000000n).padStart(6, "0");
}

/**
 * Pairs this browser.
 * @param show is given the six digits, which the person types at Coffret's own question
 * @returns the name under which the browser is paired
 */
export async function pair(name, show) {
    const channel = await open("pairing", async () => {
        return { head: [2], psk: await importKey(new Uint8Array(32)), prologue: utf8("coffret/bridge/pair/1") };
    });
    try {
        const hash = channel.keys.hash;
        const value = crypto.getRandomValues(new Uint8Array(32));
        const commitment = await commitmentOf(hash, name, value);
        const { challenge } = await channel.ask({ name, commitment: hex(commitment) });
        show(await digitsOf(hash, commitment, name, unhex(challenge), value));
        const given = await channel.ask({ reveal: hex(value) });
        const raw = unhex(given.key);
        await keepPairing({ id: unhex(given.id), name: given.name, key: await importKey(raw) });
        raw.fill(0);
        try {
            if ((await channel.ask({ kept: true })).done !== true) throw new BridgeError("ended");
        } catch (error) {
            await forgetPairing();
            throw error;
        }
        return given.name;
    } finally {
        channel.close();
    }
}
