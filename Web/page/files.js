// @ts-check
// Files of items: shown, added and saved. Their contents come in pieces through the front, and a picture is what its first bytes say.

import { el } from "./el.js";
import { icon } from "./icons.js";
import { ask } from "./session.js";
import { allows, state, tell } from "./state.js";
import { refused, toast } from "./dialogs.js";
import { byteWords, counted } from "./words.js";

const pieceByteCount = 3 << 20;
/** A front takes no more of its page. */
const byteCountMax = 256 << 20;
const pictureByteCountMax = 32 << 20;
const pixelCountMax = 50_000_000;

/** @param {Uint8Array} bytes */
function base64(bytes) {
  let text = "";
  for (let at = 0; at < bytes.length; at += 32_768) text += String.fromCharCode(...bytes.subarray(at, at + 32_768));
  return btoa(text);
}

/** @param {string} text */
function unbase64(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let at = 0; at < raw.length; at++) bytes[at] = raw.charCodeAt(at);
  return bytes;
}

/**
 * Gives a file of the person's to the front, and does something with it there.
 * @param {Blob} file
 * @param {(ticket: string) => Promise<any>} body
 */
async function holding(file, body) {
  const ticket = await giveToFront(file);
  try { return await body(ticket); } finally { ask("front.drop", { ticket }, { byProgram: true }).catch(() => {}); }
}

/**
 * Gives a file of the person's to the front.
 * @param {Blob} file
 * @returns {Promise<string>} its ticket, to be dropped
 */
export async function giveToFront(file) {
  if (file.size > byteCountMax) throw new Error(`a file of ${byteWords(file.size)} goes in by commands alone`);
  const { ticket } = await ask("front.hold");
  try {
    // One that is not there has no bytes either, and says so when it is read.
    if (file.size === 0) await file.arrayBuffer().catch(() => { throw new Error("this file is not there, or cannot be read"); });
    for (let at = 0; at < file.size; at += pieceByteCount) {
      const bytes = new Uint8Array(await file.slice(at, at + pieceByteCount).arrayBuffer());
      await ask("front.put", { ticket, bytes: base64(bytes) });
    }
    return ticket;
  } catch (error) {
    ask("front.drop", { ticket }, { byProgram: true }).catch(() => {});
    throw error;
  }
}

/**
 * What was dropped on the window. Its engine gives the page no files of others: the front has them.
 * @returns {Promise<{ files: File[], folders: { name: string, ticket: string }[], unread: string[] }>}
 */
export async function takeDropped() {
  const [files, folders, unread] = [/** @type {File[]} */ ([]), /** @type {{ name: string, ticket: string }[]} */ ([]), /** @type {string[]} */ ([])];
  for (;;) {
    let next;
    try { next = await ask("front.choose", { kind: "dropped" }); } catch (error) { if (/** @type {any} */ (error)?.code === "front.choice.none") return { files, folders, unread }; throw error; }
    if (next.isFolder) folders.push(next);
    else if (!next.ticket) unread.push(next.name);
    else {
      try {
        if (next.byteCount > byteCountMax) unread.push(next.name);
        else files.push(new File(await pieces(next.ticket), next.name, { lastModified: next.modified }));
      } finally { ask("front.drop", { ticket: next.ticket }, { byProgram: true }).catch(() => {}); }
    }
  }
}

/**
 * All that the front holds of a file.
 * @param {string} ticket
 */
async function pieces(ticket) {
  const found = [];
  for (let offset = 0; ;) {
    const piece = unbase64((await ask("front.get", { ticket, offset }, { byProgram: true })).bytes);
    if (piece.length === 0) return found;
    found.push(piece);
    offset += piece.length;
  }
}

/**
 * The content of a file of an item.
 * @param {any} item @param {any} file
 * @returns {Promise<Uint8Array[]>}
 */
