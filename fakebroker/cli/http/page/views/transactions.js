// Transactions: every transactional id with its state, and of the chosen one what becomes of it and how it came there.

import { path } from "../core/api.js";
import { html, nothing } from "../core/dom.js";
import { counted, duration, moment, relative, time } from "../core/format.js";
import { readBack } from "../core/history.js";
import { nowMs, watch } from "../core/live.js";
import { Resource } from "../core/resource.js";
import { href } from "../core/router.js";
import { state } from "../core/store.js";
import { Actions, call } from "../parts/call.js";
import { empty, pending, rule, stateMark } from "../parts/marks.js";
import { factList, tableHead } from "../parts/tables.js";

const READ_EVERY_MS = 1500;

const rows = new Resource();
const explanation = new Resource();
const steps = new Resource(readBack); // of all transactions
const actions = new Actions();
let read_for = ""; // the explanation when the steps were read
let timer = null;
let unwatch = null;

// Whether a transaction is going on or ending.
export function isOpen(transaction) {
  return /^(Ongoing|Prepare)/.test(transaction.state);
}

function refresh() {
  [rows, explanation].forEach((each) => each.refresh());
}

// Read the steps again when the explanation of the transaction changes: to search the journal costs more than to ask.
function refreshSteps() {
  const now = JSON.stringify(explanation.value);
  if (now !== read_for) steps.refresh();
  read_for = now;
}

export const transactionsView = {
  open() {
    timer = setInterval(() => document.hidden || refresh(), READ_EVERY_MS);
    unwatch = watch((names) => names.includes("all") && refresh());
  },
  close() {
    clearInterval(timer);
    unwatch();
    [rows, explanation, steps].forEach((each) => each.close());
  },
  template() {
    if (state.page === null) return "";
    rows.show("/transactions");
    if (rows.value === null) return pending(rows, "transactions");
    if (!rows.value.length) return none();
    const id = state.route.path[0];
    return html`<div class="detail">${table(rows.value, id)}${id ? chosen(id) : ""}</div>`;
  },
};

function none() {
  return empty(
    "No transactional producer yet",
    html`<p>A transactional id appears here as soon as a producer calls <code>init_transactions()</code>.</p>`,
  );
}

function abortCall({ transactional_id }) {
  const power = `broker.transaction(${JSON.stringify(transactional_id)}).abort`;
  return call("POST", path`/transactions/${transactional_id}/abort`, power, {}, {
    done: `The transaction of ${transactional_id} was aborted`,
    danger: true,
  });
}

function table(all, id) {
  const columns = [["Transactional id"], ["State"], ["Producer id and epoch"], ["Partitions"], ["Timeout due"], [html`<span class="unseen">Actions</span>`]];
  return html` <section class="card" aria-label="Transactions">
    <h2>${counted(all.length, "transactional id")}</h2>
    <div class="scroll" tabindex="0" role="group" aria-label="Table of transactions">
      <table>
        ${tableHead(columns)}
        <tbody>
          ${all.map((each) => row(each, id))}
        </tbody>
      </table>
    </div>
    ${actions.line()}
  </section>`;
}

function row(each, id) {
  const is_chosen = each.transactional_id === id;
  return html` <tr class=${is_chosen ? "is-chosen" : ""}>
    <td class="breaks">
      <a href=${href("transactions", [each.transactional_id])} aria-current=${is_chosen ? "true" : nothing}
        >${each.transactional_id}</a
      >
    </td>
    <td>${stateMark(each.state)}</td>
    <td class="nowrap">${each.producer_id}, epoch ${each.producer_epoch}</td>
    <td class="mono breaks">${each.partitions.map((one) => `${one.topic ?? one[0]}-${one.partition ?? one[1]}`).join(", ")}</td>
    <td class="nowrap" title=${time(each.due_ms)}>${each.due_ms === null ? "" : relative(each.due_ms - nowMs())}</td>
    <td class="number">
      ${each.state === "Ongoing" ? actions.button("Abort", abortCall(each), { kind: "small", then: refresh }) : ""}
    </td>
  </tr>`;
}

function chosen(id) {
  explanation.show(path`/transactions/${id}/explain`);
  steps.show("/journal/brief?kind=transaction_transition");
  if (explanation.value === null) return pending(explanation, `transaction ${id}`);
  refreshSteps();
  const { next, due_ms, rule: rule_id, timeout_ms, since_ms } = explanation.value;
  const facts = [
    ["timeout", duration(timeout_ms)],
    ["changed", time(since_ms)],
    due_ms === null ? null : ["due", time(due_ms)],
  ].filter(Boolean);
  return html` <section class="card" aria-label="Outcome">
    <h2 class="breaks">${id}</h2>
    <p>Next: ${next} ${rule(rule_id)}</p>
    ${factList(facts)}
    <h3>History</h3>
    <ol class="history">
      ${(steps.value?.lines ?? []).filter((line) => line.transactional_id === id).reverse().map(step)}
    </ol>
  </section>`;
}

function step(each) {
  return html`<li>
    <a
      class="mono nowrap"
      href=${href("timeline", [], { seq: each.seq })}
      title=${time(each.wall_ms, { milliseconds: true })}
      >${moment(each.wall_ms, nowMs())}</a
    >
    <span>${each.before} → ${each.after} <span class="muted">because ${each.reason}</span></span>
  </li>`;
}
