// Parts of tables and lists of facts that several views have.

import { html } from "../core/dom.js";

// The head of a table. A column is [name, whether it has numbers]; a name may be a template.
export function tableHead(columns) {
  const one = ([name, is_number]) => html`<th scope="col" class=${is_number ? "number" : ""}>${name}</th>`;
  return html`<thead>
    <tr>
      ${columns.map(one)}
    </tr>
  </thead>`;
}

// Names with their values. A fact is [name, value]; both may be templates.
export function factList(facts) {
  const one = ([name, value]) =>
    html`<div>
      <dt>${name}</dt>
      <dd>${value}</dd>
    </div>`;
  return html`<dl class="facts">
    ${facts.map(one)}
  </dl>`;
}
