// @ts-check
// Values that two devices wrote at the same time: both sides, and a choice.

import { el } from "./el.js";
import { ask } from "./session.js";
import { state, tell } from "./state.js";
import { refused, toast } from "./dialogs.js";
import { differenceNodes } from "./history.js";
import { whenExactly } from "./words.js";

/** @param {any} item @returns {Promise<any>} nothing if the item has no conflict */
export async function conflictBanner(item) {
  if (!item.conflicts?.length) return null;
  const found = await ask("conflict.read", { item: item.id, vault: state.vault });
  const settle = async (/** @type {any} */ fields, /** @type {string} */ text) => {
    try { await ask("conflict.settle", { item: item.id, vault: state.vault, ...fields }); toast(text); tell("saved"); tell("reopen"); } catch (error) { refused(error); }
  };
  return el("section", { class: "conflicts", "aria-label": "Conflicts" }, found.conflicts.map((/** @type {any} */ conflict) => {
    const other = conflict.device ? `${conflict.device}, ${whenExactly(conflict.time)}` : "The other";
    const keep = choice("Keep what is shown", () => settle({ attribute: conflict.attribute }, "Kept. The other stays in the history."));
    const take = choice(conflict.device ? `Take what ${conflict.device} wrote` : "Take the other", () => settle({ number: conflict.number }, "Taken. The one before stays in the history."));
    const both = conflict.attribute === "text" ? choice("Keep both, one below the other", () => settle({ attribute: "text", keepsAll: true }, "Both texts are there, one below the other.")) : null;
    return el("div", { class: "conflict" },
      el("p", {}, el("b", {}, `Two devices wrote ${conflict.label} at the same time.`), " Both are kept until you choose."),
      conflict.hunks?.length
        ? [el("p", { class: "dim" }, el("span", { class: "removed" }, "− shown now"), " · ", el("span", { class: "added" }, `+ ${other}`)), el("div", { class: "choice-lines", tabindex: "0", role: "region", "aria-label": "Where they differ" }, differenceNodes(conflict.hunks))]
        : el("div", { class: "two-up" }, side("Shown now", conflict.isSecret ? null : conflict.shown), side(other, conflict.isSecret ? null : conflict.other)),
      el("div", { class: "row choices" }, keep, take, both));
  }));
}

/** @param {string} text @param {() => void} onclick */
const choice = (text, onclick) => el("button", { type: "button", class: "button small", onclick }, text);

/** @param {string} title @param {string | null | undefined} text */
const side = (title, text) => el("div", { class: "choice" }, el("h3", {}, title), el("p", { class: "choice-text" }, text ?? "hidden"));
