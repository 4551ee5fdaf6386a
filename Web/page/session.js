// @ts-check
// The one place that talks to the front (Spec/page.md section 1). Everything else calls `ask`.

/** A refusal, in the words of the front or the session. */
export class Refused extends Error {
  /** @param {{code: string, message: string, hint?: string, candidates?: {id: string, title: string}[]}} failure */
  constructor(failure) {
    super(failure.message);
    this.code = failure.code;
    this.hint = failure.hint;
  }
}

/** The store is locked, or its front is gone: what the page holds of the store has to go. */
export class Locked extends Refused {
  constructor() { super({ code: "agent.store.locked", message: "the store is locked" }); }
}

const tokenName = "coffret-token";
/** @type {string | null} */
let token = null;
let lastGesture = -Infinity;

for (const name of ["pointerdown", "keydown", "input"]) {
  addEventListener(name, (event) => { if (event.isTrusted) lastGesture = performance.now(); }, { capture: true, passive: true });
}

/** A page that is left or loaded again is not locked: what it still waits for never comes. */
let isLeft = false;
addEventListener("pagehide", () => { isLeft = true; });

const isWindow = location.protocol === "coffret:";

/** Changes the code in the address for a token, and takes it out of the address. */
export async function begin() {
  if (isWindow) return;
  const code = location.hash.slice(1);
  history.replaceState(null, "", "/");
  token = sessionStorage.getItem(tokenName);
  if (!code) return;
  const response = await fetch("open", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ code }) });
  if (!response.ok) { if (!token) throw new Locked(); return; }
  token = /** @type {string} */ ((await response.json()).token);
  sessionStorage.setItem(tokenName, token);
}

/** Nothing of this launch stays in the tab. */
export function forget() {
  token = null;
  if (!isWindow) sessionStorage.removeItem(tokenName);
}

/**
 * Asks for an operation, or asks the front.
 * @param {string} name
 * @param {Record<string, unknown>} fields
 * @param {{ byProgram?: boolean }} [options] a program's request is no use of the store, and keeps nothing open
 * @returns {Promise<any>}
 */
export async function ask(name, fields = {}, options = {}) {
  const isPerson = !options.byProgram && performance.now() - lastGesture < 1000;
  /** @type {Record<string, string>} */
  const headers = { "Content-Type": "application/json" };
  if (token) headers["Coffret-Session"] = token;
  /** @type {Response} */
  let response;
  try {
    response = await fetch("do", { method: "POST", headers, body: JSON.stringify({ do: name, by: isPerson ? "person" : "program", with: fields }) });
  } catch { if (isLeft) return new Promise(() => {}); throw new Locked(); }
  if (!response.ok) throw new Locked();
  const reply = await response.json();
  if (reply.error) throw reply.error.code === "agent.store.locked" ? new Locked() : new Refused(reply.error);
  return reply.ok;
}
