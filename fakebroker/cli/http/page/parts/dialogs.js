// The two dialogs: a question before something is lost, and the keys.

import { html, ref } from "../core/dom.js";
import { KEYS } from "../core/keyboard.js";
import { schedule } from "../core/store.js";

const asked = { call: null, answer: null };
let is_help_open = false;

// Ask the question of a call. Returns whether to go on.
export function confirmed(call) {
  return new Promise((resolve) => {
    Object.assign(asked, { call, answer: resolve });
    schedule();
  });
}

// Open or close the table of keys.
export function toggleHelp() {
  is_help_open = !is_help_open;
  schedule();
}

function settle(is_yes) {
  const { answer } = asked;
  Object.assign(asked, { call: null, answer: null });
  answer?.(is_yes);
  schedule();
}

// Opened as soon as it is in the document: a modal dialog keeps the focus inside.
const modal = ref((element) => {
  if (element && !element.open) queueMicrotask(() => element.isConnected && !element.open && element.showModal());
});

export function dialogs() {
  return html`${asked.call ? question(asked.call) : ""}${is_help_open ? help() : ""}`;
}

function question(call) {
  return html` <dialog aria-labelledby="question" @close=${() => settle(false)} ${modal}>
    <h2 id="question">${call.ask}</h2>
    <pre class="muted">${call.python}</pre>
    <div class="actions">
      <button type="button" class="primary" @click=${() => settle(true)}>Yes</button>
      <button type="button" @click=${() => settle(false)}>Cancel</button>
    </div>
  </dialog>`;
}

function help() {
  const keys = (text) => text.split(" ").map((key) => (key === "to" ? "to " : html`<kbd>${key}</kbd> `));
  return html` <dialog aria-labelledby="keys" @close=${() => is_help_open && toggleHelp()} ${modal}>
    <h2 id="keys">Keys</h2>
    <table>
      <tbody>
        ${KEYS.map(
          ([key, text]) =>
            html`<tr>
              <th scope="row">${keys(key)}</th>
              <td>${text}</td>
            </tr>`,
        )}
      </tbody>
    </table>
    <div class="actions"><button type="button" class="primary" @click=${toggleHelp}>Close</button></div>
  </dialog>`;
}
