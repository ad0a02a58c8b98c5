// A call of the API as data, as curl, as Python. What the page does, a script can do with the text that is shown beside it.

import { apiPath, path as encoded, perform, token } from "../core/api.js";
import { html } from "../core/dom.js";
import { icon } from "../core/icons.js";
import { schedule } from "../core/store.js";
import { confirmed } from "./dialogs.js";
import { copy } from "./copy.js";

// Make a call. `power` is its Python form up to the arguments ("broker.clock.advance"), `body` its arguments, `done` what is
// shown when it went well, `ask` a question that is asked before. `before()` is called first, and `after(what that gave)`
// gives what is shown after `done`.
export function call(verb, path, power, body, { done, ask, danger, python, before, after } = {}) {
  return { verb, path, body, python: python ?? asPython(power, body), done, ask, danger, before, after };
}

export { encoded };

// `power(name=value, ...)`, with values as Python writes them.
export function asPython(power, body = {}) {
  const given = Object.entries(body).map(([name, value]) => `${name}=${pythonLiteral(value)}`);
  return `${power}(${given.join(", ")})`;
}

// A value as Python writes it.
export function pythonLiteral(value) {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "string") return pythonText(value);
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(", ")}]`;
  if (typeof value === "object") {
    return `{${Object.entries(value)
      .map(([key, each]) => `${pythonText(key)}: ${pythonLiteral(each)}`)
      .join(", ")}}`;
  }
  return String(value);
}

function pythonText(text) {
  return JSON.stringify(text).replace(/\u2028|\u2029/g, (char) => `\\u${char.charCodeAt(0).toString(16)}`);
}

// The call for a shell.
export function asCurl({ verb, path, body }) {
  const words = ["curl -sS --fail-with-body"];
  const has_body = body !== undefined && Object.keys(body).length > 0;
  if (verb !== "GET" && !(verb === "POST" && has_body)) words.push(`-X ${verb}`);
  if (token()) words.push('-H "Authorization: Bearer $FAKEBROKER_CONTROL_TOKEN"');
  words.push(shellText(location.origin + apiPath(path)));
  if (has_body) words.push(`--json ${shellText(JSON.stringify(body))}`);
  return words.join(" ");
}

function shellText(text) {
  return /^[\w:/.=,@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

// Do it, after the question if there is one. Returns its answer, undefined if it was not done.
export async function act(each) {
  if (each.ask && !(await confirmed(each))) return undefined;
  return perform(each);
}

let language = localStorage.getItem("fakebroker-language") === "curl" ? "curl" : "python";

function choose(name) {
  language = name;
  localStorage.setItem("fakebroker-language", name);
  schedule();
}

// The buttons of one card, and the line that shows the call of the one that is pointed at, focused, or was used last.
export class Actions {
  constructor() {
    this.shown = null;
  }

  // A button that does `each`; `then` gets what it answered.
  button(label, each, { is_disabled = false, kind = "", title = "", then } = {}) {
    const show = () => this.show(each);
    const click = async () => {
      this.show(each);
      const answer = await act(each);
      if (answer !== undefined) then?.(answer);
    };
    return html`<button
      type="button"
      class=${kind || (each.danger ? "danger" : "")}
      ?disabled=${is_disabled}
      title=${title}
      @pointerenter=${show}
      @focus=${show}
      @click=${click}
    >
      ${label}
    </button>`;
  }

  // Show this call.
  show(each) {
    if (this.shown === each) return;
    this.shown = each;
    schedule();
  }

  // The line with the call; `first` is shown before any button was touched.
  line(first) {
    const shown = this.shown ?? first;
    return shown ? callLine(shown) : "";
  }
}

// A call as text, in the language that was chosen, to copy.
export function callLine(each) {
  const text = language === "curl" ? asCurl(each) : each.python;
  const choice = (name, label) =>
    html`<button type="button" aria-pressed=${language === name} @click=${() => choose(name)}>${label}</button>`;
  return html` <div class="calls" role="group" aria-label="The same as a script">
    <pre class="script">${text}</pre>
    <div class="switch">
      ${choice("python", "Python")}${choice("curl", "curl")}
      <button type="button" class="icon" aria-label="Copy the call" title="Copy" @click=${() => copy(text)}>
        ${icon("copy")}
      </button>
    </div>
  </div>`;
}
