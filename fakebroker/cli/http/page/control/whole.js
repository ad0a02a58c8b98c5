// The whole broker: snapshots to come back to, and beginning anew.

import { apiPath, headers, path, token } from "../core/api.js";
import { html } from "../core/dom.js";
import { time } from "../core/format.js";
import { Resource } from "../core/resource.js";
import { notify } from "../core/store.js";
import { Actions, call } from "../parts/call.js";

export const snapshots = new Resource();
const actions = new Actions();

const take = () =>
  call("POST", "/snapshots", "broker.snapshot", undefined, {
    done: "A snapshot was taken",
    python: "snapshot = broker.snapshot()",
  });
const reset = () =>
  call("POST", "/reset", "broker.reset", undefined, {
    done: "The broker was reset",
    ask: "Delete all topics, groups and faults, and reset the broker?",
    danger: true,
  });

export function wholeCard() {
  const kept = snapshots.value ?? [];
  const then = () => snapshots.refresh();
  return html` <section class="card" aria-label="Snapshots and reset">
    <h2>Snapshots and reset</h2>
    <div class="actions">
      ${actions.button("Take a snapshot", take(), { then })}${actions.button("Reset the broker", reset())}
    </div>
    ${actions.line(take())}
    ${kept.length ? table(kept, then) : html`<p class="muted">A snapshot holds topics, records, groups and offsets. Restoring it returns the broker to that state.</p>`}
  </section>`;
}

function table(kept, then) {
  const row = (each) => {
    const id = each.snapshot_id;
    const restore = call("POST", path`/snapshots/${id}/restore`, "broker.restore", undefined, {
      done: `Restored snapshot ${id}`,
      ask: `Restore snapshot ${id}? Later changes are lost.`,
      python: "broker.restore(snapshot)",
    });
    const remove = call("DELETE", path`/snapshots/${id}`, "", undefined, {
      done: `Snapshot ${id} was deleted`,
      python: "del snapshot",
    });
    return html` <tr>
      <td>${id}</td>
      <td class="nowrap">${time(Date.parse(each.taken))}</td>
      <td class="ellipsis">
        ${Array.isArray(each.topics) ? each.topics.join(", ") : Object.keys(each.topics ?? {}).join(", ")}
      </td>
      <td>
        <div class="actions">
          ${actions.button("Restore", restore, { kind: "small" })} ${download(id)}
          ${actions.button("Delete", remove, { kind: "small", then })}
        </div>
      </td>
    </tr>`;
  };
  return html`<div class="scroll" tabindex="0" role="group" aria-label="Snapshots">
    <table>
      <tbody>
        ${kept.map(row)}
      </tbody>
    </table>
  </div>`;
}

// A browser's download cannot send a token: then the data is read first, and saved from memory.
function download(id) {
  const file = path`/snapshots/${id}/file`;
  if (!token()) return html`<a class="button plain" href=${apiPath(file)} download=${`${id}.fakebroker`}>File</a>`;
  return html`<button type="button" class="plain" @click=${() => save(file, `${id}.fakebroker`)}>File</button>`;
}

async function save(file, name) {
  const answer = await fetch(apiPath(file), { headers: headers() });
  if (!answer.ok) {
    notify(`The file cannot be read: status ${answer.status}`, true);
    return;
  }
  const link = Object.assign(document.createElement("a"), {
    href: URL.createObjectURL(await answer.blob()),
    download: name,
  });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
