// Calls of the HTTP API. A call is data, so that the page can show what it does as curl and as Python before it does it.

import { change, notify } from "./store.js";
import { BASE } from "./router.js";

const TOKEN = "fakebroker-token";

// An answer that is an error: `status`, and the problem document's sentence as message.
export class ApiError extends Error {
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

// The token for a control port that others can reach; kept for this tab only.
export function token() {
  return sessionStorage.getItem(TOKEN) ?? "";
}

// Keep the token, or forget it if it is "".
export function setToken(text) {
  if (text) sessionStorage.setItem(TOKEN, text);
  else sessionStorage.removeItem(TOKEN);
}

// Take `#token=...` out of the address, where it would be shown and kept in the history.
export function takeTokenFromAddress() {
  const found = /^#token=([^&]+)/.exec(location.hash);
  if (!found) return;
  setToken(decodeURIComponent(found[1]));
  history.replaceState(null, "", "#/");
}

// The path of the API for the broker that the page is about.
export function apiPath(path) {
  return BASE + path.slice(1);
}

// Raise ApiError for a path with a name that none can have: browsers take "." and ".." for steps between folders, also
// when they are encoded, and would ask for something else.
function check(path) {
  if (path.split(/[/?]/).some((part) => part === "." || part === "..")) {
    throw new ApiError(0, "the names . and .. cannot be used in a URL: use broker.group(...) in Python");
  }
}

// The headers of any request.
export function headers() {
  return token() ? { Authorization: `Bearer ${token()}` } : {};
}

// Send a request. Returns the answer's data, null without any. Raises ApiError.
export async function send(verb, path, body, signal) {
  const options = { method: verb, headers: headers(), signal, cache: "no-store" };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  check(apiPath(path));
  const answer = await fetch(apiPath(path), options);
  if (!answer.ok) throw await problem(answer);
  if (answer.status === 204) return null;
  return (answer.headers.get("content-type") ?? "").includes("json") ? answer.json() : answer.text();
}

// What a GET gives.
export function get(path, signal) {
  return send("GET", path, undefined, signal);
}

async function problem(answer) {
  if (answer.status === 401) change((s) => (s.link = { is_up: false, is_refused: true, text: "needs a token" }));
  const text = await answer.text();
  try {
    const { detail, title } = JSON.parse(text);
    return new ApiError(answer.status, detail ?? title ?? text);
  } catch {
    return new ApiError(answer.status, text || answer.statusText);
  }
}

// A path with its names encoded: path`/groups/${id}`.
export function path(texts, ...names) {
  return texts.reduce((whole, text, at) => whole + encodeURIComponent(names[at - 1]) + text);
}

// Do what a call says (see parts/call.js), tell how it went. Returns its answer, undefined if it failed.
export async function perform(call) {
  try {
    const before = await call.before?.();
    const answer = await send(call.verb, call.path, call.body);
    if (call.done) notify(call.after ? `${call.done}: ${await call.after(before)}` : call.done);
    return answer;
  } catch (error) {
    notify(error.message, true);
    return undefined;
  }
}
