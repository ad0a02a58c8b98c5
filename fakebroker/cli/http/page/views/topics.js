// Topics: the list, with the chosen one beside it.

import { html, nothing } from "../core/dom.js";
import { bytes, count, counted } from "../core/format.js";
import { watch } from "../core/live.js";
import { Resource } from "../core/resource.js";
import { alterQuery, go, href, queried } from "../core/router.js";
import { memo, state } from "../core/store.js";
import { firstSteps } from "../parts/first_steps.js";
import { bothEnds, empty, pending } from "../parts/marks.js";
import { VirtualList } from "../parts/virtual_list.js";
import * as topic from "./topic.js";

const ROW_PX = 34;

const rows = new Resource();
const list = new VirtualList({ row_px: ROW_PX, key: (row) => row.name, draw: item });
let unwatch = null;

const found = memo((all, text, internal) => {
  const words = text.toLowerCase();
  return all.filter((row) => (internal || !row.is_internal) && (!words || row.name.toLowerCase().includes(words)));
});

const kept = () => ({ q: queried("q"), internal: queried("internal") });

function shownRows() {
  return found(rows.value ?? [], queried("q"), queried("internal") === "1" || state.route.path[0]?.startsWith("__"));
}

export const topicsView = {
  open() {
    unwatch = watch((names) => {
      if (names.includes("topics") || names.includes("all")) rows.refresh();
      topic.changed(names);
    });
  },
  close() {
    unwatch();
    rows.close();
    topic.close();
  },
  template() {
    if (state.page === null) return "";
    rows.show("/topic_rows");
    const name = state.route.path[0];
    return html` <div class="pair ${name ? "has-chosen" : ""}">
      <section class="list" aria-label="List of topics">${rows.value?.length ? tools() : ""}${body()}</section>
      <section class="chosen" aria-label="Topic">
        ${name ? topic.template(name, href("topics", [], kept())) : hint()}
      </section>
    </div>`;
  },
  keys: () => ({ j: () => step(1), k: () => step(-1), Escape: () => go(href("topics", [], kept())) }),
};

function tools() {
  const internal = rows.value.filter((row) => row.is_internal).length;
  return html` <div class="tools">
    <input
      type="search"
      data-filter
      placeholder=${`Find among ${counted(rows.value.length - internal, "topic")}`}
      aria-label="Find topics"
      .value=${queried("q")}
      @input=${(event) => alterQuery({ q: event.target.value })}
    />
    ${internal ? internalChoice(internal) : ""}
  </div>`;
}

function internalChoice(number) {
  const choose = (event) => alterQuery({ internal: event.target.checked ? "1" : "" });
  return html`<label class="check"
    ><input type="checkbox" .checked=${queried("internal") === "1"} @change=${choose} /> and ${number} internal</label
  >`;
}

function body() {
  if (rows.value === null) return pending(rows, "topics");
  const shown = shownRows();
  if (!rows.value.some((row) => !row.is_internal) && !shown.length) return empty("No topics yet", firstSteps("topic"));
  if (!shown.length)
    return empty("No topics match the filter", html`<div><a href=${href("topics")}>Show all</a></div>`);
  return list.template(shown, "Topics");
}

function item(row) {
  return html` <a
    class="item"
    href=${href("topics", [row.name], kept())}
    aria-current=${row.name === state.route.path[0] ? "true" : nothing}
  >
    <span class="name grow" title=${row.name}>${bothEnds(row.name)}</span>
    ${row.leaderless ? html`<span class="tag bad">${row.leaderless} without leader</span>` : ""}
    ${row.cleanup_policy && row.cleanup_policy !== "delete" ? html`<span class="tag">${row.cleanup_policy}</span>` : ""}
    <span class="muted nowrap" title=${`${counted(row.records, "record")}, ${bytes(row.size_bytes)}`}
      >${row.partitions} p · ${count(row.records)} rec</span
    >
  </a>`;
}

function hint() {
  return rows.value?.length
    ? empty(
        "Choose a topic",
        html`<p class="muted">
          Its partitions, its records with key, headers and transaction markers, and the record of a time.
        </p>`,
      )
    : "";
}

function step(by) {
  const shown = shownRows();
  if (!shown.length) return;
  const at = shown.findIndex((row) => row.name === state.route.path[0]);
  const next = Math.min(shown.length - 1, Math.max(0, at < 0 ? 0 : at + by));
  list.reveal(next);
  go(href("topics", [shown[next].name], kept()), false);
}
