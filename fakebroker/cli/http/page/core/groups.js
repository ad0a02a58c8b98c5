// The rows of all groups, kept up to date by the event stream, and views of single things that are read again when they change.

import { get } from "./api.js";
import { schedule } from "./store.js";

const PAGE = 1000;

export const groups = { rows: new Map(), counts: {}, version: -1, changes: 0, is_loaded: false };

// Read all rows, page by page; they are shown from the first page on.
export async function load() {
  const rows = new Map();
  Object.assign(groups, { rows, version: -1 });
  let after = "";
  do {
    const answer = await get(`/group_rows?limit=${PAGE}&after=${encodeURIComponent(after)}`);
    if (groups.rows !== rows) return; // begun anew meanwhile
    for (const row of answer.rows) rows.set(row.group_id, row);
    if (groups.version < 0) groups.version = answer.version; // later changes come with the stream
    Object.assign(groups, { counts: answer.counts, is_loaded: true });
    after = answer.next;
    altered();
  } while (after !== null);
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
