// @ts-check
// Builds nodes. The only place that sets attributes, and only those of this list; text is always text.

const attributes = new Set(["id", "class", "type", "role", "title", "tabindex", "name", "value", "placeholder", "autocomplete", "spellcheck", "for", "lang",
  "rows", "min", "max", "step", "autocapitalize", "datetime", "rel", "target", "viewBox", "d", "cx", "cy", "r", "x", "y", "points", "transform", "width", "height", "stroke-dasharray", "translate", "preserveAspectRatio", "alt", "download", "max", "colspan", "scope"]);
const svgTags = new Set(["svg", "path", "circle", "polyline", "polygon", "line", "g"]);

/** @param {unknown} value */
const isOwnContent = (value) => String(value).startsWith(`blob:${location.origin}/`) || String(value).startsWith("blob:null/");

/** @typedef {Node | string | null | undefined | false} Child */

/**
 * @param {string} tag
 * @param {Record<string, any>} [properties] attributes, `aria-…`, `data-…`, booleans, and handlers `onclick` and so on as functions
 * @param {...(Child | Child[])} children
 * @returns {any}
 */
export function el(tag, properties = {}, ...children) {
  const node = svgTags.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) {
      if (typeof value !== "function") throw new TypeError("a handler is a function");
      node.addEventListener(name.slice(2), value);
    } else if (name === "href") {
      // Others' addresses, and contents of this page's own.
      if (!/^https?:\/\//i.test(String(value)) && !isOwnContent(value)) continue;
      node.setAttribute("href", String(value));
    } else if (name === "src") {
      if (tag !== "img" || !isOwnContent(value)) throw new TypeError("only pictures of this page's own are shown");
      node.setAttribute("src", String(value));
    } else if (name === "disabled" || name === "readonly" || name === "checked" || name === "hidden") {
      node.setAttribute(name, "");
    } else if (attributes.has(name) || name.startsWith("aria-") || name.startsWith("data-")) {
      node.setAttribute(name, String(value));
    } else {
      throw new TypeError(`no such attribute here: ${name}`);
    }
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child);
  }
  return node;
}

/**
 * Text with the ranges that were found marked.
 * @param {string} text
 * @param {number[] | undefined} matches pairs of offsets into its UTF-8
 */
export function marked(text, matches) {
  if (!matches || matches.length === 0) return [text];
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder();
  /** @type {Child[]} */
  const parts = [];
  let at = 0;
  for (let index = 0; index + 1 < matches.length; index += 2) {
    const [from, to] = [Math.max(at, matches[index]), Math.min(bytes.length, matches[index + 1])];
    if (from >= to) continue;
    if (from > at) parts.push(decoder.decode(bytes.subarray(at, from)));
    parts.push(el("mark", {}, decoder.decode(bytes.subarray(from, to))));
    at = to;
  }
  parts.push(decoder.decode(bytes.subarray(at)));
  return parts;
}
