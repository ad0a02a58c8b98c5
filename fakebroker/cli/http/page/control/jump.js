// What a jump of the clock did, in words: groups that are gone, offsets that expired, records deleted, transactions aborted.

import { get } from "../core/api.js";
import { counted } from "../core/format.js";
import { LATEST } from "../core/history.js";

const KINDS = "transition|offset_expired|transaction_transition";
const MAX_PAGES = 20;

// What a call needs to say that afterwards: call it before.
export async function beforeJump() {
  return { records: await recordCount() };
}

// The words, "" if nothing fell due.
export async function afterJump({ records }) {
  const found = { groups: new Set(), offsets: 0, aborted: new Set() };
  for (const line of await linesOfJump()) note(found, line);
  const parts = [
    found.groups.size ? `${counted(found.groups.size, "group")} gone` : "",
    found.offsets ? `${counted(found.offsets, "offset")} expired` : "",
    plural(records - (await recordCount()), "record", "deleted"),
    found.aborted.size ? `${counted(found.aborted.size, "transaction")} aborted` : "",
  ];
  return parts.filter(Boolean).join(", ") || "nothing expired";
}

function plural(number, word, what) {
  return number > 0 ? `${counted(number, word)} ${what}` : "";
}

function note(found, line) {
  if (line.part) return;
  if (line.kind === "offset_expired") found.offsets += line.parts;
  else if (line.kind === "transition" && line.after === "Dead") found.groups.add(line.group);
  else if (line.kind === "transaction_transition" && line.after === "PrepareAbort") found.aborted.add(line.transactional_id);
}

// The events since the clock was moved last.
async function linesOfJump() {
  const moved = await get(`/journal/brief?kind=clock_moved&before=${LATEST}&limit=1`);
  let next = moved.lines.at(-1)?.seq ?? null;
  const lines = [];
  for (let page = 0; next !== null && page < MAX_PAGES; page += 1) {
    const answer = await get(`/journal/brief?since=${next}&kind=${KINDS}&limit=1000`);
    lines.push(...answer.lines);
    next = answer.next;
  }
  return lines;
}

// How many records there are in topics of users.
async function recordCount() {
  const rows = await get("/topic_rows");
  return rows.filter((row) => !row.is_internal).reduce((sum, row) => sum + row.records, 0);
}
