// In https pages, once the person has switched that on: tells the worker what a form sends. It looks at no other moment.

addEventListener("submit", (event) => {
    // The browser itself says that the form is sent. A page can send a form too, and sends what it knows already.
    if (!event.isTrusted || !(event.target instanceof HTMLFormElement)) return;
    const { username, password } = globalThis.workInPage({ do: "sent", form: event.target });
    if (password) (globalThis.browser ?? chrome).runtime.sendMessage({ do: "sent", username, password });
}, true);
