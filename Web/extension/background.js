// The worker: it opens the popup from the context menu, and holds nothing.

const api = globalThis.browser ?? chrome;

api.runtime.onInstalled.addListener(() => {
    api.contextMenus.create({ id: "fill", title: "Fill in with Coffret", contexts: ["editable"] });
});

// The click in the menu lets the popup look at the page in front.
api.contextMenus.onClicked.addListener(() => api.action.openPopup());
