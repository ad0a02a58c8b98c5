// The records of a partition, a page at a time.

import { html, nothing, repeat } from "../core/dom.js";
import { bytes, bytesText, time } from "../core/format.js";
import { altered, alterQuery, queried } from "../core/router.js";
import { pending } from "../parts/marks.js";
import { tableHead } from "../parts/tables.js";

const LONG = 300; // characters of a value that are shown before it is opened

// `records` is a resource with a page of records; `page` how many there are at most.
export function recordsCard(topic, partition, records, { offset, page }) {
  const shown = records.value;
  return html` <section class="card" aria-label="Records">
    <div class="title">
      <h2>Records of partition ${partition}</h2>
      ${shown ? html`<span class="end actions">${paging(shown, offset, page)}</span>` : ""}
    </div>
    ${shown === null ? pending(records, "records") : shown.records.length ? table([...shown.records].reverse()) : html`<p class="muted">No records.</p>`}
  </section>`;
}

// The newest records of all partitions, found by key or value; they come while one looks.
export function newestCard(records) {
  const shown = records.value;
  const type = (event) => alterQuery({ search: event.target.value });
  return html` <section class="card" aria-label="Records">
    <div class="title">
      <h2>Newest records of all partitions</h2>
      <span class="end">
        <input
          type="search"
          data-filter
          aria-label="Find in keys and values"
          placeholder="Find in keys and values"
          .value=${queried("search")}
          @input=${type}
        />
      </span>
    </div>
    ${shown === null ? pending(records, "records") : shown.length ? table(shown, true) : html`<p class="muted">No records.</p>`}
  </section>`;
}

function paging(shown, offset, page) {
  const first = shown.records[0]?.offset ?? shown.log_start_offset;
  const is_last = shown.next_offset === null;
  const link = (label, to, is_possible) =>
    is_possible
      ? html`<a class="button" href=${altered({ offset: to })}>${label}</a>`
      : html`<button type="button" disabled>${label}</button>`;
  return html` ${link("First", shown.log_start_offset, first > shown.log_start_offset)}
  ${link("Earlier", Math.max(shown.log_start_offset, first - page), first > shown.log_start_offset)}
  ${link("Later", shown.next_offset, !is_last)} ${link("Last", "", offset >= 0)}`;
}

// `has_partition` says of each record which partition it is of.
function table(records, has_partition = false) {
  const columns = [...(has_partition ? [["Partition", 1]] : []), ["Offset", 1], ["Timestamp"], ["Key"], ["Value"], ["Headers"], ["Batch"]];
  return html` <div class="scroll" tabindex="0" role="group" aria-label="Table of records">
    <table class="records">
      ${tableHead(columns)}
      <tbody>
        ${repeat(records, (each) => `${each.partition}.${each.offset}`, (each) => row(each, has_partition))}
      </tbody>
    </table>
  </div>`;
}

function row(record, has_partition) {
  const is_sought = queried("offset") === String(record.offset);
  return html` <tr class=${is_sought ? "is-chosen" : ""} aria-current=${is_sought ? "true" : nothing}>
    ${has_partition ? html`<td class="number"><a href=${altered({ partition: record.partition, offset: record.offset })}>${record.partition}</a></td>` : ""}
    <td class="number mono">${record.offset}</td>
    <td class="mono nowrap">
      ${time(record.timestamp_ms, { milliseconds: true })}${record.timestamp_type === "LogAppendTime" ? html`<div class="muted">set by the broker</div>` : ""}
    </td>
    ${
      record.marker
        ? html`<td colspan="2">
            <span class="tag ${record.marker === "COMMIT" ? "good" : "bad"}">${record.marker}</span>
            <span class="muted">transaction marker of producer ${record.producer_id}</span>
          </td>`
        : html`<td class="key">${data(record.key, record.key_bytes)}</td>
            <td class="value">${data(record.value, record.value_bytes)}</td>`
    }
    <td class="headers">
      ${record.headers.map(([name, value]) => html`<div><span class="muted">${name}</span> ${data(value)}</div>`)}
    </td>
    <td>${batch(record)}</td>
  </tr>`;
}

function data(value, size) {
  const text = bytesText(value);
  if (text === null) return html`<span class="muted">null</span>`;
  if (text === "") return html`<span class="muted">“”</span>`;
  const cut = size > 4096 ? html` <span class="muted">(${bytes(size)})</span>` : "";
  const pretty = prettyJson(text);
  if (pretty !== null)
    return html`<details>
      <summary class="mono data">${text.length > LONG ? `${text.slice(0, LONG)}…` : text}${cut}</summary>
      <pre>${pretty}</pre>
    </details>`;
  if (text.length <= LONG) return html`<span class="mono data">${text}</span>${cut}`;
  return html`<details>
    <summary class="mono data">${text.slice(0, LONG)}…${cut}</summary>
    <pre>${text}</pre>
  </details>`;
}

// An object or a list of JSON on several lines, null for anything else.
function prettyJson(text) {
  if (!/^\s*[{[]/.test(text)) return null;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return null;
  }
}

function batch(record) {
  const looks = { open: "warn", aborted: "bad", committed: "good" };
  return html`<span class="nowrap muted" title="the offset at which its batch begins">at ${record.batch_offset}</span>
    ${record.codec && record.codec !== "none" ? html`<span class="tag">${record.codec}</span>` : ""}
    ${record.transaction ? html`<span class="tag ${looks[record.transaction]}">${record.transaction}</span>` : ""}
    ${record.is_corrupt ? html`<span class="tag bad">corrupt</span>` : ""}
    ${record.producer_id >= 0 && !record.marker ? producer(record) : ""}`;
}

function producer({ producer_id, producer_epoch, sequence }) {
  const title = "producer id, epoch, sequence number";
  return html`<div class="muted nowrap" title=${title}>producer ${producer_id}/${producer_epoch} #${sequence}</div>`;
}
