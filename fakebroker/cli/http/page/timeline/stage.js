// The canvas with the lanes, and what a pointer does on it: drag to move, turn the wheel to zoom, click to choose.

import { itemText } from "./lanes.js";
import { AXIS_PX, Painter } from "./painter.js";

const CLICK_PX = 4;

export class Stage {
  // `on` has: range() of places, show(from, to), zoom(factor, place), select(item), scrolled(top_px).
  constructor(root, on) {
    this.root = root;
    this.canvas = root.querySelector("canvas");
    this.tip = root.querySelector(".tip");
    this.scroller = root;
    this.painter = new Painter(this.canvas);
    this.on = on;
    this.drag = null;
    const listen = (name, handler, options) => this.canvas.addEventListener(name, handler, options);
    listen("wheel", (event) => this.wheel(event), { passive: false });
    listen("pointerdown", (event) => this.press(event));
    listen("pointermove", (event) => this.move(event));
    listen("pointerup", (event) => this.release(event));
    listen("pointercancel", () => (this.drag = null));
    listen("pointerleave", () => this.hideTip());
    listen("dblclick", (event) => this.on.zoom(0.4, this.placeAt(event.offsetX)));
    root.addEventListener("scroll", () => this.on.scrolled(root.scrollTop));
  }

  placeAt(x) {
    const { from, to } = this.on.range();
    return from + ((to - from) * x) / this.canvas.clientWidth;
  }

  wheel(event) {
    const { from, to } = this.on.range();
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.on.zoom(Math.exp(event.deltaY * 0.004), this.placeAt(event.offsetX));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      const by = ((event.deltaX || event.deltaY) * (to - from)) / this.canvas.clientWidth;
      this.on.show(from + by, to + by);
    }
  }

  press(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.drag = { x: event.offsetX, range: this.on.range(), has_moved: false };
  }

  move(event) {
    const { drag } = this;
    if (drag === null) {
      this.point(event);
      return;
    }
    const by_px = event.offsetX - drag.x;
    if (!drag.has_moved && Math.abs(by_px) < CLICK_PX) return;
    drag.has_moved = true;
    this.hideTip();
    const by = (by_px * (drag.range.to - drag.range.from)) / this.canvas.clientWidth;
    this.on.show(drag.range.from - by, drag.range.to - by);
  }

  release(event) {
    const { drag } = this;
    this.drag = null;
    if (drag === null || drag.has_moved) return;
    const item = this.painter.at(event.offsetX, event.offsetY);
    if (item) this.on.select(item);
  }

  point(event) {
    const item = this.painter.at(event.offsetX, event.offsetY);
    this.canvas.classList.toggle("is-over", item !== null);
    if (item === null) {
      this.hideTip();
      return;
    }
    const { tip, canvas } = this;
    tip.textContent = itemText(item);
    tip.hidden = false;
    const left = Math.min(event.offsetX + 12, canvas.clientWidth - tip.offsetWidth - 4);
    const below = event.offsetY + 18;
    tip.style.left = `${Math.max(0, left) + canvas.offsetLeft}px`;
    tip.style.top = `${below + tip.offsetHeight > canvas.clientHeight ? Math.max(AXIS_PX, event.offsetY - tip.offsetHeight - 8) : below}px`;
  }

  hideTip() {
    this.tip.hidden = true;
  }
}
