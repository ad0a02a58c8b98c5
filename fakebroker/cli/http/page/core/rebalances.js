// Rebalances, made of the journal's lines: each with its cause, its steps, how many members before and after, how long it
// took. A classic group rebalances from its first step out of Empty or Stable until it is one of them again. A group with
// epochs rebalances from a new group epoch until it is Stable; where it stays Stable, until the assignment is computed.

const UNSETTLED = /Rebalance|Assigning|Reconciling/;
export const KINDS = "transition|member_transition|group_epoch_bumped|assignment_computed|group_stored";

// What happened in these lines, which are of one or more groups, oldest first: rebalances, and the lines that belong to none.
// A rebalance is {group, cause, steps, wall_ms, took_ms (null while it goes on), before, after (members, null unknown)}.
export function happenings(lines) {
  const found = [];
  const groups = new Map();
  for (const line of lines) {
    if (!groups.has(line.group)) groups.set(line.group, { rebalance: null, last: null, members: null });
    const rest = take(line, groups.get(line.group));
    if (rest) found.push(rest);
  }
  return found;
}

// Only the rebalances.
export function rebalancesOf(lines) {
  return happenings(lines).filter((each) => each.steps);
}

// What a line adds to the list: a rebalance that begins, or the line itself if it belongs to no rebalance.
function take(line, group) {
  if (line.kind === "group_stored") {
    count(line.members, group);
    return null;
  }
  if (!/^(transition|member_transition|group_epoch_bumped|assignment_computed)$/.test(line.kind)) return line;
  const begun = group.rebalance === null && begins(line) ? begin(line, group) : null;
  const rebalance = group.rebalance ?? (isAfterwards(line, group.last) ? group.last : null);
  if (rebalance === null) return line;
  rebalance.steps.push(line);
  follow(line, group);
  return begun;
}

function begins(line) {
  return line.kind === "group_epoch_bumped" || (line.kind === "transition" && UNSETTLED.test(line.after));
}

// Whether a line tells the rest of a rebalance that is over: members take over what was computed for its epoch.
function isAfterwards(line, last) {
  return last !== null && line.epoch !== undefined && line.epoch === last.epoch;
}

function begin(line, group) {
  const { reason: cause = "", wall_ms, mono_ms: began_mono_ms } = line;
  const numbers = { before: group.members, after: null, took_ms: null, epoch: line.epoch };
  group.rebalance = { group: line.group, cause, steps: [], wall_ms, began_mono_ms, ...numbers };
  return group.rebalance;
}

function follow(line, group) {
  const { rebalance } = group;
  if (line.kind === "assignment_computed") count(line.members, group);
  if (rebalance === null) return;
  rebalance.epoch = line.epoch ?? rebalance.epoch;
  if (line.kind === "transition") {
    if (line.before === "Empty") rebalance.before = 0;
    if (!UNSETTLED.test(line.after)) end(line, group);
  } else if (line.kind === "assignment_computed" && !rebalance.steps.some((step) => UNSETTLED.test(step.after))) {
    end(line, group);
  }
}

function count(members, group) {
  group.members = members;
  const rebalance = group.rebalance ?? group.last;
  if (rebalance) rebalance.after = members;
}

function end(line, group) {
  group.rebalance.took_ms = line.mono_ms - group.rebalance.began_mono_ms;
  group.last = group.rebalance;
  if (line.after === "Empty" || line.after === "Dead") count(0, group);
  group.rebalance = null;
}
