// The settings' part about a vault on another device.

import { forgetElsewhere, keepElsewhere, readElsewhere } from "./keys.js";
import { qrCode } from "./qr.js";
import { hostOf, letIn } from "./remote.js";
import { node } from "./view.js";
import { words } from "./words.js";

const place = node("section", { id: "elsewhere" });
let attempt;

/** Shows nodes below the heading, under the name of a state. */
function put(state, ...nodes) {
    place.replaceChildren(node("h1", {}, words.elsewhere), ...nodes);
    place.dataset.state = state;
}

const text = (said, kind = "") => node("p", { class: kind }, said);
const button = (title, click, kind = "") => node("button", { class: kind, click }, title);

function picture(code) {
    const [modules, scale] = [qrCode(code), 4];
    if (!modules) return "";
    const size = (modules.length + 8) * scale;
    const canvas = node("canvas", { width: size, height: size, class: "code-picture", role: "img", ariaLabel: words.elsewherePicture });
    const context = canvas.getContext("2d");
    context.fillStyle = "#fff";
    context.fillRect(0, 0, size, size);
    context.fillStyle = "#000";
    modules.forEach((row, y) => row.forEach((isDark, x) => isDark && context.fillRect((x + 4) * scale, (y + 4) * scale, scale, scale)));
    return canvas;
}

function start(browserName, why, typed = "") {
    attempt?.abort();
    const server = node("input", { type: "text", value: typed, placeholder: "vault.example", autocomplete: "off", spellcheck: false, id: "server" });
    const begin = () => connect(browserName, server.value);
    server.addEventListener("keydown", (event) => event.key === "Enter" && begin());
    put("none", text(words.elsewhereNote, "soft"), ...(why ? [text(why, "warning")] : []), node("label", {}, words.elsewhereServer, server), button(words.elsewhereShow, begin));
}

async function connect(browserName, typed) {
    const host = hostOf(typed);
    if (!host) return start(browserName, words.elsewhereNoServer, typed);
    const again = (why) => start(browserName, why, typed);
    const cancel = button(words.cancel, () => again());
    attempt = new AbortController();
    const { signal } = attempt;
    put("calling", text(words.elsewhereCalling));
    let given;
    try {
        given = await letIn(host, browserName, (code) => {
            const shown = node("textarea", { value: code, rows: 5, readOnly: true, spellcheck: false, id: "code" });
            put("code", text(words.elsewhereCode), picture(code), shown, button(words.elsewhereCopy, () => navigator.clipboard.writeText(code)), cancel);
        }, () => put("asked", text(words.elsewhereAsked), cancel), signal);
    } catch (error) {
        if (!signal.aborted) again(words[error.code] ?? words.elsewhereFailed);
        return;
    }
    // Whoever saw the code could have answered it: the person's own device says whether it did.
    const keep = async () => {
        await keepElsewhere(given);
        show(browserName);
    };
    put("sure", text(words.elsewhereSure(given.name)), button(words.elsewhereYes, keep, "main"), button(words.elsewhereNo, () => again(words.elsewhereDenied)));
}

async function show(browserName) {
    const kept = await readElsewhere();
    if (!kept) return start(browserName);
    const forget = async () => {
        await forgetElsewhere();
        start(browserName);
    };
    put("kept", text(words.elsewhereKept(kept.name, kept.host)), button(words.elsewhereForget, forget));
}

/** @returns the part, which fills itself */
export function elsewhere(browserName) {
    show(browserName);
    return place;
}
