// Connecting this browser with a vault.

import { pair } from "./channel.js";
import { elsewhere } from "./elsewhere.js";
import { readPairing } from "./keys.js";
import { node, show } from "./view.js";
import { words } from "./words.js";

const api = globalThis.browser ?? chrome;

async function browserName() {
    if (api.runtime.getBrowserInfo) return (await api.runtime.getBrowserInfo()).name;
    const brands = navigator.userAgentData?.brands?.map((brand) => brand.brand) ?? [];
    return brands.find((brand) => !/not.?a.?brand|chromium/i.test(brand)) ?? "Chromium";
}

async function connect() {
    show("connecting", node("p", {}, words.waiting));
    try {
        const name = await pair(await browserName(), (digits) =>
            show("digits", node("p", {}, words.digits), node("p", { class: "digits" }, digits), node("p", { class: "soft" }, words.digitsNote)));
        show("connected", node("h1", {}, words.connected(name)));
    } catch (error) {
        const why = words[error.code] ?? error.message;
        show("failed", node("p", { class: "warning" }, words.failed(typeof why === "string" ? why : error.code)), button());
        document.querySelector("main").dataset.code = error.code ?? "";
    }
}

const button = (title = words.connect) => node("button", { class: "main", click: connect }, title);

/** A right that the browser asks the person about, as a box to tick. */
async function choice(title, note, right, name) {
    const box = node("input", { type: "checkbox", id: name, checked: await api.permissions.contains(right) });
    box.addEventListener("change", async () => {
        const isOn = box.checked;
        box.checked = isOn ? await api.permissions.request(right) : !(await api.permissions.remove(right));
    });
    return node("div", { class: "choice" }, node("label", { class: "tick" }, box, title), node("p", { class: "soft" }, note));
}

const pairing = await readPairing();
if (pairing) show("paired", node("p", {}, words.paired(pairing.name)), button(words.again));
else show("unpaired", node("h1", {}, "Coffret"), node("p", {}, words.unpaired), button());

const choices = [await choice(words.offers, words.offersNote, { origins: ["https://*/*"] }, "offers")];
// Firefox lets no extension answer for passkeys.
if (!api.runtime.getBrowserInfo) choices.push(await choice(words.passkeys, words.passkeysNote, { permissions: ["webAuthenticationProxy"] }, "passkeys"));
document.querySelector("main").after(elsewhere(await browserName()), node("section", {}, ...choices));
