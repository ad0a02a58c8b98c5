// The clock: what time it is, how it passes, what falls due next, and moving it.

import { html } from "../core/dom.js";
import { relative, shortIds, time } from "../core/format.js";
import { nowMs } from "../core/live.js";
import { Resource } from "../core/resource.js";
import { schedule, state } from "../core/store.js";
import { Actions, call } from "../parts/call.js";
import { afterJump, beforeJump } from "./jump.js";

export const due = new Resource(); // sessions of clients are put off all the time: the stream does not tell of that

const RATES = [1, 10, 60, 3600];
const actions = new Actions();
let draft = "";

const TELLS = { before: beforeJump, after: afterJump };

const advance = (body, text) =>
  call("POST", "/clock/advance", "broker.clock.advance", body, { done: `The clock moved by ${text}`, ...TELLS });
const HOUR = advance({ hours: 1 }, "an hour");
const STEPS = [
  ["+1 min", advance({ minutes: 1 }, "a minute")],
  ["+1 h", HOUR],
  ["+1 d", advance({ days: 1 }, "a day")],
  ["+8 d", advance({ days: 8 }, "eight days")],
];

export function clockCard() {
  if (state.clock === null) return "";
  const clock = due.value === null ? state.clock : { ...state.clock, due: due.value.due, due_got_ms: due.got_ms };
  return html` <section class="card" aria-label="Clock">
    <div class="title">
      <h2>Clock</h2>
      <span class="now mono">${time(nowMs())} <span class="muted">UTC</span></span>
      ${clock.is_frozen ? html`<span class="tag warn">frozen</span>` : clock.rate === 1 ? "" : html`<span class="tag other">× ${clock.rate}</span>`}
    </div>
    <div class="actions">
      ${STEPS.map(([label, each]) => actions.button(label, each))} ${toNext(clock)}${pause(clock)}
    </div>
    <div class="actions">${moveBy()}${rates(clock)}</div>
    ${actions.line(HOUR)} ${dueTable(clock)}
  </section>`;
}

function pause(clock) {
  const freeze = call("POST", "/clock/freeze", "broker.clock.freeze", undefined, {
    done: "The time of day is frozen",
  });
  const resume = call("POST", "/clock/resume", "broker.clock.resume", undefined, { done: "The time of day resumed" });
  return clock.is_frozen ? actions.button("Resume", resume, { kind: "primary" }) : actions.button("Freeze", freeze);
}

function rates(clock) {
  const one = (rate) =>
    actions.button(
      `× ${rate}`,
      call("PUT", "/clock/rate", "broker.clock.rate", { rate }, { python: `broker.clock.rate = ${rate}` }),
      { is_disabled: clock.rate === rate },
    );
  return html`<span class="actions" role="group" aria-label="Rate of time">${RATES.map(one)}</span>`;
}

// Advance by what is typed: "90 s", "2 h 30 m", "8d".
function moveBy() {
  const amount = parsed(draft);
  const type = (event) => {
    draft = event.target.value;
    if (parsed(draft)) actions.show(advance(parsed(draft), draft));
    schedule();
  };
  return html`<input
      aria-label="Move the clock by"
      size="9"
      placeholder="2 h 30 m"
      .value=${draft}
      @input=${type}
    />${actions.button("Advance", advance(amount ?? {}, draft), { is_disabled: amount === null })}`;
}

const UNITS = { d: "days", h: "hours", m: "minutes", s: "seconds", ms: "ms" };

function parsed(text) {
  const found = [...text.matchAll(/(\d+(?:\.\d+)?)\s*(ms|[dhms])/g)];
  if (!found.length || text.replace(/(\d+(?:\.\d+)?)\s*(ms|[dhms])[a-z]*/g, "").trim()) return null;
  return Object.fromEntries(found.map(([, number, unit]) => [UNITS[unit], Number(number)]));
}

// The call that lets something fall due, and the words for it.
function until(event) {
  const options = { done: `The clock moved to the time when ${event.what}`, ...TELLS };
  if (event.by === "clock")
    return call("POST", "/clock/run_until", "broker.clock.run_until", { when: event.due_ms }, options);
  return call(
    "POST",
    "/clock/advance",
    "broker.clock.advance",
    { ms: Math.max(1, Math.ceil(event.left_ms)), timers: true },
    options,
  );
}

// What is due next by the time of day: the timers of clients that live are put off again and again.
function toNext({ due: events }) {
  const next = events.find((event) => event.by === "clock") ?? events[0];
  return actions.button("Advance to the next due event", next ? until(next) : HOUR, {
    is_disabled: !next,
    title: next?.what ?? "Nothing is due",
  });
}

function dueTable({ due: events, got_ms, due_got_ms, rate, is_frozen }) {
  if (!events.length) return html`<p class="muted">No timers are due.</p>`;
  const passed_ms = performance.now() - (due_got_ms ?? got_ms);
  const left = (event) => event.left_ms - (event.by === "clock" ? (is_frozen ? 0 : rate * passed_ms) : passed_ms);
  const row = (event) =>
    html` <tr>
      <td class="nowrap" title=${time(event.due_ms)}>${relative(left(event))}</td>
      <td class="breaks" title=${event.what}>${shortIds(event.what)}</td>
      <td class="muted nowrap">
        ${event.by === "timers" ? html`<span title="A timer of clients: real time, or advance(timers=True)">timer</span>` : html`<span title="By the time of day">time of day</span>`}
      </td>
      <td class="number">
        ${actions.button("Advance to here", until({ ...event, left_ms: left(event) }), { kind: "small" })}
      </td>
    </tr>`;
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Due next">
    <table>
      <caption>
        Due next
      </caption>
      <tbody>
        ${events.map(row)}
      </tbody>
    </table>
  </div>`;
}
