// @ts-check
// The middle pane: a list of which only what is seen is there, and a search at each key.

import { el, marked } from "./el.js";
import { icon, iconButton } from "./icons.js";
import { ask } from "./session.js";
import { say, state, tell } from "./state.js";
import { counted, kindWords, number, when, words } from "./words.js";
import { newItem } from "./item.js";

/** Rows of one request, unless more are seen: no more than it may have to wait for. */
const requestSize = 20;
const itemCountMax = 3000;
/** Engines end somewhere below 17 million pixels. */
const heightMax = 13_000_000;

/**
 * What is known of the list, by its place in it.
 * @type {Map<number, any>}
 */
let items = new Map();
/** Whether rows are asked for that this list has not had yet: one request at a time, the next for what is seen then. */
let isFetching = false;
/**
 * The nodes of rows by all that they show. A row that shows the same stays the same node, which is not laid out and painted again.
 * @type {Map<string, HTMLElement>}
 */
let shown = new Map();
let total = 0;
let serial = 0;
let sumText = "";
/**
 * The list that is asked for now, and the one that is wanted after it. No key waits for the lists of more than one key before it.
 * @type {{ keepsPlace: boolean, began: number } | null}
 */
let running = null;
/** @type {{ keepsPlace: boolean, began: number } | null} */
let wanted = null;
/** @type {Promise<void> | null} */
let working = null;
/** @type {{word: string, nearest: string[]}[]} */
let corrections = [];
let index = -1;
/**
 * The row that is wanted and has not come yet.
 * @type {{ index: number, opens: boolean } | null}
 */
let awaited = null;

const space = el("div", { class: "space" });
const rows = el("div", { class: "rows", role: "listbox", tabindex: "0", id: "rows", "aria-label": words.allNotes });
const sum = el("span", { class: "grow" });
const input = el("input", { type: "search", id: "search", placeholder: words.searchEverything, autocomplete: "off", spellcheck: "false", autocapitalize: "off", "aria-label": words.searchEverything });
const clear = iconButton("x", words.clear, () => { input.value = ""; search(); input.focus(); }, { hidden: true });
const order = el("select", { class: "plain-choice", "aria-label": "Order", onchange: () => { state.order = order.value; reload(); } },
  el("option", { value: "modified" }, words.latestFirst), el("option", { value: "title" }, words.byTitle));
const place = el("section", { class: "list", "aria-label": "Items" },
  el("div", { class: "find" }, iconButton("side", words.menu, () => tell("menu"), { class: "icon-button menu" }), el("div", { class: "field grow" }, icon("search", "small"), input, clear, el("span", { class: "key", "aria-hidden": "true" }, "Ctrl F")),
    iconButton("plus", words.newItem, () => newItem(state.view.filter.kind === "login" ? "login" : "note"))),
  el("div", { class: "sum" }, sum, order), rows);

const rowHeight = () => (state.view.isCompact && !state.query ? 60 : 88);
const height = () => Math.min(total * rowHeight(), heightMax);
/** How far the list goes for each pixel of the scroll bar. */
const scale = () => (height() < total * rowHeight() ? (total * rowHeight() - rows.clientHeight) / (height() - rows.clientHeight) : 1);

export const list = () => place;
export const focusSearch = () => { input.focus(); input.select(); };
export const focusRows = () => rows.focus();

function search() {
  const isOther = (state.query === "") !== (input.value === "");
  state.query = input.value;
  clear.hidden = !state.query;
  if (isOther) tell("query");
  reload();
}
input.addEventListener("input", search);
input.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
  if (event.key === "ArrowDown" || event.key === "Enter") { event.preventDefault(); rows.focus(); move(index < 0 ? 0 : index); }
  if (event.key === "Escape") { if (input.value) { input.value = ""; search(); } else { rows.focus(); } }
});

/** @param {number} offset @param {number} limit */
async function fetchRows(offset, limit) {
  const { query, view, vault } = state;
  if (view.special === "conflicts" && !query) {
    const found = await ask("conflict.list", { vault });
    const labels = (/** @type {any} */ item) => `Differs: ${[...new Set(item.conflicts)].join(", ")}`;
    return { rows: offset ? [] : found.items.map((/** @type {any} */ item) => ({ ...item, tags: [], snippet: labels(item) })), total: found.items.length };
  }
  if (query) {
    const found = await ask("item.search", { query, vault, limit, offset, marksMatches: true });
    return { rows: found.hits, total: found.total, corrections: found.didYouMean };
  }
  const found = await ask("item.list", { vault, ...view.filter, order: state.order, limit, offset, givesExcerpts: true });
  return { rows: found.items, total: found.total };
}

