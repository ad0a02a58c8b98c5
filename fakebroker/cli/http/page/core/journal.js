// The journal as far as this page has it: one gapless run of lines, oldest first, bounded. New lines come at its end with
// the event stream, older ones at its beginning when a view asks for them.

import { get } from "./api.js";
import { schedule } from "./store.js";

export const MAX_LINES = 24000; // the broker keeps 20,000 entries by default
const PAGE = 1000;

export const journal = {
  lines: [],
  version: 0, // changes with the lines
  first_seq: 0, // the oldest entry that is here
  next_seq: 0,
  oldest_seq: 0, // the oldest entry that the broker has
  is_loading: false,
  is_whole: false, // all that the broker has is here
};

// Begin anew with the entry `next_seq`; the broker has those from `oldest_seq` on.
export function restart(oldest_seq, next_seq) {
  Object.assign(journal, { lines: [], first_seq: next_seq, next_seq, oldest_seq, is_loading: false });
  journal.is_whole = oldest_seq >= next_seq;
  altered();
}

// Add what just happened. Lines that are here already are left out.
export function append(lines, next_seq) {
  const fresh = lines.filter((line) => line.seq >= journal.next_seq);
  journal.lines = journal.lines.concat(fresh);
  journal.next_seq = Math.max(next_seq, journal.next_seq);
  if (journal.lines.length > MAX_LINES) forgetOldest();
  altered();
}

// Entries up to `to_seq` went by unseen: what is here before them does not connect with what comes.
export function skip(to_seq) {
  restart(Math.max(to_seq, journal.oldest_seq), Math.max(to_seq, journal.next_seq));
}

function forgetOldest() {
  const surplus = journal.lines.length - MAX_LINES;
  const first_seq = journal.lines[surplus].seq;
  journal.lines = journal.lines.slice(surplus).filter((line) => line.seq !== first_seq || line.part === 0);
  journal.first_seq = first_seq;
  journal.is_whole = true; // there is no room for more
}

// Read what happened before, the newest first, until all is here.
export async function loadBack() {
  if (journal.is_loading || journal.is_whole) return;
  journal.is_loading = true;
  altered();
  try {
    while (!journal.is_whole && journal.is_loading) await loadPage();
  } finally {
    journal.is_loading = false;
    altered();
  }
}

async function loadPage() {
  const before = journal.first_seq;
  const answer = await get(`/journal/brief?before=${before}&limit=${PAGE}`);
  if (journal.first_seq !== before) return; // begun anew meanwhile
  const older = answer.lines.filter((line) => line.seq < before);
  const first = older.length ? older[0].seq : answer.first_seq;
  journal.lines = older.concat(journal.lines);
  journal.first_seq = first;
  journal.oldest_seq = answer.first_seq;
  journal.is_whole = older.length === 0 || first <= answer.first_seq || journal.lines.length + PAGE > MAX_LINES;
  altered();
}

function altered() {
  journal.version += 1;
  schedule();
}

// The place of the first line with this sequence number or a later one.
export function placeOf(lines, seq) {
  let low = 0;
  let high = lines.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lines[middle].seq < seq) low = middle + 1;
    else high = middle;
  }
  return low;
}
