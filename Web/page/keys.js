// @ts-check
// Keys, and the sheet that lists them.

import { el } from "./el.js";
import { sheet } from "./dialogs.js";
import { tell } from "./state.js";

/** @type {[string, [string, string][]][]} */
const groups = [
  ["Everywhere", [["Search", "Ctrl F"], ["New note", "Ctrl N"], ["New login", "Ctrl Shift N"], ["New note from a template", "Ctrl Alt N"], ["Today's note", "Ctrl Alt D"], ["Lock now", "Ctrl L"], ["Back to the list", "Alt Left"], ["This page", "F1"]]],
  ["In the list", [["Next, previous", "J K ↓ ↑"], ["Open", "Enter"], ["Pin", "P"], ["Archive", "E"], ["To the trash", "Delete"]]],
  ["In a login", [["Copy password", "Ctrl Shift C"], ["Copy username", "Ctrl Shift B"], ["Copy code", "Ctrl Shift X"]]],
  ["In a note", [["History", "Ctrl H"], ["Task", "Ctrl Enter"], ["Open the link", "Alt Enter"], ["Save now", "Ctrl S"], ["Add a file", "Ctrl Alt A"]]],
];

/** @type {Record<string, string>} */
const topics = {
  "Ctrl f": "find", "Ctrl k": "find", "Ctrl n": "new-note", "Ctrl Shift n": "new-login", "Ctrl Alt n": "template", "Ctrl Alt d": "today", "Ctrl Alt a": "add-file", "Ctrl l": "lock", "Ctrl h": "history", "Ctrl s": "save",
  "Ctrl Shift c": "copy-password", "Ctrl Shift b": "copy-username", "Ctrl Shift x": "copy-code", "Alt arrowleft": "back", f1: "keys",
};

export function listenForKeys() {
  addEventListener("keydown", (event) => {
    const name = `${event.ctrlKey ? "Ctrl " : ""}${event.altKey ? "Alt " : ""}${event.shiftKey ? "Shift " : ""}${event.key.toLowerCase()}`;
    const topic = topics[name];
    if (!topic || event.isComposing) return;
    event.preventDefault();
    if (topic === "keys") askForKeys(); else tell(topic);
  });
}

export function askForKeys() {
  if (document.querySelector("dialog")) return;
  sheet("Keys", (close) => [
    el("div", { class: "keys" }, groups.flatMap(([title, keys]) => [el("h3", {}, title),
      el("dl", {}, keys.map(([what, key]) => el("div", {}, el("dt", {}, what), el("dd", {}, el("kbd", { class: "key" }, key)))))])),
    el("div", { class: "row end" }, el("button", { type: "button", class: "button", onclick: close }, "Close")),
  ], { isWide: true });
}
