// @ts-check
// Puts the panes together, and follows the store.

import { el } from "./el.js";
import { icon } from "./icons.js";
import { ask, begin, forget, Locked } from "./session.js";
import { on, say, state, tell } from "./state.js";
import { counted, words } from "./words.js";
import { drawSidebar, markCurrent, refreshSidebar, sidebar } from "./sidebar.js";
import { dropList, emptySearch, focusRows, focusSearch, list, redraw, reload } from "./list.js";
import { addFile, copyFromItem, dropFiles, dropItem, editFields, followChange, isUnsaved, leaveItem, newItem, openItem, pane, redrawFiles, saveItem, showSelected, toggleArchive, toggleHistory, togglePin, trashItem } from "./item.js";
import { listenForKeys } from "./keys.js";
import { makeScreen, readLook, wantedLook } from "./screens.js";
import { bringIn } from "./transfer.js";
import { takeDropped } from "./files.js";
import { chooseTemplate, openToday } from "./templates.js";
import { confirmed, refused, toast } from "./dialogs.js";

const root = /** @type {HTMLElement} */ (document.getElementById("root"));
let isLocked = false;

/** Drops all that the page holds of the store. */
function showLocked() {
  if (isLocked) return;
  isLocked = true;
  forget();
  dropItem();
  dropList();
  Object.assign(state, { vaults: [], vault: "", query: "", selected: null });
  for (const node of document.querySelectorAll("dialog, .toast, body > input")) node.remove();
  root.replaceChildren(el("main", { class: "lock" }, el("div", {}, el("span", { class: "crest" }, icon("lock", "large")), el("h1", {}, words.lockedTitle),
    el("p", {}, words.lockedMore), el("p", { class: "mono" }, words.lockedNext))));
  say(words.lockedTitle);
}

/** Waits for changes, one request after the other, until the store locks. */
async function follow() {
  let after;
  while (!isLocked) {
    try {
      /** @type {any} */
      const changes = await ask("change.wait", after === undefined ? {} : { after }, { byProgram: true });
      const isFirst = after === undefined;
      after = changes.position;
      if (isFirst) continue;
      if (changes.isKeyringChanged) await readVaults();
      if (changes.isKeyringChanged || changes.isSyncChanged || changes.vaults.includes(state.vault)) void refreshSidebar().catch(() => {});
      if (changes.vaults.includes(state.vault)) { void reload({ keepsPlace: true }); void followChange(); }
    } catch (error) {
      if (error instanceof Locked) { showLocked(); return; }
      await new Promise((resolve) => setTimeout(resolve, 2000));
    }
  }
}

async function readVaults() {
  const found = await ask("vault.list");
  state.vaults = found.vaults.map((/** @type {any} */ vault) => ({ id: vault.id, name: vault.name }));
  const usual = found.vaults.find((/** @type {any} */ vault) => vault.default) ?? found.vaults[0];
  if (!state.vaults.some((vault) => vault.id === state.vault)) state.vault = usual.id;
}

function welcome() {
  return el("div", { class: "empty" }, el("div", {}, el("span", { class: "crest" }, icon("chest", "large")), el("h1", {}, words.emptyVault), el("p", {}, words.emptyVaultMore),
    el("div", { class: "row centre" }, el("button", { type: "button", class: "button primary", onclick: () => newItem("note") }, icon("note", "small"), words.writeNote),
      el("button", { type: "button", class: "button", onclick: () => newItem("login") }, icon("key", "small"), words.addLogin),
      el("button", { type: "button", class: "button", onclick: () => tell("screen", "transfer") }, icon("bring", "small"), words.bringThingsIn)),
    el("p", { class: "small dim" }, words.dropHere)));
}

/** The panes. */
const app = el("div", { class: "app show-list" }, sidebar(), list(), pane());

