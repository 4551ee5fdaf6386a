// Appended to the page's `session.js` by page_rounds.py: somebody who types without a pause. Each word says which life of the page typed
// it, the number of the word in that life, and when, so that a gap is seen.

async function typeOn() {
  const life = Date.now().toString(36);
  const row = () => [...document.querySelectorAll(".rows .item")].find((each) => each.textContent.includes("Diary"));
  while (!row()) await new Promise((resolve) => setTimeout(resolve, 50));
  row().dispatchEvent(new MouseEvent("mousedown", { bubbles: true, button: 0 }));
  const place = () => document.querySelector(".CodeMirror");
  while (!place()?.CodeMirror.getValue().startsWith("# Diary")) await new Promise((resolve) => setTimeout(resolve, 50));
  for (let number = 0; ; number++) {
    const editor = place()?.CodeMirror;
    if (editor && editor.getOption("readOnly") === false) {
      // Words go onto lines of their own, so that another writer's line is not theirs.
      const end = { line: editor.lastLine(), ch: editor.getLine(editor.lastLine()).length };
      editor.replaceRange(`${number % 8 === 0 ? "\n" : " "}${life}.${number}.${Date.now()}`, end);
    } else number -= 1;
    await new Promise((resolve) => setTimeout(resolve, 30 + (number * 37) % 90));
  }
}
void typeOn();
