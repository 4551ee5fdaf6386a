// @ts-check
// The right pane: one note or login, read and written.

import { el } from "./el.js";
import { icon, iconButton } from "./icons.js";
import { ask, Locked } from "./session.js";
import { allows, state, tell } from "./state.js";
import { confirmed, refused, sheet, toast } from "./dialogs.js";
import { NoteEditor } from "./editor.js";
import { copyByKey, fieldsForm, fieldsPane, stopFields } from "./fields.js";
import { addFiles, chooseFiles, dropPictures, fileCards, pictureNode } from "./files.js";
import { historyPane } from "./history.js";
import { conflictBanner } from "./conflicts.js";
import { words } from "./words.js";

const place = el("main", { class: "pane", "aria-label": "Item" });
/** @type {any} */
let item = null;
/** @type {NoteEditor | null} */
let editor = null;
let mode = "read";
let serial = 0;
/** @type {Promise<boolean> | null} */
let leave = null;
let isMaking = false;

export const pane = () => place;
export const openItem = () => item;

/** Nothing of the store stays in the pane. */
export function dropItem() {
  serial++;
  stopFields();
  dropPictures();
  editor = null;
  item = null;
  place.replaceChildren();
}

/**
 * Leaves what is open. A note whose text cannot be saved stays open, so that nothing that was typed is lost.
 * @returns {Promise<boolean>} whether it is left
 */
export function leaveItem() {
  leave ??= leaveNow().finally(() => { leave = null; });
  return leave;
}

async function leaveNow() {
  stopFields();
  if (place.querySelector("form[data-changed]")) {
    if (!(await confirmed("Leave the form?", "What you filled in is not saved.", "Leave it"))) return false;
    place.querySelector("form")?.removeAttribute("data-changed");
  }
  if (!editor) return true;
  const leaving = editor;
  if (!(await leaving.save())) {
    toast("This note stays open: what you typed could not be saved yet.", { isWarning: true });
    return false;
  }
  // What is typed from here on would go nowhere.
  leaving.editor.setOption("readOnly", true);
  if (editor === leaving) editor = null;
  return true;
}

/** Whether something that was typed is not saved yet. */
export const isUnsaved = () => editor !== null && (editor.isChanged || editor.isSaving);

/** Saves what is open, and stays there. */
export const saveItem = () => editor?.save() ?? Promise.resolve(true);

/**
 * Shows what is selected; the newest wish wins. Nobody is asked for a passphrase of a note but who opens it.
 * @param {{ focuses?: boolean, isAtEnd?: boolean }} [options]
 */
export async function showSelected(options = {}) {
  const wanted = state.selected;
  const own = ++serial;
  if (!(await leaveItem())) { state.selected = item?.id ?? null; tell("stayed"); return; }
  if (own !== serial) return;
  if (!wanted) { item = null; draw(); return; }
  try {
    const read = await readItem(wanted, options.focuses === true && state.front.front !== "tab");
    if (own !== serial) return;
    item = read;
    state.selected = read.id;
    mode = "read";
    draw();
    if (options.focuses) focusItem();
    if (options.isAtEnd) editor?.editor.execCommand("goDocEnd");
  } catch (error) {
    if (own !== serial) return;
    if (error instanceof Locked) { tell("locked"); return; }
    item = null;
    place.replaceChildren(el("div", { class: "empty" }, el("div", {}, el("h1", {}, "This cannot be shown."), el("p", {}, String(/** @type {any} */ (error).message)))));
  }
}

/**
 * Who does not answer for a passphrase is shown the note as it is locked.
 * @param {string} wanted
 * @param {boolean} asks
 * @returns {Promise<any>}
 */
async function readItem(wanted, asks) {
  const fields = { item: wanted, vault: state.vault };
  try { return await ask("item.read", asks ? fields : { ...fields, asksNobody: true }); } catch (error) {
    if (asks && /** @type {any} */ (error)?.code === "operation.unanswered") return readItem(wanted, false);
    throw error;
  }
}

