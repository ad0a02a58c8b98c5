// The event stream of the broker: what each event does to the state.

import { get } from "./api.js";
import * as groups from "./groups.js";
import * as journal from "./journal.js";
import { change, notify, schedule, state } from "./store.js";
import { Stream } from "./stream.js";

// Functions of views by what may have changed ("topics", "faults", "nodes", "holds", "groups").
const watchers = new Set();

// Have `watcher(names)` called with a list of what may have changed. Returns what ends it.
export function watch(watcher) {
  watchers.add(watcher);
  return () => watchers.delete(watcher);
}

function tell(names) {
  for (const watcher of watchers) watcher(names);
}

let stream = null;
let run = null;

// Read everything anew: at the start, with another token.
export async function begin() {
  stream?.stop();
  run = null;
  Object.assign(groups.groups, { rows: new Map(), counts: {}, is_loaded: false });
  journal.restart(0, 0);
  change((s) => Object.assign(s, { page: null, clock: null, waiting: [], nodes: [] }));
  const mine = (stream = new Stream(() => "/live", { event: receive, up, down }));
  await readAbout();
  if (mine === stream) mine.run();
}

async function readAbout() {
  try {
    const page = await get("/about");
    change((s) => Object.assign(s, { page, bootstrap: page.bootstrap ?? "" }));
  } catch (error) {
    down(error);
  }
}

function up() {
  change((s) => (s.link = { is_up: true, is_refused: false, text: "live" }));
  if (state.page === null) readAbout();
}

function down(error) {
  const is_refused = error.status === 401;
  const is_gone = error.status === 404; // of the paths that are asked here only those of an isolated broker can be missing
  if (is_refused || is_gone) stream.stop();
  const text = is_refused ? "needs a token" : is_gone ? "no such broker" : "reconnecting";
  change((s) => (s.link = { is_up: false, is_refused, is_gone, text }));
}

const HANDLERS = {
  hello(data) {
    const is_first = run === null;
    const is_another = !is_first && data.run !== run;
    run = data.run;
    if (is_first || !data.is_resumed) {
      journal.restart(data.first_seq, data.next_seq);
      if (!state.page?.is_read_only) groups.load().catch((error) => notify(error.message, true));
      tell(["all"]);
    }
    if (is_another) notify("The broker was reset");
    setClock(data);
  },
  lines(data) {
    journal.append(data.lines, data.next_seq);
    tell(["journal"]);
  },
  gap(data) {
    journal.skip(data.to_seq);
  },
  groups(data) {
    groups.apply(data);
    tell(["groups", ...data.rows.map((row) => `group ${row.group_id}`), ...data.gone.map((id) => `group ${id}`)]);
  },
  clock: setClock,
  state(data) {
    tell(data.changed);
  },
  waiting(data) {
    change((s) => (s.waiting = data.waiting));
  },
  end(data) {
    notify(data.detail, true);
  },
};

function receive(name, text) {
  HANDLERS[name]?.(JSON.parse(text));
  schedule();
}

function setClock(data) {
  change((s) => (s.clock = { rate: 1, is_frozen: false, due: [], ...s.clock, ...data, got_ms: performance.now() }));
}

// The broker's time of day now; null before it is known.
export function nowMs() {
  const { clock } = state;
  if (clock === null) return null;
  return clock.now_ms + (clock.is_frozen ? 0 : clock.rate * (performance.now() - clock.got_ms));
}

// The broker's monotonic time now: what journal lines call mono_ms.
export function monoMs() {
  const { clock } = state;
  return clock === null ? null : clock.mono_ms + (performance.now() - clock.got_ms);
}
