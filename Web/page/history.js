// @ts-check
// The history of an item: a curve of its length, its versions, and the lines that changed.

import { el } from "./el.js";
import { ask } from "./session.js";
import { state, tell } from "./state.js";
import { refused, toast } from "./dialogs.js";
import { counted, whenExactly, words } from "./words.js";

const groupMilliseconds = 600_000;

/**
 * Changes of one device that are less than ten minutes apart are one line.
 * @param {any[]} versions latest first
 */
export function grouped(versions) {
  /** @type {{ versions: any[], device: string, added: number, removed: number }[]} */
  const groups = [];
  for (const version of versions) {
    const last = groups[groups.length - 1];
    const device = version.device ?? version.instance;
    const isNear = last && last.device === device && new Date(last.versions[last.versions.length - 1].time).getTime() - new Date(version.time).getTime() < groupMilliseconds;
    if (isNear) { last.versions.push(version); last.added += version.addedLineCount; last.removed += version.removedLineCount; }
    else groups.push({ versions: [version], device, added: version.addedLineCount, removed: version.removedLineCount });
  }
  return groups;
}

/** @param {any} item */
export async function historyPane(item) {
  const found = await ask("item.history", { item: item.id, vault: state.vault, namesDevices: true });
  const groups = grouped(found.versions);
  const devices = [...new Set(groups.map((group) => group.device))];
  let chosen = 0;
  const log = el("div", { class: "log", role: "listbox", tabindex: "0", "aria-label": "Versions" });
  const lines = el("div", { class: "difference", tabindex: "0", role: "region", "aria-label": "What changed" });
  const strip = el("div", { class: "strip" });

  const draw = () => {
    log.replaceChildren(...groups.map((group, index) => {
      const lane = devices.indexOf(group.device) % 3;
      const version = group.versions[0];
      const row = el("div", { class: "version", role: "option", id: `version-${index}`, "aria-selected": String(index === chosen), onclick: () => choose(index) },
        el("svg", { viewBox: "0 0 58 62", class: "lanes", "aria-hidden": "true", preserveAspectRatio: "none" },
          el("path", { class: "lane lane-1", d: `M20 ${index === 0 ? 31 : 0}V${index === groups.length - 1 ? 31 : 62}` }), el("circle", { class: `lane lane-${lane + 1} ${version.isCreation ? "hollow" : ""}`, cx: String(20 + lane * 14), cy: "31", r: "6" })),
        el("div", {}, el("span", { class: "amount" }, group.added ? el("span", { class: "added" }, `+${group.added}`) : null, group.removed ? el("span", { class: "removed" }, ` −${group.removed}`) : null),
          el("b", {}, whenExactly(version.time)), el("small", {}, `${group.device} · ${group.versions.length > 1 ? counted(group.versions.length, "edit", "edits") : version.summary}`)));
      return row;
    }));
    log.setAttribute("aria-activedescendant", `version-${chosen}`);
    drawStrip();
  };

  const drawStrip = () => {
    const versions = [...found.versions].reverse();
    let length = 0;
    const points = versions.map((version) => { length = Math.max(0, length + version.addedLineCount - version.removedLineCount); return { time: new Date(version.time).getTime(), length }; });
    if (points.length === 0) return;
    const [first, last, most] = [points[0].time, Date.now(), Math.max(1, ...points.map((point) => point.length))];
    const x = (/** @type {number} */ time) => 1000 * (last === first ? 1 : (time - first) / (last - first));
    const y = (/** @type {number} */ value) => 100 - (90 * value) / most;
    let path = `M0 ${y(points[0].length)}`;
    for (const point of points.slice(1)) path += `H${x(point.time).toFixed(1)}V${y(point.length).toFixed(1)}`;
    path += "H1000";
    const at = x(new Date(groups[chosen].versions[0].time).getTime());
    strip.replaceChildren(el("svg", { viewBox: "0 0 1000 104", preserveAspectRatio: "none", role: "img", "aria-label": "length of the text over time" },
      el("path", { class: "area", d: `${path}V100H0Z` }), el("path", { class: "curve", d: path }), el("path", { class: "handle", d: `M${at.toFixed(1)} 0V104` })),
      el("div", { class: "row strip-foot" }, el("span", {}, whenExactly(versions[0].time)), el("span", { class: "chip brass" }, whenExactly(groups[chosen].versions[0].time)), el("span", {}, "now")));
  };

  /** @param {number} index */
  const choose = async (index) => {
    chosen = Math.max(0, Math.min(groups.length - 1, index));
    draw();
    const group = groups[chosen];
    const [newest, oldest] = [group.versions[0], group.versions[group.versions.length - 1]];
    const before = found.versions[found.versions.indexOf(oldest) + 1];
    const title = `${whenExactly(newest.time)}, on ${group.device}`;
    const isPresent = chosen === 0;
    const bringBack = isPresent ? null : el("button", { type: "button", class: "button primary", onclick: async () => {
      try { await ask("item.restore", { item: item.id, vault: state.vault, version: newest.version }); toast("It is as it was then. The newer state stays in the history."); tell("saved"); tell("reopen"); } catch (error) { refused(error); }
    } }, words.bringBack);
    /** @type {any[]} */
    let content;
    try {
      if (before) {
        const difference = await ask("item.compare", { item: item.id, vault: state.vault, version: before.version, newVersion: newest.version });
        content = changeNodes(difference);
      } else {
        const first = await ask("item.read", { item: item.id, vault: state.vault, version: newest.version });
        content = first.text.split("\n").map((/** @type {string} */ text) => lineNode("added", text));
      }
    } catch (error) { content = [el("p", { class: "dim" }, String(/** @type {any} */ (error).message))]; }
    lines.replaceChildren(el("div", { class: "row difference-head" }, el("h2", { class: "grow" }, title), bringBack), ...content);
  };

  log.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const step = /** @type {Record<string, number>} */ ({ ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 })[event.key];
    if (step) { event.preventDefault(); void choose(chosen + step); }
  });
  if (groups.length) { draw(); await choose(0); }
  return el("div", { class: "history" }, strip, el("div", { class: "history-panes" }, log, lines));
}

