// Where no group is left: which there were, and where it stands what happened to them.

import { html } from "../core/dom.js";
import { counted } from "../core/format.js";
import { groups } from "../core/groups.js";
import { readBack } from "../core/history.js";
import { href } from "../core/router.js";
import { schedule } from "../core/store.js";
import { empty } from "../parts/marks.js";

let read = { version: null, lines: null }; // of which state of the groups

// The groups that are gone; `otherwise` if none is known.
export function goneGroups(otherwise) {
  if (read.version !== groups.version) {
    read = { version: groups.version, lines: read.lines };
    find(groups.version);
  }
  if (read.lines === null) return html`<p class="empty muted" role="status">Reading groups …</p>`;
  const gone = read.lines.filter((line) => line.kind === "transition" && line.after === "Dead");
  const number = new Set(gone.map((line) => line.group)).size;
  return number ? sentence(number, gone) : otherwise();
}

async function find(version) {
  const read_back = readBack("/journal/brief?kind=transition|offset_expired", Infinity);
  const { lines } = await read_back.catch(() => ({ lines: [] }));
  if (read.version !== version) return;
  read.lines = lines;
  schedule();
}

function sentence(number, gone) {
  const expired = new Set(read.lines.filter((line) => line.kind === "offset_expired").map((line) => line.group));
  const why = gone.every((line) => expired.has(line.group)) ? `: ${number === 1 ? "its" : "their"} offsets expired` : "";
  return empty(
    `${counted(number, "group")} ${number === 1 ? "is" : "are"} gone${why}`,
    html`<p><a href=${href("timeline", [], { seq: gone[0].seq })}>History</a></p>
      <p class="muted">New groups appear here as soon as a consumer joins one.</p>`,
  );
}
