// Committed offsets: lag, how long they live and by which rule, what was lost.

import { html } from "../core/dom.js";
import { count, counted, duration, relative, time } from "../core/format.js";
import { nowMs } from "../core/live.js";
import { href } from "../core/router.js";
import { rule } from "../parts/marks.js";
import { tableHead } from "../parts/tables.js";

const MAX_ROWS = 500;

export function offsetsCard(group) {
  const offsets = [...group.offsets, ...(group.pending_offsets ?? []).map((each) => ({ ...each, is_pending: true }))];
  const lost = group.offsets.filter((each) => each.status === "expired").length;
  const lag = group.offsets.reduce((sum, each) => sum + (each.status === "expired" ? 0 : (each.lag ?? 0)), 0);
  return html` <section class="card" aria-label="Committed offsets">
    <div class="title">
      <h2>${counted(group.offsets.length - lost, "committed offset")}${lost ? `, ${count(lost)} lost` : ""}</h2>
      ${offsets.length > lost ? html`<span>lag ${count(lag)}</span>` : ""}
      <span class="muted">${group.expiry?.why ?? ""}</span>
      ${group.expiry ? html`<span class="end muted nowrap" title="offsets.retention.minutes">kept ${duration(group.expiry.retention_ms)}</span>` : ""}
    </div>
    ${offsets.length ? table(offsets, group.rules ?? {}) : html`<p class="muted">No offsets were committed.</p>`}
  </section>`;
}

function table(offsets, rules) {
  const shown = offsets.slice(0, MAX_ROWS);
  return html` <div class="scroll" tabindex="0" role="group" aria-label="Table of committed offsets">
      <table>
        ${tableHead([["Partition"], ["Offset", true], ["End", true], ["Lag", true], ["Committed"], ["Retention"]])}
        <tbody>
          ${shown.map((each) => row(each, rules))}
        </tbody>
      </table>
    </div>
    ${offsets.length > shown.length ? html`<p class="muted">and ${count(offsets.length - shown.length)} more</p>` : ""}`;
}

function row(each, rules) {
  return html` <tr>
    <td class="mono breaks">
      <a href=${href("topics", [each.topic], { partition: each.partition })}>${each.topic}</a>-${each.partition}
    </td>
    <td class="number">${each.offset}</td>
    <td class="number">${each.end_offset ?? ""}</td>
    <td class="number">
      ${each.lag === null || each.lag === undefined ? "" : html`<span class=${each.lag ? "warn" : "muted"}>${count(each.lag)}</span>`}
    </td>
    <td class="breaks" title=${time(each.committed_ms)}>
      ${each.committed_ms ? relative(each.committed_ms - nowMs()) : ""}${each.metadata ? html` <span class="muted">“${each.metadata}”</span>` : ""}
    </td>
    <td>${life(each, rules)}</td>
  </tr>`;
}

function life(each, rules) {
  if (each.is_pending) return html`<span class="tag warn">in a transaction</span>`;
  const when_ms = each.pass_ms ?? each.due_ms;
  const words = {
    kept: () => html`<span class="good">kept</span>`,
    ages: () => html`<span class="warn nowrap" title=${time(when_ms)}>expires ${relative(when_ms - nowMs())}</span>`,
    expired: () => html`<span class="bad nowrap" title=${time(when_ms)}>lost ${relative(when_ms - nowMs())}</span>`,
  }[each.status];
  return html`${words ? words() : each.status} ${rule(each.rule, rules[each.rule])}`;
}
