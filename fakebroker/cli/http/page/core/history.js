// Reading back in the journal.

import { get } from "./api.js";

export const LATEST = 2 ** 53 - 1; // a number that no entry has reached
const MAX_PAGES = 20;

// What `/journal/brief?...` has in front of the newest entry, page by page until there are so many lines: {lines}, oldest first.
export async function readBack(path, max_lines = 400) {
  let lines = [];
  let before = LATEST;
  for (let page = 0; before !== null && page < MAX_PAGES && lines.length < max_lines; page += 1) {
    const answer = await get(`${path}&before=${before}&limit=1000`);
    lines = answer.lines.concat(lines);
    before = answer.previous;
  }
  return { lines };
}
