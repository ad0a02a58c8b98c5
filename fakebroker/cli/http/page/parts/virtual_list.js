// A list of any length of which only the rows in sight are in the document. All rows have the same height.

import { html, ref, repeat } from "../core/dom.js";
import { schedule } from "../core/store.js";

const BEYOND = 6; // rows that are drawn above and below those in sight

export class VirtualList {
  // `draw(row, index)` gives a row's content, `key(row)` what tells it from others.
  constructor({ row_px, draw, key }) {
    Object.assign(this, { row_px, draw, key });
    this.top_px = 0; // where it is to be scrolled to
    this.seen_px = 0; // where it was when it was scrolled last
    this.height_px = 600;
    this.element = null;
    this.is_at_end = true; // it stays there when rows come, until somebody scrolls up
    this.observer = new ResizeObserver(([entry]) => {
      if (entry.contentRect.height === this.height_px) return;
      this.height_px = entry.contentRect.height;
      schedule();
    });
    this.attach = ref((element) => this.take(element));
    this.scrolled = () => this.follow();
  }

  take(element) {
    if (this.element) this.observer.unobserve(this.element);
    this.element = element ?? null;
    if (!element) return;
    this.observer.observe(element);
    element.scrollTop = this.top_px;
  }

  follow() {
    const { scrollTop, scrollHeight, clientHeight } = this.element;
    if (scrollTop < this.seen_px - 1) this.is_at_end = false;
    if (scrollHeight - scrollTop - clientHeight < this.row_px) this.is_at_end = true;
    this.seen_px = scrollTop;
    if (scrollTop === this.top_px) return;
    this.top_px = scrollTop;
    schedule();
  }

  // Have the row at `index` in sight; one that is far away in the middle.
  reveal(index) {
    const top = index * this.row_px;
    const beyond = Math.max(this.top_px - top, top + this.row_px - this.top_px - this.height_px);
    if (beyond <= 0) return;
    if (beyond > 2 * this.row_px) this.scrollTo(top - this.height_px / 2);
    else this.scrollTo(top < this.top_px ? top : top + this.row_px - this.height_px);
  }

  // Have the last rows in sight.
  revealEnd(length) {
    this.scrollTo(Math.ceil(Math.max(0, length * this.row_px - this.height_px) / this.row_px) * this.row_px);
  }

  scrollTo(top_px) {
    this.top_px = Math.max(0, top_px);
    requestAnimationFrame(() => {
      if (this.element) this.element.scrollTop = this.top_px;
    });
    schedule();
  }

  // Room below the last row, so that the list's first row in sight is a whole one when it is at its end.
  filler(length) {
    return length * this.row_px > this.height_px ? Math.round(this.height_px) % this.row_px : 0;
  }

  // From which row to which one the rows are drawn.
  bounds(rows) {
    const from = Math.max(0, Math.min(Math.floor(this.top_px / this.row_px), rows.length) - BEYOND);
    return [from, Math.min(rows.length, Math.ceil((this.top_px + this.height_px) / this.row_px) + BEYOND)];
  }

  // The rows that are drawn.
  inSight(rows) {
    return rows.slice(...this.bounds(rows));
  }

  template(rows, label) {
    const [from, to] = this.bounds(rows);
    const inSight = rows.slice(from, to).map((row, at) => [row, from + at]);
    const drawRow = ([row, at]) =>
      html` <div
        class="row"
        role="listitem"
        aria-setsize=${rows.length}
        aria-posinset=${at + 1}
        .style=${`height:${this.row_px}px;transform:translateY(${at * this.row_px}px)`}
      >
        ${this.draw(row, at)}
      </div>`;
    return html` <div class="rows" role="list" aria-label=${label} tabindex="0" @scroll=${this.scrolled} ${this.attach}>
      <div class="space" .style=${`height:${rows.length * this.row_px + this.filler(rows.length)}px`}>
        ${repeat(inSight, ([row]) => this.key(row), drawRow)}
      </div>
    </div>`;
  }
}
