// The popup: opened by the person, it looks at the page in front, asks the vault, and fills in. It holds what it was given until it closes.

import { BridgeError, openSession, unlock } from "./channel.js";
import "./page.js";
import { node, show } from "./view.js";
import { words } from "./words.js";

const api = globalThis.browser ?? chrome;
/** What a popup holds that nobody closes goes after this time. */
const lifetime = 50_000;
const closing = 6_000;

const mark = crypto.randomUUID();

let tab;
let documentId;
let session;
let page;
let logins = [];

const host = () => new URL(page.origin).host;

/** Runs in the document that was looked at first, and in no other one. */
async function inPage(command) {
    const target = documentId ? { tabId: tab.id, documentIds: [documentId] } : { tabId: tab.id, frameIds: [0] };
    let made;
    try {
        [made] = await api.scripting.executeScript({ target, func: globalThis.workInPage, args: [{ ...command, mark }] });
    } catch {
        throw new BridgeError("moved");
    }
    documentId = made.documentId;
    if (!made.result || made.result.changed === "moved") throw new BridgeError("moved");
    return made.result;
}

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
    if (code === "unpaired") return show("unpaired", text(words.unpaired), action(words.connect, () => api.runtime.openOptionsPage(), "main"));
    if (code === "locked") return show("locked", text(words.locked), action(words.unlock, openVault, "main"));
    if (code === "refused") return show("refused", text(words.refused, "warning"), action(words.connect, () => api.runtime.openOptionsPage(), "main"));
    if (code === "bridge.origin.refused") {
        const state = page.origin.startsWith("http:") ? "insecure" : "odd";
        return show(state, text(words[state], "warning"));
    }
    const known = words[code];
    show(code === "missing" || code === "ended" || code === "absent" ? code : "error", text(typeof known === "string" ? known : error.message, "warning"));
    document.querySelector("main").dataset.code = code ?? "";
}

async function openVault() {
    await unlock();
    show("unlocking", text(words.unlocking));
}

async function begin() {
    // Both at once: neither needs the other.
    const opening = openSession();
    opening.catch(() => {});
    // The worker sleeps, and is woken only if it can hold something.
    const [tabs, isOffering] = await Promise.all([api.tabs.query({ active: true, currentWindow: true }), api.permissions.contains({ origins: ["https://*/*"] })]);
    tab = tabs[0];
    const offer = isOffering ? await askWorker("offer") : undefined;
    if (offer) {
        session = await opening;
        return consider(offer);
    }
    await lookAt(opening);
}

/** The worker has what was sent in this tab a moment ago, if the person has switched that on. */
const askWorker = (what) => api.runtime.sendMessage({ do: what, tab: tab.id }).catch(() => undefined);

async function lookAt(opening) {
    const address = tab.url;
    try {
        page = await inPage({ do: "look" });
    } catch {
        opening.then((opened) => opened.close(), () => {});
        return show("blocked", text(words.blocked));
    }
    if (!page || !page.isTop || page.origin === "null" || !/^https?:/.test(address) || page.origin !== new URL(address).origin) {
        opening.then((opened) => opened.close(), () => {});
        const isOpaque = page?.origin === "null";
        return show("blocked", text(isOpaque ? words.opaque : words.framed, "warning"));
    }
    session = await opening;
    const found = await session.ask({ do: "find", origin: page.origin });
    logins = found.logins;
    if (found.like) return show("like", text(words.like(host(), found.like), "warning"));
    const { username, password, code, fresh } = page.has;
    const isEmptyForm = (username || password || code) && !page.hasTyped && !fresh;
    if (logins.length === 1 && isEmptyForm) return fill(logins[0], []);
    choose(found.isMore);
}

