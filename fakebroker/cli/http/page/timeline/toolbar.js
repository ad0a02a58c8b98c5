// The filter of the timeline, and the buttons that move it.

import { html } from "../core/dom.js";
import { alterQuery, queried } from "../core/router.js";
import { memo } from "../core/store.js";

// What may be filtered for: the names in the journal. Counted anew at most when some hundred lines have come.
const names = memo((lines) => {
  const found = { api: new Set(), client: new Set(), group: new Set(), error: new Set() };
  for (const line of lines) {
    if (line.client) found.client.add(line.client);
    if (line.group) found.group.add(line.group);
    if (line.kind !== "request") continue;
    found.api.add(line.api);
    line.groups.forEach((each) => found.group.add(each));
    line.errors.forEach((each) => found.error.add(each));
  }
  return Object.fromEntries(Object.entries(found).map(([kind, all]) => [kind, [...all].sort().slice(0, 500)]));
});

// `moves` has follow, all, zoom(factor).
export function toolbar(lines, version, is_following, moves) {
  const known = names(lines);
  const is_filtered = ["api", "client", "group", "error"].some(queried);
  return html` <div class="bar tools" role="group" aria-label="Filter and range">
    ${field("api", "API", known, true)}${field("client", "client", known)}${field("group", "group", known)}
    <select aria-label="Filter by error" @change=${(event) => alterQuery({ error: event.target.value })}>
      ${option("", "all answers")}${option("*", "any error")}${known.error.map((each) => option(each, each))}
    </select>
    ${is_filtered ? html`<button type="button" class="plain" @click=${() => alterQuery({ api: "", client: "", group: "", error: "" })}>Clear</button>` : ""}
    <span class="end actions">
      <button type="button" aria-pressed=${is_following} title="Follow new entries (f)" @click=${moves.follow}>
        Follow
      </button>
      <button type="button" title="Show everything (0)" @click=${moves.all}>All</button>
      <button type="button" aria-label="Zoom in" title="Zoom in (+)" @click=${() => moves.zoom(0.6)}>+</button>
      <button type="button" aria-label="Zoom out" title="Zoom out (-)" @click=${() => moves.zoom(1 / 0.6)}>−</button>
    </span>
  </div>`;
}

function option(value, text) {
  return html`<option value=${value} ?selected=${value === queried("error")}>${text}</option>`;
}

function field(name, label, known, is_first = false) {
  return html` <input
      type="search"
      aria-label=${`Filter by ${label}`}
      placeholder=${label}
      list=${`known-${name}`}
      ?data-filter=${is_first}
      .value=${queried(name)}
      @input=${(event) => alterQuery({ [name]: event.target.value })}
    />
    <datalist id=${`known-${name}`}>${known[name].map((each) => html`<option value=${each}></option>`)}</datalist>`;
}
