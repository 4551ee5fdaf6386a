// The popup: opened by the person, it looks at the page in front, asks the vault, and fills in. It holds what it was given until it closes.

import { BridgeError, openSession, unlock } from "./channel.js";
import { Front } from "./front.js";
import { readElsewhere } from "./keys.js";
import { ask } from "./remote.js";
import { node, show } from "./view.js";
import { words } from "./words.js";

const api = globalThis.browser ?? chrome;
/** What a popup holds that nobody closes goes after this time. */
const lifetime = 50_000;
const closing = 6_000;
/** What keeps the vault of this computer from answering: then another device may be asked. */
const absences = ["unpaired", "locked", "refused", "missing", "absent"];

let front;
let session;
let logins = [];
let elsewhere;
let end;
let asking;

const text = (words, kind = "") => node("p", { class: kind }, words);
const action = (title, click, kind = "") => node("button", { class: kind, click: () => attempt(click) }, title);
const settings = () => action(words.settings, () => api.runtime.openOptionsPage(), "soft");

/** Shows what went wrong, in words. */
async function attempt(work) {
    try {
        await work();
    } catch (error) {
        report(error);
    }
}

function report(error) {
    const code = error.code;
    explain(code, error);
    if (absences.includes(code)) offerElsewhere();
}

/** Another device may have it. */
function offerElsewhere() {
    const { password, code } = front?.page?.has ?? {};
    if (elsewhere && (password || code)) document.querySelector("main").append(action(words.askElsewhere(elsewhere.name), () => askElsewhere([]), "elsewhere"));
}

function explain(code, error) {
    if (code === "unpaired") return show("unpaired", text(words.unpaired), action(words.connect, () => api.runtime.openOptionsPage(), "main"));
    if (code === "locked") return show("locked", text(words.locked), action(words.unlock, openVault, "main"));
    if (code === "refused") return show("refused", text(words.refused, "warning"), action(words.connect, () => api.runtime.openOptionsPage(), "main"));
    if (code === "bridge.origin.refused") {
        const state = front.page.origin.startsWith("http:") ? "insecure" : "odd";
        return show(state, text(words[state], "warning"));
    }
    const known = words[code];
    show(code === "missing" || code === "ended" || code === "absent" ? code : "error", text(typeof known === "string" ? known : error.message, "warning"));
    document.querySelector("main").dataset.code = code ?? "";
}

async function openVault() {
    asking = await unlock();
    show("unlocking", text(words.unlocking));
}

async function begin() {
    // Both at once: neither needs the other.
    const opening = openSession();
    opening.catch(() => {});
    // The worker sleeps, and is woken only if it can hold something.
    const [tabs, isOffering, kept] = await Promise.all([api.tabs.query({ active: true, currentWindow: true }), api.permissions.contains({ origins: ["https://*/*"] }), readElsewhere()]);
    elsewhere = kept;
    front = new Front(tabs[0]);
    const offer = isOffering ? await askWorker("offer") : undefined;
    if (offer) {
        session = await opening;
        return consider(offer);
    }
    await lookAt(opening);
}

/** The worker has what was sent in this tab a moment ago, if the person has switched that on. */
const askWorker = (what) => api.runtime.sendMessage({ do: what, tab: front.tab.id }).catch(() => undefined);

async function lookAt(opening) {
    try {
        await front.look();
    } catch (error) {
        opening.then((opened) => opened.close(), () => {});
        return show("blocked", text(words[error.code], error.code === "blocked" ? "" : "warning"));
    }
    session = await opening;
    const found = await session.ask({ do: "find", origin: front.page.origin });
    logins = found.logins;
    if (found.like) return show("like", text(words.like(front.host, found.like), "warning"));
    if (logins.length === 1 && front.isEmptyForm) return fill(logins[0], []);
    choose(found.isMore);
}

/** The list of logins, and what else can be done with the page. */
function choose(isMore) {
    const { username, password, code, fresh } = front.page.has;
    const canFill = username || password || code;
    const nodes = [text(logins.length ? words.choose(front.host) : words.none(front.host), "soft")];
    for (const login of logins) {
        const title = login.username ? `${login.title} · ${login.username}` : login.title;
        const row = node("div", { class: "row" }, node("button", { class: "grow login", click: () => attempt(() => fill(login, [])), disabled: !canFill }, title));
        if (login.kinds.includes("code")) row.append(action(words.showCode, () => showCode(login), "showcode"));
        nodes.push(row);
    }
    if (isMore) nodes.push(text(words.more, "soft"));
    if (!canFill && !fresh) nodes.push(text(words.noForm, "soft"));
    if (front.page.hasTyped) {
        for (const login of logins) nodes.push(action(words.update(login.title), () => update(login), "update"));
        nodes.push(action(words.save, save, "save"));
    }
    if (fresh) nodes.push(action(words.generate, generate, "generate"));
    show(logins.length ? "choose" : "nothing", ...nodes);
    if (!logins.length) offerElsewhere();
}

function finish(state, ...nodes) {
    show(state, ...nodes);
    session?.close();
    session = undefined;
    logins = [];
    setTimeout(() => window.close(), closing);
}

/** Fills in what the page has fields for. `approved` lists hosts to which the person lets the form go. */
async function fill(login, approved) {
    const { foreign } = front.page;
    if (foreign.some((each) => !approved.includes(each))) {
        const yes = action(words.foreignYes, () => fill(login, foreign), "main");
        return show("foreign", text(words.foreign(foreign.join(", ")), "warning"), yes);
    }
    if (await isFilled(() => front.fill(session, login, approved))) finish("filled", text(words.filled(login.title)));
}

