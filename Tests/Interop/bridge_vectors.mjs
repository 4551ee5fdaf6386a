// The extension's own JavaScript against the vectors. Usage: node bridge_vectors.mjs FOLDER VECTORS; FOLDER has the extension's files.
import { readFileSync } from "node:fs";

globalThis.chrome = {};
const [folder, vectors] = process.argv.slice(2);
const { handshake, importKey } = await import(`${folder}/noise.js`);
const { concat, hex, text, unhex, utf8 } = await import(`${folder}/bytes.js`);
const { commitmentOf, digitsOf } = await import(`${folder}/channel.js`);

function check(what, found, wanted) {
    if (found !== wanted) throw new Error(`${what}: ${found} and not ${wanted}`);
}

/** A key whose private half is known, as PKCS #8. */
async function pair(privateHalf, publicHalf) {
    const head = unhex("302e020100300506032b656e04220420");
    return {
        privateKey: await crypto.subtle.importKey("pkcs8", concat(head, privateHalf), { name: "X25519" }, false, ["deriveBits"]),
        publicKey: publicHalf,
    };
}

const { cases } = JSON.parse(readFileSync(vectors, "utf8"));
for (const each of cases) {
    const own = await pair(unhex(each.initiator), unhex(each.initiatorPublic));
    const id = unhex(each.id);
    const made = await handshake(await importKey(unhex(each.key)), concat(utf8("coffret/bridge/1"), id), async (first) => {
        check("opening", hex(concat([1], id, first)), each.opening);
        return unhex(each.answer);
    }, own);
    check("hash", hex(made.hash), each.hash);
    check("sealed request", hex(await made.out.seal(utf8(each.request))), each.sealedRequest);
    check("reply", text(await made.back.open(unhex(each.sealedReply))), each.reply);
    const paired = await handshake(await importKey(new Uint8Array(32)), utf8("coffret/bridge/pair/1"), async (first) => {
        check("opening of the pairing", hex(concat([2], first)), each.pairingOpening);
        return unhex(each.pairingAnswer);
    }, own);
    check("hash of the pairing", hex(paired.hash), each.pairingHash);
    const commitment = await commitmentOf(paired.hash, each.name, unhex(each.reveal));
    check("commitment", hex(commitment), each.commitment);
    check("digits", await digitsOf(paired.hash, commitment, each.name, unhex(each.challenge), unhex(each.reveal)), each.digits);
}
console.log(`${cases.length} cases held`);
