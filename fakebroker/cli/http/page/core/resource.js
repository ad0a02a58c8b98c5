// Something that is read by GET while a view shows it, and read again when it may have changed: at most twice a second, and
// never twice at the same time.

import { get } from "./api.js";
import { schedule } from "./store.js";

const AT_MOST_EVERY_MS = 400;

export class Resource {
  // `read(path)` gives what is at a path.
  constructor(read = get) {
    this.get = read;
    this.path = null;
    this.value = null; // what was read last; null before
    this.error = null;
    this.got_ms = 0; // performance.now() when it came
    this.read_ms = -Infinity;
    this.is_reading = false;
    this.is_stale = false;
    this.timer = null;
  }

  // Show what is at `path`; read it if it is another one than before.
  show(path) {
    if (path === this.path) return this;
    Object.assign(this, { path, value: null, error: null, read_ms: -Infinity });
    this.refresh();
    return this;
  }

  // It may have changed: read it soon.
  refresh() {
    if (this.path === null) return;
    if (this.is_reading) {
      this.is_stale = true;
      return;
    }
    if (this.timer !== null) return;
    const pause_ms = Math.max(0, this.read_ms + AT_MOST_EVERY_MS - performance.now());
    this.timer = setTimeout(() => this.read(), pause_ms);
  }

  // Show nothing any more.
  close() {
    clearTimeout(this.timer);
    Object.assign(this, { path: null, value: null, error: null, timer: null });
  }

  async read() {
    const { path } = this;
    this.timer = null;
    this.is_reading = true;
    this.is_stale = false;
    this.read_ms = performance.now();
    let value = null;
    let error = null;
    try {
      value = await this.get(path);
    } catch (caught) {
      error = caught;
    }
    this.is_reading = false;
    if (path === this.path) {
      if (error === null) Object.assign(this, { value, error, got_ms: performance.now() });
      else Object.assign(this, { error, value: error.status === 404 ? null : this.value });
      schedule();
    }
    if (path !== this.path || this.is_stale) this.refresh();
  }
}
