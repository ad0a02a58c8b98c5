// One group: its state and why, the rebalance that is going on, members, offsets, what happened to it.

import { path } from "../core/api.js";
import { html } from "../core/dom.js";
import { duration, shortIds, time } from "../core/format.js";
import { readBack } from "../core/history.js";
import { nowMs, watch } from "../core/live.js";
import { KINDS, rebalancesOf } from "../core/rebalances.js";
import { Resource } from "../core/resource.js";
import { href } from "../core/router.js";
import { state } from "../core/store.js";
import { Actions, call } from "../parts/call.js";
import { pending, stateMark } from "../parts/marks.js";
import { causeText, outcomeText } from "../parts/rebalance_line.js";
import { factList } from "../parts/tables.js";
import { historyCard } from "./group_history.js";
import { membersCard } from "./group_members.js";
import { offsetsCard } from "./group_offsets.js";
import { heldCard, rebalanceCard } from "./group_rebalance.js";
import { sharePartitionsCard } from "./share_partitions.js";

const READ_EVERY_MS = 1500; // heartbeats are no change of the group, but of what is shown of it
const HISTORY = `${KINDS}|offset_expired|offset_deleted`;

const view = new Resource();
const history = new Resource(readBack);
let actions = new Actions();
let unwatch = null;
let timer = null;

// What is shown of the group with this id; `back` is where the list is.
export function template(group_id, back) {
  if (state.page === null) return "";
  open(group_id);
  const shown = view.value;
  if (shown === null) return html`${backLink(back)}${pending(view, `group ${group_id}`)}`;
  const passed_ms = performance.now() - view.got_ms;
  return html` <div class="detail">
    ${backLink(back)}${head(shown, passed_ms)} ${shown.rebalance ? rebalanceCard(shown, passed_ms, actions) : heldCard(shown, actions)}
    ${isGone(shown) ? "" : membersCard(shown, passed_ms, actions)} ${offsetsCard(shown)} ${sharePartitionsCard(shown.share_partitions ?? [])}
    ${historyCard(history.value, shown)}
  </div>`;
}

function backLink(back) {
  return html`<div class="back"><a href=${back}>← all groups</a></div>`;
}

function open(group_id) {
  if (view.path !== path`/groups/${group_id}/view`) actions = new Actions();
  view.show(path`/groups/${group_id}/view`);
  history.show(path`/journal/brief?group=${group_id}&kind=${HISTORY}`);
  unwatch ??= watch((names) => {
    if (names.includes("all") || names.includes("groups") || names.includes("journal")) view.refresh();
    if (names.includes("all") || names.includes("groups") || names.includes("group_history")) history.refresh();
  });
  timer ??= setInterval(() => document.hidden || view.refresh(), READ_EVERY_MS);
}

// Nobody looks at a group any more.
export function close() {
  view.close();
  history.close();
  unwatch?.();
  unwatch = null;
  clearInterval(timer);
  timer = null;
}

function head(group, passed_ms) {
  const for_ms =
    group.state_for_ms === null
      ? null
      : group.state_for_ms + passed_ms * (state.clock?.is_frozen ? 0 : (state.clock?.rate ?? 1));
  return html` <div class="card head">
    <div class="title">
      <h2>${group.group_id}</h2>
      ${stateMark(group.state)}
      <span class="muted" title=${time(group.state_ms)}>for ${duration(for_ms)}</span>
      <span class="end nowrap"><a href=${href("timeline", [], { group: group.group_id })}>Timeline</a></span>
    </div>
    ${whyParts(group)}
    ${group.next ? html`<p class="muted">${group.next}</p>` : ""}
    ${factList(facts(group))}
    ${isGone(group) ? "" : html`<div class="actions">${buttons(group)}</div>${actions.line(rebalanceCall(group))}`}
  </div>`;
}

// Whether the group was removed: only its history and the offsets that it lost are left.
function isGone(group) {
  return group.state === "Dead" && !group.kind;
}

// When the group rebalanced last, and why; the state's own reason where the journal has no rebalance, or another cause
// that still matters: that of a Stable group is only that its rebalance is over.
function whyParts(group) {
  const last = rebalancesOf(history.value?.lines ?? []).at(-1);
  const has_own_reason = group.state_reason && group.state_reason !== last?.cause && !(last && group.state === "Stable");
  return html`${last ? lastRebalance(last) : ""}
  ${has_own_reason ? html`<p class="muted" title=${group.state_reason}>${shortIds(group.state_reason)}</p>` : ""}`;
}

function lastRebalance(last) {
  const ago = duration(Math.max(0, nowMs() - last.wall_ms));
  const when = last.took_ms === null ? `Rebalancing for ${ago}` : `Last rebalance ${ago} ago`;
  return html`<p class="why" title=${last.cause}>
    <strong>${when}:</strong> ${causeText(last)}${last.took_ms === null ? "" : `; ${outcomeText(last)}`}
  </p>`;
}

function facts(group) {
  const is_classic = group.kind === "classic";
  if (isGone(group)) return [];
  return [
    ["kind", group.kind],
    [is_classic ? "generation" : "group epoch", group.epoch],
    !is_classic && group.assignment_epoch >= 0 ? ["assignment epoch", group.assignment_epoch] : null,
    group.protocol ? [is_classic ? "protocol" : "assignor", group.protocol] : null,
    ["coordinator", html`<a href=${href("control", [], { group: group.group_id })}>node ${group.coordinator}</a>`],
  ].filter(Boolean);
}

const handle = (group) => `broker.group(${JSON.stringify(group.group_id)})`;

function rebalanceCall(group) {
  return call(
    "POST",
    path`/groups/${group.group_id}/rebalance`,
    `${handle(group)}.rebalance`,
    { reason: "requested on the page" },
    { done: `Group ${group.group_id} starts a rebalance` },
  );
}

function buttons(group) {
  const options = {
    done: `Group ${group.group_id} was deleted`,
    ask: `Delete group ${group.group_id} and its offsets?`,
    danger: true,
  };
  const remove = call("DELETE", path`/groups/${group.group_id}`, `${handle(group)}.delete`, undefined, options);
  return html` ${actions.button("Rebalance", rebalanceCall(group), { is_disabled: group.members.length === 0 })}
  ${actions.button("Delete", remove)}`;
}
