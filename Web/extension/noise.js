// Noise_NNpsk0_25519_AESGCM_SHA256 as initiator, by WebCrypto alone. The key of the pairing is an HKDF key that no script can read:
// Noise's HKDF is that of RFC 5869 with an empty info. Spec: Spec/bridge.md section 2.

import { concat, utf8 } from "./bytes.js";

const name = "Noise_NNpsk0_25519_AESGCM_SHA256";
const nothing = new Uint8Array(0);

export const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));

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

/**
 * Performs a handshake.
 * @param psk an HKDF key
 * @param exchange sends the first message and gives the second
 * @param ephemeral for vectors; else a pair of its own
 */
export async function handshake(psk, prologue, exchange, ephemeral) {
    let hash = utf8(name);
    let chain = hash;
    let cipher;
    const mixHash = async (bytes) => {
        hash = await sha256(concat(hash, bytes));
    };
    const mixKey = async (bytes) => {
        const [next, key] = await derive(chain, await importKey(bytes), 2);
        chain = next;
        cipher = await Cipher.make(key);
    };
    await mixHash(prologue);
    const [next, mixed, key] = await derive(chain, psk, 3);
    chain = next;
    await mixHash(mixed);
    cipher = await Cipher.make(key);
    const own = ephemeral ?? (await crypto.subtle.generateKey({ name: "X25519" }, false, ["deriveBits"]));
    const ownPublic = new Uint8Array(await crypto.subtle.exportKey("raw", own.publicKey));
    await mixHash(ownPublic);
    await mixKey(ownPublic);
    const tag = await cipher.seal(nothing, hash);
    await mixHash(tag);

    const answer = await exchange(concat(ownPublic, tag));
    if (answer.length !== 48) throw new Error("the answer of the handshake has another size");
    const other = answer.slice(0, 32);
    await mixHash(other);
    await mixKey(other);
    const otherKey = await crypto.subtle.importKey("raw", other, { name: "X25519" }, false, []);
    const shared = await crypto.subtle.deriveBits({ name: "X25519", public: otherKey }, own.privateKey, 256);
    await mixKey(new Uint8Array(shared));
    const sealed = answer.slice(32);
    await cipher.open(sealed, hash);
    await mixHash(sealed);
    const [out, back] = await derive(chain, await importKey(nothing), 2);
    return { out: await Cipher.make(out), back: await Cipher.make(back), hash };
}