async function start() {
  const beginning = begin();
  // The panes are laid out while the session opens, and nobody can press anything in them before it has.
  app.inert = true;
  root.replaceChildren(app);
  drawSidebar();
  await beginning;
  // A page that begins is not kept from it by a text that cannot be saved now. The list comes after it: the session answers in turn.
  const settling = ask("draft.settle", {}, { byProgram: true }).catch((error) => { if (error instanceof Locked) throw error; return { items: [] }; });
  const [greeting, naming, rest] = [ask("front.hello"), readVaults(), Promise.all([settling, readLook()])];
  rest.catch(() => {});
  [state.front] = await Promise.all([greeting, naming]);
  const listing = reload();
  if (state.front.front === "tab") {
    root.prepend(el("div", { class: "notice" }, icon("warn", "small"), el("span", { class: "grow" }, words.banner),
      el("button", { type: "button", class: "button small", onclick: (/** @type {any} */ event) => event.target.closest(".notice").remove() }, words.understood)));
  }
  app.inert = false;
  drawSidebar();
  const [[drafts]] = await Promise.all([rest, listing]);
  await showSelected();
  // A key before this would open something that the first list takes away again.
  listenForKeys();
  await refreshSidebar();
  const whole = await ask("item.list", { vault: state.vault, includesAll: true, limit: 1 }, { byProgram: true });
  if (whole.total === 0 && !openItem()) pane().replaceChildren(welcome());
  void follow();
  tellDrafts(drafts);
}

/**
 * Says what became of a text that its page did not live to save.
 * @param {any} drafts
 */
function tellDrafts(drafts) {
  const beside = drafts.items.find((/** @type {any} */ draft) => draft.isBeside);
  const changed = drafts.items.filter((/** @type {any} */ draft) => draft.isChanged);
  if (beside) toast(`"${beside.title}" is a note of its own: others had changed the same lines.`, { isWarning: true });
  else if (changed.length === 1) toast(`What you typed last in "${changed[0].title}" is saved.`);
  else if (changed.length) toast(`What you typed last in ${counted(changed.length, "note", "notes")} is saved.`);
}

/** @param {Promise<any> | undefined | null | false} work */
const quietly = (work) => { if (work) work.catch((error) => { if (error instanceof Locked) showLocked(); else refused(error); }); };

const dark = matchMedia("(prefers-color-scheme: dark)");

/** Follows the desktop, unless the person wants it otherwise. */
function look() {
  const wanted = wantedLook();
  document.documentElement.dataset.theme = wanted === "desktop" ? (dark.matches ? "dark" : "light") : wanted;
}

/** @type {import("./screens.js").ScreenName | null} */
let shownScreen = null;

/** @param {import("./screens.js").ScreenName} name */
async function showScreen(name) {
  if (!(await leaveItem())) { leaveScreen(); return; }
  state.selected = null;
  dropItem();
  shownScreen = name;
  app.classList.add("wide");
  app.classList.remove("show-list");
  pane().replaceChildren(el("div", { class: "empty" }, el("p", {}, "…")));
  const nodes = await makeScreen(name).catch((error) => { refused(error); return null; });
  if (!nodes || shownScreen !== name) return;
  pane().replaceChildren(...nodes);
  /** @type {HTMLElement | null} */ (pane().querySelector(".bar button"))?.focus();
}

/**
 * Back to list and item.
 * @param {string} [item] to be opened
 */
function leaveScreen(item) {
  shownScreen = null;
  app.classList.remove("wide");
  state.view = { name: words.allNotes, filter: { kind: "note" } };
  tell("view");
  if (item) { state.selected = item; tell("opened"); }
}

on("screen", (name) => { state.view = { name: words.bringIn, filter: {}, screen: name }; tell("view"); });
on("leave-screen", leaveScreen);
on("look", look);
on("menu", () => app.classList.toggle("show-side"));
on("today", () => { app.classList.remove("show-side"); quietly(inPanes(openToday)); });
on("template", () => quietly(inPanes(chooseTemplate)));

/**
 * Does something that opens an item, from wherever the person is.
 * @param {() => Promise<void>} body
 */
async function inPanes(body) {
  if (shownScreen) leaveScreen();
  await body();
}

