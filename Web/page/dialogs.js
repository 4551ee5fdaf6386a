// @ts-check
// Sheets over the page, and short words at its foot. A sheet keeps the keyboard and gives it back.

import { el } from "./el.js";
import { icon } from "./icons.js";
import { say } from "./state.js";
import { words } from "./words.js";

let count = 0;

/**
 * @param {string} title
 * @param {(close: () => void) => any[]} content
 * @param {{ isWide?: boolean }} [options]
 */
export function sheet(title, content, options = {}) {
  const before = /** @type {HTMLElement | null} */ (document.activeElement);
  const id = `sheet-${++count}`;
  const dialog = el("dialog", { class: options.isWide ? "sheet wide" : "sheet", "aria-labelledby": id });
  const close = () => dialog.close();
  dialog.append(el("h2", { id }, title), ...content(close));
  dialog.addEventListener("close", () => { dialog.remove(); before?.focus(); });
  dialog.addEventListener("click", (/** @type {MouseEvent} */ event) => { if (event.target === dialog) close(); });
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * Asks before what cannot be undone.
 * @param {string} title
 * @param {string} text
 * @param {string} button
 * @returns {Promise<boolean>}
 */
export const confirmed = (title, text, button) => new Promise((resolve) => {
  let isYes = false;
  const dialog = sheet(title, (close) => [
    el("p", { class: "dim" }, text),
    el("div", { class: "row end" }, el("button", { type: "button", class: "button", onclick: close }, words.cancel),
      el("button", { type: "button", class: "button danger", onclick: () => { isYes = true; close(); } }, button)),
  ]);
  dialog.addEventListener("close", () => resolve(isYes));
});

/** @param {string} text @param {{ isWarning?: boolean, action?: string, onaction?: () => void }} [options] */
export function toast(text, options = {}) {
  document.querySelector(".toast")?.remove();
  const node = el("div", { class: "toast" }, icon(options.isWarning ? "warn" : "check", "small"), el("span", {}, text),
    options.action ? el("button", { type: "button", class: "toast-action", onclick: () => { node.remove(); options.onaction?.(); } }, options.action) : null);
  document.body.append(node);
  say(text);
  setTimeout(() => node.remove(), options.action ? 10_000 : 4_000);
}

/**
 * Shows a refusal.
 * @param {any} error
 */
export function refused(error) {
  const text = String(error?.message ?? error);
  toast(`${text.charAt(0).toUpperCase()}${text.slice(1)}.`, { isWarning: true });
}
