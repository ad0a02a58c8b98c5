// What happened to a group, the last first: a line for each rebalance, which opens to its steps, and what else there was.

import { html } from "../core/dom.js";
import { moment, shortIds, time } from "../core/format.js";
import { nowMs } from "../core/live.js";
import { happenings } from "../core/rebalances.js";
import { href } from "../core/router.js";
import { eventLook, eventText } from "../parts/events.js";
import { causeText, outcomeText } from "../parts/rebalance_line.js";

const MAX_ROWS = 60;

// `answer` is what the journal has of the group, null before it was read.
export function historyCard(answer, group) {
  const { group_id } = group;
  if (answer === null) return "";
  const rows = happenings(answer.lines.filter((line) => line.part === 0 || line.kind === "offset_expired"))
    .slice(-MAX_ROWS)
    .reverse();
  return html` <section class="card" aria-label="History">
    <h2>History</h2>
    ${
      rows.length
        ? html`<ol class="history">
            ${rows.map((row) => (row.steps ? rebalance(row, group_id) : entry(row, group_id)))}
          </ol>`
        : html`<p class="muted">
            The journal has no entries for this
            group.${group.offsets.length ? " Offsets committed over HTTP or from Python (group.commit) leave no entry." : ""}
          </p>`
    }
  </section>`;
}

function rebalance(row, group_id) {
  return html` <li>
    ${timeLink(row.steps[0], group_id)}
    <span class="mark ${row.took_ms === null ? "warn" : "good"}" aria-hidden="true"></span>
    <details>
      <summary title=${row.cause}>
        Rebalance: ${causeText(row)} <span class="muted nowrap">${outcomeText(row)}</span>
      </summary>
      <ol class="history">
        ${row.steps.map((line) => entry(line, group_id))}
      </ol>
    </details>
  </li>`;
}

function timeLink(line, group_id) {
  return html`<a
    class="mono nowrap"
    href=${href("timeline", [], { group: group_id, seq: line.seq })}
    title=${time(line.wall_ms, { milliseconds: true })}
    >${moment(line.wall_ms, nowMs())}</a
  >`;
}

function entry(line, group_id) {
  return html` <li>
    ${timeLink(line, group_id)}
    <span class="mark ${eventLook(line)}" aria-hidden="true"></span>
    <span title=${line.reason ?? ""}
      >${shortIds(eventText(line))}${line.reason ? html` <span class="muted">because ${shortIds(line.reason)}</span>` : ""}</span
    >
  </li>`;
}
