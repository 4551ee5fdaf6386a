// Noise by WebCrypto alone: NNpsk0 towards the agent, KK and NKpsk0 towards a device elsewhere. The key of the pairing is an HKDF key that no
// script can read: Noise's HKDF is that of RFC 5869 with an empty info. Spec: Spec/bridge.md section 2, Spec/remote.md section 5.

import { concat, utf8 } from "./bytes.js";

const nothing = new Uint8Array(0);

export const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

/** A pair of X25519 whose private half no script can read. */
export async function makePair() {
    const { privateKey, publicKey } = await crypto.subtle.generateKey({ name: "X25519" }, false, ["deriveBits"]);
    return { privateKey, publicKey: new Uint8Array(await crypto.subtle.exportKey("raw", publicKey)) };
}

async function agree(own, other) {
    const key = await crypto.subtle.importKey("raw", other, { name: "X25519" }, false, []);
    return new Uint8Array(await crypto.subtle.deriveBits({ name: "X25519", public: key }, own.privateKey, 256));
}

/** An HKDF key that cannot be exported. */
export const importKey = (bytes) => crypto.subtle.importKey("raw", bytes, "HKDF", false, ["deriveBits"]);

async function derive(salt, key, count) {
    const algorithm = { name: "HKDF", hash: "SHA-256", salt, info: nothing };
    const bits = new Uint8Array(await crypto.subtle.deriveBits(algorithm, key, count * 256));
    return Array.from({ length: count }, (_, index) => bits.slice(32 * index, 32 * index + 32));
}

class Cipher {
    static async make(bytes) {
        const cipher = new Cipher();
        cipher.key = await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
        cipher.count = 0;
        return cipher;
    }

    #parameters(additionalData) {
        const iv = new Uint8Array(12);
        new DataView(iv.buffer).setBigUint64(4, BigInt(this.count));
        this.count += 1;
        return { name: "AES-GCM", iv, additionalData };
    }

    async seal(plain, additionalData = nothing) {
        return new Uint8Array(await crypto.subtle.encrypt(this.#parameters(additionalData), this.key, plain));
    }

    async open(sealed, additionalData = nothing) {
        return new Uint8Array(await crypto.subtle.decrypt(this.#parameters(additionalData), this.key, sealed));
    }
}

/** The symmetric state of a handshake. */
class State {
    static async begin(pattern, prologue) {
        const state = new State();
        state.hash = state.chain = utf8(`Noise_${pattern}_25519_AESGCM_SHA256`.padEnd(32, "\0"));
        await state.mixHash(prologue);
        return state;
    }

    async mixHash(bytes) {
        this.hash = await sha256(concat(this.hash, bytes));
    }

    async mixKey(bytes) {
        const [next, key] = await derive(this.chain, await importKey(bytes), 2);
        this.chain = next;
        this.cipher = await Cipher.make(key);
    }

    /** @param psk an HKDF key */
    async mixSecret(psk) {
        const [next, mixed, key] = await derive(this.chain, psk, 3);
        this.chain = next;
        await this.mixHash(mixed);
        this.cipher = await Cipher.make(key);
    }

    async seal(plain) {
        const sealed = await this.cipher.seal(plain, this.hash);
        await this.mixHash(sealed);
        return sealed;
    }

    async open(sealed) {
        const plain = await this.cipher.open(sealed, this.hash);
        await this.mixHash(sealed);
        return plain;
    }

    /** The ciphers of initiator and responder. */
    async split() {
        const keys = await derive(this.chain, await importKey(nothing), 2);
        return Promise.all(keys.map(Cipher.make));
    }
}

const half = (message, isWhole) => {
    if (!isWhole) throw new Error("a message of the handshake has another size");
    return [message.slice(0, 32), message.slice(32)];
};

/**
 * NNpsk0 as initiator.
 * @param psk an HKDF key
 * @param exchange sends the first message and gives the second
 * @param ephemeral for vectors; else a pair of its own
 */
export async function handshake(psk, prologue, exchange, ephemeral) {
    const state = await State.begin("NNpsk0", prologue);
    await state.mixSecret(psk);
    const own = ephemeral ?? (await makePair());
    await state.mixHash(own.publicKey);
    await state.mixKey(own.publicKey);
    const answer = await exchange(concat(own.publicKey, await state.seal(nothing)));
    const [other, sealed] = half(answer, answer.length === 48);
    await state.mixHash(other);
    await state.mixKey(other);
    await state.mixKey(await agree(own, other));
    await state.open(sealed);
    const [out, back] = await state.split();
    return { out, back, hash: state.hash };
}

/**
 * KK as initiator, for one question and its answer.
 * @param own this side's static pair
 * @param other the other side's static public key
 * @param exchange sends the first message and gives the second
 * @returns the payload of the second
 */
export async function askOnce(own, other, prologue, question, exchange, ephemeral) {
    const state = await State.begin("KK", prologue);
    await state.mixHash(own.publicKey);
    await state.mixHash(other);
    const fresh = ephemeral ?? (await makePair());
    await state.mixHash(fresh.publicKey);
    await state.mixKey(await agree(fresh, other));
    await state.mixKey(await agree(own, other));
    const answer = await exchange(concat(fresh.publicKey, await state.seal(question)));
    const [otherFresh, sealed] = half(answer, answer.length > 48);
    await state.mixHash(otherFresh);
    await state.mixKey(await agree(fresh, otherFresh));
    await state.mixKey(await agree(own, otherFresh));
    return state.open(sealed);
}

/**
 * NKpsk0 as responder: reads the first message, whose payload is empty.
 * @param own this side's static pair
 * @param secret 32 bytes that both sides have
 * @returns the answer, and the cipher of what the other side sends from then on
 */
export async function answerOnce(own, secret, prologue, message, payload, ephemeral) {
    const [other, sealed] = half(message, message.length === 48);
    const state = await State.begin("NKpsk0", prologue);
    await state.mixHash(own.publicKey);
    await state.mixSecret(await importKey(secret));
    await state.mixHash(other);
    await state.mixKey(other);
    await state.mixKey(await agree(own, other));
    await state.open(sealed);
    const fresh = ephemeral ?? (await makePair());
    await state.mixHash(fresh.publicKey);
    await state.mixKey(fresh.publicKey);
    await state.mixKey(await agree(fresh, other));
    const answer = concat(fresh.publicKey, await state.seal(payload));
    const [incoming] = await state.split();
    return { answer, incoming };
}
