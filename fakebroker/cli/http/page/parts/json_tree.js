// Decoded messages: objects that open and close, small ones on one line.

import { html } from "../core/dom.js";

const SMALL = 72; // characters that still go on one line
const OPEN_DEPTH = 3;
const MAX_ITEMS = 200;

// A value as a tree.
export function jsonTree(value, depth = 0) {
  if (value === null || typeof value !== "object") return scalar(value);
  const text = JSON.stringify(value);
  if (text.length <= SMALL) return html`<span class="mono">${small(value)}</span>`;
  const parts = Array.isArray(value) ? value.map((each, at) => [at, each]) : Object.entries(value);
  const rows = parts.slice(0, MAX_ITEMS).map(([name, each]) => field(name, each, depth));
  const more = parts.length > MAX_ITEMS ? html`<li class="muted">and ${parts.length - MAX_ITEMS} more</li>` : "";
  return html`<ul class="tree">
    ${rows}${more}
  </ul>`;
}

function field(name, value, depth) {
  const is_large = value !== null && typeof value === "object" && JSON.stringify(value).length > SMALL;
  if (!is_large) return html`<li><span class="name">${name}</span> ${jsonTree(value, depth + 1)}</li>`;
  const size = Array.isArray(value) ? `[${value.length}]` : "";
  return html`<li>
    <details ?open=${depth < OPEN_DEPTH}>
      <summary><span class="name">${name}</span> <span class="muted">${size}</span></summary>
      ${jsonTree(value, depth + 1)}
    </details>
  </li>`;
}

function scalar(value) {
  if (typeof value === "string") return html`<span class="mono text">${value === "" ? "“”" : value}</span>`;
  return html`<span class="mono value">${String(value)}</span>`;
}

// On one line, with names in the colour of names.
function small(value) {
  if (value === null || typeof value !== "object") return scalar(value);
  if (Array.isArray(value)) return html`[${value.map((each, at) => html`${at ? ", " : ""}${small(each)}`)}]`;
  return Object.entries(value).map(
    ([name, each], at) => html`${at ? ", " : ""}<span class="name">${name}</span> ${small(each)}`,
  );
}
