// What the extension keeps: the key of its pairing, and its key towards a device elsewhere. No script can read them.

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

/** @returns {Promise<object | undefined>} the device elsewhere that may be asked, as `remote.js` makes it */
export const readElsewhere = () => perform("readonly", (store) => store.get("elsewhere"));
export const keepElsewhere = (elsewhere) => perform("readwrite", (store) => store.put(elsewhere, "elsewhere"));
export const forgetElsewhere = () => perform("readwrite", (store) => store.delete("elsewhere"));
