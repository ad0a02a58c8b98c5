// One rebalance in a line: why, how many members before and after, how long it took.

import { counted, duration, shortIds } from "../core/format.js";

// The cause as a clause, with the client instead of the whole member id.
export function causeText(rebalance) {
  const cause = shortIds(rebalance.cause).replace(/-[0-9a-f]{8}…/g, "");
  return cause.replace(/^member /, "") || "the cause is no longer in the journal";
}

// "2 → 1 members, took 0.8 s".
export function outcomeText({ before, after, took_ms }) {
  const members =
    after === null ? "" : before === null || before === after ? counted(after, "member") : `${before} → ${counted(after, "member")}`;
  const time = took_ms === null ? "in progress" : `took ${duration(took_ms)}`;
  return members ? `${members}, ${time}` : time;
}
