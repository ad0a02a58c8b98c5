// The few pictures, as outlines in a square of 16. Each stands beside a word or on a button with a label.

import { svg, html } from "./dom.js";

const SHAPES = {
  copy: svg`<rect x="5.5" y="5.5" width="8" height="8" rx="1.5"/><path d="M10.5 3.5v-.2A1.3 1.3 0 0 0 9.2 2H3.8A1.8 1.8 0 0 0 2 3.8v5.4c0 .7.6 1.3 1.3 1.3h.2"/>`,
  light: svg`<circle cx="8" cy="8" r="3"/><path d="M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1"/>`,
  dark: svg`<path d="M13.5 9.7A6 6 0 0 1 6.3 2.5a6 6 0 1 0 7.2 7.2z"/>`,
  auto: svg`<circle cx="8" cy="8" r="6"/><path d="M8 2v12" /><path d="M8 4.5h3M8 7h4.5M8 9.5h4.5M8 12h3"/>`,
  keys: svg`<rect x="1.5" y="4" width="13" height="8.5" rx="1.5"/><path d="M4 6.7h.01M6.7 6.7h.01M9.3 6.7h.01M12 6.7h.01M5 9.8h6"/>`,
};

// The picture of that name; readers of the screen do not hear of it.
export function icon(name) {
  return html`<svg viewBox="0 0 16 16" aria-hidden="true">${SHAPES[name]}</svg>`;
}
