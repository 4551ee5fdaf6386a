// @ts-check
// The middle pane: a list of which only what is seen is there, and a search at each key.

import { el, marked } from "./el.js";
import { icon, iconButton } from "./icons.js";
import { ask } from "./session.js";
import { say, state, tell } from "./state.js";
import { counted, kindWords, number, when, words } from "./words.js";
import { newItem } from "./item.js";

/** Rows of one request: more than a window shows, and no more than it may have to wait for. */
const pageSize = 20;
const pageCountMax = 150;
/** Engines end somewhere below 17 million pixels. */
const heightMax = 13_000_000;

/** @type {Map<number, any[] | Promise<void>>} */
let pages = new Map();
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

/** @param {number} offset */
async function fetchRows(offset) {
  const { query, view, vault } = state;
  if (view.special === "conflicts" && !query) {
    const found = await ask("conflict.list", { vault });
    const labels = (/** @type {any} */ item) => `Differs: ${[...new Set(item.conflicts)].join(", ")}`;
    return { rows: offset ? [] : found.items.map((/** @type {any} */ item) => ({ ...item, tags: [], snippet: labels(item) })), total: found.items.length };
  }
  if (query) {
    const found = await ask("item.search", { query, vault, limit: pageSize, offset, marksMatches: true });
    return { rows: found.hits, total: found.total, corrections: found.didYouMean };
  }
  const found = await ask("item.list", { vault, ...view.filter, order: state.order, limit: pageSize, offset, givesExcerpts: true });
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
  const first = options.keepsPlace ? Math.floor(firstSeen() / pageSize) : 0;
  let found;
  try { found = await fetchRows(first * pageSize); } catch (error) { if (own === serial) tell("failed"), fail(error); return; }
  if (own !== serial) return;
  pages = new Map([[first, found.rows]]);
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

/** @param {number} number */
function row(number) {
  const key = Math.floor(number / pageSize);
  const page = pages.get(key);
  if (Array.isArray(page)) return page[number % pageSize];
  if (!page) {
    const own = serial;
    pages.set(key, fetchRows(key * pageSize).then((found) => {
      if (own !== serial) return;
      pages.set(key, found.rows);
      if (pages.size > pageCountMax) pages.delete([...pages.keys()].find((other) => Math.abs(other - key) > 2) ?? -1);
      draw();
      if (awaited && row(awaited.index)) move(awaited.index, awaited.opens);
    }, fail));
  }
  return null;
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
  const seen = Math.ceil(rows.clientHeight / rowHeight());
  const first = firstSeen();
  const from = Math.max(0, first - 4);
  const to = Math.min(total, first + seen + 5);
  const shift = rows.scrollTop - rows.scrollTop * scale();
  const nodes = [];
  for (let at = from; at < to; at++) {
    const item = row(at);
    const isSelected = item ? item.id === state.selected : false;
    if (isSelected && !awaited) index = at;
    const node = el("div", {
      class: `item ${item && item.kind !== "note" ? "other" : "note"}`, role: "option", id: `row-${at}`, "aria-selected": String(isSelected), "aria-setsize": total, "aria-posinset": at + 1,
      // At the press: the node may be another one by the time the button is let go.
      onmousedown: (/** @type {MouseEvent} */ event) => { if (event.button === 0) move(at, true); },
      onclick: () => { if (row(at)?.id !== state.selected) move(at, true); },
    }, item ? [
      item.kind && item.kind !== "note" ? letterTile(item) : null,
      el("div", { class: "top" }, item.isPinned ? icon("pin", "small pinned") : null, item.isLocked ? icon("lock", "small") : null,
        el("span", { class: "title" }, marked(item.title || "Without a title", state.query ? item.titleMatches : undefined)),
        item.modified ? el("time", { datetime: item.modified }, when(item.modified)) : null),
      el("div", { class: "excerpt" }, excerpt(item)),
    ] : el("span", { class: "unseen" }, "…"));
    node.style.transform = `translateY(${at * rowHeight() + shift}px)`;
    nodes.push(node);
  }
  rows.replaceChildren(space, ...nodes);
  // A list of choices has one at least.
  rows.setAttribute("role", total === 0 ? "group" : "listbox");
  if (total === 0) rows.append(el("p", { class: "none", role: "presentation" }, emptyWords()));
  const active = nodes.find((node) => node.getAttribute("aria-selected") === "true");
  if (active) rows.setAttribute("aria-activedescendant", active.id); else rows.removeAttribute("aria-activedescendant");
}

function emptyWords() {
  if (!state.query) return words.nothingHere;
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
  const item = row(index);
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
export function dropList() { pages = new Map(); total = 0; serial++; wanted = null; input.value = ""; rows.replaceChildren(); }
export function emptySearch() { input.value = ""; clear.hidden = true; }