export function focusItem() {
  if (editor) editor.focus();
  else /** @type {HTMLElement | null} */ (place.querySelector(".line button, .body button, .bar button"))?.focus();
}

/** @param {any} of */
const tile = (of) => {
  let sum = 7;
  for (const letter of of.title || "?") sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973;
  return el("span", { class: `tile large colour-${sum % 7}`, "aria-hidden": "true" }, ([...(of.title || "?")][0] ?? "?").toUpperCase());
};

/** @param {Record<string, boolean>} flags @param {string} text */
async function flag(flags, text) {
  if (!item) return;
  const flagged = item;
  try {
    const answer = await ask("item.flag", { items: [flagged.id], vault: state.vault, ...flags });
    Object.assign(flagged, { isPinned: answer.items[0].isPinned, isArchived: answer.items[0].isArchived });
    toast(text);
    if (flagged === item) drawBar();
    tell("saved");
  } catch (error) { refused(error); }
}

export const togglePin = () => item && flag({ isPinned: !item.isPinned }, item.isPinned ? "The pin is off." : "Pinned.");
export const toggleArchive = () => item && flag({ isArchived: !item.isArchived }, item.isArchived ? "Back from the archive." : "Archived.");

export async function trashItem() {
  if (!item || item.isTrashed) return;
  const { id } = item;
  if (!(await leaveItem())) return;
  try {
    await ask("item.trash", { items: [id], vault: state.vault });
    state.selected = null;
    item = null;
    draw();
    tell("saved");
    toast("Moved to the trash.", { action: words.putBack, onaction: async () => { await ask("item.restore", { item: id, vault: state.vault }); state.selected = id; tell("saved"); tell("reopen"); } });
  } catch (error) { refused(error); }
}

async function putBack() {
  try { await ask("item.restore", { item: item.id, vault: state.vault }); toast("It is back."); tell("saved"); tell("reopen"); } catch (error) { refused(error); }
}

async function removeForGood() {
  if (!(await confirmed("Remove it for good?", `"${item.title}" leaves the trash. The history has it until the vault is compacted.`, words.removeForGood))) return;
  try { await ask("item.remove", { items: [item.id], vault: state.vault }); state.selected = null; item = null; draw(); tell("saved"); } catch (error) { refused(error); }
}

export async function toggleHistory() {
  if (!item) return;
  if (mode === "history") { tell("reopen"); return; }
  if (!(await leaveItem())) return;
  mode = "history";
  const own = ++serial;
  const node = await historyPane(item).catch((error) => { refused(error); return null; });
  if (own !== serial || !node) return;
  place.replaceChildren(bar(), node);
}

export function editFields() {
  if (!item || item.kind === "note" || item.isTrashed) return;
  const own = ++serial;
  const { id } = item;
  const form = fieldsForm(item, async (changes) => {
    const saved = (await ask("item.edit", { item: id, vault: state.vault, ...changes })).item;
    if (own === serial) { item = saved; draw(); }
    tell("saved");
  }, () => draw());
  place.replaceChildren(bar(), form.node);
  form.focus();
}

/** @param {"note" | "login"} kind */
export async function newItem(kind) {
  if (isMaking || !(await leaveItem())) return;
  const own = ++serial;
  if (kind === "login") {
    const form = fieldsForm({ kind: "login", title: "", text: "", fields: [] }, async (changes) => {
      const made = await ask("item.create", { vault: state.vault, ...changes });
      if (own === serial) { item = made; state.selected = made.id; draw(); }
      tell("saved");
    }, () => tell("reopen"));
    item = null;
    place.replaceChildren(el("div", { class: "bar" }, backButton(), el("span", { class: "crumb" }, words.newLogin)), form.node);
    form.focus();
    tell("show-pane");
    return;
  }
  isMaking = true;
  try {
    const made = await ask("item.create", { vault: state.vault, text: "# \n" });
    // Somebody who has opened something else meanwhile stays there.
    if (own === serial) {
      item = made;
      state.selected = item.id;
      draw();
      editor?.focus();
      editor?.editor.setCursor({ line: 0, ch: 2 });
      tell("show-pane");
    }
    tell("saved");
  } catch (error) { refused(error); }
  isMaking = false;
}

