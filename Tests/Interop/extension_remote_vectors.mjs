// The extension's own JavaScript against the vectors of requests over the relay. Usage: node extension_remote_vectors.mjs FOLDER VECTORS PAGE;
// FOLDER has the extension's files, PAGE is the page of one-time requests.
import { readFileSync } from "node:fs";

globalThis.chrome = {};
const [folder, vectors, page] = process.argv.slice(2);
const { answerOnce, askOnce } = await import(`${folder}/noise.js`);
const { concat, hex, unhex, utf8 } = await import(`${folder}/bytes.js`);
const { admissionPrologue, codeOf, contentOf, filled, hostOf, questionPrologue } = await import(`${folder}/remote.js`);

function check(what, found, wanted) {
    if (found !== wanted) throw new Error(`${what}: ${found} and not ${wanted}`);
}

async function refuses(what, work) {
    if (await work().then(() => true, () => false)) throw new Error(`${what} opened`);
}

/** A key whose private half is known, as PKCS #8. */
async function pair(privateHalf, publicHalf) {
    const head = unhex("302e020100300506032b656e04220420");
    return { privateKey: await crypto.subtle.importKey("pkcs8", concat(head, unhex(privateHalf)), { name: "X25519" }, false, ["deriveBits"]), publicKey: unhex(publicHalf) };
}

const { browsers, admissions } = JSON.parse(readFileSync(vectors, "utf8"));
check("vectors", browsers.length + admissions.length, 5);
for (const each of browsers) {
    const [own, fresh] = [await pair(each.browser, each.browserPublic), await pair(each.browserEphemeral, each.browserEphemeralPublic)];
    const [relay, opening, reply] = [unhex(each.relay), unhex(each.frames[0]), unhex(each.frames[2])];
    let sent;
    const ask = (answer, other = unhex(each.askedPublic)) =>
        askOnce(own, other, questionPrologue(relay, opening.slice(1)), filled(each.request), (first) => {
            sent = hex(concat(unhex(each.id), first));
            return answer;
        }, fresh);
    check("answer", JSON.stringify(contentOf(await ask(reply))), JSON.stringify(each.answer));
    check("question", sent, each.frames[1]);
    for (let index = 0; index < reply.length; index += index < 64 ? 1 : 61) {
        const altered = Uint8Array.from(reply);
        altered[index] ^= index === 31 ? 1 : 128;
        await refuses(`an answer that was altered at ${index}`, () => ask(altered));
    }
    await refuses("the answer of another device", () => ask(reply, own.publicKey));
}
for (const each of admissions) {
    const [own, fresh] = [await pair(each.browser, each.browserPublic), await pair(each.browserEphemeral, each.browserEphemeralPublic)];
    const [relay, secret] = [unhex(each.relay), unhex(each.secret)];
    const [first, , third] = each.frames.map(unhex);
    const answer = (with_ = secret, message = first, id = relay) => answerOnce(own, with_, admissionPrologue(id), message, utf8(each.name), fresh);
    const made = await answer();
    check("answer", hex(made.answer), each.frames[1]);
    check("given", JSON.stringify(contentOf(await made.incoming.open(third))), JSON.stringify(each.given));
    check("code", codeOf(each.host, relay, own.publicKey, secret), each.code);
    await refuses("a message without the secret", () => answer(new Uint8Array(32)));
    await refuses("a message of another relay id", () => answer(secret, first, new Uint8Array(16)));
    const altered = Uint8Array.from(third);
    altered[40] ^= 1;
    const other = await answer();
    await refuses("an admission that was altered", () => other.incoming.open(altered));
}
for (const [typed, wanted] of [[" Vault.example ", "vault.example"], ["https://vault.example/", "vault.example"], ["a:7440", "a:7440"], ["a/b", undefined], ["", undefined], ["a@b", undefined], ["a b", undefined]]) check(typed, hostOf(typed), wanted);
// One text makes codes in the page and in the extension.
const [shared, whole] = [readFileSync(`${folder}/qr.js`, "utf8"), readFileSync(page, "utf8")];
const parts = shared.slice(shared.indexOf("function base32"), shared.indexOf("\nexport")).split(/\n\n(?=\/\/ QR codes)/);
check("parts", parts.length, 2);
for (const part of parts) check("the page has the same text", whole.includes(part.trimEnd()), true);
console.log("all held");
