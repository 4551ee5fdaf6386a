// What is done in a page, after a gesture. This function travels into the page's isolated world as its own text, so it refers to nothing
// outside of itself. A page can name fields like members of a form or of the document, which hides these: so every member is taken
// from its prototype. It is no module, because scripts in pages are none.

/**
 * @param command `{ do: "look" }`, `{ do: "read" }`, or `{ do: "fill", values, approved }`: `approved` lists the hosts besides the page's
 *   own to which the person lets the form go. `mark` is the same in all commands of a popup. `{ do: "sent", form }` reads a form
 *   that is being sent; without `form`, the one with the first password that stands in the page, and gives that field too.
 */
globalThis.workInPage = function workInPage(command) {
    // The isolated world goes with its document. A browser's own word for a document is not enough: Chromium 156 runs a script for a document
    // that has gone in the one that came after it.
    if (command.do === "look") globalThis.coffretMark = command.mark;
    const isSending = command.do === "sent";
    const sent = isSending ? command.form : undefined;
    if (!isSending && globalThis.coffretMark !== command.mark) return { changed: "moved" };
    const getter = (type, name) => {
        const read = Object.getOwnPropertyDescriptor(type.prototype, name).get;
        return (object) => read.call(object);
    };
    const attribute = (element, name) => Element.prototype.getAttribute.call(element, name) ?? "";
    const all = (selector) => [...Document.prototype.querySelectorAll.call(document, selector)];
    const typeOf = getter(HTMLInputElement, "type");
    const valueOf = getter(HTMLInputElement, "value");
    const formOfInput = getter(HTMLInputElement, "form");
    const formOfButton = getter(HTMLButtonElement, "form");
    const parentOf = getter(Node, "parentNode");
    const isDisabled = getter(HTMLInputElement, "disabled");
    const isReadOnly = getter(HTMLInputElement, "readOnly");

    /** Whether a person can see the field: it is large enough, is not see-through, and lies on top at its middle. */
    const isVisible = (element) => {
        Element.prototype.scrollIntoView.call(element, { block: "center", inline: "center", behavior: "instant" });
        const box = Element.prototype.getBoundingClientRect.call(element);
        if (box.width < 20 || box.height < 10) return false;
        let opacity = 1;
        for (let node = element; node instanceof Element; node = parentOf(node)) {
            const style = getComputedStyle(node);
            opacity *= Number(style.opacity);
            for (const part of style.filter.matchAll(/opacity\(([\d.]+)(%?)\)/g)) opacity *= Number(part[1]) / (part[2] ? 100 : 1);
            if (style.maskImage && style.maskImage !== "none") return false;
        }
        if (opacity < 0.1) return false;
        const [x, y] = [box.left + box.width / 2, box.top + box.height / 2];
        const hit = Document.prototype.elementFromPoint.call(document, x, y);
        return hit === element;
    };

    // A page with thousands of fields is looked at as far as a person would.
    const fields = all("input").slice(0, 5000).filter((field) => !isDisabled(field) && !isReadOnly(field) && (!sent || formOfInput(field) === sent));
    const purposes = (field) => attribute(field, "autocomplete").toLowerCase().split(/\s+/);
    const names = (field) => `${attribute(field, "name")} ${attribute(field, "id")}`;
    const isPlain = (field) => ["text", "email", "tel", "url", "number"].includes(typeOf(field));

    let looks = 0;
    const seen = new Map();
    const visible = (field) => {
        if (!seen.has(field)) {
            const isRendered = Element.prototype.checkVisibility.call(field, { visibilityProperty: true, contentVisibilityAuto: true });
            seen.set(field, isRendered && looks++ < 60 && (isSending || isVisible(field)));
        }
        return seen.get(field);
    };

    const isCode = (field) =>
        (isPlain(field) || typeOf(field) === "password") &&
        (purposes(field).includes("one-time-code") || /\b(otp|totp|2fa|mfa)|one.?time|verification.?code/i.test(names(field)));
    const secrets = fields.filter((field) => typeOf(field) === "password" && !isCode(field));
    const first = secrets.find((field) => (!isSending || sent || valueOf(field) !== "") && visible(field));
    const form = first ? formOfInput(first) : null;
    const together = first ? secrets.filter((field) => formOfInput(field) === form && visible(field)) : [];
    const isNew = (field) => purposes(field).includes("new-password");
    // Two passwords in one form: a new one and its repetition, with or without the old one before them.
    const current = together.find((field) => purposes(field).includes("current-password")) ?? (together.length === 2 ? undefined : together.find((field) => !isNew(field)));
    const fresh = together.length > 1 || together.some(isNew) ? together.filter((field) => field !== current) : [];

    const code = fields.find((field) => isCode(field) && visible(field));
    const isUser = (field) =>
        isPlain(field) && !isCode(field) && visible(field) &&
        (purposes(field).some((word) => word === "username" || word === "email") || typeOf(field) === "email" || /user|login|e-?mail|account/i.test(names(field)));
    let user;
    if (together.length) {
        const before = fields.slice(0, fields.indexOf(together[0])).filter((field) => formOfInput(field) === form && isPlain(field) && !isCode(field));
        user = before.find(isUser) ?? before.reverse().find(visible);
    } else if (!code) {
        user = fields.find((field) => isUser(field) && formOfInput(field) !== null);
    }

    /** The other hosts to which the form could go: its own address, and those of its buttons. */
    const used = [user, current, ...fresh, code].filter(Boolean);
    const forms = new Set(used.map(formOfInput).filter(Boolean));
    const addresses = [];
    const actionOf = getter(HTMLFormElement, "action");
    for (const each of forms) if (Element.prototype.hasAttribute.call(each, "action")) addresses.push(actionOf(each));
    for (const button of all("button[formaction], input[formaction]")) {
        const isInput = button instanceof HTMLInputElement;
        if (!forms.has((isInput ? formOfInput : formOfButton)(button))) continue;
        addresses.push(getter(isInput ? HTMLInputElement : HTMLButtonElement, "formAction")(button));
    }
    const foreign = new Set();
    for (const address of addresses) {
        let url;
        try {
            url = new URL(address);
        } catch {
            foreign.add(address.slice(0, 100));
            continue;
        }
        // A script of the page may do with the form what it likes in any case.
        if (url.origin !== origin && url.protocol !== "javascript:") foreign.add(url.host || url.protocol);
    }

    const state = {
        origin,
        isTop: window.top === window,
        has: { username: Boolean(user), password: Boolean(current), code: Boolean(code), fresh: fresh.length > 0 },
        hasTyped: [current, ...fresh].some((field) => field && valueOf(field) !== ""),
        foreign: [...foreign],
    };
    if (command.do === "look") return state;
    if (command.do === "read" || isSending) {
        const typed = fresh.find((field) => valueOf(field) !== "") ?? current;
        const read = { ...state, username: user ? valueOf(user) : "", password: typed ? valueOf(typed) : "" };
        // It stays in the page's isolated world.
        return isSending ? { ...read, field: first } : read;
    }

    const isSame = Object.keys(command.has).every((name) => command.has[name] === state.has[name]);
    if (!isSame) return { changed: "fields" };
    if (state.foreign.some((host) => !command.approved.includes(host))) return { changed: "action" };
    const set = (field, value) => {
        Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(field, value);
        for (const name of ["input", "change"]) EventTarget.prototype.dispatchEvent.call(field, new Event(name, { bubbles: true }));
    };
    const { username, password, freshPassword, code: digits } = command.values;
    if (user && username) set(user, username);
    if (current && password) set(current, password);
    if (freshPassword) for (const field of fresh) set(field, freshPassword);
    if (code && digits) set(code, digits);
    return { filled: true };
};