const backButton = () => iconButton("left", words.back, () => tell("back"), { class: "icon-button back" });

function bar() {
  if (!item) return el("div", { class: "bar" }, backButton());
  const crumbs = [state.vaults.find((vault) => vault.id === state.vault)?.name ?? "", item.kind === "note" ? item.tags[0] ?? "" : item.kind,
    // A title that was given stands nowhere in the text.
    item.kind === "note" && item.title && !item.text.includes(item.title) ? item.title : ""].filter(Boolean).join(" / ");
  return el("div", { class: "bar" }, backButton(), el("span", { class: "crumb grow" }, crumbs),
    iconButton("clock", words.history, toggleHistory, { "aria-pressed": String(mode === "history") }),
    item.isTrashed ? null : iconButton("pin", item.isPinned ? words.unpin : words.pin, togglePin, { "aria-pressed": String(item.isPinned) }),
    item.isTrashed || item.isSealed || item.isVeiled ? null : iconButton("clip", words.addFile, addFile),
    item.kind !== "note" || item.isTrashed || item.isSealed || item.isVeiled || !allows("note.lock") ? null
      : iconButton(item.isLocked ? "open" : "lock", item.isLocked ? words.releaseNote : words.lockNote, item.isLocked ? releaseNote : askToLock),
    item.isTrashed ? null : iconButton("box", item.isArchived ? words.unarchive : words.archiveIt, toggleArchive, { "aria-pressed": String(item.isArchived) }),
    item.isTrashed ? null : iconButton("trash", words.trashIt, trashItem));
}

export function addFile() {
  const to = item;
  if (to && !to.isTrashed) chooseFiles((files) => void addTo(to, files));
}

/**
 * Adds files to an item; pictures of a note stand in its text from then on.
 * @param {any} to @param {File[]} files
 */
async function addTo(to, files) {
  const names = await addFiles(to, files);
  if (item?.id === to.id) editor?.showPictures(names);
}

/**
 * Whether files that are dropped belong to what is open.
 * @param {File[]} files
 * @param {{ left: number, top: number }} place_
 */
export function dropFiles(files, place_) {
  if (!item || item.isTrashed || item.isSealed || item.isVeiled) return false;
  editor?.moveTo(place_);
  void addTo(item, files);
  return true;
}

/** Shows the files of what is open as they are now; what is being typed stays. */
export async function redrawFiles() {
  if (!item) return;
  const own = serial;
  const read = await ask("item.read", { item: item.id, vault: state.vault, asksNobody: true }, { byProgram: true });
  if (own !== serial || !item) return;
  item.attachments = read.attachments;
  if (!editor) { item = read; draw(); return; }
  editor.pictures.setFiles(item.attachments);
  drawFiles();
}

/** The files of the note that is open, below its text. */
function drawFiles() {
  editor?.setBelow(item.attachments.length ? el("div", { class: "note-files" }, fileCards(item, editor.pictures.inText())) : null);
}

function drawBar() { place.querySelector(".bar")?.replaceWith(bar()); }

