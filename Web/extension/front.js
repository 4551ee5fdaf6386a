// The page in front, after a gesture: looked at once, and filled in as it was seen. Popup and worker do it alike.

import { BridgeError } from "./channel.js";
import "./page.js";

const api = globalThis.browser ?? chrome;

export class Front {
    #mark = crypto.randomUUID();
    #documentId;

    constructor(tab) {
        this.tab = tab;
    }

    get host() {
        return new URL(this.page.origin).host;
    }

    /** Runs in the document that was looked at first, and in no other one. */
    async work(command) {
        const { id } = this.tab;
        const target = this.#documentId ? { tabId: id, documentIds: [this.#documentId] } : { tabId: id, frameIds: [0] };
        let made;
        try {
            [made] = await api.scripting.executeScript({ target, func: globalThis.workInPage, args: [{ ...command, mark: this.#mark }] });
        } catch {
            throw new BridgeError("moved");
        }
        this.#documentId = made.documentId;
        if (!made.result || made.result.changed === "moved") throw new BridgeError("moved");
        return made.result;
    }

    /** Looks at the page; throws `blocked`, `opaque` or `framed` for one that gets nothing. */
    async look() {
        try {
            this.page = await this.work({ do: "look" });
        } catch {
            throw new BridgeError("blocked");
        }
        const { isTop, origin } = this.page;
        if (origin === "null") throw new BridgeError("opaque");
        if (!isTop || !/^https?:/.test(this.tab.url) || origin !== new URL(this.tab.url).origin) throw new BridgeError("framed");
    }

    /** Whether the form wants a login, and nothing stands in it that a person may want to keep. */
    get isEmptyForm() {
        const { username, password, code, fresh } = this.page.has;
        return (username || password || code) && !this.page.hasTyped && !fresh;
    }

    /** Takes what the page has fields for, and fills it in. `approved` lists hosts to which the person lets the form go. */
    async fill(session, login, approved) {
        const { origin, has } = this.page;
        const request = { origin, id: login.id };
        const values = {};
        const fields = [has.username && "username", has.password && "password"].filter(Boolean);
        if (fields.length) Object.assign(values, await session.ask({ do: "fill", ...request, fields }));
        if (has.code && login.kinds.includes("code")) values.code = (await session.ask({ do: "code", ...request })).code;
        return this.work({ do: "fill", values, has, approved });
    }
}
