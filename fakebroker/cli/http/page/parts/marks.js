// Small marks that several views show: a group's state, a rule, a message of an error or of waiting.

import { html } from "../core/dom.js";

const LOOKS = {
  Stable: "good",
  Empty: "quiet",
  Dead: "bad",
  running: "good",
  stopped: "bad",
  killed: "bad",
  frozen: "warn",
  Ongoing: "warn",
};

const TAIL = 8; // letters at the end of a name that are always shown

const UNSETTLED = /Rebalance|Assigning|Reconciling|NotReady|Prepare/;

// How a state looks: "good", "warn", "bad" or "quiet".
export function lookOf(state) {
  return LOOKS[state] ?? (UNSETTLED.test(state) ? "warn" : "quiet");
}

// The word of a state with its mark.
export function stateMark(state) {
  return html`<span class="state ${lookOf(state)}">${state}</span>`;
}

// The id of a rule, which opens to its sentence.
export function rule(id, text = "") {
  if (!id || !text) return id ? html`<span class="tag">${id}</span>` : "";
  return html`<details class="rule-words">
    <summary class="tag" aria-label=${`Rule ${id}`}>${id}</summary>
    <span>${text}</span>
  </details>`;
}

// A part of the page with nothing in it yet, or where reading failed.
export function empty(title, content = "") {
  return html`<div class="empty">
    <h2>${title}</h2>
    ${content}
  </div>`;
}

// What a resource shows before there is something: that it is read, or why it cannot be.
export function pending(resource, what) {
  if (resource.error)
    return empty(
      resource.error.status === 404 ? `There is no ${what}` : `${what} cannot be read`,
      html`<p>${resource.error.message}</p>`,
    );
  return html`<p class="empty muted" role="status">Reading ${what} …</p>`;
}

// A name that is cut in the middle where there is no room for it: names that begin alike differ at their ends.
export function bothEnds(name) {
  return html`<span class="mono ends"><span class="ellipsis">${name.slice(0, -TAIL)}</span><span>${name.slice(-TAIL)}</span></span>`;
}
