// The worker: it fills in by the keys and the context menu, or opens the popup. What else it does, the person has switched on.

import { offerToSave } from "./offers.js";
import { answerForPasskeys } from "./passkeys.js";
import { fillWithoutPopup } from "./quick.js";

const api = globalThis.browser ?? chrome;

api.runtime.onInstalled.addListener(() => {
    api.contextMenus.create({ id: "fill", title: "Fill in with Coffret", contexts: ["editable"] });
});

// A mark is news, and no alarm.
api.action.setBadgeBackgroundColor({ color: "#1f6f64" });

fillWithoutPopup();
offerToSave();
answerForPasskeys();
