// One topic: its partitions, the records of one of them, the record of a time, and a form that appends one.

import { path } from "../core/api.js";
import { html, nothing } from "../core/dom.js";
import { bytes, count, counted, time } from "../core/format.js";
import { Resource } from "../core/resource.js";
import { alterQuery, altered, href, queried } from "../core/router.js";
import { schedule } from "../core/store.js";
import { Actions, call } from "../parts/call.js";
import { pending, stateMark } from "../parts/marks.js";
import { factList, tableHead } from "../parts/tables.js";
import { newestCard, recordsCard } from "./records.js";

const PAGE = 100;
const MAX_GROUPS = 50; // those with the most lag
const LAST = -PAGE; // from the end

const view = new Resource();
const records = new Resource();
const search = new Resource();
const readers = new Resource();
let actions = new Actions();
let draft = { key: "", value: "" };

// What is shown of a topic; `back` is where the list is.
export function template(name, back) {
  if (view.path !== path`/topics/${name}/view`) actions = new Actions();
  view.show(path`/topics/${name}/view`);
  const topic = view.value;
  const link = html`<div class="back"><a href=${back}>← all topics</a></div>`;
  if (topic === null) return html`${link}${pending(view, `topic ${name}`)}`;
  const partition = queried("partition") === "" ? null : Number(queried("partition"));
  const offset = queried("offset") === "" ? LAST : Number(queried("offset"));
  if (partition === null) records.show(path`/topics/${name}/newest?search=${queried("search")}`);
  else records.show(path`/topics/${name}/browse?partition=${partition}&offset=${offset}&limit=${PAGE}`);
  readers.show(path`/topics/${name}/groups`);
  if (queried("when")) search.show(path`/topics/${name}/find_time?when=${queried("when")}`);
  else search.close();
  return html` <div class="detail">
    ${link}${topicCard(topic)}${partitionsCard(topic, partition)}${searchCard(topic)}
    ${partition === null ? newestCard(records) : recordsCard(topic, partition, records, { offset, page: PAGE })}
    ${readersCard()}${appendCard(topic, partition ?? topic.partitions[0]?.partition ?? 0)}
  </div>`;
}

// Something changed at the broker.
export function changed(names) {
  if (names.includes("groups") || names.includes("all")) readers.refresh();
  if (!names.includes("topics") && !names.includes("all")) return;
  readers.refresh();
  view.refresh();
  records.refresh();
}

// Nobody looks at a topic any more.
export function close() {
  [view, records, search, readers].forEach((each) => each.close());
}

function topicCard(topic) {
  const settings = Object.entries(topic.config ?? {});
  const remove = call(
    "DELETE",
    path`/topics/${topic.name}`,
    `broker.topic(${JSON.stringify(topic.name)}).delete`,
    undefined,
    { done: `Topic ${topic.name} was deleted`, ask: `Delete topic ${topic.name} and its records?`, danger: true },
  );
  return html` <div class="card head">
    <div class="title">
      <h2>${topic.name}</h2>
      ${topic.is_internal ? html`<span class="tag">internal</span>` : ""}
    </div>
    ${factList([["topic id", mono(topic.topic_id)], ...settings.map(([name, value]) => [mono(name), mono(value)])])}
    ${
      topic.is_internal
        ? ""
        : html`<div class="actions">${actions.button("Delete", remove)}</div>
            ${actions.shown?.verb === "DELETE" ? actions.line() : ""}`
    }
  </div>`;
}

// The groups that have committed offsets of the topic.
function readersCard() {
  const groups = [...(readers.value ?? [])].sort((a, b) => b.lag - a.lag);
  const one = (each) =>
    html`<tr>
      <td class="breaks"><a href=${href("groups", [each.group_id])}>${each.group_id}</a></td>
      <td>${stateMark(each.state)}</td>
      <td class="number">${count(each.lag)}</td>
    </tr>`;
  return html` <section class="card" aria-label="Groups reading this topic">
    <h2>${counted(groups.length, "group")} with committed offsets</h2>
    ${
      groups.length
        ? html`<div class="scroll" tabindex="0" role="group" aria-label="Table of groups">
            <table>
              ${tableHead([["Group"], ["State"], ["Lag", 1]])}
              <tbody>
                ${groups.slice(0, MAX_GROUPS).map(one)}
              </tbody>
            </table>
          </div>`
        : ""
    }
    ${groups.length > MAX_GROUPS ? html`<p class="muted">and ${count(groups.length - MAX_GROUPS)} more</p>` : ""}
  </section>`;
}

function mono(text) {
  return html`<span class="mono">${text}</span>`;
}

function partitionsCard(topic, chosen) {
  const columns = [
    ["Partition"],
    ["Leader"],
    ["Replicas, in sync"],
    ["Start", 1],
    ["High watermark", 1],
    ["End", 1],
    ["Size", 1],
    ["Newest timestamp"],
  ];
  return html` <section class="card" aria-label="Partitions">
    <h2>Partitions</h2>
    <div class="scroll" tabindex="0" role="group" aria-label="Table of partitions">
      <table>
        ${tableHead(columns)}
        <tbody>
          ${topic.partitions.map((each) => partitionRow(each, chosen))}
        </tbody>
      </table>
    </div>
  </section>`;
}