/**
 * Asks again, from the beginning or where the list stands. The newest answer wins.
 * @param {{ keepsPlace?: boolean }} [options]
 */
export function reload(options = {}) {
  serial++;
  wanted = { keepsPlace: options.keepsPlace === true && (wanted ?? running)?.keepsPlace !== false, began: performance.now() };
  working ??= askInTurn();
  return working;
}

async function askInTurn() {
  while (wanted) {
    [running, wanted] = [wanted, null];
    await load(running);
  }
  running = working = null;
}

/** @param {{ keepsPlace: boolean, began: number }} options */
async function load(options) {
  const own = serial;
  const { from, count } = wantedRows(options.keepsPlace ? firstSeen() : 0);
  let found;
  try { found = await fetchRows(from, count); } catch (error) { isFetching = false; if (own === serial) tell("failed"), fail(error); return; }
  if (own !== serial) return;
  items = new Map();
  isFetching = false;
  keep(from, found.rows);
  total = found.total;
  corrections = found.corrections ?? [];
  const isSearch = state.query !== "";
  const milliseconds = Math.max(1, Math.round(performance.now() - options.began));
  sumText = isSearch ? `${number(total)} found · ${milliseconds} ms` : state.view.filter.kind ? kindWords(String(state.view.filter.kind), total) : `${state.view.name} · ${counted(total, "item", "items")}`;
  sum.textContent = sumText;
  order.hidden = isSearch || state.view.special === "conflicts";
  rows.setAttribute("aria-label", isSearch ? `Found for ${state.query}` : state.view.name);
  rows.classList.toggle("compact", rowHeight() === 60);
  space.style.height = `${height()}px`;
  if (!options.keepsPlace) { rows.scrollTop = 0; index = -1; awaited = null; }
  draw();
  if (isSearch) say(`${number(total)} found`);
  tell("listed");
}

/** @param {unknown} error */
function fail(error) { tell(/** @type {any} */ (error)?.code === "agent.store.locked" ? "locked" : "list-failed"); }

const firstSeen = () => Math.max(0, Math.floor((rows.scrollTop * scale()) / rowHeight()));

/**
 * Those that are seen, and some around them.
 * @param {number} first
 */
function wantedRows(first) {
  const from = Math.max(0, first - 4);
  return { from, count: Math.max(requestSize, first - from + Math.ceil(rows.clientHeight / rowHeight()) + 5) };
}

/** @param {number} from @param {any[]} found */
function keep(from, found) {
  for (const [at, item] of found.entries()) items.set(from + at, item);
  for (const other of items.keys()) {
    if (items.size <= itemCountMax) break;
    if (Math.abs(other - from) > itemCountMax / 2) items.delete(other);
  }
}

/** @param {number} from */
async function fetchMore(from) {
  if (isFetching) return;
  isFetching = true;
  const own = serial;
  let found;
  try { found = await fetchRows(from, wantedRows(from).count); } catch (error) { fail(error); }
  if (own !== serial) return;
  isFetching = false;
  if (!found?.rows.length) return;
  keep(from, found.rows);
  draw();
  if (awaited && items.has(awaited.index)) move(awaited.index, awaited.opens);
}

/** @param {any} item */
const letterTile = (item) => {
  let sum = 7;
  for (const letter of item.title || "?") sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973;
  return el("span", { class: `tile colour-${sum % 7}`, "aria-hidden": "true" }, ([...(item.title || "?")][0] ?? "?").toUpperCase());
};

/** @param {any} item */
function excerpt(item) {
  if (item.isLocked && !item.snippet) return ["Locked. Open it with its passphrase."];
  return marked(item.snippet ?? item.excerpt ?? item.tags.map((/** @type {string} */ tag) => `#${tag}`).join(" "), state.query ? item.snippetMatches : undefined);
}

