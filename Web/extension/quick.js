// Filling in without a popup, by the keys or the context menu, where nobody has to choose or be warned. For everything else the popup opens.

import { openSession } from "./channel.js";
import { Front } from "./front.js";
import { hasOffer } from "./offers.js";

const api = globalThis.browser ?? chrome;
/** How long the button says that a form was filled in. */
const shown = 4_000;

/** A browser may tell of the gesture a moment before it grants the page for it, as Chromium 156 does: the look is tried again after these pauses. */
const pauses = [10, 20, 40, 80];

async function look(front) {
    for (const pause of [...pauses, undefined]) {
        try {
            return await front.look();
        } catch (error) {
            if (error.code !== "blocked" || pause === undefined) throw error;
            await new Promise((resolve) => setTimeout(resolve, pause));
        }
    }
}

/** @returns whether it is done; what it was given is forgotten with the call. */
async function fill(tab) {
    const opening = openSession();
    opening.catch(() => {});
    try {
        const front = new Front(tab);
        await look(front);
        const session = await opening;
        if (!front.isEmptyForm || front.page.foreign.length) return false;
        const { logins, like } = await session.ask({ do: "find", origin: front.page.origin });
        if (like || logins.length !== 1) return false;
        return (await front.fill(session, logins[0], [])).filled === true;
    } catch {
        // The popup looks by itself, and says why.
        return false;
    } finally {
        opening.then((session) => session.close(), () => {});
    }
}

async function say(tabId) {
    const tell = (text) => api.action.setBadgeText({ tabId, text }).catch(() => {});
    await tell("✓");
    setTimeout(() => tell(hasOffer(tabId) ? "+" : ""), shown);
}

async function begin(tab) {
    if (tab && !hasOffer(tab.id) && await fill(tab)) return say(tab.id);
    await api.action.openPopup();
}

/** The gesture itself lets the extension look at the page in front. */
export function fillWithoutPopup() {
    api.commands.onCommand.addListener((command, tab) => {
        if (command === "fill") begin(tab);
    });
    api.contextMenus.onClicked.addListener((_, tab) => begin(tab));
}
