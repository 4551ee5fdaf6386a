// @ts-check
// Notes that begin with something: from a template, and the note of today.

import { el } from "./el.js";
import { icon } from "./icons.js";
import { ask } from "./session.js";
import { state, tell } from "./state.js";
import { refused, sheet } from "./dialogs.js";
import { words } from "./words.js";

/** A note with this tag is a template. */
const tag = "template";
const two = (/** @type {number} */ value) => String(value).padStart(2, "0");

/**
 * The title of a day's note.
 * @param {Date} date
 */
export const dayTitle = (date) => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;

/**
 * A template's text as a new note has it: without the tag, and with the moment in place of `{{date}}`, `{{time}}` and `{{title}}`.
 * @param {string} text @param {Date} date @param {string} title
 */
export function filled(text, date, title) {
  const day = dayTitle(date);
  const values = /** @type {Record<string, string>} */ ({ date: day, time: `${two(date.getHours())}:${two(date.getMinutes())}`, title });
  return text.replace(new RegExp(`(^|\\s)#${tag}(?![\\p{L}\\p{N}_/-])`, "gu"), "$1").replace(/\{\{(date|time|title)\}\}/g, (_, name) => values[name]);
}

async function templates() {
  return (await ask("item.list", { vault: state.vault, kind: "note", tags: [tag], order: "title", limit: 100 })).items;
}

/** @param {string} id @param {string} title */
async function textOf(id, title) {
  const found = await ask("item.read", { item: id, vault: state.vault, asksNobody: true });
  return filled(found.text, new Date(), title);
}

/** @param {string} text */
async function open(text) {
  const made = await ask("item.create", { vault: state.vault, text });
  state.selected = made.id;
  tell("opened", true);
  tell("saved");
}

/** Opens the note of today, or begins it: from the template "Today", if there is one. */
export async function openToday() {
  const title = dayTitle(new Date());
  const named = await ask("item.list", { vault: state.vault, kind: "note", order: "title", limit: 1000 });
  const there = named.items.find((/** @type {any} */ item) => item.title === title) ?? (await ask("item.search", { vault: state.vault, query: `"${title}"`, limit: 50 })).hits.find((/** @type {any} */ item) => item.title === title);
  if (there) { state.selected = there.id; tell("opened", true); return; }
  const template = (await templates()).find((/** @type {any} */ item) => /^today$/i.test(item.title));
  const text = template ? await textOf(template.id, title) : "";
  await open(text ? text.replace(/^# .*$/m, `# ${title}`) : `# ${title}\n\n#journal\n\n`);
}

/** Asks which template a new note begins with. */
export async function chooseTemplate() {
  const found = await templates();
  sheet("New note from a template", (close) => [
    found.length ? el("ul", { class: "card" }, found.map((/** @type {any} */ item) => el("li", { class: "fact-line" }, el("button", {
      type: "button", class: "grow plain-button", onclick: async () => {
        close();
        try { await open(await textOf(item.id, item.title)); } catch (error) { refused(error); }
      },
    }, icon("note", "small"), el("b", {}, item.title || "Without a title")))))
      : el("p", { class: "dim" }, "There is no template yet. A note with the tag #template is one; {{date}}, {{time}} and {{title}} are filled in."),
    el("div", { class: "row end" }, el("button", { type: "button", class: "button", onclick: close }, words.cancel)),
  ]);
}
