// @ts-check
// Screens in place of list and item: devices, settings, passwords that are weak.

import { el } from "./el.js";
import { icon, iconButton } from "./icons.js";
import { ask } from "./session.js";
import { allows, state, tell } from "./state.js";
import { refused, sheet, toast } from "./dialogs.js";
import { counted, number, when, words } from "./words.js";
import { transferScreen } from "./transfer.js";

/** @typedef {"devices" | "settings" | "transfer" | "passwords"} ScreenName */

/** @param {string} title @param {string} text @param {...any} content */
export const screen = (title, text, ...content) => [
  el("div", { class: "bar" }, iconButton("left", words.back, () => tell("leave-screen"), { class: "icon-button" }), el("span", { class: "crumb" }, title)),
  el("div", { class: "body" }, el("div", { class: "narrow" }, el("h1", { class: "screen-title" }, title), el("p", { class: "dim lead" }, text), ...content))];

/** @param {any} picture @param {any} title @param {string} text @param {...any} actions */
const fact = (picture, title, text, ...actions) => el("li", { class: "fact-line" }, picture ? el("span", { class: "file-icon" }, picture) : null,
  el("div", { class: "grow" }, el("b", {}, title), text ? el("small", {}, text) : null), ...actions);

/** @param {ScreenName} name @returns {Promise<any[]>} */
export function makeScreen(name) {
  return { devices: devicesScreen, settings: settingsScreen, transfer: transferScreen, passwords: passwordsScreen }[name]();
}

// Devices

async function devicesScreen() {
  const [found, sync] = await Promise.all([ask("device.list", {}), ask("sync.read", {})]);
  const heard = new Map(sync.vaults.flatMap((/** @type {any} */ vault) => vault.devices).map((/** @type {any} */ device) => [device.id, device]));
  const devices = found.devices.filter((/** @type {any} */ device) => !device.revoked);
  if (!devices.length || !sync.vaults.length) {
    return screen("Your devices", "These notes are only on this computer.",
      el("p", {}, "To have them on others too, register at a server and put a vault there:"),
      el("pre", { class: "command" }, "coffret server join https://vault.example.org\ncoffret vault sync Personal"));
  }
  const requests = el("div", {});
  const node = screen("Your devices", "Each has a key of its own. Whoever has one of them can read everything.",
    el("ul", { class: "card" }, devices.map((/** @type {any} */ device) => {
      const said = heard.get(device.id);
      const since = device.added ? `since ${when(device.added)}` : "";
      const last = device.current || !said?.heard ? "" : ` · last word ${when(said.heard)}`;
      return fact(icon(device.kind === "paper" ? "note" : "laptop"), [device.name || "Without a name", device.current ? el("span", { class: "tag here" }, "this computer") : null],
        `${since}${last}${device.kind === "paper" ? " · a sheet that opens everything" : ""}`,
        device.current || !said ? null : el("span", { class: said.hasEverything ? "chip" : "chip brass" }, said.hasEverything ? "has everything" : "is behind"));
    })),
    allows("device.approve") ? el("div", { class: "row actions-row" }, el("button", { type: "button", class: "button primary", onclick: () => addDevice() }, icon("plus", "small"), "Add a device"))
      : el("p", { class: "dim" }, "A device is let in by the window, or in a terminal: coffret device approve"),
    requests);
  if (allows("device.follow")) void lookForRequests(requests);
  return node;
}

/** @param {HTMLElement} place */
async function lookForRequests(place) {
  try {
    const news = await ask("device.follow", {});
    if (!news.requests.length) return;
    place.append(el("h2", { class: "sub" }, "Asks to join"), el("ul", { class: "card" }, news.requests.map((/** @type {any} */ request) =>
      waitingDevice(request, el("button", { type: "button", class: "button small", onclick: () => addDevice(request) }, "Let it in")))));
  } catch (error) { place.append(el("p", { class: "dim" }, `Who asks to join is not known: ${String(/** @type {any} */ (error).message)}.`)); }
}

/** @param {string} digits */
const grouped = (digits) => digits.replace(/(.{4})(?=.)/g, "$1 ");

/** Minutes that an attempt has. */
const pairingMinutes = 10;

/** @param {{ id: string, since: string }} request @param {...any} actions */
const waitingDevice = (request, ...actions) => fact(icon("laptop"), el("span", { class: "mono" }, grouped(request.id.slice(0, 8))), `since ${when(request.since)}`, ...actions);

