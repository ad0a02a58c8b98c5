// The same as the lanes as a list, for reading and for the keyboard: a row for each request and event, in their order.

import { html } from "../core/dom.js";
import { count, counted, duration, moment, shortIds, time } from "../core/format.js";
import { nowMs } from "../core/live.js";
import { altered, alterQuery, queried } from "../core/router.js";
import { eventLook, eventText, requestTexts } from "../parts/events.js";
import { VirtualList } from "../parts/virtual_list.js";

const ROW_PX = 25;

export const list = new VirtualList({ row_px: ROW_PX, key: (line) => `${line.seq}.${line.part}`, draw: row });

// The list of these lines; `is_following` keeps its end in sight.
export function entries(lines, { polls, shows_polls, is_following }) {
  if (is_following && list.is_at_end && !queried("seq")) list.revealEnd(lines.length);
  return html` <section class="entries" aria-label="Entries">
    <div class="bar">
      <h2>${lines.length === 1 ? "1 entry" : `${count(lines.length)} entries`}</h2>
      <label class="check" ?hidden=${polls === 0}
        ><input
          type="checkbox"
          .checked=${shows_polls}
          @change=${(event) => alterQuery({ polls: event.target.checked ? "1" : "" })}
        />
        show ${counted(polls, "successful poll")}</label
      >
    </div>
    <div class="entry heads" aria-hidden="true">
      ${["Time", "Who", "What", "Result", "Waited"].map((name) => html`<span>${name}</span>`)}
    </div>
    ${list.template(lines, "Entries of the journal")}
  </section>`;
}

function row(line) {
  const is_selected = String(line.seq) === queried("seq");
  return html` <a class="entry" href=${altered({ seq: line.seq })} aria-current=${is_selected ? "true" : "false"}>
    <span class="mono muted nowrap" title=${time(line.wall_ms, { milliseconds: true })}>${moment(line.wall_ms, nowMs())}</span>
    <span class="ellipsis">${who(line)}</span>
    <span class="ellipsis" title=${eventText(line)}
      ><span class="mark ${eventLook(line)}" aria-hidden="true"></span>${what(line)}</span
    >
    <span class="ellipsis">${result(line)}</span>
    <span class="number muted">${line.kind === "request" && line.waited_ms ? duration(line.waited_ms) : ""}</span>
  </a>`;
}

function who(line) {
  return (
    line.client ??
    (line.group !== undefined
      ? `group ${line.group}`
      : line.connection !== null
        ? `connection ${line.connection}`
        : "broker")
  );
}

// The group comes last: where there is no room it is cut, and not the offsets.
function what(line) {
  const text = shortIds(eventText(line));
  const of_group = line.kind === "request" && line.groups.length === 1 ? ` of group ${shortIds(line.groups[0])}` : "";
  if (!of_group || !text.includes(of_group)) return text;
  const at = text.indexOf(of_group);
  return html`${text.slice(0, at)}${text.slice(at + of_group.length)}<span class="muted">${of_group}</span>`;
}

function result(line) {
  if (line.kind !== "request")
    return html`<span class="muted" title=${line.reason ?? ""}>${shortIds(line.reason ?? "")}</span>`;
  if (!line.is_answered) return html`<span class="warn">no answer</span>`;
  const outcome = requestTexts(line)[1];
  return line.errors.length
    ? html`<span class="bad" title=${outcome}>${line.errors.join(", ")}</span>`
    : html`<span class="muted" title=${outcome}>${shortIds(outcome)}</span>`;
}

// Choose the entry after (1) or before (-1) the one that is chosen.
export function step(lines, by) {
  if (!lines.length) return null;
  const seq = Number(queried("seq"));
  const at = queried("seq") ? lines.findIndex((line) => line.seq === seq) : -1;
  const next = at < 0 ? (by > 0 ? 0 : lines.length - 1) : Math.min(lines.length - 1, Math.max(0, at + by));
  list.reveal(next);
  return lines[next];
}
