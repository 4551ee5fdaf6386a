// The worker: it opens the popup from the context menu. What else it does, the person has switched on.

import { offerToSave } from "./offers.js";
import { answerForPasskeys } from "./passkeys.js";

const api = globalThis.browser ?? chrome;

api.runtime.onInstalled.addListener(() => {
    api.contextMenus.create({ id: "fill", title: "Fill in with Coffret", contexts: ["editable"] });
});

// The click in the menu lets the popup look at the page in front.
api.contextMenus.onClicked.addListener(() => api.action.openPopup());

offerToSave();
answerForPasskeys();
