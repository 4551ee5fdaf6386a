// @ts-check
// The editor of notes: CodeMirror 5, which shows Markdown styled and keeps the text as it is.

import { el } from "./el.js";
import { ask, Locked } from "./session.js";
import { state, tell } from "./state.js";
import { toast } from "./dialogs.js";
import { LinePictures, showing } from "./pictures.js";
import { counted, number, whenExactly, words } from "./words.js";

const CodeMirror = /** @type {any} */ (globalThis).CodeMirror;

/** What stands on top of Markdown: tags, links to notes, and which lines are headings and quotations. */
const overlay = {
  startState: () => ({ isInLink: false, isInFence: false, combineTokens: false }),
  /** @param {any} stream @param {{ isInLink: boolean, isInFence: boolean, combineTokens: boolean }} state */
  token(stream, state) {
    // What is said of a whole line stands beside what Markdown says of its first letter.
    state.combineTokens = false;
    const line = stream.sol() ? lineStyle(stream.string, state) : "";
    if (state.isInLink) {
      if (stream.match("]]")) { state.isInLink = false; return "wiki wiki-mark"; }
      stream.match(/^[^\]]+/);
      return "wiki";
    }
    if ((stream.sol() || /\s/.test(stream.string[stream.pos - 1])) && stream.match(/^#[\p{L}\p{N}_][\p{L}\p{N}_/-]*/u)) return `tag${line}`;
    if (stream.match(/^\[\[(?=[^\]]+\]\])/)) { state.isInLink = true; return `wiki wiki-mark${line}`; }
    stream.next();
    state.combineTokens = true;
    return line.trim() || null;
  },
};