/** @param {string} mark @param {any} content */
const lineNode = (mark, content) => el("div", { class: `diff ${mark}` }, el("span", { class: "diff-mark", "aria-hidden": "true" }, mark === "added" ? "+" : mark === "removed" ? "−" : ""),
  mark === "kept" ? null : el("span", { class: "unseen" }, mark === "added" ? "added: " : "removed: "), el("span", {}, content.length ? content : " "));

/**
 * A line with the words marked that another line does not have at its beginning or end.
 * @param {string} text @param {string} other
 */
function markedWords(text, other) {
  const [own, others] = [text, other].map((line) => line.split(/(?<=\s)|(?=\s)/));
  let [start, end] = [0, 0];
  const shorter = Math.min(own.length, others.length);
  while (start < shorter && own[start] === others[start]) start += 1;
  while (end < shorter - start && own[own.length - 1 - end] === others[others.length - 1 - end]) end += 1;
  const middle = own.slice(start, own.length - end).join("");
  // Lines that have little in common are other lines.
  if (!middle || (start + end) * 3 < shorter) return [text];
  return [own.slice(0, start).join(""), el("b", { class: "changed" }, middle), own.slice(own.length - end).join("")].filter((part) => part !== "");
}

/**
 * Lines that took the place of others stand beside those they came from.
 * @param {{ mark: string, text: string }[]} lines
 */
function hunkNodes(lines) {
  const nodes = [];
  for (let at = 0; at < lines.length;) {
    const run = (/** @type {string} */ mark, /** @type {number} */ from) => { let to = from; while (to < lines.length && lines[to].mark === mark) to += 1; return lines.slice(from, to); };
    const removed = run("removed", at);
    const added = run("added", at + removed.length);
    if (!removed.length && !added.length) { nodes.push(lineNode(lines[at].mark, lines[at].text)); at += 1; continue; }
    const areSame = removed.length === added.length;
    nodes.push(...removed.map((line, index) => lineNode("removed", areSame ? markedWords(line.text, added[index].text) : line.text)),
      ...added.map((line, index) => lineNode("added", areSame ? markedWords(line.text, removed[index].text) : line.text)));
    at += removed.length + added.length;
  }
  return nodes;
}

/**
 * Changed lines with those around them.
 * @param {any[]} hunks
 */
export function differenceNodes(hunks) {
  /** @type {any[]} */
  const nodes = [];
  let end = 0;
  for (const hunk of hunks) {
    if (hunk.oldStart > end) nodes.push(el("p", { class: "gap" }, `${counted(hunk.oldStart - end, "line", "lines")} as before`));
    nodes.push(...hunkNodes(hunk.lines));
    end = hunk.oldStart + hunk.lines.filter((/** @type {any} */ line) => line.mark !== "added").length;
  }
  return nodes;
}

/** @param {any} difference */
function changeNodes(difference) {
  const facts = [
    difference.newTitle !== undefined ? `title: ${difference.oldTitle ?? ""} → ${difference.newTitle}` : "",
    ...difference.addedTags.map((/** @type {string} */ tag) => `tag #${tag} added`), ...difference.removedTags.map((/** @type {string} */ tag) => `tag #${tag} taken away`),
    ...difference.fields.map((/** @type {any} */ field) => `${field.label} ${field.change}`),
    ...difference.flags.map((/** @type {any} */ flag) => `${flag.isSet ? "" : "not "}${flag.name}`),
    ...difference.addedAttachments.map((/** @type {string} */ name) => `file ${name} added`), ...difference.removedAttachments.map((/** @type {string} */ name) => `file ${name} taken away`),
  ].filter(Boolean);
  const nodes = [...facts.map((fact) => el("p", { class: "fact" }, fact)), ...differenceNodes(difference.hunks)];
  if (nodes.length === 0) nodes.push(el("p", { class: "dim" }, difference.summary || "Nothing that a page can show."));
  return nodes;
}
