// @ts-check
// Pictures of a note below the lines that name them. An address of others is text, and nothing is fetched from there.

/** `![words](name)`, `![words](<name>)` and `![[name]]`. */
const places = /!\[[^\]]*\]\(\s*(?:<([^<>\n]*)>|([^\s()]+))[^)]*\)|!\[\[([^\]|]+)(?:\|[^\]]*)?\]\]/g;

/**
 * The last part of a name in a text, without what an address may have around it.
 * @param {string} target
 */
function lastPart(target) {
  try { target = decodeURIComponent(target); } catch { /* it has a percent sign of its own */ }
  return target.split("/").pop() ?? "";
}

/**
 * The names of files that a line of Markdown shows.
 * @param {string} line
 */
export function namesIn(line) {
  if (!line.includes("![")) return [];
  return [...line.matchAll(places)].map((match) => match[1] ?? match[2] ?? match[3]).filter((target) => !/^[a-z][a-z0-9+.-]+:/i.test(target)).map(lastPart);
}

/**
 * A line of Markdown that shows a file.
 * @param {string} name
 */
export const showing = (name) => `![](${/[\s()<>]/.test(name) ? `<${name.replace(/[<>\n]/g, "")}>` : name})`;

/** The pictures that stand in an editor. */
export class LinePictures {
  /**
   * @param {any} editor of CodeMirror
   * @param {any[]} files of the note
   * @param {(file: any) => Promise<HTMLElement | null>} load a new node of a file's picture
   * @param {() => void} moved is called when other files stand in the text than before
   */
  constructor(editor, files, load, moved) {
    this.editor = editor;
    this.load = load;
    this.moved = moved;
    /** @type {WeakMap<any, { key: string, widgets: any[] }>} */
    this.lines = new WeakMap();
    /** @type {any[]} */
    this.files = [];
    this.shown = "";
    editor.on("changes", (/** @type {any} */ _, /** @type {any[]} */ changes) => {
      if (!this.files.length) return;
      let isOther = false;
      for (const change of changes) {
        // What a key leaves as it was is not looked for in all lines.
        isOther = this.lookAt(change.from.line, change.from.line + change.text.length) || change.removed.length > 1 || isOther;
      }
      if (isOther) this.tellMoved();
    });
    this.setFiles(files);
  }

  /** @param {any[]} files of the note as they are now */
  setFiles(files) {
    const hadNone = !this.files.length;
    this.files = files;
    if (files.length || !hadNone) this.lookAt(0, this.editor.lineCount());
    this.shown = this.inText().join();
  }

  tellMoved() {
    const shown = this.inText().join();
    if (shown === this.shown) return;
    this.shown = shown;
    this.moved();
  }

  /** The files whose names stand in the text. */
  inText() {
    if (!this.files.length) return [];
    const names = new Set();
    this.editor.eachLine((/** @type {any} */ line) => { for (const name of namesIn(line.text)) names.add(name); });
    return this.files.filter((file) => names.has(file.name)).map((file) => file.id);
  }

  /**
   * @param {number} from @param {number} to the line after the last
   * @returns {boolean} whether a line shows other files than before
   */
  lookAt(from, to) {
    let isOther = false;
    this.editor.eachLine(Math.max(0, from), Math.min(to, this.editor.lineCount()), (/** @type {any} */ line) => {
      const wanted = namesIn(line.text).map((name) => this.files.find((file) => file.name === name)).filter(Boolean);
      const key = wanted.map((file) => file.id).join();
      const before = this.lines.get(line);
      if ((before?.key ?? "") === key) return;
      isOther = true;
      for (const widget of before?.widgets ?? []) widget.clear();
      const entry = { key, widgets: /** @type {any[]} */ ([]) };
      this.lines.set(line, entry);
      for (const file of wanted) {
        void this.load(file).then((node) => {
          // The line may say something else by now, or be gone.
          if (!node || this.lines.get(line) !== entry || this.editor.getLineNumber(line) === null) return;
          entry.widgets.push(this.editor.addLineWidget(line, node));
        }, () => {});
      }
    });
    return isOther;
  }
}
