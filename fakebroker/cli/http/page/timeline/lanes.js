// What stands in which lane. Groups have a lane with their states as bands; clients have one with a row for each connection
// and their requests as bars; what concerns the whole broker is in the first.

import { shortIds } from "../core/format.js";
import { eventLook, eventText, requestTexts } from "../parts/events.js";
import { isPoll } from "./filter.js";

export const ROW_PX = 12;
const LANE_PX = 26;
const BROKER = "broker";
const BANDS = new Set(["transition"]);
const OF_BROKER = new Set(["clock_moved", "node_changed", "coordinator_moved", "broker_started", "internal_error"]);

// The lanes of these lines on this axis, from the top down: {key, title, kind, top_px, height_px, items}. An item has a place
// (from, to), a row, a look, the line that it is made of.
export function lanesOf(lines, axis) {
  const lanes = new Map([[BROKER, lane(BROKER, "broker", BROKER)]]);
  const groups = new Map();
  const clients = new Map();
  for (const line of lines) {
    if (line.part !== 0) continue;
    if (line.kind === "request" || line.connection !== null) addOfClient(clients, line, axis);
    else if (line.group !== undefined) addOfGroup(groups, line, axis);
    else if (OF_BROKER.has(line.kind)) lanes.get(BROKER).items.push(mark(line, axis));
  }
  for (const each of groups.values()) closeBands(each);
  for (const each of clients.values()) placeRows(each);
  return placed([...lanes.values(), ...groups.values(), ...clients.values()]);
}

function lane(key, kind, title) {
  return { key, kind, title, items: [], connections: new Map(), rows: 1 };
}

function of(lanes, kind, title) {
  let found = lanes.get(title);
  if (!found) lanes.set(title, (found = lane(`${kind} ${title}`, kind, title)));
  return found;
}

function addOfClient(clients, line, axis) {
  const place = axis.place(line.mono_ms);
  if (line.kind === "disconnected") {
    for (const one of clients.values()) {
      const connection = one.connections.get(line.connection);
      if (connection) connection.to = place;
    }
    return;
  }
  if (line.kind !== "request" && line.kind !== "fault_hit") return;
  const one = of(clients, "client", line.client ?? "(no client id)");
  const from = line.kind === "request" ? axis.place(line.received_mono_ms) : place;
  const looks = line.kind === "request" ? { shape: "bar", is_poll: isPoll(line) } : { shape: "mark" };
  one.items.push({ line, from, to: place, look: eventLook(line), ...looks });
  const connection = one.connections.get(line.connection);
  if (!connection) one.connections.set(line.connection, { from, to: Infinity, row: 0 });
  else connection.from = Math.min(connection.from, from);
}

// Connections of a client have rows of their own while they are open; a later one takes the row of one that was closed.
function placeRows(one) {
  const ends = [];
  for (const connection of [...one.connections.values()].sort((a, b) => a.from - b.from)) {
    const free = ends.findIndex((end) => end <= connection.from);
    connection.row = free < 0 ? ends.length : free;
    ends[connection.row] = connection.to;
  }
  one.rows = Math.max(1, ends.length);
  for (const item of one.items) item.row = one.connections.get(item.line.connection).row;
}

function addOfGroup(groups, line, axis) {
  const one = of(groups, "group", line.group);
  const place = axis.place(line.mono_ms);
  if (BANDS.has(line.kind)) {
    one.items.push({ line, shape: "band", from: place, to: null, row: 0, look: eventLook(line) });
  } else if (line.kind !== "group_stored" && line.kind !== "coordinator_record") {
    one.items.push(mark(line, axis));
  }
}

function mark(line, axis) {
  const place = axis.place(line.mono_ms);
  return { line, shape: "mark", from: place, to: place, row: 0, look: eventLook(line) };
}

// A group is in a state until the next one; the last goes on (`to` is null).
function closeBands(one) {
  let last = null;
  for (const item of one.items) {
    if (item.shape !== "band") continue;
    if (last) last.to = item.from;
    last = item;
  }
}

function placed(lanes) {
  let top_px = 0;
  for (const one of lanes) {
    one.top_px = top_px;
    one.height_px = one.kind === "client" ? Math.max(LANE_PX, one.rows * ROW_PX + 8) : LANE_PX;
    top_px += one.height_px;
  }
  return {
    lanes: lanes.filter((one) => one.kind !== BROKER || one.items.length || lanes.length > 1),
    height_px: top_px,
  };
}

// Requests that wait for their answer now, as bars that grow.
export function waitingItems(lanes, waiting, axis) {
  const found = [];
  for (const each of waiting) {
    const one = lanes.find((every) => every.kind === "client" && every.title === each.client);
    const connection = one?.connections.get(each.connection);
    if (!connection) continue;
    found.push({
      lane: one,
      line: { ...each, kind: "waiting" },
      shape: "bar",
      from: axis.place(each.received_mono_ms),
      to: null,
      row: connection.row,
      look: "waiting",
    });
  }
  return found;
}

// What an item says to those who point at it.
export function itemText({ line }) {
  if (line.kind === "waiting") return `${line.client}: ${line.api} v${line.version} waits for its answer`;
  const who = line.client ?? line.group ?? "";
  const outcome = line.kind === "request" ? ` → ${line.errors.join(", ") || requestTexts(line)[1] || "ok"}` : "";
  const waited = line.kind === "request" ? `, ${line.waited_ms} ms` : "";
  return shortIds(
    `${who ? `${who}: ` : ""}${eventText(line)}${outcome}${waited}${line.reason ? ` because ${line.reason}` : ""}`,
  );
}
