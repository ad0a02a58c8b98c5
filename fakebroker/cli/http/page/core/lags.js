// The lags of the groups that are in sight. They are asked for a few at a time: to count one is dearer than to show a row.

import { get } from "./api.js";
import { schedule } from "./store.js";

const READ_AGAIN_MS = 2000;
const MOST = 200;

const known = new Map(); // {lag, read_ms} by group id
let is_reading = false;

// The lag of a group as it was read last; undefined before, null for a group that has committed nothing.
export function lagOf(group_id) {
  return known.get(group_id)?.lag;
}

// Have these lags read unless they are new enough.
export function wantLags(group_ids) {
  const now_ms = performance.now();
  const old = group_ids.filter((id) => !(now_ms - known.get(id)?.read_ms < READ_AGAIN_MS)).slice(0, MOST);
  if (old.length && !is_reading && !document.hidden) read(old);
}

async function read(group_ids) {
  is_reading = true;
  try {
    const query = group_ids.map((id) => `group=${encodeURIComponent(id)}`).join("&");
    const lags = await get(`/group_lags?${query}`);
    for (const id of group_ids) known.set(id, { lag: lags[id], read_ms: performance.now() });
  } catch {
    for (const id of group_ids) known.set(id, { lag: lagOf(id), read_ms: performance.now() });
  }
  is_reading = false;
  schedule();
}
