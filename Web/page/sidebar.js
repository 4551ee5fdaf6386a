// @ts-check
// The left pane: vaults, kinds, tags, and whether everything is in step.

import { el } from "./el.js";
import { icon, iconButton } from "./icons.js";
import { ask } from "./session.js";
import { allows, state, tell } from "./state.js";
import { number, words } from "./words.js";
import { askForKeys } from "./keys.js";

/** @type {{ kinds: Record<string, number>, pinned: number, archived: number, trashed: number, conflicts: number, tags: {tag: string, count: number}[], sync: any, devices: number }} */
let counts = { kinds: {}, pinned: 0, archived: 0, trashed: 0, conflicts: 0, tags: [], sync: null, devices: 0 };

const place = el("nav", { class: "side", "aria-label": "Vaults and tags" });

export const sidebar = () => place;

/** Asks for everything that is counted, and draws it. */
export async function refreshSidebar() {
  const vault = state.vault;
  const quiet = { byProgram: true };
  const total = async (/** @type {Record<string, unknown>} */ filter) => (await ask("item.list", { vault, limit: 1, ...filter }, quiet)).total;
  const [store, tags, conflicts, pinned, archived, sync] = await Promise.all([
    ask("store.read", { vault }, quiet), ask("tag.list", { vault }, quiet), ask("conflict.list", { vault }, quiet),
    total({ isPinned: true }), total({ isArchived: true }), ask("sync.read", {}, quiet),
  ]);
  if (vault !== state.vault) return;
  counts = {
    kinds: Object.fromEntries(store.kinds.map((/** @type {{kind: string, count: number}} */ entry) => [entry.kind, entry.count])),
    pinned, archived, trashed: store.trashedCount, conflicts: conflicts.items.length, tags: tags.tags,
    sync: sync.vaults.find((/** @type {any} */ entry) => entry.id === vault) ?? null, devices: 0,
  };
  drawSidebar();
}

/** What the foot says is a fact, and never "synced". */
function stepWords() {
  const sync = counts.sync;
  if (!sync) return { text: "Only on this computer", dot: "quiet" };
  if (sync.problem) return { text: `Not reachable. ${number(sync.pending ?? 0)} changes wait`, dot: "bad" };
  if (sync.pending) return { text: `${number(sync.pending)} changes wait`, dot: "wait" };
  const behind = (sync.devices ?? []).find((/** @type {any} */ device) => !device.hasEverything);
  if (behind) return { text: `${behind.name} has not seen all`, dot: "wait" };
  return sync.version && sync.version === sync.serverVersion ? { text: "In step with all devices", dot: "" } : { text: "Not compared with the server yet", dot: "wait" };
}

/**
 * What leads to a view, and its name.
 * @type {[HTMLElement, string][]}
 */
let entries = [];

/** A search is in no view: its first letter changes nothing else of the pane. */
export function markCurrent() {
  for (const [button, name] of entries) {
    if (state.view.name === name && !state.query) button.setAttribute("aria-current", "page"); else button.removeAttribute("aria-current");
  }
}

/** @param {any} picture @param {string} text @param {number | null} count @param {import("./state.js").View} view @param {string} [depth] */
function entry(picture, text, count, view, depth = "") {
  const button = el("button", { type: "button", class: `nav ${depth}`, onclick: () => { state.view = view; state.query = ""; tell("view"); } }, picture, el("span", { class: "label" }, text),
    count ? el("span", { class: view.special === "conflicts" ? "count warn" : "count" }, number(count)) : null);
  entries.push([button, view.name]);
  return button;
}

/** @param {any} picture @param {string} text @param {string} screen */
const screenEntry = (picture, text, screen) => entry(picture, text, null, { name: text, filter: {}, screen });

/**
 * Tags above others have a line of their own, also where no item has just them.
 * @param {{tag: string, count: number}[]} tags by path
 */
function withParents(tags) {
  const known = new Set(tags.map(({ tag }) => tag));
  const all = [...tags];
  for (const { tag } of tags) {
    const parts = tag.split("/");
    for (let length = 1; length < parts.length; length++) {
      const parent = parts.slice(0, length).join("/");
      if (!known.has(parent)) { known.add(parent); all.push({ tag: parent, count: 0 }); }
    }
  }
  return all.sort((left, right) => (left.tag < right.tag ? -1 : 1));
}

