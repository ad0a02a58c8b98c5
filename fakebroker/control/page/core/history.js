// Reading back in the journal.

import { get } from "./api.js";

export const LATEST = 2 ** 53 - 1; // a number that no entry has reached

// All lines of these kinds that the journal has, newest page first, oldest line first within all; at most `pages` pages.
export async function linesBack(kinds, pages) {
  let lines = [];
  let before = LATEST;
  for (let page = 0; before !== null && page < pages; page += 1) {
    const answer = await get(`/journal/brief?kind=${kinds}&before=${before}&limit=1000`);
    lines = answer.lines.concat(lines);
    before = answer.previous;
  }
  return lines;
}