/** @param {string} title @param {string} text @param {string} [digits] places of a code, which no page gets */
const pairingStep = (title, text, digits = "") => el("li", {}, el("b", {}, title), el("small", { class: "dim" }, text),
  el("span", { class: "digits", "aria-hidden": "true" }, [...digits].map((digit) => el("span", {}, digit))));

/** @param {{ id: string, since: string }} [request] of the device that is to be let in; without one its number is typed */
function addDevice(request) {
  const input = el("input", { class: "text-input mono", id: "pairing-number", value: request ? request.id.slice(0, 8) : "", autocomplete: "off", spellcheck: "false", autocapitalize: "off" });
  const typed = [el("label", { for: "pairing-number", class: "dim small" }, "Its whole number, or the text of its picture. With the text no codes are needed."), input];
  const shows = el("div", { class: "shows" }, request ? [el("ul", { class: "card" }, waitingDevice(request)),
    el("button", { type: "button", class: "link", onclick: () => { input.value = ""; shows.replaceChildren(...typed); input.focus(); } }, "Type another number")] : typed);
  const said = el("p", { class: "dim small grow", role: "status" }, request ? goodFor(request.since) : "");
  const dialog = sheet("Add a device", (close) => [
    el("p", { class: "dim" }, request ? "One asks to join. Let it in only if you began this yourself and its number begins with the same eight digits."
      : "On the new computer, coffret open joins your devices. Let it in only if you began this yourself."),
    el("form", { class: "form", onsubmit: async (/** @type {Event} */ event) => {
      event.preventDefault();
      const pairing = input.value.replace(/\s/g, "");
      button.disabled = true;
      said.textContent = "Coffret asks in windows of its own.";
      try {
        const approved = await ask("device.approve", pairing ? { pairing } : {});
        close();
        toast(`${approved.name} is in.`);
        tell("view");
      } catch (error) {
        const { message, hint = "" } = /** @type {any} */ (error);
        // The first digits find a device alone that knows the name of the account; other hints name commands or what to do.
        const more = /^[0-9a-f]{1,31}$/i.test(pairing) ? "Type its whole number." : /coffret /.test(hint) ? "" : hint && `${hint[0].toUpperCase()}${hint.slice(1)}.`;
        said.textContent = `It is not let in: ${message}. ${more}`;
        input.focus();
      }
      button.disabled = false;
    } },
      el("div", { class: "pairing" },
        el("div", {}, el("h3", {}, "It shows"), shows),
        el("ol", { class: "steps" }, pairingStep("1. Your passphrase", "Coffret asks for it, and for the code, in windows of its own."),
          pairingStep("2. Type the code that it shows", "Six digits. One try, so take your time.", "······"),
          pairingStep("3. Then type this one there", "Shown once the first was right. Somebody in between has one guess in a million.", "······"))),
      el("div", { class: "row end" }, said, el("button", { type: "button", class: "button", onclick: close }, words.cancel), el("button", { type: "submit", class: "button primary" }, "Let it in"))),
  ], { isWide: true });
  const button = /** @type {HTMLButtonElement} */ (dialog.querySelector(".primary"));
  if (request) button.focus(); else input.focus();
}

/** @param {string} since when an attempt began */
function goodFor(since) {
  const minutes = Math.floor(pairingMinutes - (Date.now() - Date.parse(since)) / 60_000);
  return minutes >= 1 ? `Good for ${counted(minutes, "more minute", "more minutes")}.` : "Its time is nearly over: begin again on the new device.";
}

// Settings

/** @type {"desktop" | "light" | "dark"} */
let look = "desktop";
export const wantedLook = () => look;

/** Looks as this computer's settings say. */
export async function readLook() {
  look = (await ask("settings.read", {}, { byProgram: true })).look ?? "desktop";
  tell("look");
}

/**
 * A page keeps nothing on the disk: the settings do, where this front may change them.
 * @param {any} wanted
 */
async function chooseLook(wanted) {
  look = wanted;
  tell("look");
  if (!allows("settings.edit")) return;
  try { await ask("settings.edit", { look }); } catch (error) { refused(error); }
}

