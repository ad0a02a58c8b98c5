// The coordinator of a group: moving it, having it load for a while, leaving a zombie behind.

import { path } from "../core/api.js";
import { html } from "../core/dom.js";
import { groups } from "../core/groups.js";
import { Resource } from "../core/resource.js";
import { alterQuery, href, queried } from "../core/router.js";
import { schedule } from "../core/store.js";
import { Actions, call } from "../parts/call.js";
import { nodes } from "./nodes.js";

const MAX_OFFERED = 200;

const coordinator = new Resource();
const actions = new Actions();
let to = "";
let for_s = "5";

export function coordinatorCard() {
  const group_id = queried("group") || (groups.rows.size ? groups.rows.keys().next().value : "");
  if (group_id) coordinator.show(path`/coordinators/${group_id}`);
  return html` <section class="card" aria-label="Coordinator">
    <div class="title"><h2>Coordinator of a group</h2></div>
    <div class="actions">
      <label class="field grow"
        ><span>Group</span>
        <input list="known-groups" .value=${group_id} @change=${(event) => alterQuery({ group: event.target.value })}
      /></label>
    </div>
    <datalist id="known-groups">
      ${[...groups.rows.keys()].slice(0, MAX_OFFERED).map((id) => html`<option value=${id}></option>`)}
    </datalist>
    ${group_id ? controls(group_id) : html`<p class="muted">There are no groups.</p>`}
  </section>`;
}

function controls(group_id) {
  const handle = `broker.coordinator(${JSON.stringify(group_id)})`;
  const now = coordinator.value;
  const others = (nodes.value ?? []).filter((node) => node.node_id !== now?.node_id);
  const target = Number(to || others[0]?.node_id || 0);
  const then = () => coordinator.refresh();
  const move = call(
    "POST",
    path`/coordinators/${group_id}/move`,
    `${handle}.move`,
    { to: target },
    { done: `Node ${target} coordinates group ${group_id}` },
  );
  const load = call(
    "POST",
    path`/coordinators/${group_id}/load`,
    `${handle}.load`,
    { for_s: Number(for_s) },
    { done: `The coordinator of ${group_id} loads for ${for_s} s` },
  );
  const zombie = call(
    "POST",
    path`/coordinators/${group_id}/zombie`,
    `${handle}.zombie`,
    { for_s: Number(for_s) },
    { done: `The old coordinator of ${group_id} keeps answering for ${for_s} s` },
  );
  const set = (event) => {
    for_s = event.target.value;
    actions.shown = null;
    schedule();
  };
  const choose = (event) => {
    to = event.target.value;
    actions.shown = null;
    schedule();
  };
  return html` ${now ? sentence(now, group_id) : ""}
    <div class="actions">
      <select aria-label="Node to move to" ?disabled=${!others.length} @change=${choose}>
        ${others.length ? others.map((node) => html`<option value=${node.node_id} ?selected=${node.node_id === target}>to node ${node.node_id}</option>`) : html`<option>no other node</option>`}
      </select>
      ${actions.button("Move", move, { is_disabled: !others.length, then })}
      <label class="check"
        ><input aria-label="Seconds" size="3" inputmode="decimal" .value=${for_s} @input=${set} /> s</label
      >
      ${actions.button("Load", load, { then })}${actions.button("Zombie", zombie, { is_disabled: !others.length, then })}
    </div>
    ${actions.line(others.length ? move : load)}`;
}

function sentence({ node_id, partition }, group_id) {
  const log = html`<a href=${href("topics", ["__consumer_offsets"], { partition })}>__consumer_offsets</a>`;
  return html`<p>
    Node ${node_id} coordinates <a href=${href("groups", [group_id])}>${group_id}</a>, whose state is in partition
    ${partition} of ${log}.
  </p>`;
}
