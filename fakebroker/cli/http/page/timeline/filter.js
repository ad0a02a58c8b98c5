// Which lines of the journal are shown. A request passes by what was asked for; an event passes with the group that it is
// about, or with a request that names that group; what concerns the whole broker always passes.

const POLLS = new Set([
  "Fetch",
  "Heartbeat",
  "ConsumerGroupHeartbeat",
  "ShareFetch",
  "ShareGroupHeartbeat",
  "StreamsGroupHeartbeat",
  "Metadata",
]);
const OF_CLIENTS = new Set(["connected", "disconnected", "fault_hit"]);

// Whether a request is one of those that clients repeat all the time, and went well.
export function isPoll(line) {
  return line.kind === "request" && POLLS.has(line.api) && line.errors.length === 0 && line.is_answered;
}

// The lines that pass `filter`: {api, client, group, error}, each "" for all; error "*" is any.
export function passing(lines, filter) {
  const { api, client, group, error } = filter;
  if (!api && !client && !group && !error) return lines;
  const asked = (line) =>
    contains(line.api, api) && contains(line.client, client) && inGroup(line.groups, group) && hasError(line, error);
  const requests = lines.filter((line) => line.kind === "request" && asked(line));
  const groups = new Set(requests.flatMap((line) => line.groups));
  const kept = new Set(requests);
  const connections = new Set(requests.map((line) => line.connection));
  const passes = (line) => {
    if (line.kind === "request") return kept.has(line);
    if (OF_CLIENTS.has(line.kind)) return connections.has(line.connection);
    if (line.group !== undefined) return group ? inGroup([line.group], group) : groups.has(line.group);
    return true;
  };
  return lines.filter(passes);
}

function contains(text, wanted) {
  return !wanted || (text ?? "").toLowerCase().includes(wanted.toLowerCase());
}

function inGroup(names, wanted) {
  return !wanted || names.includes(wanted);
}

function hasError(line, wanted) {
  if (!wanted) return true;
  return wanted === "*" ? line.errors.length > 0 || !line.is_answered : line.errors.includes(wanted);
}
