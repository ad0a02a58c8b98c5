// Where the page is, from the fragment of its address: `#/groups/billing?q=text` is view "groups", path ["billing"].
// All that a reader may want to send to somebody is in the address: view, thing, filter, range, selected entry.

import { change, state } from "./store.js";

export const VIEWS = ["overview", "groups", "timeline", "topics", "transactions", "clients", "control"];

function parse(fragment) {
  const [path, query] = fragment.replace(/^#\/?/, "").split("?");
  const words = path.split("/").map(decoded);
  const view = VIEWS.includes(words[0]) ? words[0] : VIEWS[0];
  return { view, path: words.slice(1).filter((word) => word !== ""), query: new URLSearchParams(query || "") };
}

function decoded(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

// The address of a view: `href("groups", ["billing"], {q: "x"})`. The choice of a broker stays. Empty values are left out.
export function href(view, path = [], query = {}) {
  const words = [view, ...path].map(encodeURIComponent).join("/");
  const kept = new URLSearchParams();
  for (const [name, value] of Object.entries({ broker: broker(), ...query })) {
    if (value !== null && value !== undefined && value !== "") kept.set(name, value);
  }
  const text = kept.toString();
  return `#/${words}${text ? `?${text}` : ""}`;
}

// The address of this view with some of its query changed.
export function altered(query) {
  return href(state.route.view, state.route.path, { ...Object.fromEntries(state.route.query), ...query });
}

// Change the query in the address, as a step of its own in the history if `is_step`.
export function alterQuery(query, is_step = false) {
  go(altered(query), is_step);
}

// Go to an address made by `href`.
export function go(address, is_step = true) {
  if (address === location.hash) return;
  history[is_step ? "pushState" : "replaceState"](null, "", address);
  follow();
}

// A field of the query, "" without it.
export function queried(name) {
  return state.route.query.get(name) ?? "";
}

// The isolated broker that the page is about; "" is the served one.
export function broker() {
  return state.route.query.get("broker") ?? "";
}

function follow() {
  change((s) => (s.route = parse(location.hash)));
}

// Begin to follow the address.
export function start() {
  addEventListener("hashchange", follow);
  addEventListener("popstate", follow);
  state.route = parse(location.hash);
}
