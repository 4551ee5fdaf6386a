// Bytes and texts.

export const utf8 = (text) => new TextEncoder().encode(text);
export const text = (bytes) => new TextDecoder().decode(bytes);

export function concat(...parts) {
    const whole = new Uint8Array(parts.reduce((count, part) => count + part.length, 0));
    let offset = 0;
    for (const part of parts) {
        whole.set(part, offset);
        offset += part.length;
    }
    return whole;
}

/** Four bytes of length, then the bytes. */
export function prefixed(bytes) {
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, bytes.length);
    return concat(length, bytes);
}

export const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");

export function unhex(digits) {
    if (!/^([0-9a-f]{2})*$/.test(digits)) throw new Error("these are no hexadecimal digits");
    return Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

export const base64 = (bytes) => btoa(String.fromCharCode(...bytes));
export const unbase64 = (characters) => Uint8Array.from(atob(characters), (character) => character.charCodeAt(0));
