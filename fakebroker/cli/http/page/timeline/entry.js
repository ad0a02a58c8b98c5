// One entry with all that is known of it: the decoded request and answer, the rule behind an error, faults, what it caused.

import { html } from "../core/dom.js";
import { bytes, duration, time } from "../core/format.js";
import { Resource } from "../core/resource.js";
import { altered, href } from "../core/router.js";
import { copy } from "../parts/copy.js";
import { eventText } from "../parts/events.js";
import { icon } from "../core/icons.js";
import { jsonTree } from "../parts/json_tree.js";
import { pending, rule } from "../parts/marks.js";
import { factList } from "../parts/tables.js";

const HIDDEN = new Set([
  "schema_version",
  "run",
  "seq",
  "part",
  "kind",
  "wall_ms",
  "mono_ms",
  "node",
  "connection",
  "client",
  "request",
  "response",
  "text",
  "parts",
]);

const entry = new Resource();

// The entry with this sequence number, in a panel beside the lanes.
export function entryPanel(seq) {
  entry.show(`/journal/entries/${encodeURIComponent(seq)}`);
  return html` <aside class="panel" aria-label="Entry">
    <div class="title">
      <h2>Entry ${seq}</h2>
      <span class="end actions">
        <button
          type="button"
          class="plain icon"
          aria-label="Copy a link to this entry"
          title="Copy link"
          @click=${() => copy(location.href)}
        >
          ${icon("copy")}
        </button>
        <a class="button plain" href=${altered({ seq: "" })} aria-label="Close the entry">✕</a>
      </span>
    </div>
    ${entry.value ? content(entry.value) : pending(entry, `entry ${seq}`)}
  </aside>`;
}

// Nobody looks at an entry any more.
export function close() {
  entry.close();
}

function content(shown) {
  const [first, ...others] = shown.lines;
  const is_request = first.kind === "request";
  return html` <h3 class="headline">${is_request ? (shown.text ?? eventText(first)) : eventText(first)}</h3>
    ${first.reason ? html`<p>because ${first.reason}</p>` : ""}
    ${factList(facts(first, is_request))}
    ${(shown.errors ?? []).map(errorPart)}
    ${(shown.faults ?? []).map((each) => html`<p class="note other">Hit by fault ${each.fault_id}: ${each.description}</p>`)}
    ${
      shown.events?.length
        ? html`<h3>Consequences</h3>
            <ul class="caused">
              ${shown.events.map((each) => html`<li><a href=${altered({ seq: each.seq })}>${each.text}</a></li>`)}
            </ul>`
        : ""
    }
    ${is_request ? messages(first) : ""} ${others.length ? lines(others) : ""}`;
}

function facts(line, is_request) {
  const common = [
    ["time", html`<span class="mono">${time(line.wall_ms, { milliseconds: true })}</span>`],
    line.client === null
      ? null
      : ["client", html`<a href=${href("timeline", [], { client: line.client, seq: line.seq })}>${line.client}</a>`],
    line.connection === null ? null : ["connection", line.connection],
    line.node === null ? null : ["node", line.node],
  ];
  if (!is_request)
    return [
      ...common,
      ...Object.entries(line)
        .filter(([name, value]) => !HIDDEN.has(name) && name !== "reason" && value !== null)
        .map(([name, value]) => [name.replaceAll("_", " "), jsonTree(value)]),
    ].filter(Boolean);
  const groups = line.groups.map((id) => html`<a href=${href("groups", [id])}>${id}</a> `);
  return [
    ...common,
    ["waited", line.is_answered ? duration(line.waited_ms) : `${duration(line.waited_ms)}, no answer`],
    groups.length ? ["group", groups] : null,
    ["size", `${bytes(line.request_bytes)}, answer ${bytes(line.response_bytes)}`],
    ["correlation id", line.correlation_id],
  ].filter(Boolean);
}

function errorPart(error) {
  const where = error.topic ? ` for ${error.topic}${error.partition === null ? "" : `-${error.partition}`}` : "";
  return html` <div class="note bad">
    <strong>${error.error}</strong> <span class="muted">(${error.code})${where}</span>
    ${error.about ? html`<p>${error.about}</p>` : ""}
    ${(error.rules ?? []).map((each) => html`<p>${rule(each.id)} ${each.text}</p>`)}
  </div>`;
}

function messages(line) {
  const part = (title, message, missing) =>
    html` <details class="message" open>
      <summary><h3>${title}</h3></summary>
      ${message === null ? html`<p class="muted">${missing}</p>` : jsonTree(message)}
    </details>`;
  return html` ${part("Request", line.request, "Not kept: too large or malformed.")}
  ${part("Answer", line.response, line.is_answered ? "Not kept: too large." : "None.")}`;
}

function lines(others) {
  const shown = others.map(({ kind, ...fields }) => [
    kind,
    Object.fromEntries(Object.entries(fields).filter(([name]) => !HIDDEN.has(name))),
  ]);
  return html`<h3>Stored records</h3>
    <ul class="tree">
      ${shown.map(([kind, fields]) => html`<li><span class="name">${kind.replaceAll("_", " ")}</span> ${jsonTree(fields)}</li>`)}
    </ul>`;
}
