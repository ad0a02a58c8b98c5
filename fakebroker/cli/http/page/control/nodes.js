// The brokers of the cluster: stopping, starting, cutting them off.

import { path } from "../core/api.js";
import { html } from "../core/dom.js";
import { Resource } from "../core/resource.js";
import { Actions, call } from "../parts/call.js";
import { stateMark } from "../parts/marks.js";

export const nodes = new Resource();
const actions = new Actions();

const WORDS = {
  stop: ["Stop", "was stopped"],
  kill: ["Kill", "was killed"],
  start: ["Start", "was started"],
  restart: ["Restart", "was restarted"],
  freeze: ["Freeze", "is frozen"],
  thaw: ["Thaw", "resumed"],
  isolate: ["Isolate", "is isolated"],
  heal: ["Heal", "is reachable again"],
};

function offered(node) {
  if (node.state === "frozen") return ["thaw", "kill"];
  if (!node.is_alive) return ["start"];
  return ["stop", "kill", "restart", "freeze", node.network.length ? "heal" : "isolate"];
}

const act = (node, verb) =>
  call("POST", path`/nodes/${node.node_id}/` + verb, `broker.node(${node.node_id}).${verb}`, undefined, {
    done: `Node ${node.node_id} ${WORDS[verb][1]}`,
  });

export function nodesCard() {
  const shown = nodes.value ?? [];
  const add = call("POST", "/nodes", "broker.add_node", undefined, { done: "A node was added" });
  const row = (node) =>
    html` <tr>
      <td class="nowrap">node ${node.node_id}</td>
      <td>
        ${stateMark(node.state)}${node.network.map((each) => html` <span class="tag warn">${each}</span>`)}${node.is_fenced && node.is_alive ? html` <span class="tag bad">fenced</span>` : ""}
      </td>
      <td class="mono">${node.address.host}:${node.address.port}</td>
      <td>
        <div class="actions">
          ${offered(node).map((verb) => actions.button(WORDS[verb][0], act(node, verb), { kind: "small", then: () => nodes.refresh() }))}
        </div>
      </td>
    </tr>`;
  return html` <section class="card" aria-label="Nodes">
    <div class="title">
      <h2>Nodes</h2>
      <span class="end">${actions.button("Add a node", add, { then: () => nodes.refresh() })}</span>
    </div>
    <div class="scroll" tabindex="0" role="group" aria-label="Table of nodes">
      <table>
        <tbody>
          ${shown.map(row)}
        </tbody>
      </table>
    </div>
    ${shown.length ? actions.line(act(shown[0], offered(shown[0])[0])) : ""}
  </section>`;
}
