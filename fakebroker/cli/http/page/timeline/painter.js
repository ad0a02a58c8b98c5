// Paints the lanes of a range on a canvas: only those in sight, and things that fall on the same pixels once.

import { time } from "../core/format.js";
import { colour } from "../core/theme.js";
import { ROW_PX } from "./lanes.js";

export const AXIS_PX = 22;
const BAR_PX = 8;
const LOOKS = ["good", "warn", "bad", "other", "quiet"];

// The colours of the theme, read once per painting.
function palette() {
  const names = [
    "surface",
    "line",
    "line-strong",
    "text",
    "muted",
    "accent",
    "bar",
    "bar-parked",
    "bar-bad",
    "hover",
    "quiet-soft",
    "good-soft",
    "warn-soft",
    "bad-soft",
    "other-soft",
    "good",
    "warn",
    "bad",
    "other",
  ];
  return Object.fromEntries(names.map((name) => [name, colour(`--${name}`)]));
}

export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext("2d");
    this.colours = palette();
    this.font = getComputedStyle(document.body).fontFamily;
  }

  // The theme is another one.
  retheme() {
    this.colours = palette();
  }

  // Paint. `scene` has lanes, waiting, axis, from, to, now, top_px (how far it is scrolled), selected (a sequence number),
  // marks (clock jumps as {place, text}).
  paint(scene) {
    const { canvas, context } = this;
    const ratio = devicePixelRatio || 1;
    const { clientWidth: width, clientHeight: height } = canvas;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    Object.assign(this, { scene, width, height, scale: width / (scene.to - scene.from) });
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = this.colours.surface;
    context.fillRect(0, 0, width, height);
    this.paintTicks();
    context.save();
    context.beginPath();
    context.rect(0, AXIS_PX, width, height - AXIS_PX);
    context.clip();
    for (const lane of scene.lanes) this.paintLane(lane);
    for (const item of scene.waiting) this.paintBar(item, this.laneTop(item.lane));
    context.restore();
    this.paintJumps();
    this.paintNow();
  }

  x(place) {
    return (place - this.scene.from) * this.scale;
  }

  laneTop(lane) {
    return AXIS_PX + lane.top_px - this.scene.top_px;
  }

  paintTicks() {
    const { context, colours, scene } = this;
    const { ticks, step_ms } = scene.axis.ticks(scene.from, scene.to, this.width);
    context.font = `11px ${this.font}`;
    context.textBaseline = "middle";
    for (const [place, wall_ms] of ticks) {
      const x = Math.round(this.x(place)) + 0.5;
      context.strokeStyle = colours.line;
      context.beginPath();
      context.moveTo(x, AXIS_PX - 5);
      context.lineTo(x, this.height);
      context.stroke();
      context.fillStyle = colours.muted;
      const label =
        step_ms >= 86400000 ? time(wall_ms).slice(0, 10) : time(wall_ms, { date: false, milliseconds: step_ms < 1000 });
      context.fillText(label, x + 4, AXIS_PX / 2);
    }
    context.strokeStyle = colours["line-strong"];
    context.beginPath();
    context.moveTo(0, AXIS_PX - 0.5);
    context.lineTo(this.width, AXIS_PX - 0.5);
    context.stroke();
  }

  paintLane(lane) {
    const top = this.laneTop(lane);
    if (top > this.height || top + lane.height_px < AXIS_PX) return;
    const { context, colours, scene } = this;
    context.strokeStyle = colours.line;
    context.beginPath();
    context.moveTo(0, Math.round(top + lane.height_px) - 0.5);
    context.lineTo(this.width, Math.round(top + lane.height_px) - 0.5);
    context.stroke();
    const painted = new Map(); // the last pixel of each row and look
    const later = [];
    for (const item of lane.items) {
      const to = item.to ?? scene.now;
      if (to < scene.from || item.from > scene.to) continue;
      if (item.shape === "mark" || item.line.seq === scene.selected) later.push(item);
      else if (item.shape === "band") this.paintBand(item, top, lane.height_px);
      else if (!this.isPainted(painted, item, to)) this.paintBar(item, top);
    }
    for (const item of later) this.paintLater(item, top, lane.height_px);
  }

  isPainted(painted, item, to) {
    const row = item.row * 8 + LOOKS.indexOf(item.look);
    const from_px = Math.floor(this.x(item.from));
    const to_px = Math.floor(this.x(to));
    if (to_px - from_px < 2 && painted.get(row) === to_px) return true;
    painted.set(row, to_px);
    return false;
  }

  paintLater(item, top, height) {
    if (item.shape === "band") this.paintBand(item, top, height);
    if (item.shape === "bar") this.paintBar(item, top);
    if (item.shape === "mark")
      this.paintMark(
        item,
        item.line.kind === "fault_hit" ? top + 4 + item.row * ROW_PX + BAR_PX / 2 : top + height / 2,
      );
  }

  paintBand(item, top, height) {
    const { context, colours, scene } = this;
    const from = Math.max(-1, this.x(item.from));
    const to = Math.min(this.width + 1, this.x(item.to ?? scene.now));
    const width = Math.max(1.5, to - from);
    context.fillStyle = colours[`${item.look}-soft`];
    context.fillRect(from, top + 4, width, height - 9);
    context.fillStyle = item.look === "quiet" ? colours.muted : colours[item.look];
    context.fillRect(from, top + 4, Math.min(2, width), height - 9);
    if (item.line.seq === scene.selected) this.outline(from, top + 4, width, height - 9);
    const label = item.line.after;
    context.font = `11px ${this.font}`;
    if (width > context.measureText(label).width + 14) context.fillText(label, from + 7, top + height / 2);
  }

  paintBar(item, top) {
    const { context, colours, scene } = this;
    const y = top + 4 + item.row * ROW_PX + (ROW_PX - BAR_PX) / 2 - 2;
    const from = Math.max(-2, this.x(item.from));
    const to = Math.min(this.width + 2, this.x(item.to ?? scene.now));
    const width = Math.max(2, to - from);
    // What waited is pale over its whole length and ends in its answer.
    context.fillStyle = colours["bar-parked"];
    context.fillRect(from, item.is_poll ? y + 2 : y, width, item.is_poll ? BAR_PX - 4 : BAR_PX);
    if (item.look !== "waiting") {
      context.fillStyle = item.look === "bad" ? colours["bar-bad"] : item.look === "warn" ? colours.warn : colours.bar;
      const end = Math.min(width, item.is_poll ? 2 : 3);
      context.fillRect(from + width - end, item.is_poll ? y + 2 : y, end, item.is_poll ? BAR_PX - 4 : BAR_PX);
    }
    if (item.line.seq === scene.selected) this.outline(from, y, width, BAR_PX);
  }

  outline(x, y, width, height) {
    const { context, colours } = this;
    context.strokeStyle = colours.text;
    context.lineWidth = 2;
    context.strokeRect(x - 2, y - 2, width + 4, height + 4);
    context.lineWidth = 1;
  }

  paintMark(item, y) {
    const { context, colours, scene } = this;
    const x = this.x(item.from);
    const size = item.line.seq === scene.selected ? 6 : 4;
    context.fillStyle = item.look === "quiet" ? colours.muted : colours[item.look];
    context.beginPath();
    context.moveTo(x, y - size);
    context.lineTo(x + size, y);
    context.lineTo(x, y + size);
    context.lineTo(x - size, y);
    context.fill();
    if (item.line.seq === scene.selected) this.outline(x - 4, y - 4, 8, 8);
  }

  paintJumps() {
    const { context, colours, scene } = this;
    context.font = `600 11px ${this.font}`;
    let free = -Infinity;
    for (const { place, text } of scene.jumps) {
      const x = Math.round(this.x(place)) + 0.5;
      if (x < 0 || x > this.width) continue;
      context.strokeStyle = colours.other;
      context.setLineDash([4, 3]);
      context.beginPath();
      context.moveTo(x, AXIS_PX);
      context.lineTo(x, this.height);
      context.stroke();
      context.setLineDash([]);
      if (x < free) continue;
      const width = context.measureText(text).width + 8;
      context.fillStyle = colours["other-soft"];
      context.fillRect(x, AXIS_PX + 3, width, 15);
      context.fillStyle = colours.other;
      context.fillText(text, x + 4, AXIS_PX + 11);
      free = x + width + 2;
    }
  }

  paintNow() {
    const x = this.x(this.scene.now);
    if (x < 0 || x > this.width) return;
    this.context.strokeStyle = this.colours.accent;
    this.context.beginPath();
    this.context.moveTo(x, AXIS_PX);
    this.context.lineTo(x, this.height);
    this.context.stroke();
  }

  // The item at a point of the canvas, null if there is none near.
  at(x, y) {
    const { scene } = this;
    if (!scene || y < AXIS_PX) return null;
    const lane = scene.lanes.find((each) => y >= this.laneTop(each) && y < this.laneTop(each) + each.height_px);
    if (!lane) return null;
    const row = Math.max(0, Math.floor((y - this.laneTop(lane) - 2) / ROW_PX));
    let best = null;
    let best_px = 7;
    const waiting = scene.waiting.filter((item) => item.lane === lane);
    for (const item of [...lane.items, ...waiting]) {
      if (lane.kind === "client" && Math.min(row, lane.rows - 1) !== item.row) continue;
      const distance =
        Math.max(this.x(item.from) - x, x - this.x(item.to ?? scene.now), 0) - (item.shape === "mark" ? 1 : 0);
      if (distance < best_px || (distance === best_px && item.shape === "bar")) [best, best_px] = [item, distance];
    }
    return best;
  }
}
