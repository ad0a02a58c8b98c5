// The broker's clock in the header.

import { html } from "../core/dom.js";
import { time } from "../core/format.js";
import { nowMs } from "../core/live.js";
import { href } from "../core/router.js";
import { state } from "../core/store.js";

// The time of day in UTC, with how it passes if that is not as everywhere.
export function clockFact() {
  if (state.clock === null) return "";
  const { rate, is_frozen } = state.clock;
  const pace = is_frozen
    ? html`<span class="tag warn">frozen</span>`
    : rate === 1
      ? ""
      : html`<span class="tag other">× ${rate}</span>`;
  return html`<a class="fact clock mono" href=${href("control")} title="The broker's time of day, in UTC"
    ><span class="date">${time(nowMs()).slice(0, 10)}</span> ${time(nowMs(), { date: false })} <span class="muted">UTC</span>${pace}</a
  >`;
}
