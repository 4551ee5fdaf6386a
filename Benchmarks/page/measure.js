// Appended to the page's `session.js` by Benchmarks/page.py: does what a person does, and measures until the frame is on the screen.
// The figures become a note, which the program that started this reads.

const firstReplies = new Map();
const plainFetch = globalThis.fetch.bind(globalThis);
globalThis.fetch = async (...request) => {
  const response = await plainFetch(...request);
  const name = /"do":"([a-z.A-Z]+)"/.exec(String(request[1]?.body ?? ""))?.[1] ?? "";
  if (!firstReplies.has(name)) firstReplies.set(name, performance.now());
  return response;
};

/** After the next frame: what was drawn in it has been laid out and painted by then. */
const painted = () => new Promise((resolve) => requestAnimationFrame(() => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => resolve(performance.now());
  port2.postMessage(0);
}));
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Asks at each change of the page until something holds. */
const until = (holds, seconds = 120) => new Promise((resolve, fail) => {
  if (holds()) { resolve(); return; }
  const watch = new MutationObserver(() => { if (holds()) { watch.disconnect(); clearTimeout(timer); resolve(); } });
  const timer = setTimeout(() => { watch.disconnect(); fail(new Error(`waited for ${holds}`)); }, seconds * 1000);
  watch.observe(document.documentElement, { subtree: true, childList: true, attributes: true, characterData: true });
});

const at = (selector) => document.querySelector(selector);
/** Whether the row at the top of the view is there, which is the row of another place before the scroll is told of. */
const hasRows = () => document.getElementById(`row-${Math.floor(at(".rows").scrollTop / 88)}`) !== null;

async function measureAll() {
  const figures = { engine: navigator.userAgent };
  await until(() => at(".rows .item .title") !== null);
  const shown = await painted();
  figures.firstList = [shown - firstReplies.get("front.hello")];
  await until(() => /\d/.test(at(".side .count")?.textContent ?? ""));
  await pause(1500);

  figures.request = [];
  for (let round = 0; round < 200; round++) {
    const begun = performance.now();
    await ask("front.hello");
    figures.request.push(performance.now() - begun);
  }

  const input = at("#search");
  const rows = at(".rows");
  figures.searchKey = [];
  for (const word of ["garden", "meadow", "copper", "river", "lantern", "harbour", "violet", "thunder"]) {
    input.focus();
    for (let length = 1; length <= word.length; length++) {
      await pause(60);
      const typed = word.slice(0, length);
      const begun = performance.now();
      document.execCommand("insertText", false, word[length - 1]);
      await until(() => rows.getAttribute("aria-label") === `Found for ${typed}`);
      figures.searchKey.push((await painted()) - begun);
    }
    input.select();
    document.execCommand("delete");
    await until(() => !rows.getAttribute("aria-label").startsWith("Found"));
    await pause(200);
  }

  figures.jump = [];
  let seed = 7;
  for (let round = 0; round < 40; round++) {
    await pause(60);
    seed = (seed * 48_271) % 2_147_483_647;
    const begun = performance.now();
    rows.scrollTop = (seed / 2_147_483_647) * (rows.scrollHeight - rows.clientHeight);
    await pause(0);
    await until(hasRows);
    figures.jump.push((await painted()) - begun);
  }
  rows.scrollTop = 0;

  input.focus();
  document.execCommand("insertText", false, "longest");
  await until(() => rows.getAttribute("aria-label") === "Found for longest" && document.querySelectorAll(".rows .item .title").length >= 2);
  figures.open = [];
  const press = (row) => row.dispatchEvent(new MouseEvent("mousedown", { bubbles: true, button: 0 }));
  const titled = (words) => [...document.querySelectorAll(".rows .item")].find((row) => row.textContent.includes(words));
  for (let round = 0; round < 12; round++) {
    press(titled("Short and longest"));
    await until(() => at(".CodeMirror")?.textContent.includes("Nothing but this line"));
    await pause(120);
    const begun = performance.now();
    press(titled("Log of the longest summer"));
    await until(() => at(".CodeMirror")?.textContent.includes("Log of the longest summer"));
    figures.open.push((await painted()) - begun);
    await pause(120);
  }

  const editor = at(".CodeMirror").CodeMirror;
  figures.lines = [editor.lineCount()];
  editor.focus();
  editor.setCursor({ line: 1_800, ch: 0 });
  editor.scrollIntoView({ line: 1_800, ch: 0 }, 200);
  await pause(800);
  figures.key = [];
  const typed = editor.getInputField();
  for (let round = 0; round < 300; round++) {
    await pause(40);
    const length = editor.getLine(1_800).length;
    const letter = "abcdefg "[round % 8];
    const begun = performance.now();
    typed.dispatchEvent(new KeyboardEvent("keypress", { key: letter, charCode: letter.charCodeAt(0), bubbles: true, cancelable: true }));
    if (editor.getLine(1_800).length === length) throw new Error("a key was not typed");
    figures.key.push((await painted()) - begun);
  }
  await pause(6_000);
  return figures;
}

async function measureAndTell() {
  let text;
  try { text = JSON.stringify(await measureAll()); } catch (error) { text = JSON.stringify({ failed: `${error}` }); }
  await ask("item.create", { text: `# Figures of ${location.protocol} ${/Firefox/.test(navigator.userAgent) ? "Firefox" : "other"}\n\n${text}\n` });
}
void measureAndTell();
