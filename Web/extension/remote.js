// Asking a device of the person for one value, over the relay of their server, which sees nothing of it. Spec: Spec/remote.md section 5.

import { concat, hex, unhex, utf8 } from "./bytes.js";
import { BridgeError } from "./channel.js";
import { answerOnce, askOnce, makePair } from "./noise.js";
import { base32 } from "./qr.js";

const seconds = 1_000;
const piece = 512;
const isBytes = (digits, count) => typeof digits === "string" && /^[0-9a-f]*$/.test(digits) && digits.length === 2 * count;

/** One end of a relay id. */
class Relay {
    #came = [];
    #waiting;
    #end;

    constructor(host, query = "") {
        this.socket = new WebSocket(`wss://${host}/v1/relay${query}`);
        this.socket.binaryType = "arraybuffer";
        this.socket.onmessage = ({ data }) => {
            this.#came.push(data);
            this.#waiting?.resolve();
        };
        this.socket.onclose = () => {
            this.#end = new BridgeError(this.id ? "remote.ended" : "remote.unreachable");
            this.#waiting?.resolve();
        };
    }

    async #next(duration) {
        if (!this.#came.length && !this.#end) {
            this.#waiting = Promise.withResolvers();
            const timer = setTimeout(this.#waiting.resolve, duration);
            await this.#waiting.promise;
            clearTimeout(timer);
            this.#waiting = undefined;
        }
        if (this.#came.length) return this.#came.shift();
        throw this.#end ?? new BridgeError("remote.unanswered");
    }

    async open() {
        const first = await this.#next(20 * seconds);
        if (!isBytes(first, 16)) throw new BridgeError("remote.unreachable");
        this.id = unhex(first);
    }

    async frame(duration) {
        const data = await this.#next(duration);
        if (typeof data === "string") throw new BridgeError("remote.mismatch");
        return new Uint8Array(data);
    }

    send(bytes) {
        this.socket.send(bytes);
    }

    close() {
        this.socket.close();
    }
}

/** Whatever does not open, or has another form, was not made by the device. */
async function trusting(work) {
    try {
        return await work();
    } catch (error) {
        throw error instanceof BridgeError ? error : new BridgeError("remote.mismatch");
    }
}

/** Length (4), JSON, and zeros up to a multiple of 512 bytes. */
export function filled(object) {
    const content = utf8(JSON.stringify(object));
    const whole = new Uint8Array(Math.ceil((4 + content.length) / piece) * piece);
    new DataView(whole.buffer).setUint32(0, content.length);
    whole.set(content, 4);
    return whole;
}

export function contentOf(plain) {
    const count = plain.length % piece === 0 && plain.length > 0 ? new DataView(plain.buffer, plain.byteOffset).getUint32(0) : NaN;
    const zeros = plain.slice(4 + count);
    if (!(zeros.length < piece && 4 + count <= plain.length) || zeros.some((byte) => byte !== 0)) throw new Error("a message of another form");
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(plain.slice(4, 4 + count)));
}

export const codeOf = (host, relayID, key, secret) => "COFFRET-BROWSER:1:" + base32(concat([host.length], utf8(host), relayID, key, secret));
export const admissionPrologue = (relayID) => concat(utf8("coffret/remote/browser/1"), relayID);
export const questionPrologue = (relayID, challenge) => concat(utf8("coffret/remote/1"), relayID, challenge);

/** Host and port as they go into an address; undefined for a text that is none. */
export function hostOf(typed) {
    const host = typed.trim().toLowerCase().replace(/^[a-z]+:\/\//, "").replace(/\/$/, "");
    return /^[!-~]{1,128}$/.test(host) && !/[/?#@\\]/.test(host) ? host : undefined;
}

/**
 * Has a device let this browser ask.
 * @param name of the browser
 * @param show is given the code, which the person takes to the device
 * @param joined is called once the device has come
 * @param signal ends it
 * @returns what is to be kept, once the person has said that it was their device
 */
export async function letIn(host, name, show, joined, signal) {
    const relay = new Relay(host);
    signal.addEventListener("abort", () => relay.close());
    try {
        await relay.open();
        const [pair, secret] = [await makePair(), crypto.getRandomValues(new Uint8Array(32))];
        show(codeOf(host, relay.id, pair.publicKey, secret));
        const first = await relay.frame(600 * seconds);
        return await trusting(async () => {
            const made = await answerOnce(pair, secret, admissionPrologue(relay.id), first, utf8(name.replace(/[^ -~]/g, "")));
            relay.send(made.answer);
            joined();
            const given = contentOf(await made.incoming.open(await relay.frame(600 * seconds)));
            if (!isBytes(given.id, 16) || !isBytes(given.account, 8) || !isBytes(given.device, 16) || !isBytes(given.key, 32) || typeof given.name !== "string") throw new Error("a message of another form");
            const [id, account, device, key] = [given.id, given.account, given.device, given.key].map(unhex);
            return { host, pair, id, account, device, key, name: given.name.slice(0, 60) };
        });
    } finally {
        relay.close();
    }
}

/**
 * Asks the device for one value of one login.
 * @param elsewhere as `letIn` gave it
 * @param question `{ origin, username?, field }`
 * @param joined is called once the device has come
 * @returns `{ title, label, value, seconds? }`
 */
export async function ask(elsewhere, question, joined) {
    const relay = new Relay(elsewhere.host, `?account=${hex(elsewhere.account)}&device=${hex(elsewhere.device)}`);
    const leave = () => relay.close();
    addEventListener("pagehide", leave);
    try {
        await relay.open();
        const opening = await relay.frame(60 * seconds);
        joined();
        return await trusting(async () => {
            if (opening.length !== 33 || opening[0] !== 1) throw new Error("a message of another form");
            const prologue = questionPrologue(relay.id, opening.slice(1));
            const answer = await askOnce(elsewhere.pair, elsewhere.key, prologue, filled(question), (first) => {
                relay.send(concat(elsewhere.id, first));
                return relay.frame(80 * seconds);
            });
            const given = contentOf(answer);
            if (typeof given.refused === "string") throw new BridgeError(given.refused);
            if (typeof given.title !== "string" || typeof given.value !== "string") throw new Error("a message of another form");
            return given;
        });
    } finally {
        removeEventListener("pagehide", leave);
        relay.close();
    }
}
