// Control: the clock, faults, coordinators, nodes, snapshots, reset. Each card shows its calls as a script would make them.

import { html } from "../core/dom.js";
import { watch } from "../core/live.js";
import { state } from "../core/store.js";
import { clockCard, due } from "../control/clock.js";
import { coordinatorCard } from "../control/coordinator.js";
import { faults, faultsCard } from "../control/faults.js";
import { nodes, nodesCard } from "../control/nodes.js";
import { snapshots, wholeCard } from "../control/whole.js";

const RESOURCES = { faults, nodes, snapshots };
const READ_EVERY_MS = 1500;

let timer = null;
let unwatch = null;

export const controlView = {
  open() {
    timer = setInterval(() => document.hidden || due.refresh(), READ_EVERY_MS);
    unwatch = watch((names) => {
      due.refresh();
      for (const [name, resource] of Object.entries(RESOURCES)) {
        if (names.includes(name) || names.includes("all") || (name === "faults" && names.includes("journal")))
          resource.refresh();
      }
    });
  },
  close() {
    unwatch();
    clearInterval(timer);
    due.close();
    Object.values(RESOURCES).forEach((each) => each.close());
  },
  template() {
    if (state.page === null) return "";
    due.show("/clock/due");
    Object.entries(RESOURCES).forEach(([name, resource]) => resource.show(`/${name}`));
    return html` <div class="control">
      <div class="column">${clockCard()}${nodesCard()}${coordinatorCard()}</div>
      <div class="column">${faultsCard()}${wholeCard()}</div>
    </div>`;
  },
};