async function contents(item, file) {
  if (file.byteCount > byteCountMax) throw new Error(`a file of ${byteWords(file.byteCount)} comes out by commands alone`);
  const { ticket } = await ask("front.hold", {}, { byProgram: true });
  try {
    await ask("front.fetch", { ticket, item: item.id, vault: state.vault, name: file.id }, { byProgram: true });
    return await pieces(ticket);
  } finally {
    ask("front.drop", { ticket }, { byProgram: true }).catch(() => {});
  }
}

/**
 * What a raster picture's first bytes say of its kind and size; null for everything else, whatever its name says.
 * @param {Uint8Array} bytes
 * @returns {{ type: string, width: number, height: number } | null}
 */
export function pictureOf(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const starts = (/** @type {number[]} */ ...with_) => with_.every((byte, at) => bytes[at] === byte);
  if (bytes.length > 24 && starts(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return { type: "image/png", width: view.getUint32(16), height: view.getUint32(20) };
  if (bytes.length > 10 && starts(0x47, 0x49, 0x46, 0x38)) return { type: "image/gif", width: view.getUint16(6, true), height: view.getUint16(8, true) };
  if (bytes.length > 4 && starts(0xff, 0xd8, 0xff)) {
    for (let at = 2; at + 9 < bytes.length;) {
      if (bytes[at] !== 0xff) return null;
      const marker = bytes[at + 1];
      if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) return { type: "image/jpeg", width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
      at += marker === 0xff ? 1 : 2 + view.getUint16(at + 2);
    }
    return null;
  }
  if (bytes.length > 30 && starts(0x52, 0x49, 0x46, 0x46) && view.getUint32(8) === 0x57454250) {
    const kind = view.getUint32(12);
    const three = (/** @type {number} */ at) => 1 + bytes[at] + (bytes[at + 1] << 8) + (bytes[at + 2] << 16);
    if (kind === 0x56503858) return { type: "image/webp", width: three(24), height: three(27) };
    if (kind === 0x56503820) return { type: "image/webp", width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
    const bits = view.getUint32(21, true);
    if (kind === 0x5650384c) return { type: "image/webp", width: 1 + (bits & 0x3fff), height: 1 + ((bits >> 14) & 0x3fff) };
  }
  return null;
}

/** @typedef {{ address: string, width: number, height: number }} Picture */

/**
 * Pictures of the item that is open, by the ids of their files.
 * @type {Map<string, Promise<Picture | null>>}
 */
const pictures = new Map();

/** Pictures go with the item that has them. */
export function dropPictures() {
  for (const each of pictures.values()) void each.then((found) => { if (found) URL.revokeObjectURL(found.address); }, () => {});
  pictures.clear();
}

/**
 * Whether a name looks like that of a picture; its first bytes decide.
 * @param {any} file
 */
const mayBePicture = (file) => /\.(png|jpe?g|gif|webp)$/i.test(file.name) && file.byteCount <= pictureByteCountMax && file.isHere !== false;

/**
 * What a picture's bytes say, if it is one that may be drawn.
 * @param {Uint8Array | undefined} bytes
 */
function drawable(bytes) {
  const found = bytes ? pictureOf(bytes) : null;
  const count = found ? found.width * found.height : 0;
  return found && count > 0 && count <= pixelCountMax ? found : null;
}

/**
 * @param {any} item @param {any} file
 * @returns {Promise<Picture | null>}
 */
async function readPicture(item, file) {
  const pieces = await contents(item, file);
  const found = drawable(pieces[0]);
  if (!found) return null;
  return { address: URL.createObjectURL(new Blob(/** @type {any} */ (pieces), { type: found.type })), width: found.width, height: found.height };
}

/**
 * A new node of a picture of an item, or null.
 * @param {any} item @param {any} file
 * @returns {Promise<HTMLImageElement | null>}
 */
export async function pictureNode(item, file) {
  if (!mayBePicture(file)) return null;
  const reading = pictures.get(file.id) ?? readPicture(item, file);
  pictures.set(file.id, reading);
  const found = await reading;
  if (!found || pictures.get(file.id) !== reading) return null;
  const node = /** @type {HTMLImageElement} */ (el("img", { class: "picture", src: found.address, alt: file.name, width: found.width, height: found.height }));
  return new Promise((resolve) => { node.onload = () => resolve(node); node.onerror = () => resolve(null); });
}

/**
 * Saves a file where the person says: by the window's own dialog, or as a download of the tab.
 * @param {any} item @param {any} file
 */
async function save(item, file) {
  try {
    if (allows("front.choose")) {
      const chosen = await ask("front.choose", { kind: "file", name: file.name });
      try { await ask("front.fetch", { ticket: chosen.ticket, item: item.id, vault: state.vault, name: file.id }); } finally { void ask("front.drop", { ticket: chosen.ticket }); }
      toast(`${chosen.name} is saved. It is not encrypted there.`);
      return;
    }
    const address = URL.createObjectURL(new Blob(/** @type {any} */ (await contents(item, file)), { type: "application/octet-stream" }));
    const link = el("a", { href: address, download: file.name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
    toast(`${file.name} is saved. It is not encrypted there.`);
  } catch (error) { if (/** @type {any} */ (error)?.code !== "front.choice.none") refused(error); }
}

/** @param {any} item @param {any} file */
async function remove(item, file) {
  try {
    await ask("file.remove", { item: item.id, vault: state.vault, name: file.id });
    toast(`${file.name} was taken away. The history has it.`);
    tell("files-changed");
  } catch (error) { refused(error); }
}

/**
 * The files of an item as cards, pictures among them in full.
 * @param {any} item
 * @param {string[]} [elsewhere] files whose pictures stand in the text
 */
export function fileCards(item, elsewhere = []) {
  const place = el("div", { class: "attachments" });
  const shown = el("div", { class: "pictures" });
  const cards = el("ul", { class: "files" }, item.attachments.map((/** @type {any} */ file) => el("li", { class: "file" }, el("span", { class: "file-icon" }, icon("clip")),
    el("span", {}, el("b", {}, file.name), el("small", {}, byteWords(file.byteCount) + (file.isHere === false ? ", not on this computer yet" : ""))),
    el("button", { type: "button", class: "icon-button", "aria-label": `Save ${file.name}`, title: "Save", onclick: () => save(item, file) }, icon("bring")),
    item.isTrashed ? null : el("button", { type: "button", class: "icon-button", "aria-label": `Take ${file.name} away`, title: "Take away", onclick: () => remove(item, file) }, icon("x")))));
  place.append(shown, cards);
  void (async () => {
    for (const file of item.attachments) {
      if (elsewhere.includes(file.id)) continue;
      const node = await pictureNode(item, file).catch(() => null);
      if (!place.isConnected) return;
      if (node) shown.append(node);
    }
  })();
  return place;
}

/**
 * Adds files to an item, one change each.
 * @param {any} item @param {Iterable<File>} files
 * @returns {Promise<string[]>} the names of those that are pictures
 */
export async function addFiles(item, files) {
  const vault = state.vault;
  let count = 0;
  const names = [];
  for (const file of files) {
    try {
      toast(`Adding ${file.name} …`);
      await holding(file, (ticket) => ask("front.attach", { ticket, item: item.id, vault, name: file.name }));
      count += 1;
      const head = new Uint8Array(await file.slice(0, pieceByteCount).arrayBuffer());
      if (mayBePicture({ name: file.name, byteCount: file.size }) && drawable(head)) names.push(file.name);
    } catch (error) { refused(error); break; }
  }
  if (count === 0) return names;
  toast(`${counted(count, "file is", "files are")} in "${item.title || "Without a title"}" now.`);
  tell("files-changed");
  return names;
}

/**
 * Asks for files, and gives them to `body`.
 * @param {(files: File[]) => void} body
 * @param {boolean} [isMany]
 */
export function chooseFiles(body, isMany = true) {
  const input = el("input", { type: "file", class: "unseen", "aria-label": "Files", tabindex: "-1" });
  input.multiple = isMany;
  input.addEventListener("change", () => { input.remove(); body([...input.files]); });
  input.addEventListener("cancel", () => input.remove());
  document.body.append(input);
  input.click();
}
