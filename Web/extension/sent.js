// In https pages, once the person has switched that on: tells the worker what a form sends. It looks when the browser says that a form is sent,
// and when a person presses a button or Enter while a password stands in the page: many scripts send it by themselves then.

{
    const api = globalThis.browser ?? chrome;
    /** A script that sends a password takes its field away within this time. */
    const patience = 10_000;
    const buttons = "button, input[type=button], input[type=submit], input[type=image], [role=button]";
    let waiting;

    const tell = ({ username, password }) => password && api.runtime.sendMessage({ do: "sent", username, password });

    function forget() {
        clearInterval(waiting?.timer);
        waiting = undefined;
    }

    /** Tells of what stands in the page if its field goes. */
    function watch() {
        forget();
        const read = globalThis.workInPage({ do: "sent" });
        if (!read.password) return;
        const end = performance.now() + patience;
        const look = () => {
            const isThere = read.field.isConnected && read.field.checkVisibility({ visibilityProperty: true });
            if (isThere && performance.now() < end) return;
            forget();
            if (!isThere) tell(read);
        };
        waiting = { read, timer: setInterval(look, 200) };
    }

    addEventListener("submit", (event) => {
        // The browser itself says that the form is sent. A page can send a form too, and sends what it knows already.
        if (!event.isTrusted || !(event.target instanceof HTMLFormElement)) return;
        forget();
        tell(globalThis.workInPage({ do: "sent", form: event.target }));
    }, true);
    addEventListener("click", (event) => {
        if (event.isTrusted && event.target instanceof Element && event.target.closest(buttons)) watch();
    }, true);
    addEventListener("keydown", (event) => {
        if (event.isTrusted && event.key === "Enter" && event.target instanceof HTMLInputElement) watch();
    }, true);
    addEventListener("pagehide", (event) => {
        const left = event.isTrusted && waiting?.read;
        forget();
        if (left) tell(left);
    }, true);
}