/** @param {string} text @param {{ isInLink: boolean, isInFence: boolean }} state */
function lineStyle(text, state) {
  state.isInLink = false;
  if (/^ {0,3}(```|~~~)/.test(text)) { state.isInFence = !state.isInFence; return ""; }
  if (state.isInFence) return "";
  const heading = /^ {0,3}(#{1,6})[ \t]/.exec(text);
  return heading ? ` line-heading-${Math.min(heading[1].length, 3)}` : /^ {0,3}>/.test(text) ? " line-quote" : "";
}

CodeMirror.defineMode("note", (/** @type {any} */ config) => CodeMirror.overlayMode(
  CodeMirror.getMode(config, { name: "markdown", highlightFormatting: true, taskLists: true, strikethrough: true, xml: false }), overlay));

const pauseMilliseconds = 4_000;
const steadyMilliseconds = 60_000;
/** A locked note has no draft: its text is saved at once. */
const lockedMilliseconds = 1_000;
/** A draft follows a key after the first, and is never older than the second and what it waits for an idle moment. */
const draftMilliseconds = 400;
const draftMillisecondsMax = 900;
const idleMillisecondsMax = 100;
/** Drafts that this page may find in the note as changes that another program has made of them. */
const sentCountMax = 8;

/** A text of so many letters is put together and counted with each key, a longer one in a pause of the typing. */
const countedAtOnce = 20_000;

/**
 * Does something between two frames, where the engine says when that is.
 * @param {() => void} body
 */
const whenIdle = (body) => { if ("requestIdleCallback" in globalThis) requestIdleCallback(body, { timeout: idleMillisecondsMax }); else body(); };

const newDraftName = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/**
 * One note that is open. Each second what was typed is kept as a draft, which outlives the page. It becomes a change when a person
 * pauses, leaves, or has typed for a minute.
 */
export class NoteEditor {
  /**
   * @param {any} item
   * @param {(file: any) => Promise<HTMLElement | null>} loadPicture
   * @param {() => void} picturesMoved
   */
  constructor(item, loadPicture, picturesMoved) {
    this.id = item.id;
    this.vault = state.vault;
    this.base = item.text;
    this.savedAt = item.modified;
    this.isSaving = false;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.firstChange = 0;
    /** Saves so far: who has read the note before one of them has read an older text. */
    this.saveCount = 0;
    this.textGeneration = NaN;
    this.textNow = "";
    this.draft = newDraftName();
    this.isLocked = item.isLocked;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.draftTimer = undefined;
    /** @type {HTMLElement | null} */
    this.below = null;
    /** @type {ResizeObserver | undefined} */
    this.resizing = undefined;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.countTimer = undefined;
    this.firstUnkept = 0;
    this.kept = item.text;
    /** @type {string[]} */
    this.sent = [];
    /** @type {Promise<void>} */
    this.keeping = Promise.resolve();
    this.place = el("div", { class: "body note-body" });
    this.status = el("span", { class: "row" });
    this.dot = el("span", { class: "dot" });
    this.wordCount = el("span", { class: "figure" });
    this.tasks = el("span", { class: "figure" });
    this.foot = el("div", { class: "status" }, el("span", { class: "row" }, this.dot, this.status), this.wordCount, this.tasks);
    this.editor = CodeMirror(this.place, {
      value: item.text, mode: "note", lineWrapping: true, inputStyle: "contenteditable", spellcheck: false, autocorrect: false, autocapitalize: false,
      viewportMargin: 20, placeholder: "Write …", readOnly: item.isTrashed ? "nocursor" : false,
      extraKeys: { Enter: "newlineAndIndentContinueMarkdownList", Tab: false, "Shift-Tab": false, "Ctrl-Enter": () => this.toggleTask(), "Alt-Enter": () => this.followLink(this.editor.getCursor()) },
    });
    const input = this.editor.getInputField();
    input.setAttribute("role", "textbox");
    input.setAttribute("aria-multiline", "true");
    input.setAttribute("aria-label", "Note");
    input.setAttribute("translate", "no");
    this.editor.on("change", () => this.changed());
    // Marks are seen in the line with the caret alone.
    this.activeLine = this.editor.addLineClass(0, "text", "active");
    this.editor.on("cursorActivity", () => this.moved());
    this.editor.on("mousedown", (/** @type {any} */ _, /** @type {MouseEvent} */ event) => this.followed(event));
    this.pictures = new LinePictures(this.editor, item.attachments, loadPicture, picturesMoved);
    this.count();
    this.showState();
  }

  /**
   * Shows pictures of the note where the caret is, on lines of their own.
   * @param {string[]} names of its files
   */
  showPictures(names) {
    if (!names.length || this.editor.getOption("readOnly")) return;
    const { line } = this.editor.getCursor();
    const end = { line, ch: this.editor.getLine(line).length };
    this.editor.replaceRange(`${end.ch ? "\n" : ""}${names.map(showing).join("\n")}\n`, end);
    this.editor.setCursor({ line: line + names.length + (end.ch ? 1 : 0), ch: 0 });
  }

  /**
   * Shows something below the text, which scrolls with it. The editor draws the lines around the window alone, and so has the only
   * scroll bar.
   * @param {HTMLElement | null} node
   */
  setBelow(node) {
    const { sizer, lineSpace } = this.editor.display;
    this.below?.remove();
    this.resizing?.disconnect();
    this.below = node;
    const lines = /** @type {HTMLElement} */ (lineSpace.parentNode);
    if (!node) { lines.style.paddingBottom = ""; return; }
    sizer.append(node);
    this.resizing = new ResizeObserver(() => { lines.style.paddingBottom = `${node.offsetHeight + 60}px`; this.editor.refresh(); });
    this.resizing.observe(node);
  }

  /**
   * Puts the caret where something was dropped.
   * @param {{ left: number, top: number }} place
   */
  moveTo(place) { this.editor.setCursor(this.editor.coordsChar(place)); }

  /** A long text is put together once for each change, and not for each who asks. */
  get text() {
    const generation = this.editor.changeGeneration();
    if (generation !== this.textGeneration) [this.textGeneration, this.textNow] = [generation, this.editor.getValue()];
    return this.textNow;
  }

  get isChanged() { return this.text !== this.base; }

  /** Whether the text was put together since the last key. Where it was not, it is taken for another one than before. */
  get isKnown() { return this.editor.changeGeneration() === this.textGeneration; }

  changed() {
    clearTimeout(this.countTimer);
    if (this.textNow.length < countedAtOnce) this.count();
    else this.countTimer = setTimeout(() => { this.count(); if (!this.isChanged) this.showState(); }, 300);
    this.showState();
    // Where all of it was taken back, a draft still says otherwise.
    if (this.isKnown && !this.isChanged && this.kept === this.base) return;
    const now = Date.now();
    if (!this.firstChange) this.firstChange = now;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.save(), Math.max(0, Math.min(this.isLocked ? lockedMilliseconds : pauseMilliseconds, this.firstChange + steadyMilliseconds - now)));
    this.keepSoon(now);
  }

  /** @param {number} now */
  keepSoon(now) {
    if (this.isLocked) return;
    if (!this.firstUnkept) this.firstUnkept = now;
    clearTimeout(this.draftTimer);
    this.draftTimer = setTimeout(() => whenIdle(() => { this.keeping = this.keeping.then(() => this.keep()); }), Math.max(0, Math.min(draftMilliseconds, this.firstUnkept + draftMillisecondsMax - now)));
  }

  /** Keeps what was typed as a draft. Drafts and saves of one note are never on their way at once. */
  async keep() {
    if (this.isSaving || this.isLocked || !this.isChanged || this.text === this.kept) return;
    this.firstUnkept = 0;
    const text = this.text;
    this.sent = [...this.sent, text].slice(-sentCountMax);
    try {
      const answer = await ask("draft.keep", { draft: this.draft, item: this.id, vault: this.vault, text, baseText: this.base });
      this.isLocked = !answer.isKept;
      if (!answer.isKept) { void this.save(); return; }
      this.kept = text;
      if (this.text === text) this.status.title = words.kept;
    } catch (error) {
      if (error instanceof Locked) { tell("locked"); return; }
      this.keepSoon(Date.now());
    }
  }

  /** @param {string} [failure] */
  showState(failure) {
    // With each key: only something else is drawn.
    const isWaiting = this.isSaving || !this.isKnown || this.isChanged;
    const dot = failure ? "dot bad" : isWaiting ? "dot wait" : "dot";
    if (!this.isKnown || this.kept !== this.text) this.status.removeAttribute("title");
    if (this.dot.className !== dot) this.dot.className = dot;
    const said = failure ? `${words.notSaved}: ${failure}` : isWaiting ? words.saving : `Saved ${whenExactly(this.savedAt).replace(/^today /, "")}`;
    if (this.status.textContent !== said) this.status.textContent = said;
  }

  count() {
    const text = this.text;
    this.wordCount.textContent = counted((text.match(/[\p{L}\p{N}]+/gu) ?? []).length, "word", "words");
    const tasks = text.match(/^\s*[-*+] \[[ xX]\] /gm) ?? [];
    const open = tasks.filter((/** @type {string} */ task) => task.includes("[ ]")).length;
    this.tasks.textContent = tasks.length ? `${number(open)} of ${counted(tasks.length, "task", "tasks")} open` : "";
  }

  /** @returns {Promise<boolean>} whether everything typed is kept */
  async save() {
    clearTimeout(this.timer);
    if (this.isSaving) { await this.saving; return this.isChanged ? this.save() : true; }
    if (!this.isChanged && this.kept === this.base) return true;
    this.isSaving = true;
    clearTimeout(this.draftTimer);
    this.firstUnkept = 0;
    this.firstChange = 0;
    this.showState();
    let isDone = false;
    this.saving = (async () => {
      await this.keeping;
      const sent = this.text;
      try {
        const result = await this.edit(sent);
        this.saveCount += 1;
        this.savedAt = result.item.modified;
        if (this.text === sent && result.item.text !== sent) {
          const [cursor, scroll] = [this.editor.getCursor(), this.editor.getScrollInfo()];
          this.base = result.item.text;
          this.editor.setValue(result.item.text);
          this.editor.setCursor(cursor);
          this.editor.scrollTo(scroll.left, scroll.top);
          toast("Another change of this note was brought together with yours.");
        } else {
          // Lines that others wrote are compared with what was sent, not with what came of it.
          this.base = sent;
        }
        [this.kept, this.sent] = [this.base, []];
        isDone = true;
      } catch (error) { this.failed(error, sent); }
    })();
    await this.saving;
    this.isSaving = false;
    if (isDone) { this.showState(); tell("saved"); if (this.isChanged) this.changed(); }
    return isDone && !this.isChanged;
  }

  /**
   * Where another program has made a change of an earlier draft, that is what this text grew from.
   * @param {string} text
   * @returns {Promise<any>}
   */
  async edit(text) {
    const wanted = { item: this.id, vault: this.vault, text, draft: this.draft };
    try {
      return await ask("item.edit", { ...wanted, baseText: this.base });
    } catch (error) {
      if (/** @type {any} */ (error)?.code !== "operation.text.changed") throw error;
      const { text: present } = await ask("item.read", { item: this.id, vault: this.vault, asksNobody: true });
      if (!this.sent.includes(present)) throw error;
      return ask("item.edit", { ...wanted, baseText: present });
    }
  }

  /** @param {any} error @param {string} sent */
  failed(error, sent) {
    this.isSaving = false;
    this.showState(String(error?.message ?? error));
    if (error instanceof Locked) { tell("locked"); return; }
    if (error?.code === "operation.text.changed") {
      toast("Somebody changed the same lines meanwhile.", { isWarning: true, action: "Keep mine as a note of its own", onaction: () => this.keepBeside(sent) });
    } else {
      this.timer = setTimeout(() => this.save(), 10_000);
    }
  }

  /** @param {string} text */
  async keepBeside(text) {
    const made = await ask("item.create", { vault: this.vault, text });
    this.base = this.text;
    await ask("draft.keep", { draft: this.draft, item: this.id, vault: this.vault, text, baseText: text });
    this.kept = this.base;
    state.selected = made.id;
    tell("opened");
    tell("saved");
  }

  moved() {
    const line = this.editor.getLineHandle(this.editor.getCursor().line);
    if (line === this.activeLine) return;
    this.editor.operation(() => {
      this.editor.removeLineClass(this.activeLine, "text", "active");
      this.activeLine = this.editor.addLineClass(line, "text", "active");
    });
  }

  /** @param {number} [line] */
  toggleTask(line = this.editor.getCursor().line) {
    const text = this.editor.getLine(line);
    const task = /^(\s*[-*+] )\[([ xX])\] /.exec(text);
    if (task) this.editor.replaceRange(task[2] === " " ? "x" : " ", { line, ch: task[1].length + 1 }, { line, ch: task[1].length + 2 });
    else this.editor.replaceRange("- [ ] ", { line, ch: /^\s*/.exec(text)?.[0].length ?? 0 });
  }

  /**
   * Ctrl and a click follow a link to another note, as Alt Enter does; a click on a task's box ticks it.
   * @param {MouseEvent} event
   */
  followed(event) {
    const place = this.editor.coordsChar({ left: event.clientX, top: event.clientY });
    const isBox = event.target instanceof Element && event.target.classList.contains("cm-formatting-task") && event.target.closest("pre.active") === null;
    if (isBox && event.button === 0 && !this.editor.getOption("readOnly")) { event.preventDefault(); this.toggleTask(place.line); return; }
    const token = this.editor.getTokenAt({ line: place.line, ch: place.ch + 1 });
    if (event.ctrlKey && /\bwiki\b/.test(token.type ?? "")) {
      event.preventDefault();
      this.followLink(place);
    }
  }

  /**
   * Opens the note that a link leads to.
   * @param {{ line: number, ch: number }} place
   */
  followLink(place) {
    for (const match of this.editor.getLine(place.line).matchAll(/\[\[([^\]|]+)(?:\|[^\]]*)?\]\]/g)) {
      if (match.index <= place.ch && place.ch <= match.index + match[0].length) { state.selected = match[1]; tell("opened"); return; }
    }
  }

  focus() { this.editor.focus(); }
  shown() { this.editor.refresh(); }
}
