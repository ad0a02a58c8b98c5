// Times, durations and numbers as text.

const UNITS = [
  ["d", 86400000],
  ["h", 3600000],
  ["m", 60000],
  ["s", 1000],
];

// A duration with its two largest units: "3 d 4 h", "12.5 s", "800 ms".
export function duration(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return "";
  const sign = ms < 0 ? "-" : "";
  const size = Math.abs(ms);
  if (size < 1000) return `${sign}${Math.round(size)} ms`;
  if (size < 60000) return `${sign}${trimmed(size / 1000, size < 10000 ? 1 : 0)} s`;
  let at = UNITS.findIndex(([, unit_ms]) => size >= unit_ms);
  const [unit, unit_ms] = UNITS[at];
  const whole = Math.floor(size / unit_ms);
  const [smaller, smaller_ms] = UNITS[at + 1];
  const rest = Math.floor((size - whole * unit_ms) / smaller_ms);
  return `${sign}${whole} ${unit}${rest ? ` ${rest} ${smaller}` : ""}`;
}

function trimmed(number, digits) {
  return number.toFixed(digits).replace(/\.0$/, "");
}

// "in 3 h", "5 s ago", "now".
export function relative(ms) {
  if (Math.abs(ms) < 500) return "now";
  return ms > 0 ? `in ${duration(ms)}` : `${duration(-ms)} ago`;
}

// A time of day in UTC: "2026-11-23 03:12:40"; with `milliseconds` "... 03:12:40.373".
export function time(ms, { milliseconds = false, date = true } = {}) {
  const value = new Date(ms);
  if (ms === null || ms === undefined || Number.isNaN(value.getTime())) return "";
  const text = value.toISOString();
  return `${date ? `${text.slice(0, 10)} ` : ""}${text.slice(11, milliseconds ? 23 : 19)}`;
}

// A moment in a list: the time of day to the millisecond, or month, day and time of day if that is not today.
export function moment(ms, now_ms) {
  const whole = time(ms, { milliseconds: true });
  return whole.slice(0, 10) === time(now_ms).slice(0, 10) ? whole.slice(11) : whole.slice(5, 19);
}

// A whole number with commas between thousands.
export function count(number) {
  if (number === null || number === undefined) return "";
  return String(number).replace(/\B(?=(\d{3})+$)/g, ",");
}

// A number of bytes.
export function bytes(number) {
  if (number < 1024) return `${number} B`;
  return number < 1048576 ? `${trimmed(number / 1024, 1)} KiB` : `${trimmed(number / 1048576, 1)} MiB`;
}

// "1 member", "2 members".
export function counted(number, word) {
  return `${count(number)} ${word}${number === 1 ? "" : "s"}`;
}

// Partitions as ranges: [0, 1, 2, 5] is "0-2, 5".
export function ranges(numbers) {
  const parts = [];
  for (const each of [...numbers].sort((a, b) => a - b)) {
    const last = parts.at(-1);
    if (last && last[1] === each - 1) last[1] = each;
    else parts.push([each, each]);
  }
  return parts.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(", ");
}

// Text of bytes as the API gives them: a string, or {"base64": ...}.
export function bytesText(value) {
  if (value === null || value === undefined) return null;
  if (typeof value === "string") return value;
  if (value.base64 === undefined) return JSON.stringify(value);
  const raw = atob(value.base64);
  const hex = Array.from(raw.slice(0, 32), (char) => char.charCodeAt(0).toString(16).padStart(2, "0")).join(" ");
  return `${hex}${raw.length > 32 ? ` … (${raw.length} bytes)` : ""}`;
}

const UUID = /([0-9a-f]{8})-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

// Text with the made-up part of member ids cut: "svc-1-0442027a…". Who needs all of it finds it in the title.
export function shortIds(text) {
  return typeof text === "string" ? text.replace(UUID, "$1…") : text;
}
