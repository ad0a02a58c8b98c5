// Copying text, with a word of what was copied.

import { html } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { notify } from "../core/store.js";

// Put text on the clipboard.
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    notify(`Copied: ${text.length > 80 ? `${text.slice(0, 80)}…` : text}`);
  } catch {
    notify("The browser does not allow copying here; select the text instead", true);
  }
}

// A button that shows text and copies it.
export function copyable(text, label) {
  return html`<button
    type="button"
    class="plain copyable"
    aria-label=${`Copy ${label} ${text}`}
    title=${`Copy ${label}`}
    @click=${() => copy(text)}
  >
    <span class="ellipsis">${text}</span>${icon("copy")}
  </button>`;
}