/** @returns whether the page took it; else the reason is shown. */
async function isFilled(work) {
    let result;
    try {
        result = await work();
    } catch (error) {
        if (error.code !== "moved") throw error;
    }
    if (result?.filled) return true;
    finish("changed", text(words[result?.changed] ?? words.moved, "warning"));
    return false;
}

/** Has another device send the one value that the page has a field for. */
async function askElsewhere(approved) {
    const { origin, foreign, has } = front.page;
    if (foreign.some((each) => !approved.includes(each))) {
        const yes = action(words.foreignYes, () => askElsewhere(foreign), "main");
        return show("foreign", text(words.foreign(foreign.join(", ")), "warning"), yes);
    }
    const username = (await front.work({ do: "read" })).username.trim();
    const question = { origin, ...(username ? { username } : {}), field: has.password ? "password" : "code" };
    // The person at the device has a minute, and nothing is held until then.
    clearTimeout(end);
    show("asking", text(words.askWaiting(elsewhere.name)));
    const given = await ask(elsewhere, question, () => show("asked", text(words.askJoined(elsewhere.name, front.host)))).finally(hold);
    const values = { [question.field]: given.value };
    if (await isFilled(() => front.work({ do: "fill", values, has, approved }))) finish("filled", text(words.filled(given.title)));
}

async function showCode(login) {
    const made = await session.ask({ do: "code", origin: front.page.origin, id: login.id });
    const digits = made.code.length === 6 ? `${made.code.slice(0, 3)} ${made.code.slice(3)}` : made.code;
    const seconds = made.seconds === undefined ? [] : [text(words.seconds(made.seconds), "soft")];
    show("code", text(words.codeOf(login.title), "soft"), text(digits, "code"), ...seconds);
}

/** Offers to keep a login that was sent. What is stored is what is shown. */
async function consider({ origin, username, password, meaning }) {
    const { id, title, isChanged } = meaning ?? (await session.ask({ do: "compare", origin, username, password }));
    const goOn = async () => {
        await askWorker("forget");
        await lookAt(Promise.resolve(session));
    };
    if (id && !isChanged) return goOn();
    const [user, secret] = [entry(words.username, username), entry(words.password, password, true)];
    user.input.readOnly = Boolean(id);
    const confirm = action(words.confirm, async () => {
        const request = { origin, password: secret.input.value };
        const made = await session.ask(id ? { do: "update", id, ...request } : { do: "save", username: user.input.value, ...request });
        await askWorker("forget");
        if (id) finish("updated", text(made.isChanged ? words.updated(made.title) : words.unchanged(made.title)));
        else finish("saved", text(words.saved(made.title)));
    }, "main confirm");
    const heading = node("h1", {}, words.sent(new URL(origin).host));
    show("offer", heading, text(id ? words.offerUpdate(title) : words.offerSave, "soft"), user.label, secret.label, reveal(secret), confirm, action(words.notNow, goOn, "later"));
}

/** A field of a form of ours. */
function entry(title, value, isSecret = false) {
    const input = node("input", { type: isSecret ? "password" : "text", value, autocomplete: "off", spellcheck: false });
    return { input, label: node("label", {}, title, input) };
}

const reveal = ({ input }) => action(words.show, () => { input.type = input.type === "password" ? "text" : "password"; });

async function save() {
    const typed = await front.work({ do: "read" });
    const username = entry(words.username, typed.username);
    const password = entry(words.password, typed.password, true);
    const confirm = action(words.confirm, async () => {
        const made = await session.ask({ do: "save", origin: front.page.origin, username: username.input.value, password: password.input.value });
        finish("saved", text(words.saved(made.title)));
    }, "main confirm");
    show("save", node("h1", {}, words.saveNew(front.host)), username.label, password.label, reveal(password), confirm);
}

async function update(login) {
    const password = entry(words.password, (await front.work({ do: "read" })).password, true);
    const confirm = action(words.confirm, async () => {
        const made = await session.ask({ do: "update", origin: front.page.origin, id: login.id, password: password.input.value });
        finish("updated", text(made.isChanged ? words.updated(made.title) : words.unchanged(made.title)));
    }, "main confirm");
    show("update", node("h1", {}, front.host), text(words.updateSure(login.title)), password.label, reveal(password), confirm);
}

async function generate() {
    const typed = await front.work({ do: "read" });
    const username = entry(words.username, typed.username);
    const password = entry(words.password, (await session.ask({ do: "generate" })).password);
    password.input.readOnly = true;
    const again = action(words.generateAgain, async () => { password.input.value = (await session.ask({ do: "generate" })).password; }, "again");
    const confirm = action(words.useNew, async () => {
        const { foreign } = front.page;
        if (foreign.length) throw new Error(words.foreign(foreign.join(", ")));
        // Saved first: a site must not have a password that nobody has.
        const made = await session.ask({ do: "save", origin: front.page.origin, username: username.input.value, password: password.input.value });
        const values = { username: username.input.value, freshPassword: password.input.value };
        if (await isFilled(() => front.work({ do: "fill", values, has: front.page.has, approved: [] }))) finish("saved", text(words.saved(made.title)));
    }, "main confirm");
    show("generate", node("h1", {}, words.saveNew(front.host)), username.label, password.label, again, confirm);
}

addEventListener("pagehide", () => {
    session?.close();
    asking?.close();
});
// Enter in a field does what the form asks for, as in forms of pages. A key that is held from before does nothing.
addEventListener("keydown", (event) => {
    if (event.key === "Enter" && !event.repeat && !event.isComposing && event.target instanceof HTMLInputElement) document.querySelector("button.confirm")?.click();
});
function hold() {
    end = setTimeout(() => window.close(), lifetime);
}

hold();
show("waiting", text(words.waiting, "soft"));
await attempt(begin);
