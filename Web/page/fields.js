// @ts-check
// Logins, cards and whatever else has fields: shown, copied, and filled in.

import { el } from "./el.js";
import { icon, iconButton } from "./icons.js";
import { ask } from "./session.js";
import { allows, say, state, tell } from "./state.js";
import { refused, toast } from "./dialogs.js";
import { fileCards } from "./files.js";
import { when, words } from "./words.js";

const shownSeconds = 20;

/**
 * Timers of what runs on the screen.
 * @type {Set<ReturnType<typeof setInterval>>}
 */
const running = new Set();

/** Everything that was shown is masked, and codes stop. */
export function stopFields() {
  for (const timer of running) clearInterval(timer);
  running.clear();
}

/** @param {any} item @param {string | undefined} field @param {string} label */
async function copy(item, field, label) {
  try {
    const answer = await ask("front.copy", { item: item.id, vault: state.vault, ...(field ? { field } : {}) });
    toast(`${label.charAt(0).toUpperCase()}${label.slice(1)} copied. It leaves the clipboard in ${answer.seconds} seconds.`);
  } catch (error) { refused(error); }
}

/** @param {any} item */
async function copyCode(item) {
  try {
    const answer = await ask("front.copyCode", { item: item.id, vault: state.vault });
    toast(`One-time code copied. It leaves the clipboard in ${answer.seconds} seconds.`);
  } catch (error) { refused(error); }
}

/**
 * The keys of a login.
 * @param {any} item
 * @param {"password" | "username" | "code"} what
 */
export function copyByKey(item, what) {
  if (what === "code") return copyCode(item);
  const field = item.fields.find((/** @type {any} */ each) => each.name === what);
  if (field) return copy(item, field.name, field.label);
}

/** A password whose digits and signs have colours of their own. */
const coloured = (/** @type {string} */ text) => el("span", { class: "secret" }, [...text].map((letter) => (/\d/.test(letter) ? el("span", { class: "digit" }, letter) : /\p{L}/u.test(letter) ? letter : el("span", { class: "sign" }, letter))));

/** @param {any} item @param {any} field */
function secretField(item, field) {
  const value = el("dd", {}, masked());
  let timer = 0;
  const mask = () => { clearInterval(timer); running.delete(timer); value.replaceChildren(masked()); button.setAttribute("aria-label", `${words.show} ${field.label}`); button.replaceChildren(icon("eye")); isShown = false; };
  let isShown = false;
  const button = iconButton("eye", `${words.show} ${field.label}`, async () => {
    if (isShown) { mask(); return; }
    try {
      const answer = await ask("field.read", { item: item.id, vault: state.vault, field: field.name });
      let left = shownSeconds;
      const note = el("span", { class: "dim small left" }, `hidden again in ${left} s`);
      value.replaceChildren(coloured(answer.field?.value ?? ""), note);
      isShown = true;
      button.setAttribute("aria-label", `${words.hide} ${field.label}`);
      button.replaceChildren(icon("hide"));
      say(`${field.label} is shown`);
      timer = /** @type {any} */ (setInterval(() => { left -= 1; note.textContent = `hidden again in ${left} s`; if (left <= 0) mask(); }, 1000));
      running.add(timer);
      addEventListener("blur", mask, { once: true });
    } catch (error) { refused(error); }
  });
  return line(field.label, value, [allows("field.read") ? button : null, iconButton("copy", `${words.copy} ${field.label}`, () => copy(item, field.name, field.label))]);
}

const masked = () => el("span", {}, el("span", { class: "dots", "aria-hidden": "true" }, "••••••••••••"), el("span", { class: "unseen" }, words.hidden));

/** @param {string} label @param {any} value @param {any[]} actions */
const line = (label, value, actions) => el("div", { class: "line" }, el("dt", {}, label), value, el("dd", { class: "actions" }, actions));

/** @param {any} item @param {any} field */
function codeField(item, field) {
  const digits = el("span", { class: "code" }, "··· ···");
  const ring = el("circle", { class: "ring-left", cx: "17", cy: "17", r: "14", transform: "rotate(-90 17 17)" });
  const seconds = el("span", { class: "ring-seconds" }, "");
  let left = 0;
  let isAsking = false;
  const show = async () => {
    if (left > 0) { left -= 1; draw(); }
    if (left > 0 || isAsking) return;
    isAsking = true;
    try {
      const answer = await ask("code.read", { item: item.id, vault: state.vault }, { byProgram: true });
      const half = Math.ceil(answer.code.length / 2);
      digits.textContent = `${answer.code.slice(0, half)} ${answer.code.slice(half)}`;
      left = answer.remainingSeconds ?? 0;
      draw();
      // A code that is counted moves on only when somebody asks for it.
      if (answer.remainingSeconds === undefined) { clearInterval(timer); running.delete(timer); }
    } catch { digits.textContent = "not readable"; clearInterval(timer); running.delete(timer); }
    isAsking = false;
  };
  const draw = () => { ring.setAttribute("stroke-dasharray", `${(88 * left) / 30} 88`); seconds.textContent = String(left); };
  const timer = setInterval(show, 1000);
  running.add(timer);
  void show();
  return line(field.label || words.oneTimeCode, el("dd", {}, digits), [
    el("span", { class: "ring", role: "img", "aria-label": "seconds left" }, el("svg", { viewBox: "0 0 34 34", "aria-hidden": "true" }, el("circle", { class: "ring-all", cx: "17", cy: "17", r: "14" }), ring), seconds),
    iconButton("copy", `${words.copy} ${words.oneTimeCode}`, () => copyCode(item))]);
}

