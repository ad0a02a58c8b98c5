// Groups: the list of all of them, with the chosen one beside it.

import { html, nothing } from "../core/dom.js";
import { count, counted, duration } from "../core/format.js";
import { groups } from "../core/groups.js";
import { lagOf, wantLags } from "../core/lags.js";
import { nowMs } from "../core/live.js";
import { alterQuery, go, href, queried } from "../core/router.js";
import { memo, state } from "../core/store.js";
import { bothEnds, empty, stateMark } from "../parts/marks.js";
import { firstSteps } from "../parts/first_steps.js";
import { VirtualList } from "../parts/virtual_list.js";
import { goneGroups } from "./gone_groups.js";
import * as group from "./group.js";

const ROW_PX = 34;

const ORDERS = {
  name: ["name", (a, b) => (a.group_id < b.group_id ? -1 : 1)],
  changed: ["last changed", (a, b) => b.state_ms - a.state_ms],
  members: ["members", (a, b) => b.members - a.members],
};

const list = new VirtualList({ row_px: ROW_PX, key: (row) => row.group_id, draw: item });

// The rows that pass the filter, in the order that was chosen.
const found = memo((rows, _changes, text, wanted, order) => {
  const words = text.toLowerCase();
  const passing = [];
  for (const row of rows.values()) {
    if ((!wanted || row.state === wanted) && (!words || row.group_id.toLowerCase().includes(words))) passing.push(row);
  }
  return passing.sort((ORDERS[order] ?? ORDERS.name)[1]);
});

function shownRows() {
  return found(groups.rows, groups.changes, queried("q"), queried("state"), queried("order"));
}

const kept = () => ({ q: queried("q"), state: queried("state"), order: queried("order") });

// The group in the address; the only one there is needs no choice.
function chosenId() {
  return state.route.path[0] ?? (groups.rows.size === 1 && isWide() ? groups.rows.keys().next().value : undefined);
}

// Whether the list and the group are beside each other: a phone shows one of them.
function isWide() {
  return matchMedia("(min-width: 761px)").matches;
}

export const groupsView = {
  template() {
    const id = chosenId();
    return html` <div class="pair ${id ? "has-chosen" : ""}">
      <section class="list" aria-label="List of groups">${groups.rows.size ? tools() : ""}${body()}</section>
      <section class="chosen" aria-label="Group">
        ${id ? group.template(id, href("groups", [], kept())) : hint()}
      </section>
    </div>`;
  },
  close: group.close,
  keys: () => ({ j: () => step(1), k: () => step(-1), Escape: () => go(href("groups", [], kept())) }),
};

function body() {
  const rows = shownRows();
  if (groups.rows.size === 0)
    return groups.is_loaded
      ? goneGroups(() => empty("No groups yet", firstSteps("group")))
      : html`<p class="empty muted" role="status">Reading groups …</p>`;
  if (rows.length === 0)
    return empty(
      "No groups match the filter",
      html`<div><a href=${href("groups")}>Show all ${count(groups.rows.size)}</a></div>`,
    );
  wantLags(list.inSight(rows).map((row) => row.group_id));
  return html`<div class="item heads" aria-hidden="true">
      <span class="grow">Group</span><span>State</span><span class="count members">Members</span><span class="count">Lag</span
      ><span class="age">For</span>
    </div>
    ${list.template(rows, "Groups")}`;
}

function tools() {
  const type = (event) => alterQuery({ q: event.target.value });
  const order = (event) => alterQuery({ order: event.target.value === "name" ? "" : event.target.value });
  return html` <div class="tools">
    <div class="actions">
      <input
        class="grow"
        type="search"
        data-filter
        placeholder=${`Find among ${counted(groups.rows.size, "group")}`}
        aria-label="Find groups"
        .value=${queried("q")}
        @input=${type}
      />
      <select aria-label="Order" @change=${order}>
        ${Object.entries(ORDERS).map(([name, [text]]) => html`<option value=${name} ?selected=${name === (queried("order") || "name")}>${text}</option>`)}
      </select>
    </div>
    <div class="chips" role="group" aria-label="Groups in state">
      ${Object.entries(groups.counts).sort().map(stateChip)}
    </div>
  </div>`;
}

function stateChip([name, number]) {
  const is_on = queried("state") === name;
  return html`<button type="button" aria-pressed=${is_on} @click=${() => alterQuery({ state: is_on ? "" : name })}>
    ${stateMark(name)} ${count(number)}
  </button>`;
}

function item(row) {
  const is_chosen = row.group_id === chosenId();
  return html` <a
    class="item"
    href=${href("groups", [row.group_id], kept())}
    aria-current=${is_chosen ? "true" : nothing}
  >
    <span class="name grow" title=${row.group_id}>${bothEnds(row.group_id)}</span>
    ${row.kind && row.kind !== "classic" ? html`<span class="tag">${row.kind}</span>` : ""} ${stateMark(row.state)}
    <span class="muted nowrap count members">${row.members || ""}</span>
    <span class="nowrap count ${lagOf(row.group_id) ? "warn" : "muted"}">${count(lagOf(row.group_id))}</span>
    <span class="muted nowrap age">${row.state_ms < 0 ? "" : duration(Math.max(0, nowMs() - row.state_ms))}</span>
  </a>`;
}

function hint() {
  return groups.rows.size
    ? empty(
        "Choose a group",
        html`<p class="muted">Choose a group to see its members, its rebalance and the expiry of its offsets.</p>`,
      )
    : "";
}

function step(by) {
  const rows = shownRows();
  if (!rows.length) return;
  const at = rows.findIndex((row) => row.group_id === chosenId());
  const next = Math.min(rows.length - 1, Math.max(0, at < 0 ? 0 : at + by));
  list.reveal(next);
  go(href("groups", [rows[next].group_id], kept()), false);
}
