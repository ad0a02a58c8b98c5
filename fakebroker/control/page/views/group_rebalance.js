// The rebalance that is going on: who has joined, who is awaited, what ends the wait and when.

import { html } from "../core/dom.js";
import { duration } from "../core/format.js";
import { rule } from "../parts/marks.js";

const PHASES = {
  join: "members join",
  sync: "the leader's assignment is awaited",
  assignment: "an assignment is computed",
  reconciliation: "members take over their assignment",
};

// `passed_ms` is how long ago the broker told it.
export function rebalanceCard(group, passed_ms) {
  const { phase, text, joined, awaited, ends, left_ms, hold } = group.rebalance;
  const is_classic = group.kind === "classic";
  const whole = joined.length + awaited.length;
  return html` <section class="card rebalance" aria-label="Rebalance under way">
    <div class="title">
      <h2>Rebalance: ${PHASES[phase] ?? phase}</h2>
      <span>${text}</span> <span class="end">${rule(group.rebalance.rule, group.rules?.[group.rebalance.rule])}</span>
    </div>
    ${whole ? html`<progress max=${whole} value=${joined.length} aria-label=${`${joined.length} of ${whole} members are there`}></progress>` : ""}
    <div class="sides">
      ${side(is_classic ? "joined" : "done", joined, group, "good", "nobody yet")}
      ${side("awaited", awaited, group, "warn", "nobody")}
    </div>
    <p>
      ${hold ? "" : html`<span class="muted">${is_classic ? "It ends when" : "It goes on with"}</span> `}${ends}
      ${left_ms === null ? "" : html`<strong class="nowrap">· ${duration(Math.max(0, left_ms - passed_ms))} left</strong>`}
    </p>
  </section>`;
}

function side(title, ids, group, look, nobody) {
  const one = (id) => {
    const member = group.members.find((each) => each.member_id === id);
    return html`<li class="tag ${look}" title=${id}>${member?.client_id || id}</li>`;
  };
  return html`<div>
    <h3>${title} (${ids.length})</h3>
    ${
      ids.length
        ? html`<ul class="chips">
            ${ids.map(one)}
          </ul>`
        : html`<span class="muted">${nobody}</span>`
    }
  </div>`;
}
