// @ts-check
// Pictures of one line each, on a grid of 24.

import { el } from "./el.js";

const lines = {
  search: "M10.5 17a6.500 6.500 0 1 0 0-13 6.500 6.500 0 0 0 0 13zM15.500 15.500 20 20",
  lock: "M6 11h12v9H6zM8.500 11V8a3.500 3.500 0 0 1 7 0v3",
  open: "M6 11h12v9H6zM8.500 11V8a3.500 3.500 0 0 1 6.800-1.200",
  note: "M7 3.500h7l4 4v13H7zM14 3.500v4h4M10 12h5M10 16h5",
  notes: "M6 8h8l4 4v9H6zM9 8V4h7l4 4v9",
  key: "M8 19.500a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM11 12.500 19 4.500M16 7.500l3 3M13.500 10l2 2",
  card: "M3.500 6h17v12h-17zM3.500 10h17M7 14.500h3",
  tag: "M4 5h8l8 8-7.500 7L4 12zM8 8.500v.2",
  pin: "M9 4h6l-.800 6 2.800 3H7l2.800-3zM12 13v7",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  box: "M4 5h16v4H4zM6 9v10h12V9M10 13h4",
  fork: "M7 4v16M7 13c6 0 9-2 9-6M16 6.500v-.2",
  clock: "M12 20a8 8 0 1 0 0-16 8 8 0 0 0 0 16zM12 8v4.300l2.800 1.700",
  plus: "M12 5v14M5 12h14",
  left: "M14.500 6l-6 6 6 6",
  down: "M7 10l5 5 5-5",
  x: "M6 6l12 12M18 6 6 18",
  check: "M5 12.500l4.500 4.500L19 7.500",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  eye: "M2.500 12S6 6 12 6s9.500 6 9.500 6-3.500 6-9.500 6-9.500-6-9.500-6zM12 14.700a2.700 2.700 0 1 0 0-5.400 2.700 2.700 0 0 0 0 5.400z",
  hide: "M4 4l16 16M9.500 6.300A9 9 0 0 1 12 6c6 0 9.500 6 9.500 6a17 17 0 0 1-2.600 3.200M6.300 8A16 16 0 0 0 2.500 12S6 18 12 18c1.500 0 2.800-.4 4-.9",
  fresh: "M19 12a7 7 0 1 1-2-5l2 2M19 4v5h-5",
  pen: "M5 19l1-4L16 5l3 3L9 18zM14 7l3 3",
  clip: "M18 9.500 10.800 16.700a2.400 2.400 0 0 1-3.400-3.400L15 5.700a3.800 3.800 0 0 1 5.400 5.400l-8 8a5.300 5.300 0 0 1-7.500-7.500L11 5.500",
  keys: "M3.500 7h17v10h-17zM7 10.500v.1M10.500 10.500v.1M14 10.500v.1M17 10.500v.1M8 14h8",
  warn: "M12 4 3 19.500h18zM12 10v4.500M12 17v.2",
  link: "M10 14a4 4 0 0 0 6 .4l3-3a4 4 0 0 0-5.700-5.700l-1 1M14 10a4 4 0 0 0-6-.4l-3 3a4 4 0 0 0 5.700 5.700l1-1",
  side: "M4 5h16v14H4zM9.500 5v14",
  calendar: "M5 6h14v13H5zM5 10h14M9 4v3M15 4v3",
  gear: "M12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM12 4v2.500M12 17.500V20M4 12h2.500M17.500 12H20M6.300 6.300l1.800 1.800M15.900 15.900l1.800 1.800M6.300 17.700l1.800-1.800M15.900 8.100l1.800-1.800",
  shield: "M12 4l7 2.500v5c0 4.500-3 7-7 8.500-4-1.500-7-4-7-8.500v-5z",
  bring: "M12 4v10M8 10.500l4 4 4-4M5 16v3h14v-3",
  laptop: "M5.500 5.500h13v10h-13zM3 19h18",
  chest: "M4 10.500C4 7 7 5 12 5s8 2 8 5.500V19H4zM4 12.500h16M12 12.500v3.200M10.500 12.500h3v2.600h-3z",
};

/**
 * @param {keyof typeof lines} name
 * @param {string} [size] `small` or `large`
 */
export const icon = (name, size = "") => el("svg", { class: `icon ${size}`, viewBox: "0 0 24 24", "aria-hidden": "true" }, el("path", { d: lines[name] }));

/**
 * A button that is a picture.
 * @param {keyof typeof lines} name
 * @param {string} label
 * @param {(event: Event) => void} onclick
 * @param {Record<string, any>} [properties]
 */
export const iconButton = (name, label, onclick, properties = {}) =>
  el("button", { type: "button", class: "icon-button", "aria-label": label, title: label, onclick, ...properties }, icon(name));