function partitionRow(each, chosen) {
  const is_chosen = each.partition === chosen;
  return html` <tr class=${is_chosen ? "is-chosen" : ""}>
    <td class="nowrap">
      <a href=${altered({ partition: each.partition, offset: "" })} aria-current=${is_chosen ? "true" : nothing}
        >partition ${each.partition}</a
      >
    </td>
    <td>
      ${each.leader < 0 ? html`<span class="bad">none</span>` : html`<span class="nowrap">node ${each.leader}</span> <span class="muted nowrap">epoch ${each.leader_epoch}</span>`}
    </td>
    <td>
      ${each.replicas.join(", ")}
      <span class=${each.in_sync.length < each.replicas.length ? "warn" : "muted"}
        >(${each.in_sync.join(", ") || "none"})</span
      >
    </td>
    <td class="number">${count(each.log_start_offset)}</td>
    <td class="number">
      ${count(each.high_watermark)}${each.last_stable_offset < each.high_watermark ? stableOffset(each) : ""}
    </td>
    <td class="number">${count(each.log_end_offset)}</td>
    <td class="number nowrap">${bytes(each.size_bytes)}</td>
    <td class="nowrap">
      ${time(each.max_timestamp_ms)}${each.open_transactions ? html` <span class="tag warn">${counted(each.open_transactions, "open transaction")}</span>` : ""}
    </td>
  </tr>`;
}

function stableOffset(each) {
  const title = "last stable offset: before the first open transaction";
  return html`<div class="warn" title=${title}>last stable ${count(each.last_stable_offset)}</div>`;
}

// Search by time, as ListOffsets does it.
function searchCard(topic) {
  const submit = (event) => {
    event.preventDefault();
    const text = new FormData(event.target).get("when").trim();
    alterQuery({ when: wantedTime(text) }, true);
  };
  return html` <section class="card" aria-label="Search by time">
    <h2>First record at a time</h2>
    <form class="actions" @submit=${submit}>
      <input
        name="when"
        class="wide"
        aria-label="Time in UTC, or max"
        placeholder="2026-11-23 03:15:00, or ms, or max"
        .defaultValue=${queried("when")}
      />
      <button>Find</button>
      ${queried("when") ? html`<a class="button plain" href=${altered({ when: "" })}>Clear</a>` : ""}
    </form>
    ${search.value ? foundTable(topic, search.value) : search.error ? html`<p class="bad">${search.error.message}</p>` : ""}
  </section>`;
}

// A time as the API takes it: ms, ISO 8601 in UTC, "max".
function wantedTime(text) {
  if (text === "" || text === "max" || /^\d+$/.test(text)) return text;
  const iso = text.replace(" ", "T");
  return /Z|[+-]\d\d:?\d\d$/.test(iso) ? iso : `${iso}Z`;
}

function foundTable(topic, found) {
  const one = (each) =>
    html` <tr>
      <td>partition ${each.partition}</td>
      <td>
        ${each.offset < 0 ? html`<span class="muted">no record that late</span>` : html`<a href=${altered({ partition: each.partition, offset: each.offset })}>offset ${each.offset}</a>`}
      </td>
      <td class="mono">${each.offset < 0 ? "" : time(each.timestamp_ms, { milliseconds: true })}</td>
      <td class="mono ellipsis">${each.record ? `${text(each.record.key)} ${text(each.record.value)}` : ""}</td>
    </tr>`;
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Result">
    <table>
      <tbody>
        ${found.map(one)}
      </tbody>
    </table>
  </div>`;
}

function text(value) {
  return typeof value === "string" ? value : value === null ? "null" : JSON.stringify(value);
}

function appendCard(topic, partition) {
  if (topic.is_internal) return "";
  const body = { values: [draft.value], ...(draft.key ? { key: draft.key } : {}), partition };
  const power = `broker.topic(${JSON.stringify(topic.name)}).produce`;
  const python = `${power}(${JSON.stringify(draft.value)}${draft.key ? `, key=${JSON.stringify(draft.key)}` : ""}, partition=${partition})`;
  const append = call("POST", path`/topics/${topic.name}/records`, power, body, {
    done: `Appended to ${topic.name}-${partition}`,
    python,
  });
  const type = (name) => (event) => {
    draft = { ...draft, [name]: event.target.value };
    actions.shown = null;
    schedule();
  };
  return html` <section class="card" aria-label="Append a record">
    <h2>Append a record to partition ${partition}</h2>
    <div class="actions">
      <label class="field"><span>Key</span><input .value=${draft.key} @input=${type("key")} /></label>
      <label class="field grow"><span>Value</span><input .value=${draft.value} @input=${type("value")} /></label>
      ${actions.button("Append", append)}
    </div>
    ${actions.shown?.verb === "DELETE" ? "" : actions.line(append)}
  </section>`;
}
