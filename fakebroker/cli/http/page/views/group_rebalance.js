// The rebalance that is going on: who has joined, who is awaited, what ends the wait and when.

import { path } from "../core/api.js";
import { html } from "../core/dom.js";
import { counted, duration } from "../core/format.js";
import { call } from "../parts/call.js";
import { rule } from "../parts/marks.js";

const PHASES = {
  join: "members join",
  sync: "waiting for the leader's assignment",
  assignment: "computing the assignment",
  reconciliation: "members reconcile",
};

// `passed_ms` is how long ago the broker sent it.
export function rebalanceCard(group, passed_ms, actions) {
  const { phase, text, joined, awaited, ends, left_ms, hold } = group.rebalance;
  const is_classic = group.kind === "classic";
  const more = furtherMembers(group.rebalance);
  const whole = joined.length + awaited.length + more;
  return html` <section class="card rebalance" aria-label="Rebalance in progress">
    <div class="title">
      <h2>Rebalance: ${PHASES[phase] ?? phase}</h2>
      <span>${hold && whole ? `${joined.length} of ${counted(whole, "member")} ${joined.length === 1 ? "is" : "are"} there` : text}</span>
      <span class="end">${rule(group.rebalance.rule, group.rules?.[group.rebalance.rule])}</span>
    </div>
    ${whole ? html`<progress max=${whole} value=${joined.length} aria-label=${`${joined.length} of ${whole} members are there`}></progress>` : ""}
    <div class="sides">
      ${side(is_classic ? "joined" : "done", joined, group, "good", "none yet")}
      ${side("awaited", [...awaited, ...heldNames(group.rebalance, more)], group, "warn", hold ? "the release of the hold" : "none")}
    </div>
    ${hold ? html`<p>${hold[0].toUpperCase()}${hold.slice(1)}.</p>` : ""} ${ends === hold ? "" : endLine(ends, left_ms, hold, is_classic, passed_ms)}
    ${hold ? releaseButton(group.group_id, group.rebalance, actions) : ""}
  </section>`;
}

// What ends the rebalance, and when at the latest. A hold only lengthens it: Kafka's end comes after it.
function endLine(ends, left_ms, hold, is_classic, passed_ms) {
  const words = hold ? "Then ends with" : is_classic ? "Ends with" : "Continues with";
  const left = left_ms === null ? null : duration(Math.max(0, left_ms - passed_ms));
  return html`<p>
    <span class="muted">${words}</span> ${ends} ${left === null ? "" : html`<strong class="nowrap">· ${left} left</strong>`}
  </p>`;
}

// What a test holds of a group that does not rebalance: the hold is for the next rebalance.
export function heldCard(group, actions) {
  if (!group.holds?.length) return "";
  return html` <section class="card rebalance" aria-label="Held by a test">
    <h2>Held by a test</h2>
    ${group.holds.map((hold) => html`<p>${hold.text}, from the next rebalance on.</p>${releaseButton(group.group_id, hold, actions)}`)}
  </section>`;
}

// A button that ends a hold; `hold` has hold_id and phase.
export function releaseButton(group_id, { hold_id, phase }, actions) {
  const release = call(
    "POST",
    path`/groups/${group_id}/holds/${hold_id}/release`,
    "",
    {},
    {
      done: `The ${phase}s of group ${group_id} were released`,
      python: `broker.group(${JSON.stringify(group_id)}).holds[0].release()`,
    },
  );
  return html`<div class="actions">${actions.button("Release", release, { kind: "primary" })}</div>`;
}

// How many members a hold waits for beside those that are known to the group.
function furtherMembers({ joined, awaited, held_for, held_names }) {
  const known = joined.length + awaited.length;
  return Math.max((held_for ?? 0) - known, held_names?.length ?? 0, 0);
}

// Whom a hold waits for beside them: by name, and how many others.
function heldNames({ held_names }, more) {
  const names = held_names ?? [];
  const others = more - names.length;
  return others ? [...names, `${names.length ? "" : "any "}${others} more`] : names;
}

function side(title, ids, group, look, none) {
  const one = (id) => {
    const member = group.members.find((each) => each.member_id === id);
    return html`<li class="tag ${look}" title=${id}>${member?.client_id || id}</li>`;
  };
  return html`<div>
    <h3>${title}</h3>
    ${
      ids.length
        ? html`<ul class="chips">
            ${ids.map(one)}
          </ul>`
        : html`<span class="muted">${none}</span>`
    }
  </div>`;
}
