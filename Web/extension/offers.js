// Logins that were sent a moment ago, one for each tab, until the person opens the popup or 50 seconds are over.

import { openSession } from "./channel.js";

const api = globalThis.browser ?? chrome;
const lifetime = 50_000;
const countMax = 20;
const sizeMax = 4096;
const right = { origins: ["https://*/*"] };

const offers = new Map();
let wakefulness;

function mark(tab, text) {
    // A tab that is closed has no button.
    api.action.setBadgeText({ tabId: tab, text }).catch(() => {});
}

function forget(tab) {
    clearTimeout(offers.get(tab)?.timer);
    if (offers.delete(tab)) mark(tab, "");
    if (!offers.size) clearInterval(wakefulness);
}

/** Whether something was sent in a tab that may be saved. */
export const hasOffer = (tab) => offers.has(tab);

async function remember(tab, origin, username, password) {
    forget(tab);
    if (offers.size >= countMax) forget(offers.keys().next().value);
    const offer = { origin, username, password, timer: setTimeout(() => forget(tab), lifetime) };
    offers.set(tab, offer);
    // A browser ends a worker that it hears nothing from, and with it the offer and its end.
    clearInterval(wakefulness);
    wakefulness = setInterval(() => api.runtime.getPlatformInfo(), 15_000);
    let session;
    try {
        session = await openSession();
        offer.meaning = await session.ask({ do: "compare", origin, username, password });
    } catch (error) {
        // The popup asks again once the store is open. In any other case there is nobody to save it.
        if (error.code !== "locked" && offers.get(tab) === offer) return forget(tab);
    } finally {
        session?.close();
    }
    if (offers.get(tab) !== offer) return;
    if (offer.meaning?.id && !offer.meaning.isChanged) return forget(tab);
    mark(tab, "+");
}

/** Scripts in pages are there while the person wants them, and only then. */
async function arrange() {
    const isOn = await api.permissions.contains(right);
    const there = await api.scripting.getRegisteredContentScripts({ ids: ["sent"] });
    if (isOn && !there.length) {
        const script = { id: "sent", js: ["page.js", "sent.js"], matches: right.origins, runAt: "document_start", allFrames: false };
        await api.scripting.registerContentScripts([script]);
    } else if (!isOn && there.length) {
        await api.scripting.unregisterContentScripts({ ids: ["sent"] });
        for (const tab of [...offers.keys()]) forget(tab);
    }
}

export function offerToSave() {
    let turn = Promise.resolve();
    const takeTurn = () => (turn = turn.then(arrange, arrange));
    for (const event of [api.permissions.onAdded, api.permissions.onRemoved, api.runtime.onInstalled, api.runtime.onStartup]) event.addListener(takeTurn);
    takeTurn();
    api.tabs.onRemoved.addListener(forget);
    // The next page takes the mark away.
    api.tabs.onUpdated.addListener((tab, { status }) => {
        if (status === "complete" && offers.has(tab)) mark(tab, "+");
    });
    api.runtime.onMessage.addListener((message, sender, answer) => {
        if (message.do === "sent") {
            // The browser says which page it is; a page's own word counts for nothing.
            const { tab, frameId, url } = sender;
            const isSmall = [message.username, message.password].every((each) => typeof each === "string" && each.length <= sizeMax);
            if (tab && frameId === 0 && url.startsWith("https:") && isSmall) remember(tab.id, new URL(url).origin, message.username, message.password);
        } else if (sender.url?.startsWith(api.runtime.getURL(""))) {
            if (message.do === "forget") forget(message.tab);
            const { timer, ...offer } = offers.get(message.tab) ?? {};
            answer(timer === undefined ? undefined : offer);
        }
    });
}
