// @ts-check
// The state of the page, and its listeners.

/** @typedef {{ name: string, filter: Record<string, unknown>, isCompact?: boolean, special?: string, screen?: string }} View */

/** All of it goes when the store locks. */
export const state = {
  front: { front: "tab", version: "", store: "", refuses: /** @type {string[]} */ ([]) },
  /** @type {{ id: string, name: string }[]} */
  vaults: [],
  vault: "",
  /** @type {View} */
  view: { name: "All notes", filter: { kind: "note" } },
  query: "",
  order: "modified",
  /** @type {string | null} */
  selected: null,
};

/** @type {Map<string, Set<(what?: any) => void>>} */
const listeners = new Map();

/** @param {string} topic @param {(what?: any) => void} listener */
export function on(topic, listener) {
  if (!listeners.has(topic)) listeners.set(topic, new Set());
  listeners.get(topic)?.add(listener);
}

/** @param {string} topic @param {any} [what] */
export function tell(topic, what) { for (const listener of listeners.get(topic) ?? []) listener(what); }

/**
 * Says something to whoever listens instead of looking.
 * @param {string} text
 */
export function say(text) {
  const place = document.getElementById("said");
  if (place) place.textContent = text;
}

/**
 * Whether this front passes an operation on.
 * @param {string} operation
 */
export const allows = (operation) => !state.front.refuses.includes(operation);
