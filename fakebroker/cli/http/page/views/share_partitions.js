// What members of a share group have in delivery: records by state, by whom they are acquired and until when.

import { html } from "../core/dom.js";
import { counted, relative, shortIds, time } from "../core/format.js";
import { nowMs } from "../core/live.js";
import { tableHead } from "../parts/tables.js";

const MAX_PARTS = 20;
const LOOKS = { Available: "warn", Acquired: "other", Acknowledged: "good", Archived: "bad" };

export function sharePartitionsCard(partitions) {
  if (!partitions.length) return "";
  return html` <section class="card" aria-label="Share partitions">
    <h2>${counted(partitions.length, "share partition")}</h2>
    <div class="scroll" tabindex="0" role="group" aria-label="Table of share partitions">
      <table>
        ${tableHead([["Partition"], ["Start offset", true], ["Next offset", true], ["In delivery"]])}
        <tbody>
          ${partitions.map(row)}
        </tbody>
      </table>
    </div>
  </section>`;
}

function row(each) {
  const is_begun = each.start_offset >= 0;
  return html` <tr>
    <td class="mono nowrap">${each.topic}-${each.partition}</td>
    <td class="number">${is_begun ? each.start_offset : ""}</td>
    <td class="number">${is_begun ? each.next_offset : ""}</td>
    <td>
      ${is_begun ? "" : html`<span class="muted">nothing fetched yet</span>`}${each.is_loaded || !is_begun ? "" : html`<span class="muted">not loaded</span>`}
      ${each.records.slice(0, MAX_PARTS).map(part)}
      ${each.records.length > MAX_PARTS ? html`<div class="muted">and ${each.records.length - MAX_PARTS} more parts</div>` : ""}
    </td>
  </tr>`;
}

function part(records) {
  const { first_offset, last_offset, state, delivery_count, member_id, lock_ends_ms } = records;
  const offsets = first_offset === last_offset ? first_offset : `${first_offset}-${last_offset}`;
  const lock =
    lock_ends_ms === null
      ? ""
      : html`, its lock ends
          <span class="nowrap" title=${time(lock_ends_ms)}>${relative(lock_ends_ms - nowMs())}</span>`;
  return html`<div>
    ${offsets} <span class="tag ${LOOKS[state] ?? ""}">${state}</span>
    <span class="muted"
      >delivered
      ${delivery_count === 1 ? "once" : `${delivery_count} times`}${member_id ? html` to <span title=${member_id}>${shortIds(member_id)}</span>` : ""}${lock}</span
    >
  </div>`;
}
