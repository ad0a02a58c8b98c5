// The rows of all groups, kept up to date by the event stream, and views of single things that are read again when they change.

import { get } from "./api.js";
import { schedule } from "./store.js";

const PAGE = 1000;

export const groups = { rows: new Map(), counts: {}, version: -1, changes: 0, is_loaded: false };

// Read all rows, page by page.
export async function load() {
  const rows = new Map();
  let after = "";
  let version = null;
  do {
    const answer = await get(`/group_rows?limit=${PAGE}&after=${encodeURIComponent(after)}`);
    for (const row of answer.rows) rows.set(row.group_id, row);
    version ??= answer.version; // changes after the first page come with the stream
    groups.counts = answer.counts;
    after = answer.next;
  } while (after !== null);
  Object.assign(groups, { rows, version, is_loaded: true });
  altered();
}

// Take what changed.
export function apply({ rows, gone, counts, version }) {
  for (const row of rows) groups.rows.set(row.group_id, row);
  for (const id of gone) groups.rows.delete(id);
  Object.assign(groups, { counts, version });
  altered();
}

function altered() {
  groups.changes += 1;
  schedule();
}
