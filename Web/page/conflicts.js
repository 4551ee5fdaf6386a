// @ts-check
// Values that two devices wrote at the same time: both sides, and a choice.

import { el } from "./el.js";
import { ask } from "./session.js";
import { state, tell } from "./state.js";
import { refused, toast } from "./dialogs.js";

/** @param {any} item @returns {Promise<any>} nothing if the item has no conflict */
export async function conflictBanner(item) {
  if (!item.conflicts?.length) return null;
  const found = await ask("conflict.read", { item: item.id, vault: state.vault });
  const settle = async (/** @type {any} */ fields, /** @type {string} */ text) => {
    try { await ask("conflict.settle", { item: item.id, vault: state.vault, ...fields }); toast(text); tell("saved"); tell("reopen"); } catch (error) { refused(error); }
  };
  return el("section", { class: "conflicts", "aria-label": "Conflicts" }, found.conflicts.map((/** @type {any} */ conflict) => el("div", { class: "conflict" },
    el("p", {}, el("b", {}, `Two devices wrote ${conflict.label} at the same time.`), " Both are kept until you choose."),
    el("div", { class: "two-up" },
      side("Shown now", conflict.isSecret ? null : conflict.shown, "Keep this", () => settle({ attribute: conflict.attribute }, "Kept. The other stays in the history.")),
      side("The other", conflict.isSecret ? null : conflict.other, "Take this", () => settle({ number: conflict.number }, "Taken. The one before stays in the history."))),
    conflict.attribute === "text" ? el("button", { type: "button", class: "button small", onclick: () => settle({ attribute: "text", keepsAll: true }, "Both texts are there, one below the other.") }, "Keep both, one below the other") : null)));
}

/** @param {string} title @param {string | null | undefined} text @param {string} button @param {() => void} onclick */
const side = (title, text, button, onclick) => el("div", { class: "choice" }, el("h3", {}, title), el("p", { class: "choice-text" }, text ?? "hidden"),
  el("button", { type: "button", class: "button small", onclick }, button));