/** @param {any} item @param {any} field */
function plainField(item, field) {
  const value = field.value ?? "";
  const shown = field.kind === "url" ? el("a", { class: "link", href: value, target: "_blank", rel: "noopener noreferrer" }, value) : value;
  return line(field.label, el("dd", {}, shown), [iconButton("copy", `${words.copy} ${field.label}`, () => copy(item, field.name, field.label))]);
}

/** @param {any} item @param {any} tile */
export function fieldsPane(item, tile) {
  stopFields();
  const fields = item.fields.map((/** @type {any} */ field) => (field.kind === "totp" ? codeField(item, field) : field.isSecret ? secretField(item, field) : plainField(item, field)));
  return el("div", { class: "body" }, el("div", { class: "narrow" },
    el("div", { class: "hero" }, tile, el("div", { class: "grow" }, el("h1", {}, item.title || "Without a title"),
      el("p", { class: "dim" }, item.tags.map((/** @type {string} */ tag) => el("span", { class: "tag" }, `#${tag}`)), ` changed ${when(item.modified)}`)),
      item.isTrashed ? null : el("button", { type: "button", class: "button", onclick: () => tell("edit") }, icon("pen", "small"), words.edit)),
    fields.length ? el("dl", { class: "card" }, fields) : null,
    item.text ? [el("h2", { class: "sub" }, words.notes), el("div", { class: "plain-text" }, item.text)] : null,
    item.attachments.length ? [el("h2", { class: "sub" }, words.files), fileCards(item)] : null));
}

/**
 * Fields that a new item of a kind begins with: name, label, kind.
 * @type {Record<string, [string, string, string][]>}
 */
const standard = { login: [["username", "Username", "text"], ["password", "Password", "secret"], ["url", "Website", "url"], ["totp", "One-time code", "totp"]] };

/**
 * The form of an item: empty secret lines leave secrets as they are.
 * @param {any} item @param {(changes: any) => Promise<void>} save @param {() => void} cancel
 */
export function fieldsForm(item, save, cancel) {
  stopFields();
  const isNew = !item.id;
  const title = el("input", { class: "text-input large", id: "form-title", value: item.title, autocomplete: "off", spellcheck: "false" });
  const known = new Set(item.fields.map((/** @type {any} */ field) => field.name));
  const missing = (standard[item.kind] ?? []).filter(([name]) => !known.has(name)).map(([name, label, kind]) => ({ name, label, kind, isSecret: kind === "secret" || kind === "totp", value: "" }));
  /** @type {{ field: any, input: any }[]} */
  const inputs = [];
  const lines = [...item.fields, ...missing].map((field, index) => {
    const id = `form-field-${index}`;
    const isMasked = field.isSecret;
    const input = el("input", {
      class: isMasked ? "text-input mono" : "text-input", id, type: isMasked ? "password" : "text", value: isMasked ? "" : field.value ?? "",
      placeholder: isMasked && known.has(field.name) ? "stays as it is" : "", autocomplete: "new-password", spellcheck: "false", autocapitalize: "off",
    });
    inputs.push({ field, input });
    return el("div", { class: "form-line" }, el("label", { for: id }, field.label), input,
      field.name === "password" && allows("secret.generate") ? iconButton("fresh", words.generate, async () => {
        try { input.value = (await ask("secret.generate", {})).secret; input.type = "text"; form.dataset.changed = "yes"; say("A new password of 20 characters stands there."); } catch (error) { refused(error); }
      }) : null);
  });
  let isBusy = false;
  const text = el("textarea", { class: "text-input", id: "form-text", rows: "5", spellcheck: "false" });
  text.value = item.text;
  const form = el("form", {
    class: "narrow form", autocomplete: "off", onsubmit: async (/** @type {Event} */ event) => {
      event.preventDefault();
      if (isBusy) return;
      const setFields = inputs.filter(({ field, input }) => (field.isSecret ? input.value !== "" : input.value !== (field.value ?? ""))).map(({ field, input }) => ({ name: field.name, value: input.value }));
      /** @type {any} */
      const changes = isNew ? { kind: item.kind, title: title.value, fields: setFields } : { setFields };
      if (!isNew && title.value !== item.title) changes.title = title.value;
      if (text.value !== item.text) { changes.text = text.value; if (!isNew) changes.baseText = item.text; }
      isBusy = true;
      try { await save(changes); } catch (error) { refused(error); }
      isBusy = false;
    },
    oninput: () => { form.dataset.changed = "yes"; },
  },
    el("div", { class: "form-line" }, el("label", { for: "form-title" }, words.title), title), lines,
    el("div", { class: "form-line" }, el("label", { for: "form-text" }, words.notes), text),
    el("div", { class: "row end" }, el("button", { type: "button", class: "button", onclick: cancel }, words.cancel), el("button", { type: "submit", class: "button primary" }, words.save)));
  return { node: el("div", { class: "body" }, form), focus: () => title.focus() };
}
