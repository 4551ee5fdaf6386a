// @ts-check
// All texts of the page.

const months = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];

/** @param {number} count @param {string} one @param {string} many */
export const counted = (count, one, many) => `${number(count)} ${count === 1 ? one : many}`;

const figures = new Intl.NumberFormat("en-GB");

/** @param {number} value */
export const number = (value) => figures.format(value);

/** @param {Date} date */
const clock = (date) => `${String(date.getHours()).padStart(2, "0")}:${String(date.getMinutes()).padStart(2, "0")}`;

/**
 * When something was, as short as a list needs it.
 * @param {string} moment
 */
export function when(moment, now = new Date()) {
  const date = new Date(moment);
  const day = (/** @type {Date} */ value) => new Date(value.getFullYear(), value.getMonth(), value.getDate()).getTime();
  const days = Math.round((day(now) - day(date)) / 86_400_000);
  if (days === 0) return clock(date);
  if (days === 1) return "yesterday";
  if (days > 1 && days < 7) return ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][date.getDay()];
  const short = `${date.getDate()} ${months[date.getMonth()].slice(0, 3)}`;
  return date.getFullYear() === now.getFullYear() ? short : `${short} ${date.getFullYear()}`;
}

/**
 * The same with the time of day.
 * @param {string} moment
 */
export function whenExactly(moment, now = new Date()) {
  const text = when(moment, now);
  const time = clock(new Date(moment));
  return text === time ? `today ${time}` : `${text} ${time}`;
}

/** @param {number} count */
export function byteWords(count) {
  if (count < 1000) return `${count} B`;
  const units = ["KB", "MB", "GB"];
  let [value, unit] = [count / 1000, 0];
  while (value >= 1000 && unit < 2) { value /= 1000; unit += 1; }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

export const words = {
  searchEverything: "Search everything", clear: "Clear the search", newItem: "New note (Ctrl+N)", newLogin: "New login",
  allNotes: "All notes", pinned: "Pinned", logins: "Logins", conflicts: "Conflicts", archive: "Archive", trash: "Trash", tags: "Tags", vault: "Vault",
  latestFirst: "Latest first", byTitle: "By title", lockNow: "Lock now (Ctrl+L)", keysHelp: "Keys (F1)", back: "Back to the list (Alt+Left)",
  history: "History (Ctrl+H)", pin: "Pin", unpin: "Take the pin off", archiveIt: "Archive", unarchive: "Back from the archive", trashIt: "To the trash", edit: "Edit",
  emptyVault: "An empty vault, and it is yours", emptyVaultMore: "All that you put in is encrypted before it touches the disk. Nobody else has a key.", bringThingsIn: "Bring things in", dropHere: "Files of other programs, and notes as texts, can be dropped anywhere here.", writeNote: "Write a note", addLogin: "Add a login",
  nothingPicked: "Pick something from the list, or begin with Ctrl+N.", nothingHere: "Nothing is here.",
  lockedTitle: "Coffret is locked.", lockedMore: "Nothing of your notes is on this page now.", lockedNext: "coffret open --browser opens it again.",
  banner: "In a browser, its extensions can read what you see here. The window of Coffret has none.", understood: "Understood",
  saving: "Saving …", kept: "Kept on this computer", notSaved: "Not saved", show: "Show", hide: "Hide", copy: "Copy", hidden: "hidden", oneTimeCode: "one-time code", website: "website",
  cancel: "Cancel", save: "Save", title: "Title", generate: "Make a new password", remove: "Take this field away", addField: "Add a field",
  putBack: "Put it back", removeForGood: "Remove for good", bringBack: "Bring it back", lockedNote: "This note is locked.",
  lockedNoteMore: "It is sealed under a passphrase of its own.", lockedNoteTab: "The page in a browser does not open it: coffret note unlock does, in a terminal.",
  openNote: "Open it", lockNote: "Lock this note", releaseNote: "Take the lock off", lockNoteAsk: "Lock this note?",
  lockNoteMore: "Its text is sealed under a passphrase of its own, also while the store is open. Earlier versions stay readable in the history.",
  knownPassphrase: "One I know", newPassphrase: "A new passphrase", thisComputer: "This computer", devices: "Devices", bringIn: "Bring in, take out", passwords: "Passwords", settings: "Settings", today: "Today's note", menu: "Vaults and tags", files: "Files", addFile: "Add a file", notes: "Notes",
};

/** @param {string} kind @param {number} count */
export const kindWords = (kind, count) => {
  const known = /** @type {Record<string, [string, string]>} */ ({ note: ["note", "notes"], login: ["login", "logins"], card: ["card", "cards"], identity: ["identity", "identities"] });
  const [one, many] = known[kind] ?? ["item", "items"];
  return counted(count, one, many);
};