async function settingsScreen() {
  const [found, store] = await Promise.all([ask("settings.read", {}), ask("store.read", { vault: state.vault })]);
  const isFixed = !allows("settings.edit");
  const choice = (/** @type {string} */ id, /** @type {string} */ title, /** @type {string} */ text, /** @type {"syncs" | "opensWhenAsked"} */ name) => {
    const box = el("input", { type: "checkbox", class: "box", id, disabled: isFixed, "aria-describedby": `${id}-more` });
    box.checked = found[name];
    box.addEventListener("change", async () => {
      try { found[name] = (await ask("settings.edit", { [name]: box.checked }))[name]; } catch (error) { refused(error); }
      box.checked = found[name];
    });
    return el("li", { class: "fact-line" }, el("div", { class: "grow" }, el("label", { for: id }, el("b", {}, title)), el("small", { id: `${id}-more` }, text)), box);
  };
  const looks = el("select", { class: "text-input short", id: "look", onchange: () => chooseLook(looks.value) },
    el("option", { value: "desktop" }, "as the desktop"), el("option", { value: "light" }, "light"), el("option", { value: "dark" }, "dark"));
  looks.value = look;
  return screen("Settings", isFixed ? "The window and commands change them; a page in a browser does not." : "They are those of this computer.",
    el("h2", { class: "sub" }, "The agent"),
    el("ul", { class: "card" },
      choice("setting-syncs", "Sync while the store is open", "With the server, whenever something is new here or there.", "syncs"),
      choice("setting-opens", "Keep the store locked unless asked to open it", "A passphrase that is typed for one command then opens it for that command alone.", "opensWhenAsked")),
    el("h2", { class: "sub" }, "Locking"),
    el("ul", { class: "card" },
      fact(null, "Lock after a time without use", "coffret agent settings shows and changes it, and asks for your PIN or passphrase."),
      fact(null, "Clear the clipboard", "45 seconds after a value was copied, and when the store locks."),
      fact(null, "Cover the window", "When it is minimised, and after a minute without the keyboard.")),
    el("h2", { class: "sub" }, "Look"),
    el("ul", { class: "card" }, el("li", { class: "fact-line" }, el("div", { class: "grow" }, el("label", { for: "look" }, el("b", {}, "Light or dark")), el("small", {}, isFixed ? "Until this page is closed." : "On this computer.")), looks)),
    el("h2", { class: "sub" }, "This store"),
    el("ul", { class: "card" },
      fact(null, state.front.store, `Version ${state.front.version} of Coffret`),
      fact(null, counted(store.recoveryKeyCount, "recovery key", "recovery keys"), store.recoveryKeyCount ? "They open it when the passphrase is lost." : "Nothing opens it when the passphrase is lost. coffret recovery add makes a key to print.")));
}

// Passwords

/** @type {Record<string, [string, string]>} */
const flaws = {
  breached: ["Breached", "They stand in a list of stolen passwords."], weak: ["Weak", "They can be guessed."], reused: ["Used twice", "One site that loses it loses the others."],
  similar: ["Alike", "They differ from others by an edit or two."], old: ["Old", "They were not changed for two years."], oneFactor: ["Without a second factor", "Neither a one-time code nor a passkey is kept with them."],
};

async function passwordsScreen() {
  const audit = await ask("password.audit", { vault: state.vault });
  const groups = audit.counts.filter((/** @type {any} */ entry) => entry.count > 0);
  if (!groups.length) return screen("Passwords", audit.passwordCount ? `Nothing is wrong with ${counted(audit.passwordCount, "password", "passwords")}.` : "There are none yet.");
  return screen("Passwords", `${counted(audit.passwordCount, "password was", "passwords were")} looked at, on this computer alone.`,
    ...groups.map((/** @type {any} */ { flaw, count }) => [
      el("h2", { class: "sub" }, `${flaws[flaw][0]} · ${number(count)}`), el("p", { class: "dim small" }, flaws[flaw][1]),
      el("ul", { class: "card" }, audit.items.filter((/** @type {any} */ item) => item.flaws.includes(flaw)).map((/** @type {any} */ item) =>
        el("li", { class: "fact-line" }, el("button", { type: "button", class: "grow plain-button", onclick: () => tell("leave-screen", item.item) },
          el("b", {}, item.title || "Without a title"),
          el("small", {}, `since ${when(item.changed)} or longer${flaw === "reused" && item.reuseGroup !== undefined ? ` · group ${item.reuseGroup}` : ""}`)))))]).flat());
}