/** The list of logins, and what else can be done with the page. */
function choose(isMore) {
    const { username, password, code, fresh } = page.has;
    const canFill = username || password || code;
    const nodes = [text(logins.length ? words.choose(host()) : words.none(host()), "soft")];
    for (const login of logins) {
        const title = login.username ? `${login.title} · ${login.username}` : login.title;
        const row = node("div", { class: "row" }, node("button", { class: "grow login", click: () => attempt(() => fill(login, [])), disabled: !canFill }, title));
        if (login.kinds.includes("code")) row.append(action(words.showCode, () => showCode(login), "showcode"));
        nodes.push(row);
    }
    if (isMore) nodes.push(text(words.more, "soft"));
    if (!canFill && !fresh) nodes.push(text(words.noForm, "soft"));
    if (page.hasTyped) {
        for (const login of logins) nodes.push(action(words.update(login.title), () => update(login), "update"));
        nodes.push(action(words.save, save, "save"));
    }
    if (fresh) nodes.push(action(words.generate, generate, "generate"));
    show(logins.length ? "choose" : "nothing", ...nodes);
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
    const { foreign, has } = page;
    if (foreign.some((each) => !approved.includes(each))) {
        const yes = action(words.foreignYes, () => fill(login, foreign), "main");
        return show("foreign", text(words.foreign(foreign.join(", ")), "warning"), yes);
    }
    const request = { origin: page.origin, id: login.id };
    const values = {};
    const fields = [has.username && "username", has.password && "password"].filter(Boolean);
    if (fields.length) Object.assign(values, await session.ask({ do: "fill", ...request, fields }));
    if (has.code && login.kinds.includes("code")) values.code = (await session.ask({ do: "code", ...request })).code;
    if (await put({ do: "fill", values, has, approved })) finish("filled", text(words.filled(login.title)));
}

/** @returns whether the page took it; else the reason is shown. */
async function put(command) {
    let result;
    try {
        result = await inPage(command);
    } catch {
        finish("changed", text(words.moved, "warning"));
        return false;
    }
    if (result?.filled) return true;
    finish("changed", text(words[result?.changed] ?? words.moved, "warning"));
    return false;
}

async function showCode(login) {
    const made = await session.ask({ do: "code", origin: page.origin, id: login.id });
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
    const typed = await inPage({ do: "read" });
    const username = entry(words.username, typed.username);
    const password = entry(words.password, typed.password, true);
    const confirm = action(words.confirm, async () => {
        const made = await session.ask({ do: "save", origin: page.origin, username: username.input.value, password: password.input.value });
        finish("saved", text(words.saved(made.title)));
    }, "main confirm");
    show("save", node("h1", {}, words.saveNew(host())), username.label, password.label, reveal(password), confirm);
}

async function update(login) {
    const password = entry(words.password, (await inPage({ do: "read" })).password, true);
    const confirm = action(words.confirm, async () => {
        const made = await session.ask({ do: "update", origin: page.origin, id: login.id, password: password.input.value });
        finish("updated", text(made.isChanged ? words.updated(made.title) : words.unchanged(made.title)));
    }, "main confirm");
    show("update", node("h1", {}, host()), text(words.updateSure(login.title)), password.label, reveal(password), confirm);
}

async function generate() {
    const typed = await inPage({ do: "read" });
    const username = entry(words.username, typed.username);
    const password = entry(words.password, (await session.ask({ do: "generate" })).password);
    password.input.readOnly = true;
    const again = action(words.generateAgain, async () => { password.input.value = (await session.ask({ do: "generate" })).password; }, "again");
    const confirm = action(words.useNew, async () => {
        const { foreign } = page;
        if (foreign.length) throw new Error(words.foreign(foreign.join(", ")));
        // Saved first: a site must not have a password that nobody has.
        const made = await session.ask({ do: "save", origin: page.origin, username: username.input.value, password: password.input.value });
        const values = { username: username.input.value, freshPassword: password.input.value };
        if (await put({ do: "fill", values, has: page.has, approved: [] })) finish("saved", text(words.saved(made.title)));
    }, "main confirm");
    show("generate", node("h1", {}, words.saveNew(host())), username.label, password.label, again, confirm);
}

addEventListener("pagehide", () => session?.close());
setTimeout(() => window.close(), lifetime);
show("waiting", text(words.waiting, "soft"));
await attempt(begin);