export function drawSidebar() {
  const vault = state.vaults.find((entry) => entry.id === state.vault);
  const kinds = counts.kinds;
  const others = Object.keys(kinds).filter((kind) => kind !== "note" && kind !== "login" && kinds[kind] > 0).sort();
  const step = stepWords();
  // It is drawn anew with each change of the store: where it stands, and who has the keyboard, stays.
  const scrollTop = place.querySelector(".scroll")?.scrollTop ?? 0;
  const label = (/** @type {Element} */ button) => button.querySelector(".label")?.textContent ?? button.getAttribute("aria-label");
  const focused = document.activeElement instanceof HTMLButtonElement && place.contains(document.activeElement) ? label(document.activeElement) : null;
  entries = [];
  place.replaceChildren(
    el("label", { class: "vault" }, el("span", { class: "crest" }, icon("chest", "large")),
      el("span", { class: "grow" }, el("span", { class: "unseen" }, words.vault),
        state.vaults.length > 1
          ? el("select", { class: "vault-choice", onchange: (/** @type {any} */ event) => { state.vault = event.target.value; tell("vault"); } },
            state.vaults.map((each) => { const option = el("option", { value: each.id }, each.name); option.selected = each.id === state.vault; return option; }))
          : el("b", {}, vault?.name ?? ""),
        el("small", {}, counts.sync ? "on the server too" : "on this computer"))),
    el("div", { class: "scroll" },
      entry(icon("notes", "small"), words.allNotes, kinds.note ?? 0, { name: words.allNotes, filter: { kind: "note" } }),
      el("button", { type: "button", class: "nav", onclick: () => tell("today") }, icon("calendar", "small"), el("span", { class: "label" }, words.today)),
      entry(icon("pin", "small"), words.pinned, counts.pinned, { name: words.pinned, filter: { isPinned: true } }),
      entry(icon("key", "small"), words.logins, kinds.login ?? 0, { name: words.logins, filter: { kind: "login" }, isCompact: true }),
      others.map((kind) => entry(icon("card", "small"), kind[0].toUpperCase() + kind.slice(1), kinds[kind], { name: kind, filter: { kind }, isCompact: true })),
      entry(icon("fork", "small"), words.conflicts, counts.conflicts, { name: words.conflicts, filter: {}, special: "conflicts" }),
      entry(icon("box", "small"), words.archive, counts.archived, { name: words.archive, filter: { isArchived: true } }),
      entry(icon("trash", "small"), words.trash, counts.trashed, { name: words.trash, filter: { isTrashed: true }, special: "trash" }),
      counts.tags.length ? el("h2", {}, words.tags) : null,
      withParents(counts.tags).map(({ tag, count }) => {
        const depth = Math.min(tag.split("/").length - 1, 2);
        return entry(icon("tag", "small"), tag.split("/").pop() ?? tag, count, { name: `#${tag}`, filter: { tags: [tag] } }, depth ? `in-${depth}` : "");
      }),
      el("h2", {}, words.thisComputer),
      screenEntry(icon("laptop", "small"), words.devices, "devices"),
      screenEntry(icon("bring", "small"), words.bringIn, "transfer"),
      allows("password.audit") ? screenEntry(icon("shield", "small"), words.passwords, "passwords") : null,
      screenEntry(icon("gear", "small"), words.settings, "settings"),
      el("button", { type: "button", class: "nav", onclick: askForKeys }, icon("keys", "small"), el("span", { class: "label" }, words.keysHelp))),
    el("div", { class: "foot" },
      el("span", { class: "step" }, el("span", { class: `dot ${step.dot}` }), step.text),
      iconButton("lock", words.lockNow, () => tell("lock"))));
  markCurrent();
  const scroll = place.querySelector(".scroll");
  if (scroll) scroll.scrollTop = scrollTop;
  if (focused !== null) [...place.querySelectorAll("button")].find((button) => label(button) === focused)?.focus();
}