export function draw() {
  if (mode === "history") mode = "read";
  // Nothing that was typed goes with the editor that it was typed in.
  if (editor?.isChanged) void editor.save();
  editor = null;
  dropPictures();
  if (!item) { place.replaceChildren(bar(), el("div", { class: "empty" }, el("p", {}, words.nothingPicked))); return; }
  const trash = item.isTrashed ? el("div", { class: "banner" }, icon("trash"), el("span", { class: "grow" }, el("b", {}, "In the trash."), " It stays in the history until you compact the vault."),
    el("button", { type: "button", class: "button small", onclick: putBack }, words.putBack), el("button", { type: "button", class: "button small danger", onclick: removeForGood }, words.removeForGood)) : null;
  if (item.isSealed || item.isVeiled) { place.replaceChildren(bar(), lockedNote()); return; }
  if (item.kind !== "note") {
    place.replaceChildren(...[bar(), trash, fieldsPane(item, tile(item))].filter(Boolean));
  } else {
    const noted = item;
    editor = new NoteEditor(item, (file) => pictureNode(noted, file), () => { if (item?.id === noted.id) drawFiles(); });
    const links = el("span", { class: "figure last" });
    editor.foot.append(links);
    place.replaceChildren(...[bar(), trash, editor.place, editor.foot].filter(Boolean));
    drawFiles();
    editor.shown();
    void showLinks(item.id, links);
  }
  const own = serial;
  void conflictBanner(item).then((banner) => { if (banner && own === serial) place.querySelector(".bar")?.after(banner); }).catch(() => {});
}

/** @param {string} id @param {HTMLElement} links */
async function showLinks(id, links) {
  try {
    const found = await ask("link.list", { item: id, vault: state.vault }, { byProgram: true });
    const count = found.backlinks.length;
    links.textContent = count === 0 ? "" : count === 1 ? "1 note links here" : `${count} notes link here`;
  } catch { links.textContent = ""; }
}

/** Asks under which passphrase the note is to lie. The window asks for the passphrase itself. */
function askToLock() {
  const { id } = item;
  const choose = (/** @type {() => void} */ close, /** @type {boolean} */ isNew) => { close(); void changeLock("note.lock", { notes: [id], ...(isNew ? { isNew } : {}) }, "It is locked."); };
  sheet(words.lockNoteAsk, (close) => [
    el("p", { class: "dim" }, words.lockNoteMore),
    el("div", { class: "row end" }, el("button", { type: "button", class: "button", onclick: close }, words.cancel),
      el("button", { type: "button", class: "button", onclick: () => choose(close, false) }, words.knownPassphrase),
      el("button", { type: "button", class: "button primary", onclick: () => choose(close, true) }, words.newPassphrase))]);
}

const releaseNote = () => changeLock("note.release", { notes: [item.id] }, "It is a note as others are.");

/** @param {string} operation @param {Record<string, unknown>} fields @param {string} text */
async function changeLock(operation, fields, text) {
  if (!(await leaveItem())) return;
  try { await ask(operation, { ...fields, vault: state.vault }); toast(text); } catch (error) { refused(error); }
  tell("saved");
  tell("reopen");
}

function lockedNote() {
  return el("div", { class: "empty" }, el("div", {}, el("span", { class: "crest brass" }, icon("lock", "large")), el("h1", {}, words.lockedNote), el("p", {}, words.lockedNoteMore),
    allows("note.unlock") ? el("button", { type: "button", class: "button primary", onclick: async () => {
      try { await ask("note.unlock", { note: item.id, vault: state.vault }); tell("reopen"); } catch (error) { refused(error); }
    } }, words.openNote) : el("p", {}, words.lockedNoteTab)));
}

/** @param {"password" | "username" | "code"} what */
export const copyFromItem = (what) => item && copyByKey(item, what);

/** Reads again what another device or program has changed, unless somebody is typing in it. */
export async function followChange() {
  if (!item || mode !== "read" || editor?.isChanged || place.querySelector("form")) return;
  const [own, saveCount] = [serial, editor?.saveCount];
  const read = await ask("item.read", { item: item.id, vault: state.vault, asksNobody: true }, { byProgram: true }).catch(() => null);
  // The store may have locked meanwhile.
  if (!read || !item || own !== serial || editor?.isChanged || editor?.isSaving) return;
  // Answers come in any order: this one is older than what was saved since.
  if (editor?.saveCount !== saveCount) return;
  if (editor && editor.base === read.text && read.modified === item.modified && !read.conflicts?.length) return;
  if (editor && read.text === editor.base) { item = read; return; }
  if (!editor && read.modified === item.modified) return;
  item = read;
  draw();
}
