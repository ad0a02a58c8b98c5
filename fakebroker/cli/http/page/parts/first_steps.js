// What to do while there is nothing to see: a consumer and a producer with the very address of this broker.

import { html } from "../core/dom.js";
import { state } from "../core/store.js";
import { copy } from "./copy.js";

const TEXTS = {
  group: [
    "Groups appear here as soon as a consumer joins one. Give your program this address, or try:",
    (address) => `from confluent_kafka import Consumer

consumer = Consumer({
    "bootstrap.servers": "${address}",
    "group.id": "billing",
    "auto.offset.reset": "earliest",
})
consumer.subscribe(["orders"])
while True:
    consumer.poll(1.0)`,
  ],
  topic: [
    "Topics appear here as soon as a client creates or requests one. Give your program this address, or try:",
    (address) => `from confluent_kafka import Producer

producer = Producer({"bootstrap.servers": "${address}"})
producer.produce("orders", key="k", value="v")
producer.flush()`,
  ],
  request: ["No client has sent a request yet. Give your program this address:", (address) => address],
};

// The steps towards the first group, topic or request.
export function firstSteps(what) {
  const [words, program] = TEXTS[what];
  const text = program(state.bootstrap || "…");
  return html`<p>${words}</p>
    <pre>${text}</pre>
    <div><button type="button" @click=${() => copy(text)}>Copy</button></div>`;
}
