// Vectors of one-time requests against the page's own script, and its QR codes. Arguments: the page, the vectors, a folder for pictures.

import { readFileSync, writeFileSync } from "node:fs";
import { webcrypto } from "node:crypto";
import vm from "node:vm";

const [pagePath, vectorPath, folder] = process.argv.slice(2);
const script = readFileSync(pagePath, "utf8").match(/<script>([\s\S]*?)<\/script>/)[1];
const world = vm.createContext({
  location: { protocol: "file:", hash: "" }, crypto: webcrypto, TextEncoder, TextDecoder, Uint8Array, DataView,
});
vm.runInContext(script + "\nglobalThis.page = { respond, content, makeCode, qrCode };", world);
const { respond, content, makeCode, qrCode } = world.page;

const unhex = (digits) => Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const hex = (bytes) => Buffer.from(bytes).toString("hex");
const fail = (words) => {
  throw new Error(words);
};

async function pair(privateHex, publicHex) {
  const encode = (digits) => Buffer.from(digits, "hex").toString("base64url");
  const key = { kty: "OKP", crv: "X25519", x: encode(publicHex) };
  const publicKey = await webcrypto.subtle.importKey("jwk", key, { name: "X25519" }, true, []);
  const privateKey = await webcrypto.subtle.importKey("jwk", { ...key, d: encode(privateHex) }, { name: "X25519" }, false, ["deriveBits"]);
  return { publicKey, privateKey };
}

const vectors = JSON.parse(readFileSync(vectorPath, "utf8")).pages;
if (vectors.length !== 3) fail("another number of vectors");
for (const vector of vectors) {
  const own = await pair(vector.page, vector.pagePublic);
  const ephemeral = await pair(vector.pageEphemeral, vector.pageEphemeralPublic);
  const prologue = Buffer.concat([Buffer.from("coffret/ask/1"), unhex(vector.relay)]);
  const [first, second, third] = vector.frames.map(unhex);
  const answered = (secret, message, relay = prologue) =>
    respond(Uint8Array.from(relay), own, Uint8Array.from(secret), message, new TextEncoder().encode(vector.place), ephemeral);
  const made = await answered(unhex(vector.secret), first);
  if (hex(made.answer) !== vector.frames[1]) fail("the answer differs");
  const given = content(await made.incoming.run("decrypt", third, new Uint8Array(0)));
  if (given.value !== vector.value || given.label !== vector.label || (given.seconds ?? null) !== vector.seconds) fail("the value differs");
  if (makeCode(vector.host, unhex(vector.relay), unhex(vector.pagePublic), unhex(vector.secret)) !== vector.code) fail("the code differs");
  // Whatever is altered does not open.
  const refuses = async (work, words) => {
    const opened = await work().then(() => true, () => false);
    if (opened) fail(words);
  };
  for (let index = 0; index < first.length; index += 1) {
    const altered = Uint8Array.from(first);
    altered[index] ^= index === 31 ? 1 : 128;
    await refuses(() => answered(unhex(vector.secret), altered), `a first message that was altered at ${index} opened`);
  }
  await refuses(() => answered(new Uint8Array(32), first), "a first message without the secret opened");
  await refuses(() => answered(unhex(vector.secret), first, Buffer.alloc(prologue.length)), "a message of another relay id opened");
  await refuses(async () => {
    const other = await answered(unhex(vector.secret), first);
    const altered = Uint8Array.from(third);
    altered[40] ^= 1;
    content(await other.incoming.run("decrypt", altered, new Uint8Array(0)));
  }, "a value that was altered opened");
}
console.log("held: vectors");

// Codes of all versions, as pictures for a reader of QR codes.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
const lengths = [16, 36, 60, 88, 120, 150, 176, 216, 258, 309, 364, 419];
lengths.forEach((length, index) => {
  let text = "COFFRET-ASK:1:";
  for (let number = index * 7; text.length < length; number += 1) text += letters[(number * number + 3 * number) % 32];
  const grid = qrCode(text) ?? fail(`no code for ${length} characters`);
  if (grid.length !== 21 + 4 * index) fail(`a code of ${grid.length} modules for ${length} characters`);
  const scale = 4;
  const size = (grid.length + 8) * scale;
  let picture = `P1\n${size} ${size}\n`;
  for (let y = 0; y < size; y += 1) {
    for (let x = 0; x < size; x += 1) picture += grid[Math.floor(y / scale) - 4]?.[Math.floor(x / scale) - 4] ? "1 " : "0 ";
    picture += "\n";
  }
  writeFileSync(`${folder}/${index}.pbm`, picture);
  writeFileSync(`${folder}/${index}.txt`, text);
});
if (qrCode("A".repeat(420)) !== null) fail("a text that is too long got a code");
console.log("held: codes");
