// Where the page is, from the fragment of its address: `#/groups/billing?q=text` is view "groups", path ["billing"].
// All that a reader may want to send to somebody is in the address: view, thing, filter, range, selected entry. The path in
// front of the fragment says which broker: "/" is the served one, "/brokers/b1/" an isolated one.

import { change, state } from "./store.js";

// The folder of the page: its files and the API of the broker are below it.
export const BASE = new URL(".", location.href).pathname;
const [, ROOT, ID] = /^(.*\/)brokers\/([^/]+)\/$/.exec(BASE) ?? [null, BASE, ""];

// The isolated broker that the page is about; "" is the served one.
export const BROKER = decoded(ID);

// The page of a broker, "" for the served one.
export function pageOf(broker_id) {
  return broker_id ? `${ROOT}brokers/${encodeURIComponent(broker_id)}/` : ROOT;
}

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

// The address of a view: `href("groups", ["billing"], {q: "x"})`. Empty values are left out.
export function href(view, path = [], query = {}) {
  const words = [view, ...path].map(encodeURIComponent).join("/");
  const kept = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
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

function follow() {
  change((s) => (s.route = parse(location.hash)));
}

// Begin to follow the address.
export function start() {
  addEventListener("hashchange", follow);
  addEventListener("popstate", follow);
  state.route = parse(location.hash);
}
