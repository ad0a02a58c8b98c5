// Which part of time the timeline shows: a range in monotonic time, or the last seconds, which follow what happens.

import { alterQuery, queried } from "../core/router.js";
import { schedule } from "../core/store.js";

const LEAST_MS = 4;
const FOLLOWED_MS = 30000;
const KEEP_IN_ADDRESS_MS = 250;

let span_ms = FOLLOWED_MS; // what is shown while following
let range = null; // {from, to} in mono_ms; null: follow
let timer = null;

// Begin with the range in the address, if there is one.
export function open() {
  const [from, to] = [Number(queried("from")), Number(queried("to"))];
  range = queried("from") && to > from ? { from, to } : null;
}

// Whether it follows what happens.
export function isFollowing() {
  return range === null;
}

// Follow what happens.
export function follow() {
  set(null);
}

// The places that are shown, given where now and everything is.
export function shown(axis, whole) {
  if (range !== null) return { from: axis.place(range.from), to: axis.place(range.to) };
  const to = whole.now + span_ms * 0.02;
  return { from: to - span_ms, to };
}

// Show these places.
export function show(axis, from, to) {
  const middle = (from + to) / 2;
  const half = Math.max(to - from, LEAST_MS) / 2;
  set({ from: axis.mono(middle - half), to: axis.mono(middle + half) });
}

// Show more (factor above 1) or less around a place; while following around the end.
export function zoom(axis, whole, factor, place) {
  if (range === null) {
    span_ms = Math.min(Math.max(span_ms * factor, 100), 864e5);
    schedule();
    return;
  }
  const { from, to } = shown(axis, whole);
  const at = place ?? (from + to) / 2;
  const limit = Math.max(2 * (whole.to - whole.from), 60000);
  const grown = (to - from) * factor > limit ? 1 : factor;
  show(axis, at - (at - from) * grown, at + (to - at) * grown);
}

// Show an earlier or later part: by this share of what is shown.
export function pan(axis, whole, share) {
  const { from, to } = shown(axis, whole);
  const by = (to - from) * share;
  show(axis, from + by, to + by);
}

// Have a place in sight.
export function reveal(axis, whole, place) {
  const { from, to } = shown(axis, whole);
  if (place >= from && place <= to) return;
  const half = Math.min((to - from) / 2, 10000);
  show(axis, place - half, place + half);
}

function set(given) {
  range = given;
  schedule();
  clearTimeout(timer);
  timer = setTimeout(keep, KEEP_IN_ADDRESS_MS);
}

function keep() {
  if (location.hash.startsWith("#/timeline"))
    alterQuery(range ? { from: range.from.toFixed(0), to: range.to.toFixed(0) } : { from: "", to: "" });
}

// Nobody looks any more.
export function close() {
  clearTimeout(timer);
}
