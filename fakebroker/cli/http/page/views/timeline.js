// The timeline: a filter, the whole journal in small, lanes of groups and clients, the same as a list, the chosen entry.

import { html, ref, nothing } from "../core/dom.js";
import { duration } from "../core/format.js";
import { journal, loadBack, placeOf } from "../core/journal.js";
import { monoMs } from "../core/live.js";
import { alterQuery, altered, queried } from "../core/router.js";
import { memo, schedule, state } from "../core/store.js";
import { bothEnds, empty } from "../parts/marks.js";
import { firstSteps } from "../parts/first_steps.js";
import { Axis } from "../timeline/axis.js";
import { entries, list, step } from "../timeline/entries.js";
import * as entry from "../timeline/entry.js";
import { isPoll, passing } from "../timeline/filter.js";
import { lanesOf, waitingItems } from "../timeline/lanes.js";
import { Overview } from "../timeline/overview.js";
import { AXIS_PX } from "../timeline/painter.js";
import * as range from "../timeline/range.js";
import { Stage } from "../timeline/stage.js";
import { toolbar } from "../timeline/toolbar.js";

const PAINT_EVERY_MS = 100; // while it follows what happens

const axisOf = memo((lines) => new Axis(lines));
const filtered = memo((lines, api, client, group, error) => passing(lines, { api, client, group, error }));
const lanes = memo((lines, axis) => lanesOf(lines, axis));
const jumpsOf = memo((lines, axis) =>
  lines
    .filter((line) => line.kind === "clock_moved")
    .map((line) => ({ place: axis.place(line.mono_ms), text: jumpText(line) })),
);
const listed = memo((lines, shows_polls, axis, from, to) =>
  lines.filter(
    (line) => line.part === 0 && (shows_polls || !isPoll(line)) && (from === null || isWithin(line, axis, from, to)),
  ),
);
const pollCount = memo((lines) => lines.reduce((sum, line) => sum + (isPoll(line) ? 1 : 0), 0));

let stage = null;
let overview = null;
let timer = null;
let top_px = 0;
let revealed = null; // the entry in the address that was brought in sight

function jumpText(line) {
  const by_ms = line.to_ms - line.from_ms;
  return `${by_ms < 0 ? "−" : "+"}${duration(Math.abs(by_ms))}`;
}

function isWithin(line, axis, from, to) {
  const start = line.kind === "request" ? line.received_mono_ms : line.mono_ms;
  return axis.place(line.mono_ms) >= from && axis.place(start) <= to;
}

// Everything that is drawn, from the journal and the address.
function model() {
  const axis = axisOf(journal.lines);
  const lines = filtered(journal.lines, queried("api"), queried("client"), queried("group"), queried("error"));
  const whole = wholeOf(axis);
  const shown = range.shown(axis, whole);
  const is_following = range.isFollowing();
  const inList = listed(
    lines,
    queried("polls") === "1",
    axis,
    is_following ? null : shown.from,
    is_following ? null : shown.to,
  );
  return { axis, lines, whole, shown, is_following, inList, ...lanes(lines, axis) };
}

function wholeOf(axis) {
  const { lines } = journal;
  const mono_ms = state.page?.is_read_only ? null : monoMs();
  const last = lines.length ? lines.at(-1).mono_ms : (mono_ms ?? 0);
  const now = axis.place(Math.max(mono_ms ?? last, last));
  return { from: lines.length ? axis.place(lines[0].mono_ms) : now - 1000, to: now, now };
}

export const timelineView = {
  open() {
    range.open();
    loadBack().catch(() => {});
    timer = setInterval(() => document.hidden || !range.isFollowing() || paint(), PAINT_EVERY_MS);
    addEventListener("themechange", retheme);
  },
  close() {
    clearInterval(timer);
    removeEventListener("themechange", retheme);
    range.close();
    entry.close();
    revealed = null;
  },
  template() {
    if (!journal.is_loading && !journal.is_whole && journal.next_seq > 0) loadBack().catch(() => {});
    if (journal.lines.length === 0)
      return journal.is_whole || (journal.next_seq === 0 && state.link.is_up)
        ? empty("No entries yet", firstSteps("request"))
        : html`<p class="empty muted" role="status">Reading the journal …</p>`;
    const shown = model();
    revealEntry(shown);
    return drawing(shown);
  },
  drawn: paint,
  keys: () => ({
    j: () => choose(step(model().inList, 1)),
    k: () => choose(step(model().inList, -1)),
    h: () => moved((m) => range.pan(m.axis, m.whole, -0.3)),
    l: () => moved((m) => range.pan(m.axis, m.whole, 0.3)),
    "+": () => moved((m) => range.zoom(m.axis, m.whole, 0.6)),
    "-": () => moved((m) => range.zoom(m.axis, m.whole, 1 / 0.6)),
    0: () => moved((m) => range.show(m.axis, m.whole.from, m.whole.to)),
    f: range.follow,
    Escape: () => alterQuery({ seq: "" }),
  }),
};

