// The overview: what is going on at the broker, and why groups rebalanced last.

import { html } from "../core/dom.js";
import { count, counted, duration, relative, shortIds } from "../core/format.js";
import { groups } from "../core/groups.js";
import { readBack } from "../core/history.js";
import { nowMs, watch } from "../core/live.js";
import { KINDS, rebalancesOf } from "../core/rebalances.js";
import { Resource } from "../core/resource.js";
import { href, pageOf } from "../core/router.js";
import { state } from "../core/store.js";
import { Actions } from "../parts/call.js";
import { copyable } from "../parts/copy.js";
import { firstSteps } from "../parts/first_steps.js";
import { stateMark } from "../parts/marks.js";
import { causeText, outcomeText } from "../parts/rebalance_line.js";
import { factList } from "../parts/tables.js";
import { goneGroups } from "./gone_groups.js";
import { releaseButton } from "./group_rebalance.js";
import { isOpen } from "./transactions.js";

const MAX_REBALANCES = 10;
const READ_EVERY_MS = 2000;
const PATHS = {
  overview: "/overview",
  due: "/clock/due?limit=8",
  faults: "/faults",
  transactions: "/transactions",
  history: `/journal/brief?kind=${KINDS}`,
};

const resources = Object.fromEntries(
  Object.keys(PATHS).map((name) => [name, name === "history" ? new Resource(readBack) : new Resource()]),
);
const actions = new Actions();
let timer = null;
let unwatch = null;

export const overviewView = {
  open() {
    const { history, ...others } = resources;
    timer = setInterval(() => document.hidden || Object.values(others).forEach((each) => each.refresh()), READ_EVERY_MS);
    unwatch = watch((names) => {
      if (names.includes("groups") || names.includes("all")) history.refresh();
      if (names.includes("holds") || names.includes("all")) resources.overview.refresh();
    });
  },
  close() {
    clearInterval(timer);
    unwatch();
    Object.values(resources).forEach((each) => each.close());
  },
  template() {
    if (state.page === null) return "";
    for (const [name, resource] of Object.entries(resources)) resource.show(PATHS[name]);
    return html` <div class="control">
      <div class="column">${brokerCard()}${rebalancesCard()}</div>
      <div class="column">${holdsCard()}${transactionsCard()}${faultsCard()}${dueCard()}${brokersCard()}</div>
    </div>`;
  },
};

function card(title, link, content) {
  return html` <section class="card" aria-label=${title}>
    <div class="title">
      <h2>${title}</h2>
      ${link ? html`<span class="end"><a href=${link}>Show all</a></span>` : ""}
    </div>
    ${content}
  </section>`;
}

function list(rows) {
  return html`<ul class="plain-list">
    ${rows.map((row) => html`<li>${row}</li>`)}
  </ul>`;
}

function brokerCard() {
  const { connections, clients } = resources.overview.value ?? {};
  const facts = [
    ["bootstrap", copyable(state.bootstrap, "the bootstrap address")],
    ["emulates", `Kafka ${state.page.release}`],
    ["clients", html`<a href=${href("clients")}>${counted(clients ?? 0, "client")}, ${counted(connections ?? 0, "connection")}</a>`],
  ];
  const one = ([name, number]) =>
    html`<a class="button" href=${href("groups", [], { state: name })}>${stateMark(name)} ${count(number)}</a>`;
  const states = Object.entries(groups.counts).sort();
  return card(
    "Broker",
    null,
    html`${factList(facts)}
      <h3>${counted(groups.rows.size, "group")}</h3>
      ${states.length ? html`<div class="chips">${states.map(one)}</div>` : groups.is_loaded ? goneGroups(() => firstSteps("group")) : ""}`,
  );
}

function rebalancesCard() {
  const latest = rebalancesOf(resources.history.value?.lines ?? []).slice(-MAX_REBALANCES).reverse();
  const one = (each) => html`
    <div>
      <a href=${href("groups", [each.group])}>${each.group}</a>
      <a class="muted nowrap" href=${href("timeline", [], { group: each.group, seq: each.steps[0].seq })}
        >${duration(Math.max(0, nowMs() - each.wall_ms))} ago</a
      >
    </div>
    <div title=${each.cause}>${causeText(each)} <span class="muted nowrap">${outcomeText(each)}</span></div>
  `;
  const content = latest.length ? list(latest.map(one)) : html`<p class="muted">No groups have rebalanced.</p>`;
  return card("Latest rebalances", null, content);
}

function holdsCard() {
  const holds = resources.overview.value?.holds ?? [];
  if (!holds.length) return "";
  const one = (hold) => html`
    <div class="title">
      <a href=${href("groups", [hold.group_id])}>${hold.group_id}</a><span>${hold.text}</span>
      <span class="end">${releaseButton(hold.group_id, hold, actions)}</span>
    </div>
  `;
  return card("Holds", null, html`${list(holds.map(one))}${actions.line()}`);
}

function transactionsCard() {
  const open = (resources.transactions.value ?? []).filter(isOpen);
  const one = (each) => html`
    <a href=${href("transactions", [each.transactional_id])}>${each.transactional_id}</a> ${stateMark(each.state)}
    <span class="muted"
      >${counted(each.partitions.length, "partition")}${each.due_ms === null ? "" : `, times out ${relative(each.due_ms - nowMs())}`}</span
    >
  `;
  const content = open.length ? list(open.map(one)) : html`<p class="muted">No open transactions.</p>`;
  return card("Open transactions", href("transactions"), content);
}

function faultsCard() {
  const set = resources.faults.value ?? [];
  const one = (each) => html`<span class="mono">${each.description}</span> <span class="muted nowrap">${counted(each.hits, "hit")}</span>`;
  const content = set.length ? list(set.map(one)) : html`<p class="muted">No faults are set.</p>`;
  return card("Faults", href("control"), content);
}

function dueCard() {
  const due = resources.due.value?.due ?? [];
  const one = (each) =>
    html`<span class="muted nowrap">${relative(each.left_ms)}</span> <span title=${each.what}>${shortIds(each.what)}</span>`;
  const content = due.length ? list(due.map(one)) : html`<p class="muted">No timers are due.</p>`;
  return card("Due next", href("control"), content);
}

function brokersCard() {
  const made = resources.overview.value?.brokers ?? [];
  if (!made.length) return "";
  const one = (each) =>
    html`<a href=${pageOf(each.broker_id)}>${each.broker_id}</a>
      <span class="mono">${each.bootstrap}</span> <span class="muted">${counted(each.nodes.length, "node")}</span>`;
  return card("Isolated brokers", null, list(made.map(one)));
}
