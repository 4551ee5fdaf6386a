// The one thing that the extension keeps: the key of its pairing, which no script can read.

const database = () =>
    new Promise((resolve, reject) => {
        const request = indexedDB.open("coffret", 1);
        request.onupgradeneeded = () => request.result.createObjectStore("keys");
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
    });

async function perform(mode, work) {
    const opened = await database();
    try {
        return await new Promise((resolve, reject) => {
            const transaction = opened.transaction("keys", mode);
            const request = work(transaction.objectStore("keys"));
            transaction.oncomplete = () => resolve(request.result);
            transaction.onabort = () => reject(transaction.error);
        });
    } finally {
        opened.close();
    }
}

/** @returns {Promise<{id: Uint8Array, name: string, key: CryptoKey} | undefined>} */
export const readPairing = () => perform("readonly", (store) => store.get("pairing"));
export const keepPairing = (pairing) => perform("readwrite", (store) => store.put(pairing, "pairing"));
export const forgetPairing = () => perform("readwrite", (store) => store.delete("pairing"));
