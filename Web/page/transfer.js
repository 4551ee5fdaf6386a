// @ts-check
// Things from elsewhere come in, and the vault goes out. First a look, then one button with the number.

import { el } from "./el.js";
import { icon } from "./icons.js";
import { ask } from "./session.js";
import { allows, say, state, tell } from "./state.js";
import { refused } from "./dialogs.js";
import { byteWords, counted, number, words } from "./words.js";
import { chooseFiles, giveToFront } from "./files.js";
import { screen } from "./screens.js";

const warningCountMax = 50;
/** @type {HTMLElement | null} */
let reports = null;
/** Looks at what was dropped before the screen was there. */
let waiting = () => {};

export async function transferScreen() {
  reports = el("div", { class: "reports" });
  const vault = state.vaults.find((each) => each.id === state.vault)?.name ?? "";
  const zone = el("div", { class: "drop" }, icon("bring", "large"), el("b", {}, allows("front.choose") ? "Drop files or a folder here" : "Drop files here"),
    el("p", {}, "Bear · 1Password · Bitwarden · KeePass · Joplin · Standard Notes · Evernote · Markdown · browsers"),
    el("div", { class: "row centre" }, el("button", { type: "button", class: "button", onclick: () => chooseFiles((files) => lookAt(files)) }, "Choose files"),
      allows("front.choose") ? el("button", { type: "button", class: "button", onclick: () => lookAtFolder() }, "Choose a folder") : null));
  const content = screen(words.bringThingsIn, `They come into "${vault}". Coffret recognises the format by itself, tells you what it will do before it does it, and a second run changes nothing.`,
    zone, reports, ...outgoing());
  queueMicrotask(waiting);
  waiting = () => {};
  return content;
}

/**
 * Looks at files and folders that were dropped anywhere.
 * @param {File[]} files
 * @param {{ name: string, ticket: string }[]} [folders]
 */
export function bringIn(files, folders = []) {
  const looking = () => { lookAt(files); for (const folder of folders) void look(folder.name, null, async () => folder.ticket); };
  if (reports?.isConnected) { looking(); return; }
  waiting = looking;
  tell("screen", "transfer");
}

/** @param {File[]} files */
function lookAt(files) {
  // What a file in memory is called nobody knows, and Markdown is told by its name alone: it comes in as an archive.
  const texts = files.filter((file) => /\.(md|markdown)$/i.test(file.name));
  if (texts.length) void look(texts.length === 1 ? texts[0].name : counted(texts.length, "text", "texts"), texts.reduce((sum, file) => sum + file.size, 0), async () => giveToFront(new Blob(texts.flatMap(archived))));
  for (const file of files) if (!texts.includes(file)) void look(file.name, file.size, () => giveToFront(file));
}

/**
 * A file as a part of a tar archive (POSIX ustar). The name is cut to the 100 bytes that it has room for.
 * @param {File} file
 * @returns {BlobPart[]}
 */
function archived(file) {
  const head = new Uint8Array(512);
  const put = (/** @type {number} */ at, /** @type {string} */ text) => head.set(new TextEncoder().encode(text), at);
  const ending = /\.[a-z]+$/i.exec(file.name)?.[0] ?? "";
  let stem = file.name.slice(0, file.name.length - ending.length);
  while (new TextEncoder().encode(stem + ending).length > 100) stem = [...stem].slice(0, -1).join("");
  put(0, stem + ending);
  put(100, "0000600\0");
  put(124, `${file.size.toString(8).padStart(11, "0")}\0`);
  put(136, `${Math.floor(file.lastModified / 1000).toString(8).padStart(11, "0")}\0`);
  put(148, "        ");
  put(156, "0");
  put(257, "ustar\u000000");
  put(148, `${head.reduce((sum, byte) => sum + byte, 0).toString(8).padStart(6, "0")}\0 `);
  return [head, file, new Uint8Array((512 - (file.size % 512)) % 512)];
}

