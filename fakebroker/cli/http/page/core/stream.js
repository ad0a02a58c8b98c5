// Server-sent events over fetch, which unlike EventSource can send a token. A stream that breaks is resumed after its last
// event, with longer and longer pauses; the server tells what was missed or that it has to be read anew.

import { apiPath, headers } from "./api.js";

const LONGEST_PAUSE_MS = 5000;
const SILENCE_MS = 25000; // the server says something every ten seconds

// Splits a stream of texts into events: `push(text)` calls `emit({id, event, data})` for each that is complete.
export function parser(emit) {
  let rest = "";
  let fields = {};
  const line = (text) => {
    if (text === "") {
      if (fields.data !== undefined) emit(fields);
      fields = {};
      return;
    }
    const colon = text.indexOf(":");
    if (colon === 0) return; // a comment: the server is there
    const name = colon < 0 ? text : text.slice(0, colon);
    const value = colon < 0 ? "" : text.slice(colon + (text[colon + 1] === " " ? 2 : 1));
    fields[name] = name === "data" && fields.data !== undefined ? `${fields.data}\n${value}` : value;
  };
  return (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    lines.forEach((each) => line(each.endsWith("\r") ? each.slice(0, -1) : each));
  };
}

export class Stream {
  // `path()` is where to read when there is no event to resume after; `on.event(event, data, id)` gets each event,
  // `on.up()` and `on.down(error)` what becomes of the connection.
  constructor(path, on) {
    this.path = path;
    this.on = on;
    this.last_id = "";
    this.is_stopped = false;
    this.abort = null;
  }

  // Read until `stop`.
  async run() {
    let pause_ms = 250;
    while (!this.is_stopped) {
      try {
        await this.read(() => (pause_ms = 250));
        this.on.down(new Error("the broker ended the stream"));
      } catch (error) {
        if (this.is_stopped) return;
        this.on.down(error);
      }
      await new Promise((resume) => setTimeout(resume, pause_ms));
      pause_ms = Math.min(pause_ms * 2, LONGEST_PAUSE_MS);
    }
  }

  stop() {
    this.is_stopped = true;
    this.abort?.abort();
  }

  // Resume after no event: everything is read anew.
  forget() {
    this.last_id = "";
  }

  async read(wentWell) {
    this.abort = new AbortController();
    const resumed = this.last_id === "" ? {} : { "Last-Event-ID": this.last_id };
    const options = { headers: { ...headers(), ...resumed }, signal: this.abort.signal, cache: "no-store" };
    const answer = await fetch(apiPath(this.path()), options);
    if (!answer.ok) throw Object.assign(new Error(`status ${answer.status}`), { status: answer.status });
    this.on.up();
    wentWell();
    const push = parser(({ event = "message", data, id }) => {
      if (id !== undefined) this.last_id = id;
      this.on.event(event, data, id);
    });
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { value, done } = await this.within(reader.read());
      if (done) return;
      push(value);
    }
  }

  // What is read, unless nothing comes for so long that the connection must be dead.
  within(reading) {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.abort.abort();
        reject(new Error("no data for a long time"));
      }, SILENCE_MS);
      reading.then(resolve, reject).finally(() => clearTimeout(timer));
    });
  }
}
