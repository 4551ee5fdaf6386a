// The one place that makes nodes: text stays text.

/** @param children texts and nodes */
export function node(name, properties = {}, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
        if (key === "class") made.className = value;
        else if (key === "click") made.addEventListener("click", value);
        else made[key] = value;
    }
    made.append(...children);
    return made;
}

/** Shows nodes in the place of what was there, under the name of a state. */
export function show(state, ...nodes) {
    const main = document.querySelector("main");
    main.replaceChildren(...nodes);
    main.dataset.state = state;
    main.querySelector("button.main, button, input")?.focus();
}