on("view", () => {
  app.classList.remove("show-side");
  emptySearch();
  drawSidebar();
  if (state.view.screen) { quietly(showScreen(/** @type {any} */ (state.view.screen))); return; }
  shownScreen = null;
  app.classList.remove("wide");
  state.selected = null;
  quietly(showSelected());
  quietly(reload());
  app.classList.add("show-list");
});
on("vault", () => { state.selected = null; state.view = { name: words.allNotes, filter: { kind: "note" } }; emptySearch(); state.query = ""; quietly(showSelected()); quietly(refreshSidebar()); quietly(reload()); });
on("query", markCurrent);
on("selected", () => quietly(showSelected()));
on("opened", (isAtEnd) => { app.classList.remove("show-list"); quietly(showSelected({ focuses: true, isAtEnd })); });
on("reopen", () => quietly(showSelected()));
on("saved", () => { redraw(); quietly(reload({ keepsPlace: true })); quietly(refreshSidebar()); });
on("show-pane", () => app.classList.remove("show-list"));
on("back", () => { if (shownScreen) { leaveScreen(); return; } app.classList.add("show-list"); quietly(leaveThenStay()); focusRows(); });
on("find", () => { if (shownScreen) leaveScreen(); app.classList.add("show-list"); focusSearch(); });
on("new-note", () => quietly(inPanes(() => newItem("note"))));
on("new-login", () => quietly(inPanes(() => newItem("login"))));
on("history", () => quietly(toggleHistory()));
on("pin", () => quietly(togglePin()));
on("archive", () => quietly(toggleArchive()));
on("trash", () => quietly(trashItem()));
on("edit", () => editFields());
on("save", () => quietly(saveItem()));
on("copy-password", () => quietly(copyFromItem("password")));
on("copy-username", () => quietly(copyFromItem("username")));
on("copy-code", () => quietly(copyFromItem("code")));
on("add-file", addFile);
on("files-changed", () => { quietly(redrawFiles()); quietly(reload({ keepsPlace: true })); });
on("locked", showLocked);
on("stayed", redraw);
on("lock", () => quietly(lockNow()));

async function lockNow() {
  if (!(await leaveItem()) && !(await confirmed("Lock all the same?", "What you typed last could not be saved. It is lost when the store locks.", "Lock now"))) return;
  await ask("lock");
  showLocked();
}

async function leaveThenStay() { await saveItem(); }

// What was typed is saved when nobody looks any more.
document.addEventListener("visibilitychange", () => { if (document.visibilityState === "hidden" && !isLocked) quietly(saveItem()); });
addEventListener("beforeunload", (event) => { if (isUnsaved() && !isLocked) { quietly(saveItem()); event.preventDefault(); } });
const isOfFiles = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes("Files") ?? false;
const isInEditor = (/** @type {DragEvent} */ event) => event.target instanceof Element && event.target.closest(".CodeMirror") !== null;
// Text is moved within the editor; files are ours; anything else that is dropped does nothing.
addEventListener("dragover", (event) => { if (isOfFiles(event) || !isInEditor(event)) event.preventDefault(); }, { capture: true });
addEventListener("drop", (event) => {
  if (!isOfFiles(event)) { if (!isInEditor(event)) event.preventDefault(); return; }
  event.preventDefault();
  takeIn([...(event.dataTransfer?.files ?? [])], event.target, { left: event.clientX, top: event.clientY });
}, { capture: true });
// The window takes what other programs drop itself.
addEventListener("coffret-drop", (event) => quietly(dropped(/** @type {any} */ (event).detail)));

/** @param {{ left: number, top: number }} place */
async function dropped(place) {
  const { files, folders, unread } = await takeDropped();
  takeIn(files, document.elementFromPoint(place.left, place.top), place, folders);
  if (unread.length) toast(`This cannot be read here: ${unread.slice(0, 3).join(", ")}${unread.length > 3 ? " …" : ""}`, { isWarning: true });
}

/**
 * Dropped on what is open files belong there; anywhere else they are to be taken in.
 * @param {File[]} files
 * @param {EventTarget | null} target
 * @param {{ left: number, top: number }} place
 * @param {{ name: string, ticket: string }[]} [folders]
 */
function takeIn(files, target, place, folders = []) {
  if (!files.length && !folders.length || isLocked) return;
  const isOnItem = target instanceof Element && target.closest(".pane") !== null && !app.classList.contains("wide");
  if (!(isOnItem && !folders.length && dropFiles(files, place))) bringIn(files, folders);
}

dark.addEventListener("change", look);
look();
start().catch((error) => { if (error instanceof Locked) showLocked(); else { root.replaceChildren(el("main", { class: "lock" }, el("h1", {}, String(error?.message ?? error)))); } });
