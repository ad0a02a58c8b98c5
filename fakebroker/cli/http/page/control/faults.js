// Faults: those that are set, with their hits, and a form for another one.

import { path } from "../core/api.js";
import { html } from "../core/dom.js";
import { count } from "../core/format.js";
import { Resource } from "../core/resource.js";
import { href } from "../core/router.js";
import { schedule } from "../core/store.js";
import { Actions, call } from "../parts/call.js";

export const faults = new Resource();
const names = new Resource();
const actions = new Actions();
let draft = {};

// The fields come from the broker's declaration (`/names`). These are shown at once, the others under "More fields".
const USUAL = ["api", "client_id", "group", "topic", "error", "action", "delay_s", "times"];
const SUGGESTIONS = { api: "apis", error: "errors" };

function fields_of(is_usual, ...parts) {
  const all = names.value?.fault_fields ?? [];
  return all.filter((each) => parts.includes(each.part) && USUAL.includes(each.name) === is_usual);
}

export function faultsCard() {
  names.show("/names");
  const set = faults.value ?? [];
  const clear = call("DELETE", "/faults", "broker.clear_faults", undefined, { done: "All faults were removed" });
  return html` <section class="card" aria-label="Faults">
    <div class="title">
      <h2>Faults</h2>
      <span class="end"
        >${set.length ? actions.button("Remove all", clear, { then: () => faults.refresh() }) : ""}</span
      >
    </div>
    ${set.length ? table(set) : html`<p class="muted">No faults are set: the broker behaves like Kafka.</p>`}
    ${form()}
  </section>`;
}

function table(set) {
  const row = (each) => {
    const remove = call("DELETE", path`/faults/${each.fault_id}`, "remove", undefined, {
      done: `Fault ${each.fault_id} is removed`,
      python: `broker.fault_by_id(${each.fault_id}).remove()`,
    });
    return html` <tr>
      <td class="number">${each.fault_id}</td>
      <td class="mono breaks">${each.description}</td>
      <td class="nowrap">
        <a href=${href("timeline", [], { api: each.fields.api ?? "" })}
          >${count(each.hits)} ${each.hits === 1 ? "hit" : "hits"}</a
        >
        <span class="muted">of ${count(each.matched)}</span>
      </td>
      <td class="number">${actions.button("Remove", remove, { kind: "small", then: () => faults.refresh() })}</td>
    </tr>`;
  };
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Active faults">
    <table>
      <tbody>
        ${set.map(row)}
      </tbody>
    </table>
  </div>`;
}

function declared() {
  const given = {};
  for (const { name, type } of names.value?.fault_fields ?? []) {
    const text = (draft[name] ?? "").trim();
    if (text !== "")
      given[name] = type === "number" || (name === "version" && /^\d+$/.test(text)) ? Number(text) : text;
  }
  return given;
}

function form() {
  const fields = declared();
  const given = (names.value?.fault_fields ?? []).filter((each) => each.name in fields);
  const has_effect = given.some((each) => each.is_effect);
  const is_narrow = given.some((each) => each.part === "match");
  const ask = is_narrow ? undefined : "This fault hits every request of every client. Set it?";
  const add = call("POST", "/faults", "broker.fault", fields, { done: "The fault was set", ask });
  return html` <form class="fault" @submit=${(event) => event.preventDefault()}>
    ${part("Requests", fields_of(true, "match"))}${part("Effect", fields_of(true, "do", "count"))}
    <details>
      <summary class="muted">More fields</summary>
      ${part("", fields_of(false, "match", "count", "do"))}
    </details>
    <div class="actions">
      ${actions.button("Set the fault", add, { kind: "primary", is_disabled: !has_effect, title: has_effect ? "" : "Choose an effect: an error, an action or a delay", then: () => faults.refresh() })}
      <button type="button" @click=${() => change({})}>Clear the form</button>
      ${has_effect ? "" : html`<span class="muted">Choose an error, an action or a delay.</span>`}
    </div>
    ${has_effect ? actions.line(add) : ""}
  </form>`;
}

function part(title, fields) {
  return html`<fieldset>
    <legend>${title || html`<span class="unseen">More fields</span>`}</legend>
    <div class="fields">${fields.map(field)}</div>
  </fieldset>`;
}

function change(fields) {
  draft = fields;
  actions.shown = null;
  schedule();
}

function field({ name, about, type, values }) {
  const [label, source] = [name === "api" ? "API" : name.replaceAll("_", " "), SUGGESTIONS[name]];
  const set = (event) => change({ ...draft, [name]: event.target.value });
  const value = draft[name] ?? "";
  if (values.length) {
    return html`<label class="field" title=${about}
      ><span>${label}</span
      ><select @change=${set}>
        ${["", ...values].map((each) => html`<option value=${each} ?selected=${each === value}>${each || "–"}</option>`)}
      </select></label
    >`;
  }
  const known = source ? (names.value?.[source] ?? []).map((each) => each.name ?? each) : [];
  return html` <label class="field ${name === "error" ? "wide" : ""}" title=${about}
      ><span>${label}</span>
      <input
        .value=${value}
        inputmode=${type === "number" ? "decimal" : "text"}
        list=${source ? `names-${source}` : ""}
        @input=${set}
    /></label>
    ${source ? html`<datalist id=${`names-${source}`}>${known.map((each) => html`<option value=${each}></option>`)}</datalist>` : ""}`;
}