async function lookAtFolder() {
  try {
    const chosen = await ask("front.choose", { kind: "folder" });
    void look(chosen.name, null, async () => chosen.ticket);
  } catch (error) { if (/** @type {any} */ (error)?.code !== "front.choice.none") refused(error); }
}

/**
 * Does something that carries a file, and shows how far it is.
 * @param {string} name @param {Record<string, unknown>} fields @param {any} bar
 */
async function carried(name, fields, bar) {
  const timer = setInterval(async () => {
    const step = await ask("front.progress", { ticket: fields.ticket }, { byProgram: true }).catch(() => null);
    if (!step?.total) return;
    bar.max = step.total;
    bar.value = step.done;
  }, 300);
  try { return await ask(name, fields); } finally { clearInterval(timer); }
}

/** @param {string} name @param {number | null} size @param {() => Promise<string>} take */
async function look(name, size, take) {
  const vault = state.vault;
  const bar = el("progress", { class: "progress", "aria-label": `Reading ${name}` });
  const title = el("b", {}, "Reading …");
  const more = el("small", {}, size === null ? "a folder" : byteWords(size));
  const body = el("div", {});
  const actions = el("div", { class: "row actions-row" });
  const card = el("section", { class: "report", "aria-label": name }, el("h2", { class: "sub" }, name), el("div", { class: "card" }, el("div", { class: "report-head" }, title, more, bar), body), actions);
  reports?.prepend(card);
  let ticket = "";
  const drop = () => { if (ticket) ask("front.drop", { ticket }, { byProgram: true }).catch(() => {}); };
  const button = (/** @type {string} */ text, /** @type {string} */ kind, /** @type {() => void} */ onclick) => el("button", { type: "button", class: `button ${kind}`, onclick }, text);
  const cancel = button("Cancel", "", () => { if (ticket) ask("front.cancel", { ticket }).catch(() => {}); });
  actions.append(cancel);
  /** @param {any} error */
  const failed = (error) => {
    bar.remove();
    // The front keeps files by number, and the person knows this one by its name.
    const text = String(error?.message ?? error).replace(/: \d+$/, `: ${name}`);
    title.textContent = error?.code === "operation.cancelled" ? "Cancelled. Nothing was written." : `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
    more.textContent = error?.hint ?? "";
    say(title.textContent ?? "");
    actions.replaceChildren(button("Close", "", () => card.remove()));
    drop();
  };
  try {
    ticket = await take();
    // A full export is taken in as a whole, and cannot be looked at before.
    const { items } = await carried("front.import", { ticket, vault, isDryRun: true }, bar).catch((error) => {
      if (!String(error?.message).endsWith("isDryRun")) throw error;
      return {};
    });
    const count = items ? items.imported + items.updated + items.conflicts : 1;
    const what = formatWords(items?.format);
    bar.max = 1; bar.value = 1;
    title.textContent = !items ? "All of a vault, with its history. It comes into a vault that is empty" : count ? `Ready to take in ${counted(count, "item", "items")}` : "Nothing new: all of it is here already";
    more.textContent = `${what}${items ? ` · ${byteWords(items.byteCount)}` : ""}, nothing was written yet`;
    say(title.textContent);
    if (items) body.replaceChildren(reportTable(items));
    const run = async () => {
      actions.replaceChildren(cancel);
      bar.removeAttribute("value");
      title.textContent = "Taking in …";
      try {
        const done = await carried("front.import", { ticket, vault }, bar);
        bar.remove();
        const taken = done.items ? done.items.imported + done.items.updated + done.items.conflicts : done.everything.items;
        title.textContent = `${counted(taken, "item is", "items are")} in "${state.vaults.find((each) => each.id === vault)?.name ?? ""}" now`;
        more.textContent = "The source was left as it is. If it is not encrypted, delete it when you are content.";
        if (done.items) body.replaceChildren(reportTable(done.items));
        actions.replaceChildren(button("Close", "", () => card.remove()));
        say(title.textContent);
        drop();
        tell("saved");
      } catch (error) { failed(error); }
    };
    actions.replaceChildren(...[count ? button(items ? `Take in ${counted(count, "item", "items")}` : "Take in all of it", "primary", run) : null, button(count ? "Cancel" : "Close", "", () => { card.remove(); drop(); })].filter(Boolean));
  } catch (error) { failed(error); }
}

/** @param {string | undefined} format */
const formatWords = (format) => (format ? `Read as ${format}` : "A full export");

/** @param {any} items */
function reportTable(items) {
  const lines = [["new", items.imported], ["changed since the last time", items.updated], ["here already", items.unchanged], ["changed here and there: kept beside", items.conflicts],
    ["files", items.attachments], ["tags", items.tags], ["values kept as fields", items.keptAsRaw], ["left out", items.dropped]].filter(([name, count]) => count > 0 || name === "new" || name === "left out");
  const warnings = items.warnings.slice(0, warningCountMax);
  return el("div", {}, el("table", { class: "figures" }, el("tbody", {}, lines.map(([name, count]) => el("tr", {}, el("th", { scope: "row" }, String(name)), el("td", {}, number(count)))))),
    warnings.length ? el("details", { class: "remarks" }, el("summary", {}, counted(items.warningCount, "remark", "remarks")), el("ul", {}, warnings.map((/** @type {string} */ text) => el("li", {}, text)))) : null);
}

// Out

/** @type {[string, string, string][]} */
const formats = [["markdown", "Markdown, a folder", ""], ["html", "HTML pages, a folder", ""], ["textbundle", "TextBundles, a folder", ""], ["textpack", "TextPack", ".textpack"],
  ["json", "JSON with the whole history", ".json"], ["bitwarden", "Bitwarden", ".json"], ["csv", "Table (CSV)", ".csv"]];

function outgoing() {
  if (!allows("front.export")) return [el("h2", { class: "sub" }, "Take things out"), el("p", { class: "dim" }, "A page in a browser exports nothing. The window does, and coffret export in a terminal.")];
  const choice = el("select", { class: "text-input short", id: "export-format" }, formats.map(([name, text]) => el("option", { value: name }, text)));
  const status = el("p", { class: "dim", role: "status" }, "");
  const bar = el("progress", { class: "progress", "aria-label": "Writing", hidden: true });
  const run = async () => {
    const vault = state.vaults.find((each) => each.id === state.vault);
    const ending = formats.find(([name]) => name === choice.value)?.[2] ?? "";
    try {
      const target = await ask("front.choose", { kind: "target" });
      bar.hidden = false;
      status.textContent = "Writing …";
      const name = `${(vault?.name ?? "Coffret").replace(/[/\\:]/g, "-")} ${new Date().toISOString().slice(0, 10)}${ending}`;
      try {
        const done = await carried("front.export", { ticket: target.ticket, vault: state.vault, format: choice.value, name }, bar);
        const count = done.items ? done.items.notes + done.items.otherItems : done.everything.items;
        status.textContent = `${counted(count, "item is", "items are")} in ${target.name}/${name}, not encrypted.${done.items?.locked ? ` ${counted(done.items.locked, "locked note was", "locked notes were")} left out.` : ""}`;
      } finally { bar.hidden = true; void ask("front.drop", { ticket: target.ticket }); }
    } catch (error) {
      status.textContent = "";
      if (/** @type {any} */ (error)?.code !== "front.choice.none") refused(error);
    }
  };
  return [el("h2", { class: "sub" }, "Take things out"), el("p", { class: "dim small" }, "Everything of this vault, in clear, where you say. Who has the folder can read it."),
    el("div", { class: "row" }, el("label", { for: "export-format", class: "unseen" }, "Format"), choice, el("button", { type: "button", class: "button", onclick: run }, "Choose a folder")), bar, status];
}