function draw() {
  const first = firstSeen();
  const from = Math.max(0, first - 4);
  const to = Math.min(total, first + Math.ceil(rows.clientHeight / rowHeight()) + 5);
  const shift = rows.scrollTop - rows.scrollTop * scale();
  const before = shown;
  shown = new Map();
  let missing = -1;
  for (let at = from; at < to; at++) {
    const item = items.get(at);
    if (!item) { if (missing < 0) missing = at; continue; }
    const isSelected = item.id === state.selected;
    if (isSelected && !awaited) index = at;
    const changed = item.modified ? when(item.modified) : "";
    const key = JSON.stringify([at, isSelected, state.query !== "", changed, item]);
    const node = before.get(key) ?? rowNode(at, item, isSelected, changed);
    node.setAttribute("aria-setsize", String(total));
    node.style.transform = `translateY(${at * rowHeight() + shift}px)`;
    shown.set(key, node);
  }
  const nodes = [space, ...shown.values()];
  if (total === 0) nodes.push(el("p", { class: "none", role: "presentation" }, emptyWords()));
  for (const node of [...rows.childNodes]) if (!nodes.includes(/** @type {HTMLElement} */ (node))) node.remove();
  for (const [at, node] of nodes.entries()) if (rows.childNodes[at] !== node) rows.insertBefore(node, rows.childNodes[at] ?? null);
  // A list of choices has one at least.
  rows.setAttribute("role", total === 0 ? "group" : "listbox");
  const active = nodes.find((node) => node.getAttribute("aria-selected") === "true");
  if (active) rows.setAttribute("aria-activedescendant", active.id); else rows.removeAttribute("aria-activedescendant");
  if (missing >= 0) void fetchMore(missing);
}

/** @param {number} at @param {any} item @param {boolean} isSelected @param {string} changed @returns {HTMLElement} */
const rowNode = (at, item, isSelected, changed) => el("div", {
  class: `item ${item.kind === "note" ? "note" : "other"}`, role: "option", id: `row-${at}`, "aria-selected": String(isSelected), "aria-posinset": at + 1,
  // At the press: the node may be another one by the time the button is let go.
  onmousedown: (/** @type {MouseEvent} */ event) => { if (event.button === 0) move(at, true); },
  onclick: () => { if (items.get(at)?.id !== state.selected) move(at, true); },
}, item.kind && item.kind !== "note" ? letterTile(item) : null,
  el("div", { class: "top" }, item.isPinned ? icon("pin", "small pinned") : null, item.isLocked ? icon("lock", "small") : null,
    el("span", { class: "title" }, marked(item.title || "Without a title", state.query ? item.titleMatches : undefined)),
    changed ? el("time", { datetime: item.modified }, changed) : null),
  el("div", { class: "excerpt" }, excerpt(item)));

function emptyWords() {
  if (!state.query) return words.nothingHere;
  if (/(^|\s)\S{1,2}$/.test(state.query)) return "A word is found from its third letter on, or whole.";
  const near = corrections.flatMap((correction) => correction.nearest).slice(0, 3);
  return near.length ? `Nothing with these words. Near them: ${near.join(", ")}.` : "Nothing with these words.";
}

rows.addEventListener("scroll", draw, { passive: true });
new ResizeObserver(draw).observe(rows);

/** @param {number} to @param {boolean} [opens] */
export function move(to, opens = false) {
  if (total === 0) return;
  index = Math.max(0, Math.min(total - 1, to));
  const [top, bottom] = [index * rowHeight(), (index + 1) * rowHeight()];
  const at = rows.scrollTop * scale();
  if (top < at) rows.scrollTop = top / scale();
  if (bottom > at + rows.clientHeight) rows.scrollTop = (bottom - rows.clientHeight) / scale();
  const item = items.get(index);
  awaited = item ? null : { index, opens };
  if (item) { state.selected = item.id; tell("selected"); if (opens) tell("opened"); }
  draw();
}

rows.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const seen = Math.max(1, Math.floor(rows.clientHeight / rowHeight()) - 1);
  const steps = /** @type {Record<string, number>} */ ({ ArrowDown: index + 1, j: index + 1, ArrowUp: index - 1, k: index - 1, PageDown: index + seen, PageUp: index - seen, Home: 0, End: total - 1 });
  if (event.key in steps) { event.preventDefault(); move(steps[event.key]); return; }
  const topics = /** @type {Record<string, string>} */ ({ Enter: "opened", p: "pin", e: "archive", Delete: "trash" });
  if (event.key in topics && state.selected) { event.preventDefault(); tell(topics[event.key]); }
});

/** Marks the row of what is open. */
export const redraw = () => draw();

/** Nothing of the store stays in the list. */
export function dropList() { items = new Map(); shown = new Map(); total = 0; serial++; wanted = null; input.value = ""; rows.replaceChildren(); }
export function emptySearch() { input.value = ""; clear.hidden = true; }
