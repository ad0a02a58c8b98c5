// What happened to a group, the last first: transitions with their cause, epochs, offsets that were lost.

import { html } from "../core/dom.js";
import { shortIds, time } from "../core/format.js";
import { href } from "../core/router.js";
import { eventLook, eventText } from "../parts/events.js";

const MOST_ROWS = 60;

// `answer` is what the journal has of the group, null before it was read.
export function historyCard(answer, group_id) {
  if (answer === null) return "";
  const lines = answer.lines
    .filter((line) => line.part === 0 || line.kind === "offset_expired")
    .slice(-MOST_ROWS)
    .reverse();
  return html` <section class="card" aria-label="What happened">
    <h2>What happened</h2>
    ${
      lines.length
        ? html`<ol class="history">
            ${lines.map((line) => entry(line, group_id))}
          </ol>`
        : html`<p class="muted">Nothing that the journal remembers.</p>`
    }
  </section>`;
}

function entry(line, group_id) {
  return html` <li>
    <a
      class="mono nowrap"
      href=${href("timeline", [], { group: group_id, seq: line.seq })}
      title=${time(line.wall_ms, { milliseconds: true })}
      >${time(line.wall_ms, { milliseconds: true, date: false })}</a
    >
    <span class="mark ${eventLook(line)}" aria-hidden="true"></span>
    <span title=${line.reason ?? ""}
      >${shortIds(eventText(line))}${line.reason ? html` <span class="muted">because ${shortIds(line.reason)}</span>` : ""}</span
    >
  </li>`;
}
