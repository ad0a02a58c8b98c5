// What members of a share group have in delivery.

import { html } from "../core/dom.js";
import { count, counted } from "../core/format.js";

export function sharePartitionsCard(partitions) {
  if (!partitions.length) return "";
  const columns = [...new Set(partitions.flatMap((each) => Object.keys(each)))].filter((name) => typeof partitions[0][name] !== "object");
  const cell = (each, name) => (typeof each[name] === "number" ? html`<td class="number">${count(each[name])}</td>` : html`<td>${each[name]}</td>`);
  return html`
    <section class="card" aria-label="Share partitions">
      <h2>${counted(partitions.length, "share partition")}</h2>
      <div class="scroll" tabindex="0" role="group" aria-label="Table of share partitions">
        <table>
          <thead><tr>${columns.map((name) => html`<th scope="col">${name.replaceAll("_", " ")}</th>`)}</tr></thead>
          <tbody>${partitions.map((each) => html`<tr>${columns.map((name) => cell(each, name))}</tr>`)}</tbody>
        </table>
      </div>
    </section>`;
}
