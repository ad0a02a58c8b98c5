// Lines of the journal in words and looks.

import { duration, time } from "../core/format.js";
import { lookOf } from "./marks.js";

const WORDS = {
  transition: (line) => `${line.before} → ${line.after}, ${epochWord(line)} ${line.generation}`,
  member_transition: (line) => `member ${line.member_id}: ${line.before} → ${line.after}, epoch ${line.epoch}`,
  group_epoch_bumped: (line) => `group epoch is ${line.epoch}`,
  assignment_computed: (line) =>
    `assignment of epoch ${line.epoch} computed by ${line.assignor} for ${line.members} member${line.members === 1 ? "" : "s"}`,
  group_stored: (line) =>
    `${line.how} ${line.how === "loaded" ? "from" : "to"} __consumer_offsets, generation ${line.generation}, ${line.members} member${line.members === 1 ? "" : "s"}`,
  offset_expired: (line) => `offset ${line.offset} of ${line.topic}-${line.partition} expired (${line.rule})`,
  offset_deleted: (line) => `offset of ${line.topic}-${line.partition} deleted`,
  clock_moved: (line) => `clock ${line.how} by ${duration(Math.abs(line.to_ms - line.from_ms))} to ${time(line.to_ms)}`,
  fault_hit: (line) => `fault ${line.fault_id} hit ${line.api}: ${line.description}`,
  node_changed: (line) => `node ${line.node} ${line.what}`,
  coordinator_moved: (line) => `node ${line.node} ${line.what} ${line.topic}-${line.partition}`,
  connected: (line) => `connected from ${line.address}`,
  disconnected: (line) => "disconnected",
  broker_started: (line) => `broker started as Kafka ${line.release}`,
  transaction_transition: (line) => `${line.transactional_id}: ${line.before} → ${line.after}`,
  internal_error: (line) => `internal error ${line.error}: ${line.message}`,
};

// What the number of a group's transition is called: classic groups have generations. As in the line's text.
function epochWord(line) {
  return line.group_type === "classic" ? "generation" : "epoch";
}

const ARROW = " -> ";

// What a request asks and what came of it, with the numbers, as in the story of a failed test:
// ["OffsetCommit v9 of group billing, orders-0=42", "ok"]. The second is "" where the text was cut before it.
export function requestTexts(line) {
  const text = line.text ?? `${line.api} v${line.version}`;
  const at = text.lastIndexOf(ARROW);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + ARROW.length)];
}

// What a line says, without its reason; of a request what it asks.
export function eventText(line) {
  if (line.kind === "request") return requestTexts(line)[0];
  return WORDS[line.kind]?.(line) ?? line.text ?? line.kind.replaceAll("_", " ");
}

// Whether it is "good", "warn", "bad", "other" or "quiet" news.
export function eventLook(line) {
  switch (line.kind) {
    case "request":
      return line.errors.length ? "bad" : line.is_answered ? "quiet" : "warn";
    case "transition":
      return lookOf(line.after);
    case "offset_expired":
    case "offset_deleted":
    case "internal_error":
      return "bad";
    case "fault_hit":
      return "other";
    case "clock_moved":
      return "other";
    case "node_changed":
      return /started|thawed|reached|added/.test(line.what) ? "good" : "bad";
    case "member_transition":
    case "group_epoch_bumped":
      return "warn";
    default:
      return "quiet";
  }
}