function moved(move) {
  move(model());
}

function choose(line) {
  if (line) alterQuery({ seq: line.seq });
}

// Bring the entry of the address in sight, once when all is read.
function revealEntry({ axis, whole, inList }) {
  const seq = queried("seq");
  const sought = `${seq} ${journal.is_loading ? journal.first_seq : ""}`; // its row moves while older entries come
  if (sought === revealed || !seq) {
    revealed = sought;
    return;
  }
  const line = journal.lines[placeOf(journal.lines, Number(seq))];
  if (line?.seq !== Number(seq)) return;
  revealed = sought;
  range.reveal(axis, whole, axis.place(line.mono_ms));
  const at = inList.findIndex((each) => each.seq === line.seq);
  if (at >= 0) list.reveal(at);
}

function drawing(m) {
  const seq = queried("seq");
  const moves = {
    follow: range.follow,
    all: () => range.show(m.axis, m.whole.from, m.whole.to),
    zoom: (factor) => range.zoom(m.axis, m.whole, factor),
  };
  return html` <div class="timeline ${seq ? "has-entry" : ""}">
    ${toolbar(journal.lines, journal.version, m.is_following, moves)}
    <div class="overview" aria-hidden="true" ${overviewRef}></div>
    <div
      class="lanes"
      ${stageRef}
      tabindex="0"
      role="group"
      aria-label="Lanes of groups and clients. The list below shows the same as text."
      .style=${`height:min(${m.height_px + AXIS_PX + 2}px, 54vh)`}
    >
      <div class="space" .style=${`height:${m.height_px + AXIS_PX}px`}></div>
      <div class="sight">
        <div class="labels">${labels(m)}</div>
        <canvas aria-hidden="true"></canvas>
        <div class="tip" hidden></div>
      </div>
    </div>
    ${entries(m.inList, { polls: pollCount(m.lines), shows_polls: queried("polls") === "1", is_following: m.is_following })}
    ${seq ? entry.entryPanel(seq) : ""}
  </div>`;
}

// The names of the lanes that are in sight.
function labels(m) {
  const inSight = m.lanes.filter((lane) => lane.top_px + lane.height_px > top_px && lane.top_px < top_px + 2000);
  return inSight.map((lane) => {
    const style = `transform:translateY(${AXIS_PX + lane.top_px - top_px}px);height:${lane.height_px}px`;
    const word = lane.kind === "broker" ? "" : html`<span class="muted">${lane.kind}</span> `;
    const content = html`${word}${bothEnds(lane.title)}`;
    if (lane.kind === "broker") return html`<span class="label" .style=${style}>${content}</span>`;
    return html`<a
      class="label ellipsis"
      title=${lane.title}
      href=${altered({ [lane.kind]: queried(lane.kind) === lane.title ? "" : lane.title })}
      .style=${style}
      aria-current=${queried(lane.kind) === lane.title ? "true" : nothing}
      >${content}</a
    >`;
  });
}

const stageRef = ref((element) => {
  stage = element
    ? new Stage(element, {
        range: () => model().shown,
        show: (from, to) => range.show(model().axis, from, to),
        zoom: (factor, place) => moved((m) => range.zoom(m.axis, m.whole, factor, place)),
        select: (item) => item.line.seq !== undefined && alterQuery({ seq: item.line.seq }),
        scrolled(px) {
          top_px = px;
          schedule();
        },
      })
    : null;
});

const overviewRef = ref((element) => {
  overview = element ? new Overview(element, (from, to) => range.show(model().axis, from, to)) : null;
});

function retheme() {
  stage?.painter.retheme();
  overview?.retheme();
}

function paint() {
  if (!stage || !journal.lines.length) return;
  const m = model();
  const waiting = waitingItems(m.lanes, state.waiting ?? [], m.axis);
  stage.painter.paint({
    ...m,
    from: m.shown.from,
    to: m.shown.to,
    now: m.whole.now,
    waiting,
    top_px,
    jumps: jumpsOf(journal.lines, m.axis),
    selected: queried("seq") ? Number(queried("seq")) : null,
  });
  const whole = { from: m.whole.from, to: Math.ceil(m.whole.to / 1000) * 1000 };
  overview?.update(m.lines, m.axis, whole, m.shown);
}
