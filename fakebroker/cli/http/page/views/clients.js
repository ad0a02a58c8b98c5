// Clients: the connections that are open, who is at the other end, what was asked last, and what waits for an answer.

import { html } from "../core/dom.js";
import { counted, duration } from "../core/format.js";
import { watch } from "../core/live.js";
import { Resource } from "../core/resource.js";
import { href } from "../core/router.js";
import { state } from "../core/store.js";
import { firstSteps } from "../parts/first_steps.js";
import { empty, pending } from "../parts/marks.js";
import { tableHead } from "../parts/tables.js";

const READ_EVERY_MS = 1500;
const COLUMNS = [["Client"], ["Address"], ["Node"], ["Software"], ["User"], ["Last request"], ["Heard"]];

const rows = new Resource();
let timer = null;
let unwatch = null;

export const clientsView = {
  open() {
    timer = setInterval(() => document.hidden || rows.refresh(), READ_EVERY_MS);
    unwatch = watch((names) => names.includes("all") && rows.refresh());
  },
  close() {
    clearInterval(timer);
    unwatch();
    rows.close();
  },
  template() {
    if (state.page === null) return "";
    rows.show("/connections");
    if (rows.value === null) return pending(rows, "connections");
    if (!rows.value.length) return empty("No clients are connected", firstSteps("request"));
    const clients = new Set(rows.value.map((each) => each.client).filter(Boolean)).size;
    return html` <div class="detail">
      <section class="card" aria-label="Connections">
        <h2>${counted(clients, "client")}, ${counted(rows.value.length, "connection")}</h2>
        <div class="scroll" tabindex="0" role="group" aria-label="Table of connections">
          <table>
            ${tableHead(COLUMNS)}
            <tbody>
              ${rows.value.map(row)}
            </tbody>
          </table>
        </div>
      </section>
    </div>`;
  },
};

function row(each) {
  return html` <tr>
    <td class="breaks">
      ${each.client === null ? html`<span class="muted">no client id</span>` : html`<a href=${href("timeline", [], { client: each.client })}>${each.client}</a>`}
      <span class="muted nowrap">connection ${each.connection}</span>
    </td>
    <td class="mono nowrap">${each.address}</td>
    <td class="nowrap">node ${each.node}</td>
    <td>${each.software === "unknown unknown" ? html`<span class="muted">unknown</span>` : each.software}</td>
    <td class="mono breaks">${each.principal}</td>
    <td class="nowrap">
      ${each.api === null ? "" : `${each.api} v${each.version}`} ${each.is_waiting ? html`<span class="tag warn">waiting for its answer</span>` : ""}
    </td>
    <td class="nowrap">${duration(each.heard_ago_ms)} ago</td>
  </tr>`;
}
